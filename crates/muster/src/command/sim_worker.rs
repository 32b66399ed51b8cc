//! `muster sim-worker`: the reference worker of simulation sessions (I11, S27).

mod endpoint;
mod line;

use super::{live_line, secret, serve, stop};
use crate::{
    config::LogFormat,
    failure::{Exit, Failure},
    logging, reach,
};
use clap::{Args, ValueEnum};
use muster_coordinator::{Clock, SystemClock};
use muster_worker_kit::process::{Guards, wait_for_earlier_guards};
use muster_workers::simulation::{
    Master, Secret,
    core::Over,
    render::{Exec, Renderer, Synthetic},
    runtime::{Options, Worker},
    wire::Introduction,
};
use std::{
    io::IsTerminal,
    path::{Path, PathBuf},
    pin::pin,
    sync::Arc,
    time::Duration,
};
use tokio_util::sync::CancellationToken;

#[derive(Debug, Args)]
pub(crate) struct SimWorker {
    /// The master's address; several, given again or with commas, are tried in turn [default: $MUSTER_SERVER, else http://127.0.0.1:7400]
    #[arg(long, value_name = "URL")]
    server: Vec<String>,
    /// The name of this worker, such as W1
    #[arg(long, value_name = "NAME", value_parser = worker_name)]
    id: String,
    /// What it is for, as the catalogue of workers shows it
    #[arg(long, value_name = "TEXT", default_value = "simulation")]
    role: String,
    /// How many cameras it renders
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(0..=1000))]
    cameras: u32,
    /// What its GPU is called
    #[arg(long, value_name = "TEXT", default_value = "none")]
    gpu: String,
    /// How many tasks it holds at once
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
    /// Where the master reaches that [default: the listening address as seen from the master]
    #[arg(long, value_name = "URL", requires = "listen")]
    endpoint: Option<String>,
    /// Refuse tasks whose output directory is not below this one
    #[arg(long, value_name = "DIR")]
    output_root: Option<PathBuf>,
    /// Where a lock is kept while a program runs
    #[arg(long, value_name = "DIR", default_value = "./muster-sim-worker")]
    state: PathBuf,
    /// A file that holds the enrolment secret [default: $MUSTER_ENROL_SECRET]
    #[arg(long, value_name = "FILE")]
    secret_file: Option<PathBuf>,
    /// How log lines look
    #[arg(long, value_enum, default_value_t = Format::Text)]
    log_format: Format,
    /// Run this once per range, instead of the built-in renderer; everything after it is part of it
    #[arg(long, value_name = "CMD", num_args = 1.., allow_hyphen_values = true)]
    exec: Vec<String>,
}

/// How the log of a worker looks.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum Format {
    Text,
    Json,
}

impl Format {
    /// Starts the log; says whether a live line belongs below it.
    pub(super) fn start(self) -> bool {
        let shows_line = std::io::stderr().is_terminal() && matches!(self, Self::Text);
        match (self, shows_line) {
            (Self::Text, true) => logging::start_above_a_line("warn"),
            (Self::Text, false) => logging::start(LogFormat::Text, "info"),
            (Self::Json, _) => logging::start(LogFormat::Json, "info"),
        }
        shows_line
    }
}

impl SimWorker {
    pub(crate) fn run(self: Box<Self>) -> Result<Exit, Failure> {
        let shows_line = self.log_format.start();
        serve::raise_open_files();
        // A worker waits, or writes files, which threads of their own do.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let worked = runtime.block_on(self.work(shows_line));
        runtime.shutdown_timeout(Duration::from_millis(500));
        worked
    }

    async fn work(self: Box<Self>, shows_line: bool) -> Result<Exit, Failure> {
        let leave = CancellationToken::new();
        let leaving = leave.clone();
        stop::on_request(move || {
            tracing::info!("leaving: what runs is ended, and the master is told; once more ends at once");
            leaving.cancel();
        })?;
        let worker = tokio::select! {
            opened = self.open() => opened?,
            () = leave.cancelled() => return Ok(Exit::Fine),
        };
        let line = shows_line.then(|| tokio::spawn(live_line::show(worker.watch(), line::of)));
        let over = worker.run(leave).await;
        if let Some(line) = line {
            line.abort();
        }
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
            (Some(listener), None) => Some(endpoint::of(listener, &servers)?),
            (_, given) => given.clone(),
        };
        let who = Introduction {
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
        wait_for_earlier_life(&lock).await?;
        Ok(Renderer::Exec(Exec { argv: self.exec.clone(), guards: Guards::of_own_binary(lock) }))
    }
}

/// Nothing is begun while a program of an earlier worker of this name still runs.
pub(super) async fn wait_for_earlier_life(lock: &Path) -> Result<(), Failure> {
    let mut gone = pin!(wait_for_earlier_guards(lock));
    if let Ok(waited) = tokio::time::timeout(SILENT_WAIT, &mut gone).await {
        return Ok(waited?);
    }
    tracing::warn!(lock = %lock.display(), "programs of an earlier worker still run; waiting until they are gone");
    Ok(gone.await?)
}

/// S1: what a worker may be called.
fn worker_name(text: &str) -> Result<String, String> {
    if muster_manifest::is_worker_id(text) {
        return Ok(text.to_owned());
    }
    Err("a worker's name has 1 to 64 of A–Z a–z 0–9 . _ - and begins with a letter or digit".to_owned())
}

/// Programs are killed within moments; only what cannot be killed takes longer.
const SILENT_WAIT: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        worker: SimWorker,
    }

    fn parse(line: &str) -> Result<SimWorker, clap::Error> {
        Line::try_parse_from(line.split(' ')).map(|line| line.worker)
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
}
