//! A plain model of a worker of the pool: it goes its rounds, and misbehaves as is its nature.

mod work;

use super::{
    rig::{Nature, Rig},
    wire::{self, Answer},
};
use crate::{
    checker::Verdict,
    machine::{self, Machine, PATIENCE_MS, Program},
    network::Ticket,
    scene::Scene,
};
use muster_model::{
    AssignmentId, Millis, PoolCommand, PoolHandout, PoolResult, PoolWorkerId, PoolWorkerRecord, Rejection,
    Reply,
};
use std::{
    collections::{BTreeMap, VecDeque},
    ops::RangeInclusive,
    sync::Arc,
};
use work::Work;

/// Actions of the worker itself.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Chore {
    /// Find out who it is.
    Enrol,
    /// Show that it lives.
    Beat,
    /// Ask for work.
    Ask,
    /// Ask what it had started.
    Resume,
    /// An assignment is done.
    Done(AssignmentId),
    /// Do what should not be done, or change the key.
    Relapse,
    /// No answer came to this exchange.
    GiveUp(u64),
}

/// The model.
pub(crate) struct Plain {
    machine: Machine,
    rig: Rig,
    id: Option<PoolWorkerId>,
    /// Which of its keys it signs with.
    key: u32,
    works: BTreeMap<AssignmentId, Work>,
    /// Results that it submitted and that were answered.
    past: VecDeque<Arc<PoolResult>>,
    asking: Option<Ticket>,
    calls: BTreeMap<u64, Call>,
}

/// A request under way.
enum Call {
    Enrol,
    Resume,
    Key,
    /// These results, in one call with the question for more.
    Work(Vec<AssignmentId>),
    Result(AssignmentId),
    /// It does not care.
    Else,
}

impl Plain {
    pub(super) fn new(rig: Rig) -> Self {
        Self {
            machine: Machine::new(rig.place()),
            rig,
            id: None,
            key: 0,
            works: BTreeMap::new(),
            past: VecDeque::new(),
            asking: None,
            calls: BTreeMap::new(),
        }
    }

    /// Looks itself up, and registers where it is not known.
    fn enrol(&mut self, scene: &mut Scene) {
        let is_it = |row: &&PoolWorkerRecord| *row.name == *self.rig.name;
        let known = scene.checker.pool.workers().find(is_it).map(|row| row.id);
        match self.id.or(known) {
            Some(id) => self.enrolled(id, scene),
            None => {
                let command = self.rig.registration(self.rig.key(self.key));
                self.call(command, Call::Enrol, scene);
            }
        }
    }

    fn enrolled(&mut self, id: PoolWorkerId, scene: &mut Scene) {
        self.id = Some(id);
        self.machine.plan(scene, 0..=50, Chore::Resume);
        self.machine.plan(scene, 50..=1_000, Chore::Ask);
        self.machine.plan(scene, 0..=1_000, Chore::Beat);
    }

    fn beat(&mut self, worker: PoolWorkerId, scene: &mut Scene) {
        if !self.is_silent(scene) {
            self.show_life(worker, scene);
        }
        let pause = scene.plan.settings.pool.offline_after.0;
        self.machine.plan(scene, pause / 4..=pause / 2, Chore::Beat);
    }

    fn show_life(&self, worker: PoolWorkerId, scene: &mut Scene) {
        self.rig.ask(scene, PoolCommand::Beat { worker, owner: self.rig.owner }, None);
    }

    /// True if it works and says nothing meanwhile.
    fn is_silent(&self, scene: &Scene) -> bool {
        !scene.calm && self.rig.nature == Nature::Slow && !self.works.is_empty()
    }

    fn call(&mut self, command: PoolCommand, call: Call, scene: &mut Scene) {
        let ticket = self.rig.ask(scene, command, None);
        self.expect(&ticket, call, scene);
    }

    /// Waits for the response to a request.
    fn expect(&mut self, ticket: &Ticket, call: Call, scene: &mut Scene) {
        self.calls.insert(ticket.exchange, call);
        self.machine.plan(scene, PATIENCE_MS, Chore::GiveUp(ticket.exchange));
    }

    fn give_up(&mut self, exchange: u64, scene: &mut Scene) {
        if let Some(ticket) = self.asking.take_if(|asking| asking.exchange == exchange) {
            ticket.broken.set(scene.dice.chance(700));
            self.want_more(100..=2_000, scene);
        }
        match self.calls.remove(&exchange) {
            Some(Call::Enrol) => self.machine.plan(scene, 500..=3_000, Chore::Enrol),
            Some(Call::Key) => self.give_key(scene),
            Some(Call::Result(id)) => self.hand_in(id, scene),
            Some(Call::Work(ids)) => ids.into_iter().for_each(|id| self.hand_in(id, scene)),
            Some(Call::Resume | Call::Else) | None => {}
        }
    }

    fn give_key(&mut self, scene: &mut Scene) {
        if let Some(worker) = self.id {
            let (owner, public_key) = (self.rig.owner, self.rig.key(self.key));
            self.call(PoolCommand::SetKey { worker, owner, public_key }, Call::Key, scene);
        }
    }

    fn want_more(&self, pause: RangeInclusive<i64>, scene: &mut Scene) {
        if self.asking.is_none() && self.free() > 0 {
            self.machine.plan(scene, pause, Chore::Ask);
        }
    }

    fn free(&self) -> usize {
        (self.rig.slots as usize).saturating_sub(self.works.len())
    }

    /// Handles the response to a request for work.
    fn given(&mut self, answer: Answer, scene: &mut Scene) {
        let handouts: Vec<PoolHandout> = match answer {
            Answer::Assignments(handouts) | Answer::Worked { assignments: handouts, .. } => handouts,
            _ => Vec::new(),
        };
        let before = self.works.len();
        self.take_all(&handouts, scene);
        let is_new = self.works.len() > before;
        self.want_more(if is_new { 0..=50 } else { 300..=3_000 }, scene);
    }

    fn wait(scene: &mut Scene) -> Option<Millis> {
        scene.dice.chance(800).then(|| Millis(scene.dice.between(500, 15_000)))
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
        self.machine.plan(scene, 0..=1_000, Chore::Enrol);
        self.machine.plan(scene, 3_000..=15_000, Chore::Relapse);
        Ok(())
    }

    /// Loses everything but what it handed in, and mostly its number.
    fn crash(&mut self, scene: &mut Scene) {
        self.machine.go_down();
        self.works.clear();
        self.calls.clear();
        if let Some(ticket) = self.asking.take() {
            ticket.broken.set(scene.dice.chance(500));
        }
        self.id = self.id.filter(|_| scene.dice.chance(700));
    }

    fn act(&mut self, chore: machine::Chore, scene: &mut Scene) -> Verdict {
        let machine::Chore::PlainMember(chore) = chore else { return Ok(()) };
        match (chore, self.id) {
            (Chore::Enrol, _) => self.enrol(scene),
            (Chore::Beat, Some(worker)) => self.beat(worker, scene),
            (Chore::Ask, Some(worker)) => self.ask(worker, scene),
            (Chore::Resume, Some(worker)) => {
                let owner = self.rig.owner;
                if !self.is_silent(scene) {
                    self.call(PoolCommand::Resume { worker, owner }, Call::Resume, scene);
                }
                self.machine.plan(scene, 8_000..=20_000, Chore::Resume);
            }
            (Chore::Done(assignment), Some(_)) => self.done(assignment, scene),
            (Chore::Relapse, _) => self.relapse(scene),
            (Chore::GiveUp(exchange), _) => self.give_up(exchange, scene),
            (Chore::Beat | Chore::Ask | Chore::Resume | Chore::Done(_), None) => {}
        }
        Ok(())
    }

    fn hear(&mut self, ticket: &Ticket, result: Result<Reply, Rejection>, scene: &mut Scene) -> Verdict {
        let Some(answer) = wire::hear(ticket, &result, scene) else { return Ok(()) };
        if self.asking.take_if(|asking| asking.exchange == ticket.exchange).is_some() {
            self.given(answer, scene);
            return Ok(());
        }
        match (self.calls.remove(&ticket.exchange), answer) {
            (Some(Call::Enrol), Answer::Worker(id)) => self.enrolled(id, scene),
            (Some(Call::Enrol), Answer::Refused(_)) => self.machine.plan(scene, 300..=2_000, Chore::Enrol),
            (Some(Call::Resume), Answer::Assignments(handouts)) => self.take_all(&handouts, scene),
            (Some(Call::Result(id)), Answer::Refused(refused)) => self.answered(id, Err(refused), scene),
            (Some(Call::Result(id)), Answer::Submitted(_)) => self.answered(id, Ok(()), scene),
            (Some(Call::Work(ids)), Answer::Worked { results, assignments }) => {
                for (id, outcome) in ids.into_iter().zip(results) {
                    self.answered(id, outcome, scene);
                }
                self.take_all(&assignments, scene);
            }
            _ => {}
        }
        Ok(())
    }

    fn recover(&mut self, scene: &mut Scene) -> Verdict {
        for id in self.works.keys() {
            self.machine.plan(scene, 100..=3_000, Chore::Done(*id));
        }
        Ok(())
    }

    fn unrest(&self) -> String {
        let works: Vec<_> = self.works.values().collect();
        format!("{:?} {:?}, works {works:?}", self.id, self.rig.nature)
    }
}
