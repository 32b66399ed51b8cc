//! The books as bytes, for the beginning of a segment of the spool.

use super::{
    Attempt,
    books::{Books, Ended, Phase, RunBook, TaskBook},
};
use crate::Text;
use muster_model::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Reason why a snapshot cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// It is no JSON of this shape.
    #[error("the spool's snapshot cannot be read: {0}; it was written by another version, or damaged")]
    Shape(#[from] serde_json::Error),
}

pub(super) fn write(spool_id: &Text, books: &Books) -> Vec<u8> {
    let runs = books.runs.iter().map(|(run, book)| Run {
        run: run.clone(),
        targets: book.targets,
        is_announced: book.is_announced,
        begun: book.begun.clone(),
        outcomes: book.outcomes.iter().map(|(task, ended)| (task.clone(), *ended)).collect(),
        closed_by: book.closed_by,
        closed_at: book.closed_at.map(|at| at.0),
        touched_at: book.touched_at.0,
    });
    // Tasks that were never begun are left out: the backend hands them out again.
    let tasks = books.tasks.values().flat_map(|known| {
        let newest = (known.phase != Phase::Queued).then(|| Task::of(&known.attempt, known.phase));
        let older = known.older.as_deref().map(|(attempt, at)| Task::of(attempt, Phase::Begun(*at)));
        older.into_iter().chain(newest)
    });
    let snapshot = Snapshot { spool_id: spool_id.clone(), runs: runs.collect(), tasks: tasks.collect() };
    serde_json::to_vec(&snapshot).expect("texts and numbers are JSON")
}

pub(super) fn read(bytes: &[u8]) -> Result<(Text, Books), SnapshotError> {
    let Snapshot { spool_id, runs, tasks } = serde_json::from_slice(bytes)?;
    let runs = runs.into_iter().map(|run| (run.run.clone(), run.into_book()));
    let tasks = tasks.into_iter().map(|task| (task.task.clone(), task.into_book()));
    Ok((spool_id, Books { runs: runs.collect(), tasks: tasks.collect() }))
}

#[derive(Serialize, Deserialize)]
struct Snapshot {
    spool_id: Text,
    runs: Vec<Run>,
    tasks: Vec<Task>,
}

#[derive(Serialize, Deserialize)]
struct Run {
    run: Text,
    targets: u64,
    is_announced: bool,
    begun: BTreeSet<Text>,
    outcomes: Vec<(Text, Ended)>,
    closed_by: Option<u64>,
    closed_at: Option<i64>,
    touched_at: i64,
}

#[derive(Serialize, Deserialize)]
struct Task {
    run: Text,
    task: Text,
    device: Text,
    handle: Text,
    attempt: u32,
    token: Option<Text>,
    /// Absent: it has ended.
    begun_at: Option<i64>,
}

impl Run {
    fn into_book(self) -> RunBook {
        RunBook {
            targets: self.targets,
            is_announced: self.is_announced,
            begun: self.begun,
            outcomes: self.outcomes.into_iter().collect(),
            closed_by: self.closed_by,
            closed_at: self.closed_at.map(Timestamp),
            touched_at: Timestamp(self.touched_at),
        }
    }
}

impl Task {
    fn of(attempt: &Attempt, phase: Phase) -> Self {
        let Attempt { run, task, device, handle, number, token } = attempt.clone();
        let begun_at = match phase {
            Phase::Begun(at) => Some(at.0),
            Phase::Queued | Phase::Ended => None,
        };
        Self { run, task, device, handle, attempt: number, token, begun_at }
    }

    fn into_book(self) -> TaskBook {
        let Self { run, task, device, handle, attempt: number, token, begun_at } = self;
        let phase = begun_at.map_or(Phase::Ended, |at| Phase::Begun(Timestamp(at)));
        TaskBook { phase, ..TaskBook::of(&Attempt { run, task, device, handle, number, token }) }
    }
}
