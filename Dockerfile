# The server in a container: built here, run by nobody in particular, its data in a volume.
#
#   docker build -t muster .
#   docker run -d --name muster -p 7400:7400 -v muster-data:/data muster
#   docker exec muster muster secret show admin
#
# Other commands of the binary run from the same image: docker run --rm muster agent --help

FROM rust:1.95-slim-bookworm AS build
WORKDIR /src
COPY . .
# The registry and the target directory outlive a build, so that the next one compiles what changed.
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/src/target \
    cargo build --release --locked -p muster && cp target/release/muster /muster

FROM debian:bookworm-slim
# For servers and workers that speak https to others.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10400 --home-dir /data --shell /usr/sbin/nologin muster \
    && install -d -o muster -g muster -m 0700 /data
COPY --from=build /muster /usr/local/bin/muster
USER muster
WORKDIR /data
VOLUME /data
EXPOSE 7400
# Inside a container the loopback address would reach nobody.
ENV MUSTER_SERVER__LISTEN=0.0.0.0:7400 MUSTER_SERVER__DATA=/data
STOPSIGNAL SIGTERM
# Without a token: whether the server is reachable and ready. Docker knows 1 as the only bad answer.
HEALTHCHECK --interval=10s --timeout=15s --start-period=30s --retries=3 \
    CMD muster doctor --server http://127.0.0.1:7400 --server-only --quiet || exit 1
ENTRYPOINT ["muster"]
CMD ["serve"]
