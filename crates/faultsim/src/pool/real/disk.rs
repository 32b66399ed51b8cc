//! P16: the results that a machine has on its disk.

use crate::{
    pool::{
        rig::{Content, Draft, key_of_text, result},
        wire::fence_of,
    },
    scene::Scene,
};
use muster_model::{AssignmentId, PoolResult, PoolWorkerId};
use muster_workers::pool::{
    core::{Outcome, Spooled, Submission},
    wire::{read_spooled, write_submission},
};
use std::sync::Arc;

/// The disk.
#[derive(Debug, Default)]
pub(super) struct Disk(Vec<SpooledResult>);

/// A result in its signed body.
#[derive(Debug)]
pub(super) struct SpooledResult {
    entry: u64,
    pub(super) worker: PoolWorkerId,
    /// The result itself.
    pub(super) result: Arc<PoolResult>,
    /// The bytes that say it.
    pub(super) body: Vec<u8>,
    is_durable: bool,
    /// It has done its service; that may not be durable.
    is_acked: bool,
}

impl Disk {
    /// Recovers after a crash: an entry that was not synced may be lost, and an entry that was just acked may
    /// reappear.
    pub(super) fn recover(&mut self, scene: &mut Scene) -> Vec<Spooled> {
        self.0.retain(|kept| match (kept.is_durable, kept.is_acked) {
            (false, _) => scene.dice.chance(500),
            (true, true) => scene.dice.chance(200),
            (true, false) => true,
        });
        for (entry, kept) in (1..).zip(&mut self.0) {
            (kept.entry, kept.is_durable, kept.is_acked) = (entry, true, false);
        }
        let read = |kept: &SpooledResult| read_spooled(&kept.body).expect("a worker reads what it wrote");
        self.0.iter().map(read).collect()
    }

    /// Signs a result and writes it, as the real worker does.
    pub(super) fn write(&mut self, submission: &Submission, key: &str) {
        let assignment = AssignmentId(submission.assignment);
        let is_error = matches!(submission.outcome, Outcome::Error(_));
        let result = result(Draft {
            assignment,
            nonce: fence_of(&submission.nonce),
            public_key: key.into(),
            content: if is_error { Content::nothing() } else { Content::truth(assignment.job()) },
            error: is_error.then(|| "it broke".into()),
        });
        let key = key_of_text(key).expect("a worker signs with a key of its own");
        let body = write_submission(submission, &key.pair);
        let worker = PoolWorkerId(submission.worker);
        let entry = submission.entry;
        self.0.push(SpooledResult { entry, worker, result, body, is_durable: false, is_acked: false });
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

    /// An entry that is durable.
    pub(super) fn read(&self, entry: u64) -> Option<&SpooledResult> {
        self.0.iter().find(|kept| kept.entry == entry && kept.is_durable && !kept.is_acked)
    }

    /// True if the result of an assignment is there for good and nobody has it.
    pub(super) fn holds(&self, assignment: u64) -> bool {
        self.0.iter().any(|kept| kept.is_durable && !kept.is_acked && kept.result.assignment.0 == assignment)
    }

    /// True if every result has done its service.
    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(|kept| kept.is_acked)
    }
}
