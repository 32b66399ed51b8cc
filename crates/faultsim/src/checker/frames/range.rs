//! S5, S13, S14, S26, invariants 8 and 9: ranges stay what they were cut as, and what was accepted stays accepted.

use super::{
    FrameBook, Verdict, ensure,
    rows::{Before, Chunk, is_held},
};
use crate::scene::Scene;
use muster_model::{ChunkState, FrameTaskId, FrameTaskRecord, FrameTaskStatus, RendererState, SessionStatus};
use std::collections::BTreeMap;

impl FrameBook {
    pub(super) fn check_ranges(&self, before: &Before, scene: &mut Scene) -> Verdict {
        for (id, old) in &before.tasks {
            let row = &self.rows.tasks[id];
            self.check_cut(row, old.as_ref())?;
            self.check_status(row)?;
            if let Some(old) = old.as_ref().filter(|old| old.status == FrameTaskStatus::Completed) {
                self.check_accepted(row, old)?;
            }
            if row.status == FrameTaskStatus::Completed {
                scene.count("range completed");
            }
        }
        for number in &before.changed {
            let row = self.rows.tasks.get(&self.rows.chunks[number].record.task);
            row.map_or(Ok(()), |row| self.check_status(row))?;
        }
        for number in &before.granted {
            self.check_given_out(*number, before)?;
        }
        Ok(())
    }

    /// Ranges of one session never overlap, never change unless they are halved, and are no longer than they may be.
    fn check_cut(&self, row: &FrameTaskRecord, old: Option<&FrameTaskRecord>) -> Verdict {
        let session = self.rows.sessions.get(&row.id.session);
        let fits = session.is_some_and(|session| {
            row.id.start < row.end
                && row.end <= session.total_frames
                && row.end - row.id.start <= session.frames_per_task
        });
        ensure(fits, "range_does_not_fit", || format!("{row:?} of {session:?}"))?;
        let rest = FrameTaskId { start: row.end, ..row.id.clone() };
        let is_halved = |old: &FrameTaskRecord| {
            row.end < old.end && self.ids.are_of(&row.id, &rest) && self.rows.tasks.contains_key(&rest)
        };
        let same = old.is_none_or(|old| (old.end == row.end || is_halved(old)) && old.attempt <= row.attempt);
        ensure(same, "range_changes", || format!("{old:?} became {row:?}"))?;
        let next = FrameTaskId { start: row.id.start + 1, ..row.id.clone() };
        let next = self.rows.tasks.range(next..).next().filter(|(id, _)| id.session == row.id.session);
        let last = self.rows.tasks.range(..row.id.clone()).next_back();
        let last = last.filter(|(id, _)| id.session == row.id.session);
        let overlaps = next.is_some_and(|(id, _)| id.start < row.end)
            || last.is_some_and(|(_, last)| last.end > row.id.start);
        ensure(!overlaps, "ranges_overlap", || format!("{row:?} between {last:?} and {next:?}"))
    }

    /// A row and the ids of its last attempt tell the same.
    fn check_status(&self, row: &FrameTaskRecord) -> Verdict {
        let chunk = self.rows.chunks.get(&row.ids.chunk).filter(|chunk| chunk.is_first);
        let record = chunk.map(|chunk| &chunk.record);
        let same = record.is_some_and(|record| {
            let is_its =
                record.task == row.id || (!is_held(row.status) && self.ids.are_of(&record.task, &row.id));
            is_its && (record.ids, &record.worker, record.attempt) == (row.ids, &row.worker, row.attempt)
        });
        let state = match row.status {
            FrameTaskStatus::Assigned | FrameTaskStatus::Running => ChunkState::Live,
            FrameTaskStatus::Completed => ChunkState::Used,
            // Its fragment is there, and left out of the manifest (S23b).
            FrameTaskStatus::Failed if row.digest.is_some() => ChunkState::Used,
            FrameTaskStatus::Pending
            | FrameTaskStatus::Lost
            | FrameTaskStatus::Failed
            | FrameTaskStatus::Cancelled => ChunkState::Retired,
        };
        ensure(same && record.is_some_and(|record| record.state == state), "row_unlike_its_ids", || {
            format!("{row:?} with {record:?}")
        })?;
        let count = |counts: &BTreeMap<FrameTaskId, u16>| counts.get(&row.id).copied().unwrap_or(0);
        let (failures, losses) = (count(&self.ids.failures), count(&self.ids.losses));
        ensure((row.failures, row.losses) == (failures, losses), "failures_miscounted", || {
            format!("{row:?} failed {failures} times and lost its worker {losses} times")
        })?;
        self.check_attempts_left(row)?;
        let live = self.rows.live.get(&row.id);
        ensure(is_held(row.status) || live.is_none(), "chunk_not_retired", || {
            format!("{row:?} with live ids {live:?}")
        })?;
        self.check_dropped(row)
    }

    /// S26b: a range that failed or was lost too often does not wait any longer: it is halved, or, a single frame, given up.
    /// Nothing else is.
    fn check_attempts_left(&self, row: &FrameTaskRecord) -> Verdict {
        let is_single = row.end - row.id.start == 1;
        let failures_max = if is_single { self.settings.max_attempts } else { self.settings.split_after };
        let is_used_up = |failures| failures >= failures_max || row.losses >= self.settings.max_attempts;
        let waits = matches!(row.status, FrameTaskStatus::Pending | FrameTaskStatus::Lost);
        // A skip by the manifest counts, but does not halve a range (S23b).
        let skips = self.ids.skips.get(&row.id).copied().unwrap_or(0);
        ensure(!waits || !is_used_up(row.failures - skips), "poison_forgiven", || format!("{row:?}"))?;
        match (row.status, row.digest) {
            (FrameTaskStatus::Failed, None) => {
                ensure(is_single && is_used_up(row.failures), "given_up_too_much", || format!("{row:?}"))
            }
            (FrameTaskStatus::Failed, Some(_)) => {
                ensure(row.failures >= self.settings.max_attempts, "skipped_too_early", || format!("{row:?}"))
            }
            _ => Ok(()),
        }
    }

    /// S26: a strict session takes no dropped frames, whoever told of them.
    fn check_dropped(&self, row: &FrameTaskRecord) -> Verdict {
        if row.status != FrameTaskStatus::Completed {
            return Ok(());
        }
        let told = self.dropped.get(&(row.id.clone(), row.attempt)).copied().unwrap_or(0);
        let strict = self.rows.sessions[&row.id.session].strict;
        ensure(!strict || row.dropped.max(told) == 0, "dropped_frames_taken", || {
            format!("{row:?}, {told} were told")
        })?;
        ensure(row.dropped >= told, "drops_forgotten", || format!("{row:?}, {told} were told"))
    }

    /// 9: what was accepted stays, unless an operator retires its ids (S17) — and nothing else is accepted for it.
    fn check_accepted(&self, row: &FrameTaskRecord, old: &FrameTaskRecord) -> Verdict {
        let state = self.rows.chunks.get(&old.ids.chunk).map(|chunk| chunk.record.state);
        let kept = matches!(row.status, FrameTaskStatus::Completed | FrameTaskStatus::Failed)
            && (row.digest, row.attempt, &row.worker) == (old.digest, old.attempt, &old.worker);
        ensure(kept || state == Some(ChunkState::Retired), "accepted_result_lost", || {
            format!("{old:?} became {row:?}")
        })
    }

    /// S6, S26: nothing is given out while everything, or its session, is paused or over.
    fn check_given_out(&self, number: u64, before: &Before) -> Verdict {
        let chunk = &self.rows.chunks[&number];
        if !chunk.is_first {
            return Ok(());
        }
        let record = &chunk.record;
        self.check_load(chunk)?;
        let was_paused = before.farm.is_none_or(|farm| farm.paused);
        let paused = self.rows.farm.paused && was_paused && !self.steered.all;
        ensure(!paused, "grant_while_paused", || format!("{record:?}"))?;
        let id = &record.task.session;
        let status = |row: Option<&muster_model::SessionRecord>| row.map(|row| row.status);
        let now = status(self.rows.sessions.get(id));
        let was = before.sessions.get(id).map_or(now, |old| status(old.as_ref()));
        let both = now == Some(SessionStatus::Paused) && was == now;
        ensure(!both || self.steered.sessions.contains(id), "grant_while_paused", || format!("{record:?}"))
    }

    /// S10: whoever is to stand still is given nothing, and whoever is degraded half; unless a person wants it otherwise.
    fn check_load(&self, chunk: &Chunk) -> Verdict {
        let Chunk { record, state, .. } = chunk;
        let (Some(row), Some(session)) =
            (self.rows.tasks.get(&record.task), self.rows.sessions.get(&record.task.session))
        else {
            return Ok(());
        };
        // It may be over already.
        let granted_at = if row.ids == record.ids { row.granted_at } else { record.at };
        if self.by_hand.contains(&(record.task.clone(), granted_at)) {
            return Ok(());
        }
        let last = self.said.get(&record.worker).and_then(|said| said.last());
        let is_full = last.is_some_and(|said| said.at < granted_at && said.is_full());
        ensure(!is_full, "grant_to_full", || format!("{record:?} after {last:?}"))?;
        let is_cut_now = record.attempt == 1 && *state == RendererState::Degraded;
        let most = (session.frames_per_task / 2).max(1);
        ensure(!is_cut_now || row.end - row.id.start <= most, "degraded_gets_all", || {
            format!("{row:?} to one that is {state:?}")
        })
    }
}
