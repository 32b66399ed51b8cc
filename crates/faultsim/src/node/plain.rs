//! A plain model of a node that is none of muster's agents: of a third party's, or of a PC that uses the RPCs.

mod callback;
mod execute;
mod pull;
mod rpc;
mod spool;

use super::{PATIENCE_MS, site::Site, wire};
use crate::{
    checker::{Broken, Verdict},
    network::{Returned, Ticket},
    scene::Scene,
};
use execute::Work;
use muster_contract_nodes::{Heartbeat, write_heartbeat};
use muster_model::{Ask, Command, JobId, Name, Report, TaskId};
use spool::Spooled;
use std::collections::{BTreeMap, VecDeque};

/// What it does by itself.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Chore {
    /// Ask for work, report devices.
    Pull,
    /// Say that it lives.
    Heartbeat,
    /// Send what stands in the spool.
    Pump,
    /// The work with this number is over on its device.
    Finish(u64),
    /// No answer came to this exchange.
    GiveUp(u64),
    /// Claim rows by RPC.
    Claim,
    /// Prolong the claim with this work number.
    Renew(u64),
}

/// In which way a node speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// By callbacks: all at once, now and then without attempt and fence.
    Foreign,
    /// By the RPCs (Q14).
    Rpc,
}

/// The model.
pub(crate) struct Plain {
    pub(super) site: Site,
    style: Style,
    /// Work that waits for its device or for a slot, oldest first.
    line: VecDeque<Work>,
    running: BTreeMap<Name, Work>,
    /// The newest attempt of each task that was taken here; kept over a crash once begun.
    latest: BTreeMap<TaskId, u16>,
    spool: VecDeque<Spooled>,
    pulling: Option<Ticket>,
    calls: BTreeMap<u64, rpc::Call>,
    shares: BTreeMap<JobId, pull::Tally>,
    next: u64,
    /// The first message that the two sides understood differently; the next step reports it.
    misread: Option<Broken>,
}

impl Plain {
    /// Its clock is true: without a fence only the clock tells attempts apart.
    pub(super) fn new(site: Site, style: Style) -> Self {
        Self {
            site,
            style,
            line: VecDeque::new(),
            running: BTreeMap::new(),
            latest: BTreeMap::new(),
            spool: VecDeque::new(),
            pulling: None,
            calls: BTreeMap::new(),
            shares: BTreeMap::new(),
            next: 0,
            misread: None,
        }
    }

    pub(super) fn begin(&mut self, scene: &mut Scene) {
        self.site.up = true;
        self.site.plan(scene, 0..=2_000, Chore::Pull);
        self.site.plan(scene, 0..=1_000, Chore::Heartbeat);
        self.site.plan(scene, 0..=500, Chore::Pump);
        if self.style == Style::Rpc {
            self.site.plan(scene, 100..=3_000, Chore::Claim);
        }
    }

    /// Loses everything but what it had written down: the spool and what it had begun (N22b).
    pub(super) fn crash(&mut self, scene: &mut Scene) {
        self.site.go_down();
        if let Some(pull) = self.pulling.take() {
            pull.broken.set(scene.dice.chance(500));
        }
        self.calls.clear();
        for entry in &mut self.spool {
            entry.exchange = None;
        }
        for work in std::mem::take(&mut self.line) {
            self.latest.remove(&work.task);
        }
        let begun = std::mem::take(&mut self.running);
        if self.style != Style::Rpc {
            for work in begun.values() {
                self.spool_interrupted(work, scene);
            }
        }
    }

    pub(super) fn act(&mut self, chore: Chore, scene: &mut Scene) -> Verdict {
        match chore {
            Chore::Pull => self.pull(scene),
            Chore::Heartbeat => {
                self.beat(scene);
                self.site.plan(scene, 29_000..=30_000, Chore::Heartbeat);
            }
            Chore::Pump => self.pump(scene),
            Chore::Finish(number) => self.finish(number, scene),
            Chore::GiveUp(exchange) => self.give_up(exchange, scene),
            Chore::Claim => self.claim(scene),
            Chore::Renew(number) => self.renew(number, scene),
        }
        self.misread.take().map_or(Ok(()), Err)
    }

    pub(super) fn hear(&mut self, answer: Returned<'_>, scene: &mut Scene) -> Verdict {
        let Returned { ticket, result } = answer;
        let exchange = ticket.exchange;
        if self.pulling.as_ref().is_some_and(|pull| pull.exchange == exchange) {
            self.pulling = None;
            self.pulled(result, scene);
        } else if let Some(call) = self.calls.remove(&exchange) {
            self.call_answered(call, result, scene);
        } else if matches!(*ticket.command, Command::Report(_)) {
            let response = wire::respond(result.map(Report::reply))?;
            self.report_answered(exchange, response.status != 200, scene);
        }
        self.misread.take().map_or(Ok(()), Err)
    }

    pub(super) fn is_quiet(&self) -> bool {
        self.spool.is_empty() && self.running.is_empty() && self.line.is_empty()
    }

    pub(super) fn unrest(&self) -> String {
        format!(
            "{} reports spooled, running {:?}, waiting {:?}",
            self.spool.len(),
            self.running.values().map(|work| work.task).collect::<Vec<_>>(),
            self.line.iter().map(|work| work.task).collect::<Vec<_>>(),
        )
    }

    fn beat(&mut self, scene: &mut Scene) {
        let beat = Heartbeat {
            at: scene.now,
            connected: self.site.devices.len() as u64,
            running: self.running.len() as u64,
            queued: self.line.len() as u64,
            vendor_ws_ok: true,
            degraded: false,
        };
        let command = wire::read_heartbeat(&write_heartbeat(self.site.name.as_str(), &beat));
        if let Some(command) = self.understood(command) {
            self.site.ask(scene, command, None);
        }
    }

    /// The result of reading a message; a failure is kept for the next step.
    fn understood<T>(&mut self, read: Result<T, Broken>) -> Option<T> {
        read.map_err(|broken| self.misread.get_or_insert(broken)).ok()
    }

    fn give_up(&mut self, exchange: u64, scene: &mut Scene) {
        if let Some(pull) = self.pulling.take_if(|pull| pull.exchange == exchange) {
            pull.broken.set(scene.dice.chance(700));
            self.site.plan(scene, 500..=5_000, Chore::Pull);
        } else if let Some(call) = self.calls.remove(&exchange) {
            self.call_lost(call, scene);
        } else if let Some(entry) = self.spool.iter_mut().find(|entry| entry.exchange == Some(exchange)) {
            entry.exchange = None;
            scene.count("report sent again");
            self.site.plan(scene, 100..=5_000, Chore::Pump);
        }
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }
}
