//! The books as bytes, for the beginning of a segment of the spool.

use super::{
    Attempt,
    books::{Books, Ended, Phase, RunBook, TaskBook},
};
use crate::Text;
use muster_model::Timestamp;
use serde::{Deserialize, Serialize};

/// Why a snapshot cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// It is no JSON of this shape.
    #[error("the spool's snapshot cannot be read: {0}; it was written by another version, or damaged")]
    Shape(#[from] serde_json::Error),
}

pub(super) fn write(spool_id: &str, books: &Books) -> Vec<u8> {
    let runs = books.runs.iter().map(|(run, book)| Run {
        run: run.to_string(),
        targets: book.targets,
        is_announced: book.is_announced,
        begun: book.begun.iter().map(ToString::to_string).collect(),
        outcomes: book.outcomes.iter().map(|(task, ended)| (task.to_string(), word(*ended).into())).collect(),
        closed_by: book.closed_by,
        closed_at: book.closed_at.map(|at| at.0),
        touched_at: book.touched_at.0,
    });
    // What was never begun is left out: the backend hands it out again.
    let tasks = books.tasks.values().flat_map(|known| {
        let newest = (known.phase != Phase::Queued).then(|| Task::of(&known.attempt, known.phase));
        let older = known.older.as_deref().map(|(attempt, at)| Task::of(attempt, Phase::Begun(*at)));
        older.into_iter().chain(newest)
    });
    let snapshot = Snapshot { spool_id: spool_id.into(), runs: runs.collect(), tasks: tasks.collect() };
    serde_json::to_vec(&snapshot).expect("texts and numbers are JSON")
}

pub(super) fn read(bytes: &[u8]) -> Result<(Text, Books), SnapshotError> {
    let snapshot: Snapshot = serde_json::from_slice(bytes)?;
    let runs = snapshot.runs.into_iter().map(|run| (Text::from(run.run.as_str()), run.into_book()));
    let tasks = snapshot.tasks.into_iter().map(Task::into_book);
    let tasks = tasks.map(|known| (known.attempt.task.clone(), known));
    Ok((snapshot.spool_id.into(), Books { runs: runs.collect(), tasks: tasks.collect() }))
}

#[derive(Serialize, Deserialize)]
struct Snapshot {
    spool_id: String,
    runs: Vec<Run>,
    tasks: Vec<Task>,
}

#[derive(Serialize, Deserialize)]
struct Run {
    run: String,
    targets: u64,
    is_announced: bool,
    begun: Vec<String>,
    outcomes: Vec<(String, String)>,
    closed_by: Option<u64>,
    closed_at: Option<i64>,
    touched_at: i64,
}

#[derive(Serialize, Deserialize)]
struct Task {
    run: String,
    task: String,
    device: String,
    handle: String,
    attempt: u32,
    token: Option<String>,
    /// Absent: it has ended.
    begun_at: Option<i64>,
}

impl Run {
    fn into_book(self) -> RunBook {
        let outcomes = self.outcomes.into_iter().map(|(task, word)| (task.into(), ended(&word)));
        RunBook {
            targets: self.targets,
            is_announced: self.is_announced,
            begun: self.begun.into_iter().map(Text::from).collect(),
            outcomes: outcomes.collect(),
            closed_by: self.closed_by,
            closed_at: self.closed_at.map(Timestamp),
            touched_at: Timestamp(self.touched_at),
        }
    }
}

impl Task {
    fn of(attempt: &Attempt, phase: Phase) -> Self {
        let Attempt { run, task, device, handle, number, token } = attempt;
        let begun_at = match phase {
            Phase::Begun(at) => Some(at.0),
            Phase::Queued | Phase::Ended => None,
        };
        Self {
            run: run.to_string(),
            task: task.to_string(),
            device: device.to_string(),
            handle: handle.to_string(),
            attempt: *number,
            token: token.as_ref().map(ToString::to_string),
            begun_at,
        }
    }

    fn into_book(self) -> TaskBook {
        let attempt = Attempt {
            run: self.run.into(),
            task: self.task.into(),
            device: self.device.into(),
            handle: self.handle.into(),
            number: self.attempt,
            token: self.token.map(Text::from),
        };
        let phase = self.begun_at.map_or(Phase::Ended, |at| Phase::Begun(Timestamp(at)));
        TaskBook { phase, ..TaskBook::of(&attempt) }
    }
}

const fn word(ended: Ended) -> &'static str {
    match ended {
        Ended::Succeeded => "succeeded",
        Ended::Failed => "failed",
        Ended::TimedOut => "timeout",
    }
}

fn ended(word: &str) -> Ended {
    match word {
        "succeeded" => Ended::Succeeded,
        "timeout" => Ended::TimedOut,
        _ => Ended::Failed,
    }
}
