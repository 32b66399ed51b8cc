//! `muster court run` and the single roles: each role on a thread of its own, until somebody asks to stop (C5, C21).

use super::{default_channel, open};
use crate::{
    command::{serve, worker_program},
    config::LogFormat,
    failure::{Exit, Failure},
    logging, output,
    reach::{self, Access},
};
use clap::Args;
use muster_court::{
    Folder, RoleLock,
    bridge::Coordinator,
    config::{self, Court, Executor, Tokens},
    roles::{chamberlain, envoy, general, king, sentinel},
};
use std::{future::Future, io, path::Path, pin::Pin, sync::Arc, time::Duration};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// Options of all roles.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The coordinator's address, for generals with an executor; several, given again or with commas, are tried in turn [default: $MUSTER_SERVER, else http://127.0.0.1:7400]
    #[arg(long, value_name = "URL")]
    server: Vec<String>,
    /// Format of log lines
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    log_format: LogFormat,
}

#[derive(Debug, Args)]
pub(crate) struct General {
    /// The general's name: that of its file in generals/
    name: String,
    #[command(flatten)]
    options: Options,
}

/// Plays every role there is.
pub(super) fn play_every_role(home: &Path, options: &Options) -> Result<Exit, Failure> {
    perform(home, options, |cast| Ok(cast.all()))
}

/// Plays one role alone.
pub(super) fn play_alone(home: &Path, options: &Options, part: Part) -> Result<Exit, Failure> {
    perform(home, options, |_| Ok(vec![part]))
}

impl General {
    pub(super) fn run(self, home: &Path) -> Result<Exit, Failure> {
        perform(home, &self.options, |cast| Ok(vec![cast.general(&self.name)?]))
    }
}

/// Takes all roles that are wanted, or none, and plays them until somebody asks to stop.
fn perform(
    home: &Path,
    options: &Options,
    choose: impl FnOnce(&Cast) -> Result<Vec<Part>, Failure>,
) -> Result<Exit, Failure> {
    logging::start(options.log_format, "info");
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
async fn play_all(plays: Vec<Play>, locks: &[RoleLock], home: &Path) -> Result<Exit, Failure> {
    let stop = CancellationToken::new();
    let stopping = stop.clone();
    worker_program::on_request(move || stopping.cancel())?;
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

/// Longer than a role takes to end; a file that is still being written then is written again by the next life.
const LEAVE_MAX: Duration = Duration::from_secs(5);

/// Shared state of all roles of a court.
struct Cast {
    folder: Arc<Folder>,
    court: Court,
    channel: String,
    server: Vec<String>,
}

/// A role.
pub(super) enum Part {
    King,
    General(Box<config::General>),
    Sentinel,
    Envoy,
    Chamberlain,
}

/// A role that is ready to be played, on a thread of its own: its work with files blocks.
struct Play(Box<dyn FnOnce(CancellationToken) -> Performance + Send>);

type Performance = Pin<Box<dyn Future<Output = Result<(), Failure>>>>;

impl Part {
    /// Its name among locks and heartbeats.
    fn role(&self) -> String {
        match self {
            Self::King => king::ROLE.to_owned(),
            Self::General(general) => format!("general-{}", general.name),
            Self::Sentinel => "sentinel".to_owned(),
            Self::Envoy => "envoy".to_owned(),
            Self::Chamberlain => "chamberlain".to_owned(),
        }
    }
}

impl Cast {
    fn new(folder: Arc<Folder>, court: Court, channel: String, server: &[String]) -> Self {
        Self { folder, court, channel, server: server.to_vec() }
    }

    /// Every role there is.
    fn all(&self) -> Vec<Part> {
        let generals = self.court.generals.values().map(|general| Part::General(Box::new(general.clone())));
        [Part::King, Part::Sentinel, Part::Envoy, Part::Chamberlain].into_iter().chain(generals).collect()
    }

    /// The general of this name.
    fn general(&self, name: &str) -> Result<Part, Failure> {
        let general = self.court.generals.get(name);
        general.map(|general| Part::General(Box::new(general.clone()))).ok_or_else(|| {
            let path = self.folder.home().join("generals").join(name).with_extension("toml");
            Failure::NotFound(format!("there is no general {name}: {} would describe it", path.display()))
        })
    }

    /// Gets a role ready; what is wrong with its settings is told before any role begins.
    fn play(&self, part: Part) -> Result<Play, Failure> {
        let folder = Arc::clone(&self.folder);
        let (settings, tokens) = (self.court.settings.clone(), tokens());
        Ok(match part {
            Part::King => {
                let king = king::King::new(self.court.clone(), self.channel.clone())?;
                play(async move |stop| {
                    king::run(folder, king, stop).await;
                    Ok(())
                })
            }
            Part::General(general) => {
                let coordinator = self.coordinator(&general)?;
                let setup = general::GeneralSetup::new(&folder, *general, self.channel.clone(), coordinator);
                play(async move |stop| Ok(general::run(folder, setup, stop).await?))
            }
            Part::Sentinel => {
                sentinel::check(&folder, &settings.sentinel, &tokens)?;
                play(async move |stop| Ok(sentinel::run(folder, settings.sentinel, tokens, stop).await?))
            }
            Part::Envoy => {
                envoy::check(&settings.envoy, &tokens)?;
                let out = Box::new(io::stdout());
                let setup = envoy::EnvoySetup { settings: settings.envoy, tokens, out };
                play(async move |stop| Ok(envoy::run(folder, setup, stop).await?))
            }
            Part::Chamberlain => {
                let channel = self.channel.clone();
                play(async move |stop| {
                    Ok(chamberlain::run(folder, settings.chamberlain, channel, stop).await?)
                })
            }
        })
    }

    /// The coordinator that a general hands its tasks to, if it does (C17).
    fn coordinator(&self, general: &config::General) -> Result<Option<Coordinator>, Failure> {
        if general.executor == Executor::Command {
            return Ok(None);
        }
        let variable = |name: &str| std::env::var(name).ok();
        let servers = reach::servers(&self.server, variable)?;
        let token = match reach::access(&servers, variable)? {
            Access::Token(token) => token,
            // A login ends after minutes and is refreshed by whoever uses it; a court runs for months.
            Access::Login(..) | Access::Nothing => {
                return Err(Failure::Usage(format!(
                    "the general {} hands its tasks to {servers} and needs a token that lasts: set MUSTER_TOKEN to an API key (`muster key add court`)",
                    general.name
                )));
            }
        };
        Ok(Some(Coordinator { servers: Arc::new(servers), token: Some(token) }))
    }
}

impl Play {
    /// Plays until asked to stop, or until it cannot go on.
    fn until(self, stop: CancellationToken) -> Result<(), Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on((self.0)(stop))
    }
}

fn play<F>(role: impl FnOnce(CancellationToken) -> F + Send + 'static) -> Play
where
    F: Future<Output = Result<(), Failure>> + 'static,
{
    Play(Box::new(move |stop| Box::pin(role(stop))))
}

fn tokens() -> Tokens {
    Tokens::from_environment(|name| std::env::var(name).ok())
}
