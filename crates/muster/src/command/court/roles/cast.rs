//! Who plays which role, and what each needs for it.

use crate::{
    failure::Failure,
    reach::{self, Access},
};
use muster_court::{
    Folder,
    bridge::Coordinator,
    config::{Court, Executor, General, Tokens},
    roles::{chamberlain, envoy, general, king, sentinel},
};
use std::{future::Future, io, pin::Pin, sync::Arc};
use tokio_util::sync::CancellationToken;

/// What all roles of a court share.
pub(super) struct Cast {
    pub(super) folder: Arc<Folder>,
    court: Court,
    channel: String,
    server: Vec<String>,
}

/// A role.
pub(super) enum Part {
    King,
    General(Box<General>),
    Sentinel,
    Envoy,
    Chamberlain,
}

/// A role that is ready to be played, on a thread of its own: its work with files blocks.
pub(super) struct Play(Box<dyn FnOnce(CancellationToken) -> Performance + Send>);

type Performance = Pin<Box<dyn Future<Output = Result<(), Failure>>>>;

impl Part {
    /// Its name among locks and heartbeats.
    pub(super) fn role(&self) -> String {
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
    pub(super) fn new(folder: Arc<Folder>, court: Court, channel: String, server: &[String]) -> Self {
        Self { folder, court, channel, server: server.to_vec() }
    }

    /// Every role there is.
    pub(super) fn all(&self) -> Vec<Part> {
        let generals = self.court.generals.values().map(|general| Part::General(Box::new(general.clone())));
        [Part::King, Part::Sentinel, Part::Envoy, Part::Chamberlain].into_iter().chain(generals).collect()
    }

    /// The general of this name.
    pub(super) fn general(&self, name: &str) -> Result<Part, Failure> {
        let general = self.court.generals.get(name);
        general.map(|general| Part::General(Box::new(general.clone()))).ok_or_else(|| {
            let path = self.folder.home().join("generals").join(name).with_extension("toml");
            Failure::NotFound(format!("there is no general {name}: {} would describe it", path.display()))
        })
    }

    /// Gets a role ready; what is wrong with its settings is told before any role begins.
    pub(super) fn play(&self, part: Part) -> Result<Play, Failure> {
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
    fn coordinator(&self, general: &General) -> Result<Option<Coordinator>, Failure> {
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
    pub(super) fn until(self, stop: CancellationToken) -> Result<(), Failure> {
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
