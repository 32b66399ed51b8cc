//! A plain model of a node that is none of muster's agents: of a third party's, or of a PC that uses the RPCs.

mod pull;
mod rpc;
mod spool;

use super::{PATIENCE_MS, Site, wire};
use crate::{
    checker::Verdict,
    machine::{self, Machine, Program},
    network::Ticket,
    scene::Scene,
};
use muster_contract_nodes::{Heartbeat, write_heartbeat};
use muster_model::{Fence, JobId, Name, Rejection, Reply, TaskId, Timestamp};
use spool::Spooled;
use std::collections::{BTreeMap, VecDeque};

/// Actions of the node itself.
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
    machine: Machine,
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
}

impl Plain {
    /// Its clock is true: without a fence only the clock tells attempts apart.
    pub(super) fn new(site: Site, style: Style) -> Self {
        Self {
            machine: Machine::new(site.place()),
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
        }
    }

    /// Its account of itself.
    fn account(&self, scene: &Scene) -> Heartbeat {
        Heartbeat {
            at: scene.now,
            connected: self.site.devices.len() as u64,
            running: self.running.len() as u64,
            queued: self.line.len() as u64,
            vendor_ws_ok: true,
            degraded: false,
        }
    }

    fn beat(&mut self, scene: &mut Scene) {
        let beat = self.account(scene);
        let command = wire::read_heartbeat(&write_heartbeat(self.site.name.as_str(), &beat));
        if let Some(command) = scene.understood(command) {
            self.site.ask(scene, command, None);
        }
    }

    fn give_up(&mut self, exchange: u64, scene: &mut Scene) {
        if let Some(pull) = self.pulling.take_if(|pull| pull.exchange == exchange) {
            pull.broken.set(scene.dice.chance(700));
            self.machine.plan(scene, 500..=5_000, Chore::Pull);
        } else if let Some(call) = self.calls.remove(&exchange) {
            self.call_lost(call, scene);
        } else if self.take_back(exchange) {
            scene.count("report sent again");
            self.machine.plan(scene, 100..=5_000, Chore::Pump);
        }
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }
}

/// One attempt in the hands of a node.
#[derive(Clone, Debug)]
struct Work {
    number: u64,
    task: TaskId,
    device: Name,
    attempt: u16,
    /// Unknown to a PC that claimed it: rows do not show it.
    fence: Option<Fence>,
    began: Timestamp,
    fails: bool,
}

/// A job as a node receives it.
struct ReceivedJob {
    task: TaskId,
    device: Name,
    attempt: u16,
    fence: Option<Fence>,
}

impl Plain {
    /// Takes a job; one that is here already is not taken twice, a newer attempt replaces the older.
    fn take(&mut self, job: ReceivedJob, scene: &mut Scene) {
        let known = self.latest.get(&job.task).copied().unwrap_or(0);
        if known >= job.attempt {
            scene.count(if known == job.attempt { "redelivered" } else { "older attempt ignored" });
            return;
        }
        self.abandon(job.task, scene);
        self.latest.insert(job.task, job.attempt);
        let number = self.number();
        let ReceivedJob { task, device, attempt, fence } = job;
        self.line.push_back(Work { number, task, device, attempt, fence, began: scene.now, fails: false });
        self.begin_work(scene);
    }

    /// Begins what has a free slot and a free, usable device.
    pub(super) fn begin_work(&mut self, scene: &mut Scene) {
        while self.machine.up && self.running.len() < self.site.slots as usize {
            let free =
                |work: &Work| !self.running.contains_key(&work.device) && self.site.is_usable(&work.device);
            let Some(place) = self.line.iter().position(free) else {
                return;
            };
            let Some(mut work) = self.line.remove(place) else {
                return;
            };
            work.began = scene.now;
            work.fails = scene.dice.chance(if scene.calm { 50 } else { 200 });
            self.plan_end(&work, scene);
            self.spool_started(&work, scene);
            self.running.insert(work.device.clone(), work);
        }
    }

    /// Ends a task: it is over on the device, or it was told to stop.
    fn finish(&mut self, number: u64, scene: &mut Scene) {
        let found = self.running.iter().find(|(_, work)| work.number == number);
        let Some(device) = found.map(|(device, _)| device.clone()) else {
            return;
        };
        if let Some(work) = self.running.remove(&device) {
            match self.style {
                Style::Rpc => self.conclude(&work, scene),
                Style::Foreign => self.spool_finished(&work, scene),
            }
        }
        self.begin_work(scene);
    }

    /// Ends whatever attempt of a task is here, and reports its end.
    fn abandon(&mut self, task: TaskId, scene: &mut Scene) {
        let running = self.running.values_mut().find(|work| work.task == task);
        if let Some(work) = running {
            work.fails = true;
            let number = work.number;
            self.finish(number, scene);
            return;
        }
        let waiting = self.line.iter().position(|work| work.task == task);
        if let Some(mut work) = waiting.and_then(|place| self.line.remove(place)) {
            work.fails = true;
            self.spool_finished(&work, scene);
        }
    }

    /// Work on a device that is gone fails soon.
    pub(super) fn interrupt(&mut self, device: &Name, scene: &mut Scene) {
        let Some(work) = self.running.get_mut(device) else {
            return;
        };
        work.fails = true;
        let number = work.number;
        self.machine.plan(scene, 50..=3_000, Chore::Finish(number));
    }

    /// Most work takes seconds; some hangs until somebody stops it.
    fn plan_end(&self, work: &Work, scene: &mut Scene) {
        let span = match scene.dice.below(100) {
            0..4 if !scene.calm => {
                scene.count("work hangs");
                return;
            }
            4..12 if !scene.calm => 10_000..=60_000,
            _ => 200..=6_000,
        };
        self.machine.plan(scene, span, Chore::Finish(work.number));
    }
}

impl Program for Plain {
    fn machine(&self) -> &Machine {
        &self.machine
    }

    fn machine_mut(&mut self) -> &mut Machine {
        &mut self.machine
    }

    fn begin(&mut self, scene: &mut Scene) -> Verdict {
        self.machine.up = true;
        self.machine.plan(scene, 0..=2_000, Chore::Pull);
        self.machine.plan(scene, 0..=1_000, Chore::Heartbeat);
        self.machine.plan(scene, 0..=500, Chore::Pump);
        if self.style == Style::Rpc {
            self.machine.plan(scene, 100..=3_000, Chore::Claim);
        }
        Ok(())
    }

    /// Loses everything but what it had written down: the spool and what it had begun (N22b).
    fn crash(&mut self, scene: &mut Scene) {
        self.machine.go_down();
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

    fn act(&mut self, chore: machine::Chore, scene: &mut Scene) -> Verdict {
        let machine::Chore::Node(chore) = chore else { return Ok(()) };
        match chore {
            Chore::Pull => self.pull(scene),
            Chore::Heartbeat => {
                self.beat(scene);
                self.machine.plan(scene, 29_000..=30_000, Chore::Heartbeat);
            }
            Chore::Pump => self.pump(scene),
            Chore::Finish(number) => self.finish(number, scene),
            Chore::GiveUp(exchange) => self.give_up(exchange, scene),
            Chore::Claim => self.claim(scene),
            Chore::Renew(number) => self.renew(number, scene),
        }
        Ok(())
    }

    fn hear(&mut self, ticket: &Ticket, result: Result<Reply, Rejection>, scene: &mut Scene) -> Verdict {
        let exchange = ticket.exchange;
        if self.pulling.as_ref().is_some_and(|pull| pull.exchange == exchange) {
            self.pulling = None;
            self.pulled(result, scene);
        } else if let Some(call) = self.calls.remove(&exchange) {
            let response = ticket.response.as_ref();
            return response.map_or(Ok(()), |response| self.call_answered(call, response, scene));
        } else {
            self.hear_of_reports(ticket, result, scene)?;
        }
        Ok(())
    }

    fn is_quiet(&self) -> bool {
        self.spool.is_empty() && self.running.is_empty() && self.line.is_empty()
    }

    fn unrest(&self) -> String {
        format!(
            "{} reports spooled, running {:?}, waiting {:?}",
            self.spool.len(),
            self.running.values().map(|work| work.task).collect::<Vec<_>>(),
            self.line.iter().map(|work| work.task).collect::<Vec<_>>(),
        )
    }
}
