//! Checks that workers, sessions, their frames, granted ids and what is set apart fit together (S12, S13).

use super::{Checkpoint, read::Part, refuse};
use crate::checkpoint::{gather::fragment_path, moment::state_of_ids};
use muster_http::Problem;
use muster_model::{
    ChunkRecord, ChunkState, EntryId, FrameTaskId, FrameTaskRecord, FrameTaskStatus, Name, SessionId,
    SessionRecord, SessionStatus,
};
use std::{
    collections::{BTreeSet, HashMap, HashSet},
    hash::Hash,
};

/// Checks that all rows fit together.
pub(super) fn check(checkpoint: &Checkpoint) -> Checked {
    each_once(&checkpoint.workers, "workers", "workerId", |worker| worker.id.clone())?;
    each_once(&checkpoint.sessions, "sessions", "sessionId", |session| session.id.clone())?;
    each_once(&checkpoint.sessions, "sessions", "outputDirectory", |session| session.output.clone())?;
    each_once(&checkpoint.parts, "tasks", "taskId", |part| part.id.clone())?;
    each_once(&checkpoint.quarantine, "quarantine", "id", |entry| entry.id.clone())?;
    let index = Index::of(checkpoint);
    index.tasks_belong(checkpoint)?;
    frames_stand_once(checkpoint)?;
    only_the_fit_hold(checkpoint)?;
    index.fragments_are_those_of_completed_tasks(checkpoint)?;
    index.check_ids(checkpoint)
}

/// Refuses the second of two rows with one key.
fn each_once<T, K: Eq + Hash>(rows: &[T], list: &str, key: &str, of: impl Fn(&T) -> K) -> Checked {
    let mut seen = HashSet::new();
    match rows.iter().position(|row| !seen.insert(of(row))) {
        Some(index) => Err(refuse(list, index, key, "stands there twice")),
        None => Ok(()),
    }
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

/// Checks that a worker which is lost, in quarantine, removed or unknown holds nothing (invariant 11).
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

fn is(part: &Part, statuses: &[FrameTaskStatus]) -> bool {
    part.cut.as_ref().is_some_and(|task| statuses.contains(&task.status))
}

type Checked = Result<(), Problem>;

/// Ids grow with the number of their grant, never overlap, and lie below what will be granted next.
fn none_overlap(checkpoint: &Checkpoint) -> Checked {
    let mut chunks: Vec<(usize, &ChunkRecord)> = checkpoint.chunks.iter().enumerate().collect();
    chunks.sort_unstable_by_key(|(_, chunk)| chunk.ids.chunk);
    let beyond = |chunk: &ChunkRecord| chunk.ids.end > checkpoint.farm.next_id;
    if let Some((index, _)) = chunks.iter().find(|(_, chunk)| beyond(chunk)) {
        let detail = format!("must lie below nextRangeStart, which is {}", checkpoint.farm.next_id);
        return Err(refuse("chunks", *index, "range", &detail));
    }
    let late = |chunk: &ChunkRecord| chunk.ids.chunk >= checkpoint.farm.next_chunk;
    if let Some((index, _)) = chunks.iter().find(|(_, chunk)| late(chunk)) {
        let detail = format!("must be below nextChunkId, which is {}", checkpoint.farm.next_chunk);
        return Err(refuse("chunks", *index, "chunkId", &detail));
    }
    match chunks.windows(2).find(|pair| pair[0].1.ids.end > pair[1].1.ids.start) {
        Some(pair) => {
            let detail = format!("must begin after that of chunk {}", pair[0].1.ids.chunk);
            Err(refuse("chunks", pair[1].0, "range", &detail))
        }
        None => Ok(()),
    }
}

/// The rows by their names.
struct Index<'a> {
    sessions: HashMap<&'a SessionId, &'a SessionRecord>,
    tasks: HashMap<&'a FrameTaskId, &'a FrameTaskRecord>,
    chunks: HashMap<u64, &'a ChunkRecord>,
}

impl<'a> Index<'a> {
    fn of(checkpoint: &'a Checkpoint) -> Self {
        let tasks = checkpoint.parts.iter().filter_map(|part| part.cut.as_ref());
        Self {
            sessions: checkpoint.sessions.iter().map(|session| (&session.id, session)).collect(),
            tasks: tasks.map(|task| (&task.id, task)).collect(),
            chunks: checkpoint.chunks.iter().map(|chunk| (chunk.ids.chunk, chunk)).collect(),
        }
    }

    fn tasks_belong(&self, checkpoint: &Checkpoint) -> Checked {
        for (index, part) in checkpoint.parts.iter().enumerate() {
            let refuse = |key: &str, detail: &str| Err(refuse("tasks", index, key, detail));
            let Some(session) = self.sessions.get(&part.id.session) else {
                return refuse("sessionId", "is no session of this checkpoint");
            };
            if part.range.end > session.total_frames {
                return refuse(
                    "frameRange",
                    &format!("must lie in the session's {} frames", session.total_frames),
                );
            }
            if part.cut.is_some() && part.range.len() > session.frames_per_task {
                return refuse(
                    "frameRange",
                    &format!("must have at most {} frames", session.frames_per_task),
                );
            }
            if !session.open && !is(part, &[FrameTaskStatus::Completed, FrameTaskStatus::Failed]) {
                return refuse("status", "must be completed or failed: its session has ended");
            }
        }
        Ok(())
    }

    fn fragments_are_those_of_completed_tasks(&self, checkpoint: &Checkpoint) -> Checked {
        let done = self.tasks.values().filter(|task| task.status == FrameTaskStatus::Completed);
        let paths = done.filter_map(|task| Some(fragment_path(self.sessions.get(&task.id.session)?, task)));
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

    /// Checks all ids.
    fn check_ids(&self, checkpoint: &Checkpoint) -> Checked {
        each_once(&checkpoint.chunks, "chunks", "chunkId", |chunk| chunk.ids.chunk)?;
        each_once(&checkpoint.replays, "replays", "newChunkId", |replay| replay.new)?;
        none_overlap(checkpoint)?;
        checkpoint.chunks.iter().enumerate().try_for_each(|(index, chunk)| self.chunk_fits(index, chunk))?;
        let parts = checkpoint.parts.iter().enumerate();
        let mut tasks = parts.filter_map(|(index, part)| Some((index, part.cut.as_ref()?)));
        tasks.try_for_each(|(index, task)| self.task_fits(index, task))?;
        self.replays_fit(checkpoint)?;
        self.quarantine_fits(checkpoint)?;
        retired_are_listed(checkpoint)
    }

    /// Ids that are not retired are those of the attempt that holds or completed their task.
    fn chunk_fits(&self, index: usize, chunk: &ChunkRecord) -> Checked {
        let refuse = |key: &str, detail: &str| Err(refuse("chunks", index, key, detail));
        let Some(session) = self.sessions.get(&chunk.task.session) else {
            return refuse("taskId", "is of no session of this checkpoint");
        };
        let Some(task) = self.tasks.get(&chunk.task) else {
            return match (session.open, chunk.state) {
                (true, _) => refuse("taskId", "is no task of this checkpoint that was given out"),
                // Tasks that ended with their session are not told.
                (false, ChunkState::Retired) => Ok(()),
                (false, _) => refuse("state", "must be retired: its task ended with its session"),
            };
        };
        if chunk.attempt > task.attempt {
            return refuse("attempt", &format!("must be at most {}, as its task says", task.attempt));
        }
        let current = chunk.attempt == task.attempt && chunk.worker == task.worker;
        match (chunk.state, state_of_ids(task)) {
            (ChunkState::Retired, _) => Ok(()),
            (state, expected) if state == expected && current => Ok(()),
            (state, _) => {
                let detail = format!("must not be {}: its task does not use it so", state.as_str());
                refuse("state", &detail)
            }
        }
    }

    /// A task's own ids were granted to its worker for its attempt, and are in the state that goes with it. The later half
    /// of a range names the ids of the range it was part of, until it is given out (S26b).
    fn task_fits(&self, index: usize, task: &FrameTaskRecord) -> Checked {
        let refuse = |detail: &str| Err(refuse("tasks", index, "globalIdChunk", detail));
        let Some(chunk) = self.chunks.get(&task.ids.chunk) else {
            return refuse("is not among the chunks");
        };
        let expected = state_of_ids(task);
        let is_of_task =
            chunk.task == task.id || expected == ChunkState::Retired && is_of_whole(chunk, &task.id);
        let same = (chunk.ids, chunk.attempt, &chunk.worker) == (task.ids, task.attempt, &task.worker);
        if !(is_of_task && same) {
            return refuse("is not as the chunks tell it: range, task, attempt and worker must be the same");
        }
        if chunk.state != expected {
            let (is, must) = (chunk.state.as_str(), expected.as_str());
            return refuse(&format!(
                "is {is}, but that of a task that is {} is {must}",
                task.status.as_str()
            ));
        }
        Ok(())
    }

    fn replays_fit(&self, checkpoint: &Checkpoint) -> Checked {
        for (index, replay) in checkpoint.replays.iter().enumerate() {
            let refuse = |key: &str, detail: &str| Err(refuse("replays", index, key, detail));
            let task = FrameTaskId { session: replay.session.clone(), start: replay.range.start };
            let chunk = |number: u64| self.chunks.get(&number);
            // A task may have been halved since (S26b).
            if self.tasks.get(&task).is_some_and(|task| task.end > replay.range.end) {
                return refuse("frameRange", "must hold its task");
            }
            let is_retired = |chunk: &ChunkRecord| chunk.state == ChunkState::Retired;
            let was_its = |chunk: &ChunkRecord| chunk.task == task || is_of_whole(chunk, &task);
            if !chunk(replay.retired).is_some_and(|chunk| is_retired(chunk) && was_its(chunk)) {
                return refuse("retiredChunkId", "must be a retired chunk of its task");
            }
            if replay.new <= replay.retired || chunk(replay.new).is_none_or(|chunk| chunk.task != task) {
                return refuse("newChunkId", "must be a later chunk of its task");
            }
        }
        Ok(())
    }

    /// Checks that entries of the quarantine are of ids that nobody uses; their session may be gone.
    fn quarantine_fits(&self, checkpoint: &Checkpoint) -> Checked {
        for (index, entry) in checkpoint.quarantine.iter().enumerate() {
            let EntryId::Chunk(number) = entry.id else { continue };
            let in_use = self.chunks.get(&number).is_some_and(|chunk| chunk.state != ChunkState::Retired);
            if in_use || number == 0 || number >= checkpoint.farm.next_chunk {
                return Err(refuse("quarantine", index, "id", "must be of a chunk that is retired"));
            }
        }
        Ok(())
    }
}

/// Returns true if ids were granted for a range that a task may have been a part of.
fn is_of_whole(chunk: &ChunkRecord, task: &FrameTaskId) -> bool {
    chunk.task.session == task.session && chunk.task.start < task.start
}

fn retired_are_listed(checkpoint: &Checkpoint) -> Checked {
    let retired = checkpoint.chunks.iter().filter(|chunk| chunk.state == ChunkState::Retired);
    let retired: BTreeSet<u64> = retired.map(|chunk| chunk.ids.chunk).collect();
    let listed: BTreeSet<u64> = checkpoint.retired.iter().copied().collect();
    match retired.symmetric_difference(&listed).next() {
        Some(chunk) => Err(Problem::unprocessable(
            "checkpoint.distributed.globalIdAllocator.retiredChunks",
            &format!("must be the chunks that are retired; it is not for chunk {chunk}"),
        )),
        None => Ok(()),
    }
}
