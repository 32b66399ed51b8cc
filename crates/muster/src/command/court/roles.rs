//! `muster court run` and the single roles: each role on a thread of its own, until somebody asks to stop (C5, C21).

mod cast;

use super::{default_channel, open};
use crate::{
    command::{serve, stop, worker_program::Format},
    config::LogFormat,
    failure::{Exit, Failure},
    logging, output,
};
use cast::{Cast, Part};
use clap::Args;
use muster_court::RoleLock;
use std::{path::Path, sync::Arc, time::Duration};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// What all of them take.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The coordinator's address, for generals with an executor; several, given again or with commas, are tried in turn [default: $MUSTER_SERVER, else http://127.0.0.1:7400]
    #[arg(long, value_name = "URL")]
    server: Vec<String>,
    /// How log lines look
    #[arg(long, value_enum, default_value_t = Format::Text)]
    log_format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    #[command(flatten)]
    options: Options,
}

#[derive(Debug, Args)]
pub(crate) struct King {
    #[command(flatten)]
    options: Options,
}

#[derive(Debug, Args)]
pub(crate) struct General {
    /// The general's name: that of its file in generals/
    name: String,
    #[command(flatten)]
    options: Options,
}

#[derive(Debug, Args)]
pub(crate) struct Sentinel {
    #[command(flatten)]
    options: Options,
}

#[derive(Debug, Args)]
pub(crate) struct Envoy {
    #[command(flatten)]
    options: Options,
}

#[derive(Debug, Args)]
pub(crate) struct Chamberlain {
    #[command(flatten)]
    options: Options,
}

impl Run {
    pub(super) fn run(self, home: &Path) -> Result<Exit, Failure> {
        perform(home, &self.options, |cast| Ok(cast.all()))
    }
}

impl King {
    pub(super) fn run(self, home: &Path) -> Result<Exit, Failure> {
        perform(home, &self.options, |_| Ok(vec![Part::King]))
    }
}

impl General {
    pub(super) fn run(self, home: &Path) -> Result<Exit, Failure> {
        perform(home, &self.options, |cast| Ok(vec![cast.general(&self.name)?]))
    }
}

impl Sentinel {
    pub(super) fn run(self, home: &Path) -> Result<Exit, Failure> {
        perform(home, &self.options, |_| Ok(vec![Part::Sentinel]))
    }
}

impl Envoy {
    pub(super) fn run(self, home: &Path) -> Result<Exit, Failure> {
        perform(home, &self.options, |_| Ok(vec![Part::Envoy]))
    }
}

impl Chamberlain {
    pub(super) fn run(self, home: &Path) -> Result<Exit, Failure> {
        perform(home, &self.options, |_| Ok(vec![Part::Chamberlain]))
    }
}

/// Takes all roles that are wanted, or none, and plays them until somebody asks to stop.
fn perform(
    home: &Path,
    options: &Options,
    choose: impl FnOnce(&Cast) -> Result<Vec<Part>, Failure>,
) -> Result<Exit, Failure> {
    start_log(options.log_format);
    serve::raise_open_files();
    let (folder, court) = open(home)?;
    let channel = default_channel(&court)?;
    let cast = Cast::new(Arc::new(folder), court, channel, &options.server);
    let parts = choose(&cast)?;
    let locks: Vec<RoleLock> =
        parts.iter().map(|part| RoleLock::take(&cast.folder, &part.role())).collect::<Result<_, _>>()?;
    let plays = parts.into_iter().map(|part| cast.play(part)).collect::<Result<Vec<_>, _>>()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let played = runtime.block_on(play_all(plays, &locks, home));
    runtime.shutdown_timeout(LEAVE_MAX);
    played
}

/// Plays until all have ended: they do so when asked to, and all together when one cannot go on.
async fn play_all(plays: Vec<cast::Play>, locks: &[RoleLock], home: &Path) -> Result<Exit, Failure> {
    let stop = CancellationToken::new();
    let stopping = stop.clone();
    stop::on_request(move || stopping.cancel())?;
    let mut threads = JoinSet::new();
    for play in plays {
        let stop = stop.clone();
        threads.spawn_blocking(move || play.until(stop));
    }
    let roles: Vec<&str> = locks.iter().map(RoleLock::role).collect();
    output::line(&format!("court at {}: {}", home.display(), roles.join(", ")));
    let mut first_failure = None;
    while let Some(ended) = threads.join_next().await {
        let ended = ended.unwrap_or_else(|panic| Err(Failure::System(std::io::Error::other(panic))));
        if let Err(failure) = ended {
            first_failure = first_failure.or(Some(failure));
        }
        stop.cancel();
    }
    first_failure.map_or(Ok(Exit::Fine), Err)
}

fn start_log(format: Format) {
    let format = match format {
        Format::Text => LogFormat::Text,
        Format::Json => LogFormat::Json,
    };
    logging::start(format, "info");
}

/// What is still being written then is written again by the next life.
const LEAVE_MAX: Duration = Duration::from_secs(5);
