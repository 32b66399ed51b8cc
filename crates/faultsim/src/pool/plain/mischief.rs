//! P8: what workers hand in and ask for that they should not.

use super::{Call, Chore, Plain};
use crate::{
    pool::{
        keys::key_named,
        nature::{Content, Draft, Nature, result},
    },
    scene::Scene,
};
use muster_model::{Fence, PoolCommand, PoolHandout, PoolResult, PoolWorkerId, UserId};
use std::sync::Arc;

impl Plain {
    /// Does what should not be done, or changes its key.
    pub(super) fn relapse(&mut self, scene: &mut Scene) {
        if scene.calm {
            return;
        }
        self.rig.plan(scene, (2_000, 15_000), Chore::Relapse);
        let mischief = scene.plan.pool.as_ref().map_or(0, |plan| plan.mischief);
        let Some(worker) = self.id.filter(|_| scene.dice.chance(mischief)) else {
            return;
        };
        match self.rig.nature {
            Nature::Replaying => self.replay(worker, scene),
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

    /// What was handed in before, as it was or in another body.
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

    /// What another worker was given, nonce and all.
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

/// What was overheard lately is mostly still live.
const LATELY: usize = 4;
