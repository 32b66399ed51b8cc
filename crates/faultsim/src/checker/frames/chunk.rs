//! S12, S13, S16, S19, invariants 7 and 11: ids are granted once, in order, to whom may work; what replaces them is
//! recorded.

use super::{
    FrameBook, Verdict, broken, ensure,
    rows::{Before, Chunk},
};
use muster_model::{ChunkRecord, ChunkState, EntryId, FrameTaskId, Rebind, RendererState};
use std::collections::{BTreeMap, BTreeSet};

/// Ids that were granted so far, over all lives.
pub(super) struct Ids {
    next_chunk: u64,
    next_id: u64,
    /// The first ids of the last attempt at each task.
    last: BTreeMap<FrameTaskId, u64>,
    /// Number of failures of each range, and number of times it lost its worker (S8, S26b).
    pub(super) failures: BTreeMap<FrameTaskId, u16>,
    pub(super) losses: BTreeMap<FrameTaskId, u16>,
    /// Number of the failures that were skips by a manifest (S23b).
    pub(super) skips: BTreeMap<FrameTaskId, u16>,
    /// The ranges that the second half of a range was cut from (S26b).
    ancestors: BTreeMap<FrameTaskId, BTreeSet<FrameTaskId>>,
}

impl Default for Ids {
    fn default() -> Self {
        Self {
            next_chunk: 1,
            next_id: 1,
            last: BTreeMap::new(),
            failures: BTreeMap::new(),
            losses: BTreeMap::new(),
            skips: BTreeMap::new(),
            ancestors: BTreeMap::new(),
        }
    }
}

impl Ids {
    /// True if ids that were granted for one range may be the last ones of another: it was cut from that one.
    pub(super) fn are_of(&self, granted_for: &FrameTaskId, range: &FrameTaskId) -> bool {
        let is_ancestor = self.ancestors.get(range).is_some_and(|ranges| ranges.contains(granted_for));
        granted_for == range || is_ancestor
    }

    /// A range was halved at a frame: both halves begin with all their attempts.
    pub(super) fn split(&mut self, task: &FrameTaskId, middle: u64) {
        let half = FrameTaskId { start: middle, ..task.clone() };
        let mut ancestors = self.ancestors.get(task).cloned().unwrap_or_default();
        ancestors.insert(task.clone());
        if let Some(last) = self.last.get(task).copied() {
            self.last.insert(half.clone(), last);
        }
        self.ancestors.insert(half, ancestors);
        self.begin_anew(task);
    }

    /// A range has all its attempts again.
    pub(super) fn begin_anew(&mut self, task: &FrameTaskId) {
        self.failures.remove(task);
        self.losses.remove(task);
        self.skips.remove(task);
    }
}

impl FrameBook {
    pub(super) fn write_chunk(&mut self, record: &ChunkRecord, before: &mut Before) -> Verdict {
        match record.state {
            ChunkState::Live => self.grant(record, before),
            ChunkState::Used => self.use_up(record, before),
            ChunkState::Retired => self.retire(record, before),
        }
    }

    /// Checks the state after a batch: the allocator, the replays, the entries of the quarantine.
    pub(super) fn check_ids(&self, before: &Before) -> Verdict {
        let farm = self.rows.farm;
        let kept = farm.next_id >= self.ids.next_id && farm.next_chunk >= self.ids.next_chunk;
        ensure(kept, "allocator_not_durable", || {
            format!("{farm:?}, though ids up to {} were granted", self.ids.next_id)
        })?;
        for number in &before.granted {
            self.check_replay(*number)?;
        }
        for number in &before.replays {
            let known = self.rows.chunks.get(number).is_some_and(|chunk| chunk.is_first);
            ensure(known, "replay_of_nothing", || format!("{:?}", self.rows.replays[number]))?;
        }
        for number in &before.changed {
            let is_retired = self.rows.chunks[number].record.state == ChunkState::Retired;
            let is_apart = self.rows.quarantine.contains_key(&EntryId::Chunk(*number));
            ensure(!is_retired || is_apart, "retired_not_set_apart", || format!("chunk {number}"))?;
        }
        for entry in &before.entries {
            let EntryId::Chunk(number) = entry else { continue };
            let state = self.rows.chunks.get(number).map(|chunk| chunk.record.state);
            ensure(state == Some(ChunkState::Retired), "good_files_set_apart", || {
                format!("{entry} though it is {state:?}")
            })?;
        }
        Ok(())
    }

    fn grant(&mut self, record: &ChunkRecord, before: &mut Before) -> Verdict {
        self.check_new_ids(record)?;
        let state = self.state(&record.worker);
        ensure(state.may_work(), "grant_to_unfit", || format!("{record:?} to one that is {state:?}"))?;
        let live = self.rows.live.get(&record.task).into_iter().flatten();
        let live: Vec<&ChunkRecord> =
            live.filter_map(|number| self.rows.chunks.get(number)).map(|chunk| &chunk.record).collect();
        let is_first = live.is_empty();
        if is_first {
            self.check_heard(record)?;
            self.check_attempt(record)?;
            self.seen.count(if record.attempt > 1 { "range given out anew" } else { "range given out" });
            self.ids.last.insert(record.task.clone(), record.ids.chunk);
            self.stops.remove(&(record.worker.clone(), record.task.clone()));
        } else {
            self.seen.count("further ids granted");
            let same = |old: &&ChunkRecord| old.attempt == record.attempt && old.worker == record.worker;
            let other = live.iter().find(|old| !same(old));
            ensure(other.is_none(), "chunk_not_retired", || format!("{record:?} beside {other:?}"))?;
        }
        self.news.insert(record.task.clone(), record.at);
        before.granted.push(record.ids.chunk);
        let (record, life) = (record.clone(), self.life);
        self.rows.add_chunk(Chunk { record, life, is_first, state });
        Ok(())
    }

    /// S8: a worker that only registered gets no work before its first good heartbeat.
    fn check_heard(&self, record: &ChunkRecord) -> Verdict {
        let said = self.said.get(&record.worker).map_or(&[][..], Vec::as_slice);
        let until = said.iter().rev().skip_while(|said| said.at > record.at);
        // It may have registered again in the same millisecond, after the grant.
        let is_heard = until.take_while(|said| said.is_beat || said.at == record.at).any(|said| said.is_fine);
        let is_new = self.state(&record.worker) == RendererState::Registered;
        // A decision of an earlier life may have become durable only now.
        let is_older = record.at < self.up_since;
        ensure(is_heard || !is_new || is_older, "grant_to_unheard", || format!("{record:?} after {said:?}"))
    }

    /// 7: new ids begin where the last ended, and end at a multiple of the chunk size.
    fn check_new_ids(&mut self, record: &ChunkRecord) -> Verdict {
        let ids = record.ids;
        let is_new = ids.chunk >= self.ids.next_chunk && ids.start >= self.ids.next_id;
        ensure(is_new && !self.rows.chunks.contains_key(&ids.chunk), "ids_granted_twice", || {
            format!("{record:?}, though {} and below were granted", self.ids.next_id)
        })?;
        let follows = (ids.chunk, ids.start) == (self.ids.next_chunk, self.ids.next_id);
        let fits = ids.end > ids.start && ids.end.is_multiple_of(self.settings.chunk_size);
        ensure(follows && fits, "ids_not_contiguous", || {
            format!("{record:?} after chunk {} up to {}", self.ids.next_chunk - 1, self.ids.next_id)
        })?;
        (self.ids.next_chunk, self.ids.next_id) = (ids.chunk + 1, ids.end);
        Ok(())
    }

    /// Attempts count up by one, and all ids of the one before are retired (S13).
    fn check_attempt(&self, record: &ChunkRecord) -> Verdict {
        let last = self.ids.last.get(&record.task).map(|number| &self.rows.chunks[number].record);
        let attempt = last.map_or(0, |last| last.attempt) + 1;
        ensure(record.attempt == attempt, "attempt_not_the_next", || format!("{record:?} after {last:?}"))?;
        let kept = last.filter(|last| last.state != ChunkState::Retired);
        ensure(kept.is_none(), "chunk_not_retired", || format!("{record:?} replaces {kept:?}"))
    }

    /// S16: what replaces what is written down.
    fn check_replay(&self, number: u64) -> Verdict {
        let chunk = &self.rows.chunks[&number];
        let record = &chunk.record;
        let replay = self.rows.replays.get(&number);
        if !chunk.is_first || record.attempt == 1 {
            return ensure(replay.is_none(), "replay_of_nothing", || format!("{replay:?} of {record:?}"));
        }
        let old = replay.and_then(|replay| self.rows.chunks.get(&replay.retired));
        let row = self.rows.tasks.get(&record.task);
        let right = replay.zip(old).zip(row).is_some_and(|((replay, old), row)| {
            // The range may have been halved since.
            self.ids.are_of(&old.record.task, &record.task)
                && old.is_first
                && old.record.attempt + 1 == record.attempt
                && replay.range.start == row.id.start
                && replay.range.end >= row.end
        });
        ensure(right, "replay_not_recorded", || format!("{record:?} with {replay:?} of {row:?}"))
    }

    fn use_up(&mut self, record: &ChunkRecord, before: &mut Before) -> Verdict {
        self.check_known(record, &[ChunkState::Live])?;
        let state = self.state(&record.worker);
        ensure(state.may_work(), "result_of_unfit_taken", || format!("{record:?} of one that is {state:?}"))?;
        let chunk = &self.rows.chunks[&record.ids.chunk];
        let is_old = chunk.is_first && chunk.life < self.life;
        let in_time = self.may_come_back(record.at)
            || self.rebound.contains(&(record.task.clone(), record.attempt, record.ids.chunk));
        let is_kept = self.settings.rebind == Rebind::Resume && in_time;
        ensure(!is_old || is_kept, "result_of_an_older_term_taken", || format!("{record:?}"))?;
        if is_old {
            self.seen.count("range kept across terms");
        }
        self.news.remove(&record.task);
        before.changed.insert(record.ids.chunk);
        self.rows.end_chunk(record);
        Ok(())
    }

    fn retire(&mut self, record: &ChunkRecord, before: &mut Before) -> Verdict {
        self.check_known(record, &[ChunkState::Live, ChunkState::Used])?;
        let chunk = &self.rows.chunks[&record.ids.chunk];
        let was_live = chunk.record.state == ChunkState::Live;
        let reason = record.reason.as_deref().unwrap_or_default();
        if chunk.is_first && was_live {
            self.seen.count(word(reason));
            if FAILED.contains(&reason) {
                *self.ids.failures.entry(record.task.clone()).or_default() += 1;
            }
            if LOST.contains(&reason) {
                *self.ids.losses.entry(record.task.clone()).or_default() += 1;
            }
            if STOPPED.contains(&reason) {
                self.stops.insert((record.worker.clone(), record.task.clone()), record.at);
            }
        }
        self.news.remove(&record.task);
        before.changed.insert(record.ids.chunk);
        self.rows.end_chunk(record);
        Ok(())
    }

    /// Ids stay what they were granted as, and go forward only: live, used, retired.
    fn check_known(&self, record: &ChunkRecord, from: &[ChunkState]) -> Verdict {
        let Some(chunk) = self.rows.chunks.get(&record.ids.chunk) else {
            return broken("ids_from_nowhere", || format!("{record:?}"));
        };
        let old = &chunk.record;
        let same = (old.ids, &old.task, &old.worker, old.attempt)
            == (record.ids, &record.task, &record.worker, record.attempt);
        ensure(same && from.contains(&old.state), "ids_change", || format!("{old:?} became {record:?}"))
    }
}

fn word(reason: &str) -> &'static str {
    match reason {
        "worker_lost" => "range lost with its worker",
        "failed" => "range failed",
        "stalled" => "range stalled",
        "frames_dropped" => "range with dropped frames",
        "unreachable" => "range could not be pushed",
        "replaced" => "range of an earlier incarnation",
        "given_back" => "range given back",
        "session_ended" => "range ended with its session",
        "new_term" => "range of an earlier term",
        _ => "range retired",
    }
}

/// Ends by which a range failed (S26b), and by which it lost its worker (S8).
pub(super) const FAILED: [&str; 3] = ["failed", "stalled", "frames_dropped"];
const LOST: [&str; 2] = ["worker_lost", "replaced"];
/// Ends of which a worker that lives must be told (S2).
const STOPPED: [&str; 7] =
    ["worker_lost", "stalled", "frames_dropped", "given_back", "retired", "session_ended", "new_term"];
