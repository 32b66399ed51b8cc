//! Watches sources, and puts what happens there before the king (C8, C18).
//!
//! Every source is looked at on its own: what one of them does holds up no other. What a look shows is durable before
//! it is remembered how far the source was read, so a crash only repeats what the ids of events drop.

mod command;
mod github;
mod http;
mod intake;
mod jira;

pub use http::ClientError;
pub use intake::{Notice, Reading, Tally};

use crate::{
    Clock, Folder,
    config::{self, Tokens, seconds},
    layout::LOCKS,
};
use command::Command;
use github::Github;
use intake::{Pace, SourceError};
use jira::Jira;
use muster_worker_kit::process::Guards;
use std::{sync::Arc, time::Duration};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// A sentinel, and what it needs.
#[derive(Clone, Debug)]
pub struct Sentinel {
    /// The configured sources.
    pub settings: config::Sentinel,
    /// The credentials.
    pub tokens: Tokens,
    /// Guards that end programs with all their children.
    pub guards: Guards,
}

/// The reason why a sentinel cannot start.
#[derive(Debug, thiserror::Error)]
pub enum SentinelError {
    /// A source is configured, and nothing opens it.
    #[error(
        "[sentinel.{section}] needs {variable} in the environment: set it, or take the section out of court.toml"
    )]
    NoToken {
        /// The section of the file.
        section: &'static str,
        /// The variable.
        variable: &'static str,
    },
    /// A source cannot be reached in the way it is configured.
    #[error("[sentinel.{section}] {error}")]
    Client {
        /// The section of the file.
        section: &'static str,
        /// The error.
        error: ClientError,
    },
}

/// Says what is wrong with a sentinel's settings, before it looks at anything.
pub fn check(
    folder: &Arc<Folder>,
    settings: &config::Sentinel,
    tokens: &Tokens,
) -> Result<(), SentinelError> {
    if let Some(github) = &settings.github {
        Github::new(Arc::clone(folder), github, tokens)?;
    }
    if let Some(jira) = &settings.jira {
        Jira::new(Arc::clone(folder), jira, tokens)?;
    }
    Ok(())
}

/// Watches what is configured until told to stop; programs are ended by guards of this binary.
pub async fn run(
    folder: Arc<Folder>,
    settings: config::Sentinel,
    tokens: Tokens,
    stop: CancellationToken,
) -> Result<(), SentinelError> {
    let guards = Guards::of_own_binary(folder.path(LOCKS).join("sources.lock"));
    Sentinel { settings, tokens, guards }.run(folder, stop).await
}

impl Sentinel {
    /// Watches what is configured until told to stop.
    pub async fn run(self, folder: Arc<Folder>, stop: CancellationToken) -> Result<(), SentinelError> {
        let mut watches = JoinSet::new();
        if let Some(settings) = &self.settings.github {
            let github = Github::new(Arc::clone(&folder), settings, &self.tokens)?;
            watches.spawn(watch(github, Pace::new(seconds(settings.poll_s)), stop.clone()));
        }
        if let Some(settings) = &self.settings.jira {
            let jira = Jira::new(Arc::clone(&folder), settings, &self.tokens)?;
            watches.spawn(watch(jira, Pace::new(seconds(settings.poll_s)), stop.clone()));
        }
        for (name, settings) in &self.settings.command {
            let command = Command::new(Arc::clone(&folder), name, settings, &self.guards);
            watches.spawn(watch(command, Pace::new(seconds(settings.poll_s)), stop.clone()));
        }
        if watches.is_empty() {
            tracing::info!("no source is configured; events come from `muster court emit` alone");
        }
        stay(&folder, &mut watches, &stop).await;
        Ok(())
    }
}

/// Shows that the sentinel lives, until it is told to stop and no source is looked at any more.
async fn stay(folder: &Folder, watches: &mut JoinSet<()>, stop: &CancellationToken) {
    let mut beats = tokio::time::interval(BEAT);
    loop {
        tokio::select! {
            () = stop.cancelled() => break,
            _ = beats.tick() => folder.beat(ROLE, Clock.now()),
            Some(Err(error)) = watches.join_next() => tracing::error!(%error, "a source is not watched any more"),
        }
    }
    while watches.join_next().await.is_some() {}
}

/// Something that events come from.
trait Source: Send + 'static {
    /// The name in logs.
    fn name(&self) -> &str;

    /// Looks once; says how long the source asks not to be looked at again, if it does.
    fn look(
        &mut self,
        stop: &CancellationToken,
    ) -> impl Future<Output = Result<Option<Duration>, SourceError>> + Send;
}

async fn watch(mut source: impl Source, mut pace: Pace, stop: CancellationToken) {
    while !stop.is_cancelled() {
        let looked = source.look(&stop).await;
        let pause = pace.after(&looked);
        if let Err(trouble) = &looked {
            let pause_s = pause.as_secs();
            tracing::warn!(source = source.name(), pause_s, "a source was not read: {trouble}");
        }
        let _ = stop.run_until_cancelled(tokio::time::sleep(pause)).await;
    }
}

const ROLE: &str = "sentinel";
const BEAT: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests;
