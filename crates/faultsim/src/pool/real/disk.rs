//! P16: the results that a machine has on its disk.

use crate::{
    pool::nature::{Content, Draft, result},
    scene::Scene,
};
use muster_agent::Text;
use muster_model::{AssignmentId, Fence, PoolResult, PoolWorkerId};
use muster_workers::pool::core::{Outcome, Spooled, Submission};
use std::sync::Arc;

/// The disk.
#[derive(Debug, Default)]
pub(super) struct Disk(Vec<Kept>);

/// A result in its signed body.
#[derive(Debug)]
struct Kept {
    entry: u64,
    worker: u64,
    result: Arc<PoolResult>,
    is_durable: bool,
    /// It has done its service; that may not be durable.
    is_acked: bool,
}

impl Disk {
    /// What a crash left: what was not synced is there or not, and so is what was let go of a moment ago.
    pub(super) fn recover(&mut self, scene: &mut Scene) -> Vec<Spooled> {
        self.0.retain(|kept| match (kept.is_durable, kept.is_acked) {
            (false, _) => scene.dice.chance(500),
            (true, true) => scene.dice.chance(200),
            (true, false) => true,
        });
        for (entry, kept) in (1..).zip(&mut self.0) {
            (kept.entry, kept.is_durable, kept.is_acked) = (entry, true, false);
        }
        self.0.iter().map(Kept::spooled).collect()
    }

    pub(super) fn write(&mut self, submission: Submission, key: &str, scene: &mut Scene) {
        let Submission { entry, worker, assignment, nonce, outcome } = submission;
        let assignment = AssignmentId(assignment);
        let is_error = matches!(outcome, Outcome::Error(_));
        let draft = Draft {
            assignment,
            nonce: nonce.parse().ok().map(Fence),
            public_key: key.into(),
            content: if is_error { Content::nothing() } else { Content::truth(assignment.job()) },
            error: is_error.then(|| "it broke".into()),
        };
        let result = result(draft, scene);
        self.0.push(Kept { entry, worker, result, is_durable: false, is_acked: false });
    }

    pub(super) fn sync(&mut self, entry: u64) {
        self.0.iter_mut().filter(|kept| kept.entry == entry).for_each(|kept| kept.is_durable = true);
    }

    pub(super) fn ack(&mut self, entry: u64) {
        self.0.iter_mut().filter(|kept| kept.entry == entry).for_each(|kept| kept.is_acked = true);
    }

    /// Everything that has done its service is gone for good.
    pub(super) fn sync_acks(&mut self) {
        self.0.retain(|kept| !kept.is_acked);
    }

    pub(super) fn set_aside(&mut self, entry: u64) {
        self.0.retain(|kept| kept.entry != entry);
    }

    /// The bytes of an entry, where they are there for good.
    pub(super) fn read(&self, entry: u64) -> Option<Arc<PoolResult>> {
        let kept = self.0.iter().find(|kept| kept.entry == entry && kept.is_durable && !kept.is_acked);
        kept.map(|kept| Arc::clone(&kept.result))
    }

    /// Whose an entry is.
    pub(super) fn worker_of(&self, entry: u64) -> Option<PoolWorkerId> {
        self.0.iter().find(|kept| kept.entry == entry).map(|kept| PoolWorkerId(kept.worker))
    }

    /// Whether the result of an assignment is there for good and nobody has it.
    pub(super) fn holds(&self, assignment: u64) -> bool {
        self.0.iter().any(|kept| kept.is_durable && !kept.is_acked && kept.result.assignment.0 == assignment)
    }

    /// Whether every result has done its service.
    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(|kept| kept.is_acked)
    }
}

impl Kept {
    fn spooled(&self) -> Spooled {
        let nonce = self.result.nonce.map_or_else(String::new, |nonce| nonce.0.to_string());
        Spooled {
            worker: self.worker,
            assignment: self.result.assignment.0,
            nonce: Text::from(nonce),
            is_error: self.result.error.is_some(),
        }
    }
}
