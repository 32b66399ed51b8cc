//! N18 to N20, N22b: what an agent wrote down, began and was answered, over all its lives.
//!
//! It sees what the world does for an agent: what reaches its disk, what is begun on a device and what is over there,
//! what leaves and what is answered. It shares no code with the agent's core, and knows from these alone what must hold.

mod log;
mod work;

use super::{Checker, Verdict, ensure};
use crate::{network::Ticket, node::Site};
pub(crate) use log::Written;
use log::{Link, Log};
use muster_agent::{Text, core::Work};
use muster_model::{Command, Rejection, Report};
use muster_spool::SetAside;
use std::collections::BTreeMap;
use work::Works;

/// One attempt of one task.
type Attempt = (Text, u32);

/// The ledger of one agent.
pub(crate) struct AgentBook {
    log: Log,
    works: Works,
    link: Link,
}

impl AgentBook {
    fn new(slots: u32) -> Self {
        Self { log: Log::default(), works: Works::new(slots as usize), link: Link::default() }
    }

    /// Its process has ended, and with it whatever it executed.
    pub(crate) fn died(&mut self) {
        self.works.died();
        self.link = Link::default();
    }

    /// The last look, once all is quiet; `aside` is what its disk holds for people.
    pub(crate) fn at_rest(&self, aside: &[SetAside]) -> Verdict {
        self.log.at_rest(aside)?;
        self.works.at_rest(&self.log)
    }
}

impl Checker {
    /// The ledger of the agent of a PC.
    pub(crate) fn agent(&mut self, site: &Site) -> &mut AgentBook {
        if !self.agents.contains_key(&site.name) {
            self.agents.insert(site.name.clone(), AgentBook::new(site.slots));
        }
        self.agents.get_mut(&site.name).expect("it was put there")
    }

    /// Something is begun on a device. No attempt is, twice, wherever (N22b).
    pub(crate) fn begins(&mut self, site: &Site, work: &Work) -> Verdict {
        let attempt = (work.job.task.clone(), work.job.attempt);
        let before = self.executed.insert(attempt.clone(), site.name.clone());
        ensure(before.is_none(), "attempt_executed_twice", || {
            format!("{attempt:?} at {}, before at {before:?}", site.name)
        })?;
        let book = self.agent(site);
        book.works.begins(work, &book.log)
    }

    /// An event leaves the spool of an agent for good: the coordinator's store has it (N19).
    pub(crate) fn lets_go(&mut self, site: &Site, number: u64) -> Verdict {
        let id = self.agent(site).log.id(number);
        let is_taken = id.as_ref().is_some_and(|id| self.mirror.reports.contains_key(id));
        ensure(is_taken, "acked_before_taken", || format!("{} let go of {number}, {id:?}", site.name))?;
        self.agent(site).log.answered(number);
        Ok(())
    }

    /// A report of an agent reaches the coordinator.
    pub(super) fn agent_heard(&mut self, report: &Report) -> Verdict {
        match self.agents.get_mut(&report.worker) {
            Some(book) => book.log.heard(report.id.as_str()),
            None => Ok(()),
        }
    }

    /// The coordinator refuses a report of an agent; only that another holds the task is a reason.
    pub(super) fn agent_refused(&mut self, report: &Report, rejection: &Rejection) -> Verdict {
        let Some(book) = self.agents.get_mut(&report.worker) else {
            return Ok(());
        };
        book.log.refused(report.id.as_str());
        ensure(matches!(rejection, Rejection::NotHolder { .. }), "agent_refused", || {
            format!("{report:?}: {rejection:?}")
        })
    }

    /// A report never reaches the coordinator: something before it refuses it.
    pub(crate) fn refused_on_its_way(&mut self, ticket: &Ticket) {
        if let Command::Report(report) = &*ticket.command
            && let Some(book) = self.agents.get_mut(&report.worker)
        {
            book.log.refused(report.id.as_str());
        }
    }
}

/// All ledgers, by the name of their PC.
pub(super) type Agents = BTreeMap<muster_model::Name, AgentBook>;
/// Name of the PC that began each attempt.
pub(super) type Executed = BTreeMap<Attempt, muster_model::Name>;
