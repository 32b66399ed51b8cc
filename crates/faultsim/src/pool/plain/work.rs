//! P6, P7, P8, P19: what a model asks for, does and hands in, and what it should not.

use super::{Call, Chore, Plain};
use crate::{
    machine::{PATIENCE_MS, patience},
    pool::{
        forgery::{Forgery, Signer, check_refused},
        rig::{Content, Draft, Nature, key_named, key_of_text, result},
        wire::{Refused, write_batch},
    },
    scene::Scene,
};
use muster_contract_pool::refusal::SIGNATURE_INVALID;
use muster_model::{
    AssignmentId, Fence, PoolCommand, PoolHandout, PoolResult, PoolWork, PoolWorkerId, UserId,
};
use std::sync::Arc;

/// An assignment it holds.
#[derive(Debug)]
pub(super) struct Work {
    handout: PoolHandout,
    /// It has said nothing for long, and shows that it lives before it hands in.
    is_silent: bool,
    /// Result of the work, until it is answered.
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
        self.machine.plan(scene, patience(PATIENCE_MS, wait), Chore::GiveUp(ticket.exchange));
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
            Nature::Slow if !scene.calm && scene.dice.chance(700) => lease..=lease + 400,
            Nature::Slow if !scene.calm => lease / 2..=lease * 2,
            Nature::Idle if !scene.calm => return,
            Nature::Swapping if !scene.calm => 0..=50,
            _ => scene.plan.pool.as_ref().map_or(200..=2_000, |plan| plan.work_ms.clone()),
        };
        self.machine.plan(scene, span, Chore::Done(handout.assignment));
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
            self.machine.plan(scene, 50..=1_000, Chore::Done(id));
        }
    }

    /// Submits a result, unless a call with it is under way: whoever gives up a batch asks for each of its results, and the
    /// first of them may bring along the others.
    pub(super) fn hand_in(&mut self, id: AssignmentId, scene: &mut Scene) {
        let result = self.works.get(&id).filter(|_| !self.is_under_way(id));
        let result = result.and_then(|work| work.result.clone());
        let (Some(worker), Some(result)) = (self.id, result) else {
            return;
        };
        let owner = self.rig.owner;
        let batches = scene.plan.pool.as_ref().map_or(0, |plan| plan.batches);
        if scene.dice.chance(batches) {
            return self.hand_in_batch(worker, &result.public_key, scene);
        }
        if scene.dice.chance(300) {
            let mut work = self.question(worker, true);
            (work.results, work.max) = (vec![result], work.max + 1);
            return self.call(PoolCommand::Work(Box::new(work)), Call::Work(vec![id]), scene);
        }
        self.call(PoolCommand::HandIn { worker, owner, result }, Call::Result(id), scene);
    }

    /// Submits all that is done, signed with this key and not under way, under one signature (P20).
    fn hand_in_batch(&mut self, worker: PoolWorkerId, public_key: &str, scene: &mut Scene) {
        let is_in_it = |result: &Arc<PoolResult>| {
            *result.public_key == *public_key && !self.is_under_way(result.assignment)
        };
        let done = self.works.values().filter_map(|work| work.result.clone());
        let results: Vec<Arc<PoolResult>> = done.filter(is_in_it).collect();
        let ids = results.iter().map(|result| result.assignment).collect();
        scene.count(if results.len() > 1 { "batch of results" } else { "batch of one result" });
        let question = self.question(worker, true);
        let work = PoolWork { max: question.max + 1, results, ..question };
        let body = write_batch(&work);
        let ticket = self.rig.ask_with(scene, PoolCommand::Work(Box::new(work)), &body);
        self.expect(&ticket, Call::Work(ids), scene);
    }

    fn is_under_way(&self, id: AssignmentId) -> bool {
        self.calls.values().any(|call| match call {
            Call::Result(result) => *result == id,
            Call::Work(results) => results.contains(&id),
            Call::Enrol | Call::Resume | Call::Key | Call::Else => false,
        })
    }

    /// A result was accepted or refused. One that is wrong in itself is made again.
    pub(super) fn answered(&mut self, id: AssignmentId, outcome: Result<(), Refused>, scene: &mut Scene) {
        if let Some(refused) = outcome.err().filter(|refused| refused.status == 400) {
            if refused.detail == SIGNATURE_INVALID {
                self.give_key(scene);
            }
            if let Some(work) = self.works.get_mut(&id) {
                work.result = None;
                self.machine.plan(scene, 200..=3_000, Chore::Done(id));
            }
            return;
        }
        if let Some(result) = self.works.remove(&id).and_then(|work| work.result) {
            self.past.push_back(result);
            self.past.truncate(PAST_MAX);
        }
        self.want_more(0..=500, scene);
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

impl Plain {
    /// Does what should not be done, or changes its key.
    pub(super) fn relapse(&mut self, scene: &mut Scene) {
        if scene.calm {
            return;
        }
        self.machine.plan(scene, 2_000..=15_000, Chore::Relapse);
        let mischief = scene.plan.pool.as_ref().map_or(0, |plan| plan.mischief);
        let Some(worker) = self.id.filter(|_| scene.dice.chance(mischief)) else {
            return;
        };
        match self.rig.nature {
            Nature::Replaying => self.replay(worker, scene),
            Nature::Forging if scene.dice.chance(300) => self.forge_batch(worker, scene),
            Nature::Forging if scene.dice.chance(500) => self.hand_in_anothers(worker, scene),
            Nature::Forging => self.speak_for_another(scene),
            _ if scene.dice.chance(300) => self.change_key(scene),
            _ => self.replay(worker, scene),
        }
    }

    /// Another nonce, or another key.
    pub(super) fn forge(&self, draft: Draft, scene: &mut Scene) -> Draft {
        match scene.dice.below(5) {
            0 => Draft { nonce: None, ..draft },
            1 => Draft { nonce: Some(Fence(scene.dice.next().into())), ..draft },
            2 => Draft { public_key: key_named("somebody else").text.clone(), ..draft },
            3 => {
                let other = scene.dice.pick(&scene.overheard).copied();
                Draft { nonce: other.map(|other| other.fence), ..draft }
            }
            _ => draft,
        }
    }

    /// Submits an earlier result again, unchanged or in another body.
    fn replay(&mut self, worker: PoolWorkerId, scene: &mut Scene) {
        let past: Vec<Arc<PoolResult>> = self.past.iter().cloned().collect();
        let Some(old) = scene.dice.pick(&past) else {
            return;
        };
        let altered = || PoolResult { metrics: Some("{}".into()), ..(**old).clone() };
        let result = match scene.dice.chance(500) {
            true => Arc::clone(old),
            false => Arc::new(altered()),
        };
        scene.count("old result handed in");
        let owner = self.rig.owner;
        self.call(PoolCommand::HandIn { worker, owner, result }, Call::Else, scene);
    }

    /// Submits a result for an assignment of another worker, with its nonce.
    fn hand_in_anothers(&mut self, worker: PoolWorkerId, scene: &mut Scene) {
        let last = scene.overheard.len().saturating_sub(LATELY);
        let Some(PoolHandout { assignment, fence, .. }) = scene.dice.pick(&scene.overheard[last..]).copied()
        else {
            return;
        };
        let public_key = self.rig.key(self.key);
        let content = Content::truth(assignment.job());
        let draft = Draft { assignment, nonce: Some(fence), public_key, content, error: None };
        let result = result(draft);
        scene.count("result for another's assignment");
        let owner = self.rig.owner;
        self.call(PoolCommand::HandIn { worker, owner, result }, Call::Else, scene);
    }

    /// Submits true results under a signature that does not cover them (P20).
    fn forge_batch(&self, worker: PoolWorkerId, scene: &mut Scene) {
        let last = scene.overheard.len().saturating_sub(LATELY);
        let public_key = self.rig.key(self.key);
        let done = |handout: &PoolHandout| {
            let PoolHandout { assignment, fence, .. } = *handout;
            let (content, public_key) = (Content::truth(assignment.job()), public_key.clone());
            result(Draft { assignment, nonce: Some(fence), public_key, content, error: None })
        };
        let results: Vec<Arc<PoolResult>> = scene.overheard[last..].iter().map(done).collect();
        let key = key_of_text(&public_key).filter(|_| !results.is_empty());
        if let (Some(key), Some(forgery)) = (key, scene.dice.pick(&Forgery::ALL).copied()) {
            check_refused(forgery, &Signer { worker, key: &key }, &results, scene);
        }
    }

    /// Shows that another owner's worker lives, and asks for what it has.
    fn speak_for_another(&mut self, scene: &mut Scene) {
        let worker = PoolWorkerId(scene.dice.between(1, 12).unsigned_abs());
        let owner = if self.id == Some(worker) { UserId(1) } else { self.rig.owner };
        let command = match scene.dice.below(3) {
            0 => PoolCommand::Beat { worker, owner },
            1 => PoolCommand::Poll { worker, owner, start: true, supply: true },
            _ => PoolCommand::Resume { worker, owner },
        };
        self.call(command, Call::Else, scene);
    }

    fn change_key(&mut self, scene: &mut Scene) {
        self.key += 1;
        scene.count("key changed");
        self.give_key(scene);
    }
}

/// Number of overheard assignments to pick from; the latest ones are mostly still live.
const LATELY: usize = 4;
