//! One session as it stood at a moment, though life goes on while it is read.
//!
//! Each read sees one state, the next a later one. So what grants ids is read first, the ranges after it, and the ranges
//! have the last word about their ids: what is written down fits together and can be restored.

use super::gather::PAGE_ITEMS;
use muster_model::{
    ChunkRecord, ChunkState, FrameTaskRecord, FrameTaskStatus, Name, ReplayRecord, SessionId, SessionRecord,
};
use muster_store::{ChunkFilter, Reader, StoreError, pages};
use std::collections::{BTreeMap, HashSet};

/// A session with everything that is of it.
pub(super) struct Moment {
    pub(super) session: SessionRecord,
    /// The ranges that were cut, by first frame.
    pub(super) tasks: Vec<FrameTaskRecord>,
    /// By number.
    pub(super) chunks: Vec<ChunkRecord>,
    pub(super) replays: Vec<ReplayRecord>,
}

impl Moment {
    /// Reads a session; none where it is gone. `fit` are the workers that may hold a range.
    pub(super) fn read(
        reader: &dyn Reader,
        id: &SessionId,
        fit: &HashSet<Name>,
    ) -> Result<Option<Self>, StoreError> {
        loop {
            let Some(before) = reader.session(id)? else { return Ok(None) };
            let filter = ChunkFilter { state: None, session: Some(id.clone()) };
            let chunks = pages(PAGE_ITEMS, |page| reader.chunks(&filter, page)).all()?;
            let tasks = pages(PAGE_ITEMS, |page| reader.frame_tasks(id, page)).all()?;
            let replays = pages(PAGE_ITEMS, |page| reader.replays(id, page)).all()?;
            let Some(session) = reader.session(id)? else { return Ok(None) };
            // A session that has ended no longer changes: at most one more round follows.
            if session.status.is_ended() == before.status.is_ended() {
                return Ok(Some(Self { session, tasks, chunks, replays }.made_to_agree(fit)));
            }
        }
    }

    fn made_to_agree(mut self, fit: &HashSet<Name>) -> Self {
        self.tasks.iter_mut().filter(|task| is_held(task) && !fit.contains(&task.worker)).for_each(|task| {
            // Its worker came or went between two reads; whoever is not there holds nothing.
            task.status = FrameTaskStatus::Lost;
        });
        let frames = |status: FrameTaskStatus| {
            let tasks = self.tasks.iter().filter(|task| task.status == status);
            tasks.map(|task| task.end - task.id.start).sum()
        };
        self.session.completed_frames = frames(FrameTaskStatus::Completed);
        self.session.failed_frames = frames(FrameTaskStatus::Failed);
        let chunks = std::mem::take(&mut self.chunks);
        let mut chunks: BTreeMap<u64, ChunkRecord> =
            chunks.into_iter().map(|chunk| (chunk.ids.chunk, chunk)).collect();
        for task in &self.tasks {
            chunks.entry(task.ids.chunk).or_insert_with(|| chunk_of(task));
        }
        let tasks: BTreeMap<u64, &FrameTaskRecord> =
            self.tasks.iter().map(|task| (task.id.start, task)).collect();
        for chunk in chunks.values_mut() {
            settle(chunk, tasks.get(&chunk.task.start).copied());
        }
        self.replays
            .retain(|replay| chunks.contains_key(&replay.new) && chunks.contains_key(&replay.retired));
        self.chunks = chunks.into_values().collect();
        self
    }
}

/// Has the range say what became of ids that were granted for it: those of the attempt that holds or ended it share its
/// fate, all others are retired.
fn settle(chunk: &mut ChunkRecord, task: Option<&FrameTaskRecord>) {
    let last = task.filter(|task| task.attempt == chunk.attempt && chunk.state != ChunkState::Retired);
    let state = last.map_or(ChunkState::Retired, state_of_ids);
    if state == ChunkState::Retired && chunk.state != state {
        chunk.reason = task.and_then(|task| task.error.clone());
    }
    chunk.state = state;
}

/// The state of the ids of a range's last attempt. A range that the manifest skips keeps its fragment (S23b).
pub(super) fn state_of_ids(task: &FrameTaskRecord) -> ChunkState {
    match task.status {
        FrameTaskStatus::Assigned | FrameTaskStatus::Running => ChunkState::Live,
        FrameTaskStatus::Completed => ChunkState::Used,
        FrameTaskStatus::Failed if task.digest.is_some() => ChunkState::Used,
        FrameTaskStatus::Pending
        | FrameTaskStatus::Lost
        | FrameTaskStatus::Failed
        | FrameTaskStatus::Cancelled => ChunkState::Retired,
    }
}

/// Ids that were granted after those that were read.
fn chunk_of(task: &FrameTaskRecord) -> ChunkRecord {
    ChunkRecord {
        ids: task.ids,
        task: task.id.clone(),
        worker: task.worker.clone(),
        attempt: task.attempt,
        state: ChunkState::Live,
        reason: None,
        at: task.granted_at,
    }
}

fn is_held(task: &FrameTaskRecord) -> bool {
    matches!(task.status, FrameTaskStatus::Assigned | FrameTaskStatus::Running)
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_model::{Digest, FrameRange, IdRange, Timestamp};

    fn session() -> SessionRecord {
        SessionRecord {
            id: SessionId::new("s1").unwrap(),
            seq: 1,
            status: muster_model::SessionStatus::Running,
            total_frames: 100,
            frames_per_task: 10,
            strict: true,
            output: "session_s1".into(),
            digest: Digest(1),
            completed_frames: 99,
            failed_frames: 0,
            open: true,
            created_at: Timestamp(1),
            ended_at: None,
            error: None,
            body: None,
        }
    }

    fn task(start: u64, status: FrameTaskStatus, attempt: u16, chunk: u64) -> FrameTaskRecord {
        FrameTaskRecord {
            id: muster_model::FrameTaskId { session: SessionId::new("s1").unwrap(), start },
            end: start + 10,
            status,
            attempt,
            failures: 0,
            losses: 0,
            losers: Vec::new(),
            worker: Name::new("w1").unwrap(),
            ids: IdRange { chunk, start: chunk * 1000, end: chunk * 1000 + 1000 },
            created_at: Timestamp(1),
            granted_at: Timestamp(2),
            confirmed_at: None,
            ended_at: None,
            dropped: 0,
            digest: None,
            error: None,
            result: None,
        }
    }

    fn chunk(number: u64, of: &FrameTaskRecord, attempt: u16, state: ChunkState) -> ChunkRecord {
        let ids = IdRange { chunk: number, start: number * 1000, end: number * 1000 + 1000 };
        ChunkRecord { ids, attempt, state, ..chunk_of(of) }
    }

    fn states(moment: &Moment) -> Vec<(u64, ChunkState)> {
        moment.chunks.iter().map(|chunk| (chunk.ids.chunk, chunk.state)).collect()
    }

    /// S20: ids that were read before their range changed are what the range made of them.
    #[test]
    fn ranges_have_the_last_word() {
        use ChunkState::{Live, Retired, Used};
        let given_again = task(0, FrameTaskStatus::Running, 2, 9);
        let done = task(10, FrameTaskStatus::Completed, 1, 2);
        let reopened = task(20, FrameTaskStatus::Pending, 1, 3);
        let chunks = vec![
            chunk(1, &given_again, 1, Live),
            chunk(2, &done, 1, Live),
            chunk(3, &reopened, 1, Used),
            chunk(4, &done, 1, Live),
        ];
        let range = FrameRange { start: 0, end: 10 };
        let replay =
            |retired, new| ReplayRecord { session: session().id, range, retired, new, at: Timestamp(1) };
        let tasks = vec![given_again, done, reopened];
        let moment = Moment { session: session(), tasks, chunks, replays: vec![replay(1, 9), replay(9, 12)] };
        let moment = moment.made_to_agree(&HashSet::from([Name::new("w1").unwrap()]));
        assert_eq!(states(&moment), [(1, Retired), (2, Used), (3, Retired), (4, Used), (9, Live)]);
        assert_eq!(moment.replays, [replay(1, 9)]);
        assert_eq!(moment.session.completed_frames, 10);
    }

    /// S20: a worker that is not there, or may not work, holds nothing.
    #[test]
    fn who_is_gone_holds_nothing() {
        let held = task(0, FrameTaskStatus::Assigned, 1, 1);
        let chunks = vec![chunk(1, &held, 1, ChunkState::Live)];
        let moment = Moment { session: session(), tasks: vec![held], chunks, replays: Vec::new() };
        let moment = moment.made_to_agree(&HashSet::new());
        assert_eq!(states(&moment), [(1, ChunkState::Retired)]);
        assert_eq!(moment.tasks[0].status, FrameTaskStatus::Lost);
    }
}
