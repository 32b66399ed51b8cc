//! Connections to the leader on which a server of ours proved itself before anything else passed (S18).
//!
//! An address is only a name. Behind it may be the leader, nobody, or somebody who was given it since: what callers send
//! holds their tokens, and what is answered would be believed. So on every new connection the server there proves, before
//! it sees a request, that it knows what only servers of this installation know, and that it goes by that address itself:
//! a proof that it fetched elsewhere is for elsewhere. Whoever takes the address over needs a new connection.

use super::{Forwarder, seal::Seal};
use crate::{CoordinatorUrl, coordinators::Connector};
use axum::{
    Extension,
    body::{Body, to_bytes},
    extract::Query,
    http::{Request, Response, StatusCode, Uri, header},
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use futures_util::future::BoxFuture;
use hyper::{
    body::Incoming,
    client::conn::http1::{self, Connection, SendRequest},
    rt::{Read, Write},
};
use muster_http::{HttpState, LEADER_PROOF, Problem};
use serde::Deserialize;
use std::{
    future::poll_fn,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};
use tower::{BoxError, Service};
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

/// Makes connections to one leader, in one term.
#[derive(Clone)]
pub(super) struct Proven {
    pub(super) connector: Connector,
    pub(super) seal: Arc<Seal>,
    pub(super) leader: Leader,
    pub(super) url: CoordinatorUrl,
}

/// Address and term of a leader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Leader {
    pub(super) address: String,
    pub(super) epoch: u64,
}

/// Result of asking for a proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// A server of ours.
    Ours,
    /// A server answers, but without a proof.
    Stranger,
    /// No server answers, or it cannot answer yet.
    Away,
}

/// Reasons why a connection is not used.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("no proof on a new connection: {0:?}")]
pub(super) struct Unproven(pub(super) Verdict);

/// Reasons why nothing is passed on to an address.
pub(super) fn in_words(verdict: Verdict, address: &str) -> String {
    match verdict {
        Verdict::Ours => format!("{address} leads"),
        Verdict::Stranger => format!("whoever answers at {address} is no server of this installation"),
        Verdict::Away => format!("the leader at {address} cannot be reached"),
    }
}

impl Service<Uri> for Proven {
    type Response = <Connector as Service<Uri>>::Response;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.connector.poll_ready(context)
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let (connecting, asker) = (self.connector.call(to), self.clone());
        Box::pin(async move {
            let stream = connecting.await?;
            let proving = tokio::time::timeout(PROOF_MAX, asker.prove(stream)).await;
            proving.unwrap_or(Err(Unproven(Verdict::Away))).map_err(BoxError::from)
        })
    }
}

impl Proven {
    /// Has whoever is at the other end of a new connection prove itself, and gives the connection back unused.
    async fn prove<T: Read + Write + Unpin>(&self, stream: T) -> Result<T, Unproven> {
        let mut builder = http1::Builder::new();
        let shaken = builder.max_buf_size(ANSWER_BYTES_MAX).handshake(stream).await;
        let (sender, connection) = shaken.map_err(|_| Unproven(Verdict::Away))?;
        let mut connection = Some(connection);
        let verdict = tokio::select! {
            verdict = self.ask(sender) => verdict,
            () = drive(&mut connection) => Verdict::Away,
        };
        if verdict != Verdict::Ours {
            return Err(Unproven(verdict));
        }
        // It is gone if it was closed after the proof.
        let parts = connection.ok_or(Unproven(Verdict::Away))?.into_parts();
        // Unrequested bytes would be taken for the response to the first request.
        if parts.read_buf.is_empty() { Ok(parts.io) } else { Err(Unproven(Verdict::Stranger)) }
    }

    async fn ask(&self, mut sender: SendRequest<Body>) -> Verdict {
        let nonce = URL_SAFE_NO_PAD.encode(rand::random::<[u8; 32]>());
        let path = format!("{LEADER_PROOF}?nonce={nonce}&epoch={}", self.leader.epoch);
        let request = Request::get(path).header(header::HOST, self.url.host_header());
        let request = request.body(Body::empty()).expect("letters and digits make a path");
        let verdict = match sender.send_request(request).await {
            Ok(answer) => self.judge(answer, &nonce).await,
            Err(_) => Verdict::Away,
        };
        // An answer after which the connection closes leaves nothing to send on.
        match verdict {
            Verdict::Ours if sender.ready().await.is_err() => Verdict::Away,
            verdict => verdict,
        }
    }

    async fn judge(&self, answer: Response<Incoming>, nonce: &str) -> Verdict {
        match answer.status() {
            StatusCode::OK => {
                let proof =
                    to_bytes(Body::new(answer.into_body()), PROOF_BYTES_MAX).await.unwrap_or_default();
                let told = [nonce, &self.leader.epoch.to_string(), &self.leader.address];
                if self.seal.is_ours(&proof, &told) { Verdict::Ours } else { Verdict::Stranger }
            }
            // So answers a server that starts and has no key yet, or whatever stands before one.
            StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS => Verdict::Away,
            _ => Verdict::Stranger,
        }
    }
}

/// Keeps a connection going; one that has ended is dropped, so that whoever waits for it hears of it. Never ends itself:
/// what came before the end is judged first.
async fn drive<T: Read + Write + Unpin>(connection: &mut Option<Connection<T, Body>>) {
    poll_fn(|context| {
        if connection.as_mut().is_some_and(|connection| connection.poll_without_shutdown(context).is_ready())
        {
            *connection = None;
        }
        Poll::Pending
    })
    .await
}

/// As long as whoever probes this server has patience.
pub(super) const PROOF_MAX: Duration = Duration::from_millis(1_500);

const PROOF_BYTES_MAX: usize = 256;

/// Of an answer's head.
const ANSWER_BYTES_MAX: usize = 16 * 1024;

/// The route where a server proves to others that it is one of theirs. It must not be passed on, and is not.
pub fn proof_routes(forwarder: Forwarder) -> OpenApiRouter<HttpState> {
    OpenApiRouter::default().routes(routes!(prove)).layer(Extension(forwarder))
}

/// The claim to prove.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct Challenge {
    /// Nonce of the server that asks: 16 to 64 letters, digits, `-` and `_`.
    #[param(min_length = 16, max_length = 64, pattern = "^[A-Za-z0-9_-]+$")]
    nonce: String,
    /// The term that it thinks the server leads in.
    epoch: u64,
}

/// Proves that this server belongs to an installation, to others of it: nobody else can check it, and it says nothing else.
#[utoipa::path(get, path = "/leader-proof", tag = "server", params(Challenge), responses(
    (status = 200, description = "HMAC-SHA256 of the nonce, the epoch and the address by which this server goes, in base64url",
        body = String),
    (status = 400, description = "No such nonce"),
))]
async fn prove(
    Extension(forwarder): Extension<Forwarder>,
    challenge: Result<Query<Challenge>, axum::extract::rejection::QueryRejection>,
) -> Result<String, Problem> {
    let Query(Challenge { nonce, epoch }) =
        challenge.map_err(|_| Problem::bad_request("nonce and epoch must be given, once each"))?;
    let is_harmless = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if !(16..=64).contains(&nonce.len()) || !nonce.bytes().all(is_harmless) {
        return Err(Problem::bad_request("nonce must have 16 to 64 letters, digits, - and _"));
    }
    Ok(forwarder.0.seal.prove(&[&nonce, &epoch.to_string(), &forwarder.0.address]))
}
