//! `muster sim-worker`: the reference worker of simulation sessions (I11, S27).

use super::{
    secret, serve,
    worker_program::{self, FILE_THREADS_MAX, leave_on_request, with_line},
};
use crate::{
    config::LogFormat,
    failure::{Exit, Failure},
    reach,
};
use clap::Args;
use muster_coordinator::{Clock, SystemClock};
use muster_worker_kit::{
    http::Servers,
    process::{Guards, wait_for_earlier_life},
};
use muster_workers::simulation::{
    Master, RegisterRequest, Secret,
    core::Over,
    render::{Exec, Renderer, Synthetic},
    runtime::{Options, Report, Worker},
};
use reqwest::Url;
use std::{
    net::{IpAddr, SocketAddr, UdpSocket},
    path::PathBuf,
    sync::Arc,
};
use tokio::net::TcpListener;

#[derive(Debug, Args)]
pub(crate) struct SimWorker {
    /// The master's address; several, given again or with commas, are tried in turn [default: $MUSTER_SERVER, else http://127.0.0.1:7400]
    #[arg(long, value_name = "URL")]
    server: Vec<String>,
    /// The name of this worker, such as W1
    #[arg(long, value_name = "NAME", value_parser = worker_name)]
    id: String,
    /// Role of the worker, as the catalogue of workers shows it
    #[arg(long, value_name = "TEXT", default_value = "simulation")]
    role: String,
    /// Number of cameras it renders
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(0..=1000))]
    cameras: u32,
    /// Name of its GPU
    #[arg(long, value_name = "TEXT", default_value = "none")]
    gpu: String,
    /// Number of tasks it holds at once
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    slots: u32,
    /// Frames per second of the built-in renderer, if the master allows as many
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    fps: u32,
    /// Persons in each frame of the built-in renderer, each with an id of its own
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(0..=10_000))]
    persons_per_frame: u32,
    /// Have tasks brought here instead of asking for them, such as 0.0.0.0:7402
    #[arg(long, value_name = "HOST:PORT")]
    listen: Option<String>,
    /// Address at which the master reaches that [default: the listening address as seen from the master]
    #[arg(long, value_name = "URL", requires = "listen")]
    endpoint: Option<String>,
    /// Refuse tasks whose output directory is not below this one
    #[arg(long, value_name = "DIR")]
    output_root: Option<PathBuf>,
    /// File that is locked while a program runs
    #[arg(long, value_name = "DIR", default_value = "./muster-sim-worker")]
    state: PathBuf,
    /// A file that holds the enrolment secret [default: $MUSTER_ENROL_SECRET]
    #[arg(long, value_name = "FILE")]
    secret_file: Option<PathBuf>,
    /// Format of log lines
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    log_format: LogFormat,
    /// Run this once per range, instead of the built-in renderer; everything after it is part of it
    #[arg(long, value_name = "CMD", num_args = 1.., allow_hyphen_values = true)]
    exec: Vec<String>,
}

impl SimWorker {
    pub(crate) fn run(self: Box<Self>) -> Result<Exit, Failure> {
        let format = self.log_format;
        worker_program::run(format, FILE_THREADS_MAX, async |shows_line| self.work(shows_line).await)
    }

    async fn work(self: Box<Self>, shows_line: bool) -> Result<Exit, Failure> {
        let leave =
            leave_on_request("leaving: what runs is ended, and the master is told; once more ends at once")?;
        let worker = tokio::select! {
            opened = self.open() => opened?,
            () = leave.cancelled() => return Ok(Exit::Fine),
        };
        let over = with_line(shows_line, worker.watch(), line, worker.run(leave)).await;
        match over {
            Over::Left => {
                tracing::info!("left");
                Ok(Exit::Fine)
            }
            Over::Refused(refusal) => {
                tracing::error!(status = refusal.status, detail = %refusal.detail, "the master will have none of this worker");
                Ok(Exit::Refused)
            }
        }
    }

    async fn open(&self) -> Result<Worker, Failure> {
        let servers = reach::servers(&self.server, |name| std::env::var(name).ok())?;
        let secret = secret::ENROLMENT.find(self.secret_file.as_deref())?;
        let renderer = self.renderer().await?;
        let listener = match &self.listen {
            Some(address) => Some(serve::bind(address).await?),
            None => None,
        };
        let endpoint = match (&listener, &self.endpoint) {
            (Some(listener), None) => Some(reachable_at(listener, &servers)?),
            (_, given) => given.clone(),
        };
        let who = RegisterRequest {
            worker: self.id.as_str().into(),
            role: self.role.as_str().into(),
            cameras: self.cameras,
            gpu: self.gpu.as_str().into(),
            slots: self.slots,
            endpoint: endpoint.map(Into::into),
        };
        tracing::info!(
            worker = self.id,
            %servers,
            endpoint = who.endpoint.as_deref(),
            "the worker is up"
        );
        let clock = SystemClock::start();
        let output_root = self.output_root.as_deref().map(std::path::absolute).transpose()?;
        let options = Options { who, output_root, listener, now: Arc::new(move || clock.now()) };
        let master =
            Master::new(servers.client().no_proxy().build()?, servers, &self.id, Secret::new(secret));
        Ok(Worker::new(options, master, renderer))
    }

    async fn renderer(&self) -> Result<Renderer, Failure> {
        if self.exec.is_empty() {
            let (frames_per_second, persons_per_frame) = (self.fps, self.persons_per_frame);
            return Ok(Renderer::Synthetic(Synthetic { frames_per_second, persons_per_frame }));
        }
        // Programs run in directories of their own and must find it from there.
        let state = std::path::absolute(&self.state)?;
        std::fs::create_dir_all(&state)?;
        let lock = state.join(format!("{}.lock", self.id));
        // Nothing is begun while a program of an earlier worker of this name still runs.
        wait_for_earlier_life(&lock, "worker").await?;
        Ok(Renderer::Exec(Exec { argv: self.exec.clone(), guards: Guards::of_own_binary(lock) }))
    }
}

/// S3: the address where a master reaches a worker that listens: the one that calls to the server come from, and the port that is listened on: a server calls no other host than
/// the one that a registration came from.
fn reachable_at(listener: &TcpListener, servers: &Servers) -> Result<String, Failure> {
    let listening = listener.local_addr()?;
    let address = if listening.ip().is_unspecified() { towards(servers)? } else { listening.ip() };
    Ok(format!("http://{}", SocketAddr::new(address, listening.port())))
}

/// The address of this machine on the way to the first server to which there is one.
fn towards(servers: &Servers) -> Result<IpAddr, Failure> {
    let no_way =
        || Failure::Usage(format!("no way to {servers}; name this worker's address with --endpoint"));
    servers.urls().find_map(towards_one).ok_or_else(no_way)
}

/// The address of this machine on the way to a server. Nothing is sent.
fn towards_one(server: &Url) -> Option<IpAddr> {
    let addresses = server.socket_addrs(|| None).ok()?;
    let found = addresses.into_iter().find_map(|address| {
        let any: SocketAddr = if address.is_ipv4() { ([0; 4], 0).into() } else { ([0_u16; 8], 0).into() };
        let socket = UdpSocket::bind(any).ok()?;
        socket.connect(address).ok()?;
        socket.local_addr().ok()
    });
    found.map(|address| address.ip())
}

/// The status of a worker, in one line.
fn line(report: &Report) -> String {
    let Report { worker, state, epoch, held, slots, frames, pace_percent } = report;
    format!("{worker}  {state}  epoch {epoch}  tasks {held}/{slots}  frames {frames}  pace {pace_percent} %")
}

/// S1: what a worker may be called.
fn worker_name(text: &str) -> Result<String, String> {
    if muster_manifest::is_worker_id(text) {
        return Ok(text.to_owned());
    }
    Err("a worker's name has 1 to 64 of A–Z a–z 0–9 . _ - and begins with a letter or digit".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::tests::parse_flags;

    fn parse(line: &str) -> Result<SimWorker, clap::Error> {
        parse_flags(line.split(' '))
    }

    /// I11: whatever follows --exec is the program's.
    #[test]
    fn a_program_keeps_its_arguments() {
        let worker = parse("w --id W1 --fps 60 --exec sh -c run --fps 7 -- x").unwrap();
        assert_eq!((worker.fps, worker.exec.join(" ").as_str()), (60, "sh -c run --fps 7 -- x"));
        assert!(parse("w --id W1 --exec").is_err());
    }

    /// S1: a name that the master would refuse is refused here.
    #[test]
    fn names_are_the_contracts() {
        for name in ["W1", "gpu-01.lab_a", "7", &"x".repeat(64)] {
            assert!(parse(&format!("w --id {name}")).is_ok(), "{name}");
        }
        for name in [".w", "-", "w/1", "ä", "", &"x".repeat(65)] {
            assert!(parse(&format!("w --id={name}")).is_err(), "{name}");
        }
    }

    /// I6: no secret is taken from the command line.
    #[test]
    fn no_flag_takes_a_secret() {
        for flag in ["--secret x", "--token x", "--enrol-secret x"] {
            assert!(parse(&format!("w --id W1 {flag}")).is_err(), "{flag}");
        }
    }

    /// S3: whoever listens on all addresses names the one that the master sees.
    #[tokio::test]
    async fn the_address_is_the_one_that_the_master_sees() {
        let servers = Servers::parse(["http://no-such-host.invalid,http://127.0.0.1:7400"]).unwrap();
        for listen in ["127.0.0.1:0", "0.0.0.0:0"] {
            let listener = TcpListener::bind(listen).await.unwrap();
            let port = listener.local_addr().unwrap().port();
            assert_eq!(reachable_at(&listener, &servers).unwrap(), format!("http://127.0.0.1:{port}"));
        }
    }

    /// S27: state, term, tasks, frames and pace, in one line.
    #[test]
    fn the_line_says_how_the_worker_is() {
        let report = Report {
            worker: "W1".into(),
            state: "Healthy".into(),
            epoch: 3,
            held: 1,
            slots: 2,
            frames: 1234,
            pace_percent: 70,
        };
        assert_eq!(line(&report), "W1  Healthy  epoch 3  tasks 1/2  frames 1234  pace 70 %");
    }
}
