//! A plain model of a worker of the pool: it goes its rounds, and misbehaves as is its nature.

mod work;

use super::{
    PATIENCE_MS,
    patron::PoolView,
    rig::{Nature, Rig},
    wire::{self, Answer},
};
use crate::{network::Ticket, scene::Scene};
use muster_model::{
    AssignmentId, Millis, PoolCommand, PoolHandout, PoolResult, PoolWorkerId, Rejection, Reply,
};
use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};
use work::Work;

/// What it does by itself.
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
    pub(super) rig: Rig,
    id: Option<PoolWorkerId>,
    /// Which of its keys it signs with.
    key: u32,
    works: BTreeMap<AssignmentId, Work>,
    /// What it handed in and was answered.
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
            rig,
            id: None,
            key: 0,
            works: BTreeMap::new(),
            past: VecDeque::new(),
            asking: None,
            calls: BTreeMap::new(),
        }
    }

    pub(super) fn begin(&mut self, scene: &mut Scene) {
        self.rig.up = true;
        self.rig.plan(scene, (0, 1_000), Chore::Enrol);
        self.rig.plan(scene, (3_000, 15_000), Chore::Relapse);
    }

    /// Loses everything but what it handed in, and mostly its number.
    pub(super) fn crash(&mut self, scene: &mut Scene) {
        self.rig.go_down();
        self.works.clear();
        self.calls.clear();
        if let Some(ticket) = self.asking.take() {
            ticket.broken.set(scene.dice.chance(500));
        }
        self.id = self.id.filter(|_| scene.dice.chance(700));
    }

    pub(super) fn act(&mut self, chore: Chore, scene: &mut Scene, view: &PoolView<'_>) {
        match (chore, self.id) {
            (Chore::Enrol, _) => self.enrol(scene, view),
            (Chore::Beat, Some(worker)) => self.beat(worker, scene),
            (Chore::Ask, Some(worker)) => self.ask(worker, scene),
            (Chore::Resume, Some(worker)) => {
                let owner = self.rig.owner;
                if !self.is_silent(scene) {
                    self.call(PoolCommand::Resume { worker, owner }, Call::Resume, scene);
                }
                self.rig.plan(scene, (8_000, 20_000), Chore::Resume);
            }
            (Chore::Done(assignment), Some(_)) => self.done(assignment, scene),
            (Chore::Relapse, _) => self.relapse(scene),
            (Chore::GiveUp(exchange), _) => self.give_up(exchange, scene),
            (Chore::Beat | Chore::Ask | Chore::Resume | Chore::Done(_), None) => {}
        }
    }

    pub(super) fn hear(&mut self, ticket: &Ticket, result: Result<Reply, Rejection>, scene: &mut Scene) {
        let Some(answer) = wire::hear(ticket, &result, scene) else { return };
        if self.asking.take_if(|asking| asking.exchange == ticket.exchange).is_some() {
            return self.given(answer, scene);
        }
        match (self.calls.remove(&ticket.exchange), answer) {
            (Some(Call::Enrol), Answer::Worker(id)) => self.enrolled(id, scene),
            (Some(Call::Enrol), Answer::Refused(_)) => self.rig.plan(scene, (300, 2_000), Chore::Enrol),
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
    }

    /// Whatever hung goes on.
    pub(super) fn recover(&mut self, scene: &mut Scene) {
        for id in self.works.keys() {
            self.rig.plan(scene, (100, 3_000), Chore::Done(*id));
        }
    }

    pub(super) fn unrest(&self) -> String {
        let works: Vec<_> = self.works.values().collect();
        format!("{:?} {:?}, works {works:?}", self.id, self.rig.nature)
    }

    /// Looks itself up, and registers where it is not known.
    fn enrol(&mut self, scene: &mut Scene, view: &PoolView<'_>) {
        let known = view.workers.iter().find(|row| *row.name == *self.rig.name).map(|row| row.id);
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
        self.rig.plan(scene, (0, 50), Chore::Resume);
        self.rig.plan(scene, (50, 1_000), Chore::Ask);
        self.rig.plan(scene, (0, 1_000), Chore::Beat);
    }

    fn beat(&mut self, worker: PoolWorkerId, scene: &mut Scene) {
        if !self.is_silent(scene) {
            self.show_life(worker, scene);
        }
        let pause = scene.plan.settings.pool.offline_after.0;
        self.rig.plan(scene, (pause / 4, pause / 2), Chore::Beat);
    }

    fn show_life(&self, worker: PoolWorkerId, scene: &mut Scene) {
        self.rig.ask(scene, PoolCommand::Beat { worker, owner: self.rig.owner }, None);
    }

    /// Whether it works and says nothing meanwhile.
    fn is_silent(&self, scene: &Scene) -> bool {
        !scene.calm && self.rig.nature == Nature::Slow && !self.works.is_empty()
    }

    fn call(&mut self, command: PoolCommand, call: Call, scene: &mut Scene) {
        let ticket = self.rig.ask(scene, command, None);
        self.calls.insert(ticket.exchange, call);
        self.rig.plan(scene, PATIENCE_MS, Chore::GiveUp(ticket.exchange));
    }

    fn give_up(&mut self, exchange: u64, scene: &mut Scene) {
        if let Some(ticket) = self.asking.take_if(|asking| asking.exchange == exchange) {
            ticket.broken.set(scene.dice.chance(700));
            self.want_more((100, 2_000), scene);
        }
        match self.calls.remove(&exchange) {
            Some(Call::Enrol) => self.rig.plan(scene, (500, 3_000), Chore::Enrol),
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

    fn want_more(&self, pause: (i64, i64), scene: &mut Scene) {
        if self.asking.is_none() && self.free() > 0 {
            self.rig.plan(scene, pause, Chore::Ask);
        }
    }

    fn free(&self) -> usize {
        (self.rig.slots as usize).saturating_sub(self.works.len())
    }

    /// What a question for work brought.
    fn given(&mut self, answer: Answer, scene: &mut Scene) {
        let handouts: Vec<PoolHandout> = match answer {
            Answer::Assignments(handouts) | Answer::Worked { assignments: handouts, .. } => handouts,
            _ => Vec::new(),
        };
        let before = self.works.len();
        self.take_all(&handouts, scene);
        let is_new = self.works.len() > before;
        self.want_more(if is_new { (0, 50) } else { (300, 3_000) }, scene);
    }

    fn wait(scene: &mut Scene) -> Option<Millis> {
        scene.dice.chance(800).then(|| Millis(scene.dice.between(500, 15_000)))
    }
}
