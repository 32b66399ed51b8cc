//! What somebody should look at (S17): in memory, bounded, gone with the process.

use crate::wire::Warning;
use muster_model::{FrameTaskId, Name, Timestamp};
use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// The latest warnings.
#[derive(Debug, Default)]
pub(crate) struct Warnings(Mutex<VecDeque<Warning>>);

/// A completion that named a chunk of another assignment (S17).
#[derive(Debug)]
pub(crate) struct ForeignChunk<'a> {
    pub(crate) task: &'a FrameTaskId,
    pub(crate) worker: &'a Name,
    /// The chunk that was named.
    pub(crate) named: u64,
    /// The chunk that should have been.
    pub(crate) expected: u64,
    pub(crate) at: Timestamp,
}

impl Warnings {
    /// Raises `chunkIntegrity`. A repeat of the same takes the place of the one before.
    pub(crate) fn raise(&self, foreign: &ForeignChunk<'_>) {
        let ForeignChunk { task, worker, named, expected, at } = *foreign;
        let message = format!("{worker} handed in {task} with chunk {named}; the assignment's is {expected}");
        let warning = Warning {
            code: "chunkIntegrity",
            message,
            task_id: Some(task.to_string()),
            worker_id: Some(worker.to_string()),
            chunk_id: Some(named),
            expected_chunk_id: Some(expected),
            at: at.0,
        };
        let mut warnings = self.lock();
        warnings.retain(|known| known.message != warning.message);
        warnings.push_back(warning);
        if warnings.len() > WARNINGS_MAX {
            warnings.pop_front();
        }
    }

    /// Takes back what is said of a chunk: an operator has retired it.
    pub(crate) fn settle(&self, chunk: u64) {
        self.lock().retain(|known| known.chunk_id != Some(chunk) && known.expected_chunk_id != Some(chunk));
    }

    /// All of them, oldest first.
    pub(crate) fn all(&self) -> Vec<Warning> {
        self.lock().iter().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Warning>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

const WARNINGS_MAX: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    /// S17: a foreign chunk is a warning until an operator retires one of the two.
    #[test]
    fn a_foreign_chunk_is_a_warning_until_it_is_retired() {
        let (task, worker) = ("s1.00000100".parse().unwrap(), Name::new("w1").unwrap());
        let warnings = Warnings::default();
        let raise = |named| {
            warnings.raise(&ForeignChunk {
                task: &task,
                worker: &worker,
                named,
                expected: 7,
                at: Timestamp(1),
            });
        };
        raise(9);
        raise(9);
        assert_eq!(warnings.all().len(), 1);
        assert_eq!((warnings.all()[0].code, warnings.all()[0].chunk_id), ("chunkIntegrity", Some(9)));
        warnings.settle(8);
        assert_eq!(warnings.all().len(), 1);
        warnings.settle(7);
        assert!(warnings.all().is_empty());
        for named in 0..200 {
            raise(named);
        }
        assert_eq!(warnings.all().len(), WARNINGS_MAX);
    }
}
