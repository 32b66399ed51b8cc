//! The demo's agents, together.

use super::{agent::Agent, ledger, plan::PCS, server::Server};
use crate::{client::Client, failure::Failure};
use muster_coordinator::instant_now;
use std::{io, time::Duration};
use tokio::time::Instant;

/// All agents, at work.
pub(super) struct Fleet {
    agents: Vec<Agent>,
    http: reqwest::Client,
    client: Client,
    crashes: Vec<Crash>,
    cuts: Vec<Cut>,
}

/// An agent that was killed.
#[derive(Debug)]
pub(super) struct Crash {
    pub(super) pc: &'static str,
    /// The number of the run that it was at.
    pub(super) run: usize,
    /// The ids of the events that were in its spool.
    pub(super) spooled: Vec<String>,
}

/// An agent that was cut off from the server.
#[derive(Debug)]
pub(super) struct Cut {
    pub(super) pc: &'static str,
    /// The number of the run that it was at.
    pub(super) run: usize,
    /// The most reports that it kept in its spool meanwhile.
    pub(super) spooled: u64,
    /// The server took it for offline.
    pub(super) is_missed: bool,
    began: Instant,
    /// How long it lasted, once it is over.
    pub(super) took: Option<Duration>,
}

/// How the agents were found at the end.
#[derive(Debug, Default)]
pub(super) struct Rest {
    /// Nobody had anything in hand or left to say.
    pub(super) is_idle: bool,
    /// What is left in all spools.
    pub(super) spooled: usize,
    /// Those that did not end well, in words.
    pub(super) unwell: Vec<String>,
}

impl Fleet {
    /// Starts the agents and waits until the server knows them, with their devices.
    pub(super) async fn start(server: &Server) -> Result<Self, Failure> {
        let http = muster_worker_kit::http::client_for(&server.url).no_proxy().timeout(ANSWER_MAX).build()?;
        let mut agents = Vec::new();
        for pc in PCS {
            agents.push(Agent::start(pc, server).await?);
        }
        let (client, crashes, cuts) = (server.client(), Vec::new(), Vec::new());
        let mut fleet = Self { agents, http, client, crashes, cuts };
        let known = tokio::time::timeout(READY_MAX, fleet.become_known()).await;
        known.map_err(|_late| io::Error::other("the agents do not find the demo's server"))??;
        Ok(fleet)
    }

    pub(super) fn agents(&self) -> &[Agent] {
        &self.agents
    }

    pub(super) fn crashes(&self) -> &[Crash] {
        &self.crashes
    }

    pub(super) fn cuts(&self) -> &[Cut] {
        &self.cuts
    }

    pub(super) fn was_cut_in(&self, run: usize) -> bool {
        self.cuts.iter().any(|cut| cut.run == run)
    }

    pub(super) fn was_killed_in(&self, run: usize) -> bool {
        self.crashes.iter().any(|crash| crash.run == run)
    }

    /// Asks all how they are; starts those again that have been down long enough for everybody to see.
    pub(super) async fn look(&mut self) -> Result<(), Failure> {
        for agent in &mut self.agents {
            match agent.down_since() {
                None => agent.look(&self.http).await?,
                Some(since) if since.elapsed() >= DOWN_FOR => agent.start_again().await?,
                Some(_) => {}
            }
        }
        self.look_after_cut().await
    }

    /// Kills the agent of a PC in the middle of a run.
    pub(super) async fn kill(&mut self, pc: &'static str, run: usize) -> Result<(), Failure> {
        for agent in self.agents.iter_mut().filter(|agent| agent.pc == pc) {
            let spooled = agent.kill().await?;
            self.crashes.push(Crash { pc, run, spooled });
        }
        Ok(())
    }

    /// Cuts the agent of a PC off from the server in the middle of a run.
    pub(super) fn cut_off(&mut self, pc: &'static str, run: usize) {
        for agent in self.agents.iter_mut().filter(|agent| agent.pc == pc) {
            agent.cut_off(true);
            self.cuts.push(Cut { pc, run, spooled: 0, is_missed: false, began: instant_now(), took: None });
        }
    }

    /// Waits until nobody has anything in hand or left to say, then stops them.
    pub(super) async fn finish(&mut self, server: &Server) -> Result<Rest, Failure> {
        self.end_cut();
        let is_idle = match tokio::time::timeout(IDLE_MAX, self.come_to_rest(server)).await {
            Ok(rested) => rested.map(|()| true)?,
            Err(_late) => false,
        };
        let mut rest = Rest { is_idle, ..Rest::default() };
        for agent in &mut self.agents {
            rest.unwell.extend(agent.stop().await?);
            rest.spooled += agent.spooled()?.len();
        }
        Ok(rest)
    }

    /// Notes what whoever is cut off keeps; lets it through again once the server missed it and there is something to deliver.
    async fn look_after_cut(&mut self) -> Result<(), Failure> {
        let Some(cut) = self.cuts.last_mut().filter(|cut| cut.took.is_none()) else { return Ok(()) };
        let agent = self.agents.iter().find(|agent| agent.pc == cut.pc);
        cut.spooled = cut.spooled.max(agent.map_or(0, |agent| agent.status.spooled));
        cut.is_missed = is_offline(&self.client, cut.pc).await?;
        let is_enough = cut.is_missed && cut.spooled > 0;
        if is_enough || cut.began.elapsed() > CUT_MAX {
            self.end_cut();
        }
        Ok(())
    }

    fn end_cut(&mut self) {
        let Some(cut) = self.cuts.last_mut().filter(|cut| cut.took.is_none()) else { return };
        cut.took = Some(cut.began.elapsed());
        for agent in self.agents.iter_mut().filter(|agent| agent.pc == cut.pc) {
            agent.cut_off(false);
        }
    }

    /// An agent tells of its devices with its first pull.
    async fn become_known(&mut self) -> Result<(), Failure> {
        while !self.agents.iter().all(|agent| agent.status.reachable) {
            tokio::time::sleep(BETWEEN_LOOKS).await;
            self.look().await?;
        }
        Ok(())
    }

    async fn come_to_rest(&mut self, server: &Server) -> Result<(), Failure> {
        loop {
            self.look().await?;
            let is_up = |agent: &Agent| agent.down_since().is_none() && agent.status.is_idle();
            if self.agents.iter().all(is_up) && ledger::summaries_owed(server.directory())? == 0 {
                return Ok(());
            }
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
    }
}

/// Whether the server takes the agent of a PC for offline (N15).
async fn is_offline(client: &Client, pc: &str) -> Result<bool, Failure> {
    let page = client.get(&["api", "pcs"], &[]).await?;
    let mut pcs = page["pcs"].as_array().into_iter().flatten();
    Ok(pcs.any(|known| known["pc_id"] == pc && known["pc_status"] == "offline"))
}

/// Long enough for any answer that is worth showing.
const ANSWER_MAX: Duration = Duration::from_millis(250);
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);
/// Several times as long as the server takes to miss somebody.
const CUT_MAX: Duration = Duration::from_secs(30);
const DOWN_FOR: Duration = Duration::from_millis(600);
const READY_MAX: Duration = Duration::from_secs(20);
const IDLE_MAX: Duration = Duration::from_secs(20);
