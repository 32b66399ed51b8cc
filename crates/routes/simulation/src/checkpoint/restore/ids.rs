//! Whether granted ids fit together and fit those who hold them (S12, S13).

use super::{
    agree::each_once,
    content::{Checkpoint, refuse},
};
use crate::checkpoint::moment::state_of_ids;
use muster_http::Problem;
use muster_model::{
    ChunkRecord, ChunkState, EntryId, FrameTaskId, FrameTaskRecord, SessionId, SessionRecord,
};
use std::collections::{BTreeSet, HashMap};

type Checked = Result<(), Problem>;

/// Checks all ids.
pub(super) fn check(checkpoint: &Checkpoint) -> Checked {
    each_once(&checkpoint.chunks, "chunks", "chunkId", |chunk| chunk.ids.chunk)?;
    each_once(&checkpoint.replays, "replays", "newChunkId", |replay| replay.new)?;
    let known = Known::of(checkpoint);
    none_overlap(checkpoint)?;
    checkpoint.chunks.iter().enumerate().try_for_each(|(index, chunk)| known.chunk_fits(index, chunk))?;
    let parts = checkpoint.parts.iter().enumerate();
    let mut tasks = parts.filter_map(|(index, part)| Some((index, part.cut.as_ref()?)));
    tasks.try_for_each(|(index, task)| known.task_fits(index, task))?;
    known.replays_fit(checkpoint)?;
    known.quarantine_fits(checkpoint)?;
    retired_are_listed(checkpoint)
}

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

/// What is found by name.
struct Known<'a> {
    sessions: HashMap<&'a SessionId, &'a SessionRecord>,
    tasks: HashMap<&'a FrameTaskId, &'a FrameTaskRecord>,
    chunks: HashMap<u64, &'a ChunkRecord>,
}

impl<'a> Known<'a> {
    fn of(checkpoint: &'a Checkpoint) -> Self {
        let tasks = checkpoint.parts.iter().filter_map(|part| part.cut.as_ref());
        Self {
            sessions: checkpoint.sessions.iter().map(|session| (&session.id, session)).collect(),
            tasks: tasks.map(|task| (&task.id, task)).collect(),
            chunks: checkpoint.chunks.iter().map(|chunk| (chunk.ids.chunk, chunk)).collect(),
        }
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

    /// What is set apart is of ids that nobody uses; their session may be gone.
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

/// Whether ids were granted for a range that a task may have been a part of.
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
