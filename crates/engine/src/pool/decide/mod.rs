//! Pure decisions about the pool: each computes the events of one step of a command. Changes nothing.

pub(super) mod job;
pub(super) mod lease;
pub(super) mod result;
pub(super) mod worker;

use super::Pool;
use alloc::{vec, vec::Vec};
use muster_model::{Key, PoolCommand};

/// Facts that a command needs and that memory may have forgotten.
pub(crate) fn keys(pool: &Pool, command: &PoolCommand) -> Vec<Key> {
    let mut keys = match command {
        PoolCommand::HandIn { result, .. } => vec![Key::Assignment(result.assignment)],
        PoolCommand::Work(work) => {
            work.results.iter().map(|result| Key::Assignment(result.assignment)).collect()
        }
        PoolCommand::Submit(submission) => {
            let key = submission.key.iter().cloned();
            key.map(|key| Key::PoolSubmission(submission.client, key)).collect()
        }
        PoolCommand::Cancel { job, .. } => vec![Key::PoolEnd(*job)],
        _ => Vec::new(),
    };
    keys.retain(|key| match key {
        Key::Assignment(id) => pool.lease(*id).is_none() && !pool.recent.assignments.contains_key(id),
        Key::PoolEnd(job) => !pool.jobs.contains_key(job) && !pool.recent.ends.contains_key(job),
        Key::PoolSubmission(client, key) => !pool.recent.keys.contains_key(&(*client, key.clone())),
        _ => true,
    });
    keys
}
