//! P6, P7, P19: what a model asks for, does and hands in.

use super::{Call, Chore, Plain};
use crate::{
    pool::{
        nature::{Draft, Nature, result},
        wire::Refused,
    },
    scene::Scene,
};
use muster_contract_pool::refusal::SIGNATURE_INVALID;
use muster_model::{AssignmentId, PoolCommand, PoolHandout, PoolResult, PoolWork, PoolWorkerId};
use std::sync::Arc;

/// An assignment it holds.
#[derive(Debug)]
pub(super) struct Work {
    handout: PoolHandout,
    /// It has said nothing for long, and shows that it lives before it hands in.
    is_silent: bool,
    /// What came of it, while that is not answered.
    result: Option<Arc<PoolResult>>,
}

impl Plain {
    /// Asks in one of three ways.
    pub(super) fn ask(&mut self, worker: PoolWorkerId, scene: &mut Scene) {
        if self.asking.is_some() || self.free() == 0 || self.is_silent(scene) {
            return;
        }
        let owner = self.rig.owner;
        let start = scene.dice.chance(600);
        let command = match scene.dice.chance(600) {
            true => PoolCommand::Poll { worker, owner, start, supply: true },
            false => PoolCommand::Work(Box::new(self.question(worker, start))),
        };
        let wait = Self::wait(scene);
        let ticket = self.rig.ask(scene, command, wait);
        let waits = wait.map_or(0, |wait| wait.0);
        self.rig.plan(scene, (waits + 2_000, waits + 5_000), Chore::GiveUp(ticket.exchange));
        self.asking = Some(ticket);
    }

    pub(super) fn take_all(&mut self, handouts: &[PoolHandout], scene: &mut Scene) {
        for handout in handouts {
            if !self.works.contains_key(&handout.assignment) {
                self.take(*handout, scene);
            }
        }
    }

    fn take(&mut self, handout: PoolHandout, scene: &mut Scene) {
        self.works.insert(
            handout.assignment,
            Work { handout, is_silent: self.rig.nature == Nature::Slow, result: None },
        );
        scene.overheard.push(handout);
        let lease = scene.plan.settings.pool.lease.0.min(60_000);
        let span = match self.rig.nature {
            // It comes back when its lease is just over, or at any other time.
            Nature::Slow if !scene.calm && scene.dice.chance(700) => (lease, lease + 400),
            Nature::Slow if !scene.calm => (lease / 2, lease * 2),
            Nature::Idle if !scene.calm => return,
            Nature::Swapping if !scene.calm => (0, 50),
            _ => scene.plan.pool.as_ref().map_or((200, 2_000), |plan| plan.work_ms),
        };
        self.rig.plan(scene, span, Chore::Done(handout.assignment));
    }

    /// An assignment is done: what came of it is handed in, by itself or with the question for more.
    pub(super) fn done(&mut self, id: AssignmentId, scene: &mut Scene) {
        let Some(work) = self.works.get(&id).filter(|work| work.result.is_none()) else {
            return;
        };
        if let Some(worker) = self.id.filter(|_| work.is_silent && !scene.calm) {
            return self.speak_first(worker, id, scene);
        }
        let draft = self.draft(&work.handout, scene);
        let result = result(draft);
        if let Some(work) = self.works.get_mut(&id) {
            work.result = Some(result);
        }
        self.hand_in(id, scene);
    }

    fn speak_first(&mut self, worker: PoolWorkerId, id: AssignmentId, scene: &mut Scene) {
        self.show_life(worker, scene);
        if let Some(work) = self.works.get_mut(&id) {
            work.is_silent = false;
            self.rig.plan(scene, (50, 1_000), Chore::Done(id));
        }
    }

    pub(super) fn hand_in(&mut self, id: AssignmentId, scene: &mut Scene) {
        let result = self.works.get(&id).and_then(|work| work.result.clone());
        let (Some(worker), Some(result)) = (self.id, result) else {
            return;
        };
        let owner = self.rig.owner;
        if scene.dice.chance(300) {
            let mut work = self.question(worker, true);
            (work.results, work.max) = (vec![result], work.max + 1);
            return self.call(PoolCommand::Work(Box::new(work)), Call::Work(vec![id]), scene);
        }
        self.call(PoolCommand::HandIn { worker, owner, result }, Call::Result(id), scene);
    }

    /// A result was accepted or refused. One that is wrong in itself is made again.
    pub(super) fn answered(&mut self, id: AssignmentId, outcome: Result<(), Refused>, scene: &mut Scene) {
        if let Some(refused) = outcome.err().filter(|refused| refused.status == 400) {
            if refused.detail == SIGNATURE_INVALID {
                self.give_key(scene);
            }
            if let Some(work) = self.works.get_mut(&id) {
                work.result = None;
                self.rig.plan(scene, (200, 3_000), Chore::Done(id));
            }
            return;
        }
        if let Some(result) = self.works.remove(&id).and_then(|work| work.result) {
            self.past.push_back(result);
            self.past.truncate(PAST_MAX);
        }
        self.want_more((0, 500), scene);
    }

    fn question(&self, worker: PoolWorkerId, start: bool) -> PoolWork {
        let max = u32::try_from(self.free()).unwrap_or(1);
        PoolWork { worker, owner: self.rig.owner, results: Vec::new(), max, start, supply: true }
    }

    fn draft(&self, handout: &PoolHandout, scene: &mut Scene) -> Draft {
        let job = handout.assignment.job();
        let nature = if scene.calm { Nature::Honest } else { self.rig.nature };
        let fails = scene.plan.pool.as_ref().map_or(0, |plan| plan.fails);
        let has_failed = !scene.calm && scene.dice.chance(fails);
        let mut content = nature.content(job, self.rig.number, scene);
        match scene.dice.below(100) {
            _ if scene.calm => {}
            0..6 => content.output_hash = None,
            6..9 => content.output_hash = Some("of something else".into()),
            9..11 => content.output = None,
            _ => {}
        }
        let draft = Draft {
            assignment: handout.assignment,
            nonce: Some(handout.fence),
            public_key: self.rig.key(self.key),
            content,
            error: has_failed.then(|| "it broke".into()),
        };
        if nature == Nature::Forging { self.forge(draft, scene) } else { draft }
    }
}

/// Results that are remembered.
const PAST_MAX: usize = 8;
