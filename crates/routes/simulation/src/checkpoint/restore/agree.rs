//! Whether workers, sessions, their frames and what is set apart fit together.

use super::{
    content::{Checkpoint, refuse},
    row::Part,
};
use crate::checkpoint::row::fragment_path;
use muster_http::Problem;
use muster_model::{FrameTaskStatus, Name, SessionId, SessionRecord, SessionStatus};
use std::{
    collections::{HashMap, HashSet},
    hash::Hash,
};

type Checked = Result<(), Problem>;

/// Checks everything but ids.
pub(super) fn check(checkpoint: &Checkpoint) -> Checked {
    each_once(&checkpoint.workers, "workers", "workerId", |worker| worker.id.clone())?;
    each_once(&checkpoint.sessions, "sessions", "sessionId", |session| session.id.clone())?;
    each_once(&checkpoint.sessions, "sessions", "outputDirectory", |session| session.output.clone())?;
    each_once(&checkpoint.parts, "tasks", "taskId", |part| part.id.clone())?;
    each_once(&checkpoint.quarantine, "quarantine", "id", |entry| entry.id.clone())?;
    tasks_belong(checkpoint)?;
    frames_stand_once(checkpoint)?;
    only_the_fit_hold(checkpoint)?;
    fragments_are_those_of_completed_tasks(checkpoint)
}

/// Refuses the second of two rows with one key.
pub(super) fn each_once<T, K: Eq + Hash>(rows: &[T], list: &str, key: &str, of: impl Fn(&T) -> K) -> Checked {
    let mut seen = HashSet::new();
    match rows.iter().position(|row| !seen.insert(of(row))) {
        Some(index) => Err(refuse(list, index, key, "stands there twice")),
        None => Ok(()),
    }
}

fn tasks_belong(checkpoint: &Checkpoint) -> Checked {
    let sessions: HashMap<&SessionId, &SessionRecord> =
        checkpoint.sessions.iter().map(|session| (&session.id, session)).collect();
    for (index, part) in checkpoint.parts.iter().enumerate() {
        let refuse = |key: &str, detail: &str| Err(refuse("tasks", index, key, detail));
        let Some(session) = sessions.get(&part.id.session) else {
            return refuse("sessionId", "is no session of this checkpoint");
        };
        if part.range.end > session.total_frames {
            return refuse(
                "frameRange",
                &format!("must lie in the session's {} frames", session.total_frames),
            );
        }
        if part.cut.is_some() && part.range.len() > session.frames_per_task {
            return refuse("frameRange", &format!("must have at most {} frames", session.frames_per_task));
        }
        if !session.open && !is(part, &[FrameTaskStatus::Completed, FrameTaskStatus::Failed]) {
            return refuse("status", "must be completed or failed: its session has ended");
        }
    }
    Ok(())
}

/// Each frame stands in one task; in those of an open or completed session none is missing (S14).
fn frames_stand_once(checkpoint: &Checkpoint) -> Checked {
    let mut parts: HashMap<&SessionId, Vec<(usize, &Part)>> = HashMap::new();
    for (index, part) in checkpoint.parts.iter().enumerate() {
        parts.entry(&part.id.session).or_default().push((index, part));
    }
    for (index, session) in checkpoint.sessions.iter().enumerate() {
        let mut parts = parts.remove(&session.id).unwrap_or_default();
        parts.sort_unstable_by_key(|(_, part)| part.range.start);
        if let Some(pair) = parts.windows(2).find(|pair| pair[0].1.range.end > pair[1].1.range.start) {
            let detail = format!("overlaps with that of {}", pair[0].1.id);
            return Err(refuse("tasks", pair[1].0, "frameRange", &detail));
        }
        let frames: u64 = parts.iter().map(|(_, part)| part.range.len()).sum();
        if (session.open || session.status == SessionStatus::Completed) && frames != session.total_frames {
            let detail = format!("is {}, but its tasks have {frames} frames", session.total_frames);
            return Err(refuse("sessions", index, "totalFrames", &detail));
        }
        for (key, status, said) in [
            ("completedFrames", FrameTaskStatus::Completed, session.completed_frames),
            ("failedFrames", FrameTaskStatus::Failed, session.failed_frames),
        ] {
            let such = parts.iter().filter(|(_, part)| is(part, &[status]));
            let frames: u64 = such.map(|(_, part)| part.range.len()).sum();
            if frames != said {
                let detail = format!("is {said}, but its {} tasks have {frames}", status.as_str());
                return Err(refuse("sessions", index, key, &detail));
            }
        }
    }
    Ok(())
}

/// Who is lost, in quarantine, removed or unknown holds nothing (invariant 11).
fn only_the_fit_hold(checkpoint: &Checkpoint) -> Checked {
    let fit = checkpoint.workers.iter().filter(|worker| worker.state.may_work());
    let fit: HashSet<&Name> = fit.map(|worker| &worker.id).collect();
    let held = |part: &Part| is(part, &[FrameTaskStatus::Assigned, FrameTaskStatus::Running]);
    let stray = |part: &Part| held(part) && part.cut.as_ref().is_some_and(|task| !fit.contains(&task.worker));
    match checkpoint.parts.iter().position(stray) {
        Some(index) => Err(refuse("tasks", index, "workerId", "is no worker that may hold a task")),
        None => Ok(()),
    }
}

fn fragments_are_those_of_completed_tasks(checkpoint: &Checkpoint) -> Checked {
    let sessions: HashMap<&SessionId, &SessionRecord> =
        checkpoint.sessions.iter().map(|session| (&session.id, session)).collect();
    let tasks = checkpoint.parts.iter().filter_map(|part| part.cut.as_ref());
    let done = tasks.filter(|task| task.status == FrameTaskStatus::Completed);
    let paths = done.filter_map(|task| Some(fragment_path(sessions.get(&task.id.session)?, task)));
    let mut expected: HashSet<String> = paths.collect();
    if let Some(index) = checkpoint.fragments.iter().position(|path| !expected.remove(path)) {
        return Err(refuse("manifestFragments", index, "", "is of no completed task"));
    }
    match expected.into_iter().min() {
        Some(path) => Err(Problem::unprocessable(
            "checkpoint.distributed.manifestFragments",
            &format!("lacks {path}, of a completed task"),
        )),
        None => Ok(()),
    }
}

fn is(part: &Part, statuses: &[FrameTaskStatus]) -> bool {
    part.cut.as_ref().is_some_and(|task| statuses.contains(&task.status))
}
