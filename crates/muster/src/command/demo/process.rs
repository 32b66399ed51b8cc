//! An agent, a worker or the court, over all its lives: killed, and started again as it was.

use super::life::{Life, Orders};
use crate::failure::Failure;
use muster_agent::runtime::AgentError;
use muster_coordinator::instant_now;
use std::{io, process::ExitStatus};
use tokio::time::Instant;

/// A process that comes and goes.
pub(super) struct Process {
    /// What to call it when something is wrong.
    name: String,
    /// How often it was started.
    pub(super) starts: u64,
    orders: Orders,
    life: Option<Life>,
    ended_at: Instant,
}

impl Process {
    pub(super) async fn start(name: String, orders: Orders) -> Result<Self, Failure> {
        let mut process = Self { name, starts: 0, orders, life: None, ended_at: instant_now() };
        process.start_again().await?;
        Ok(process)
    }

    pub(super) async fn start_again(&mut self) -> Result<(), Failure> {
        let life = Life::begin(&self.orders).await;
        self.life = Some(life.map_err(|error| self.trouble(error))?);
        self.starts += 1;
        Ok(())
    }

    /// What followed its greeting; nothing while it is down. That it ended by itself is an error.
    pub(super) fn look(&mut self) -> Result<Option<&str>, Failure> {
        let ended = match &mut self.life {
            None => return Ok(None),
            Some(life) => life.ended(),
        };
        match ended {
            Ok(None) => Ok(self.life.as_ref().map(Life::said)),
            Ok(Some(status)) => Err(self.trouble(io::Error::other(format!("it ended by itself, {status}")))),
            Err(error) => Err(self.trouble(error)),
        }
    }

    /// Kills it (`kill -9`).
    pub(super) async fn kill(&mut self) -> Result<(), Failure> {
        if let Some(life) = self.life.take() {
            life.kill().await.map_err(|error| self.trouble(error))?;
        }
        self.ended_at = instant_now();
        Ok(())
    }

    /// Since when it is not running; nothing while it is.
    pub(super) fn down_since(&self) -> Option<Instant> {
        self.life.is_none().then_some(self.ended_at)
    }

    /// Asks it to stop (SIGTERM) and waits for that; gives what is wrong with how it ended, in words.
    pub(super) async fn stop(&mut self) -> Result<Option<String>, Failure> {
        let Some(life) = self.life.take() else { return Ok(Some(format!("{} was not running", self.name))) };
        let status = life.stop().await.map_err(|error| self.trouble(error))?;
        Ok(unwell(&self.name, status))
    }

    pub(super) fn trouble(&self, error: io::Error) -> Failure {
        let what = format!("{} (its log: {})", self.name, self.orders.log.display());
        AgentError::Io { what, error }.into()
    }
}

fn unwell(name: &str, status: ExitStatus) -> Option<String> {
    (!status.success()).then(|| format!("{name} ended with {status}"))
}
