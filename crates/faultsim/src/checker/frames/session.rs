//! S5, S8, S13, S14, S21, S26, invariants 8 and 9: ranges stay what they were cut as, what was accepted stays accepted, and a
//! session ends when it is over, and as it must.

use super::{
    FrameBook, Verdict, ensure,
    rows::{Before, Chunk, is_held},
};
use muster_model::{
    ChunkState, EntryId, FrameRange, FrameTaskId, FrameTaskRecord, FrameTaskStatus, RendererState, SessionId,
    SessionRecord, SessionStatus,
};
use std::collections::{BTreeMap, BTreeSet};

impl FrameBook {
    pub(super) fn check_sessions(&self, before: &Before) -> Verdict {
        let touched: BTreeSet<&SessionId> =
            before.sessions.keys().chain(before.tasks.keys().map(|task| &task.session)).collect();
        for id in touched {
            let row = &self.rows.sessions[id];
            self.check_count(row)?;
            self.check_failed(row)?;
            let old = before.sessions.get(id).and_then(Option::as_ref);
            match old {
                Some(old) if !old.open && !self.retrying.contains(id) => {
                    ensure(old == row, "ended_session_changes", || format!("{old:?} became {row:?}"))?
                }
                Some(old) if !old.open && row.open => self.seen.count("session reopened"),
                _ if !row.open => self.check_end(row)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn check_count(&self, row: &SessionRecord) -> Verdict {
        let done: u64 = self.completed(&row.id).map(|range| range.len()).sum();
        ensure(done == row.completed_frames, "frames_miscounted", || {
            format!("{row:?}, though {done} are completed")
        })?;
        ensure(row.open != row.status.is_ended(), "session_half_ended", || format!("{row:?}"))
    }

    /// S23b, S26b: a strict session fails exactly when frames are missing; no session hides that they are.
    fn check_failed(&self, row: &SessionRecord) -> Verdict {
        let failed = self.rows.tasks_of(&row.id).filter(|task| task.status == FrameTaskStatus::Failed);
        let failed: u64 = failed.map(|task| task.end - task.id.start).sum();
        ensure(failed == row.failed_frames, "failed_frames_miscounted", || {
            format!("{row:?}, though {failed} failed")
        })?;
        let right = match row.status {
            SessionStatus::Failed => row.strict && failed > 0,
            SessionStatus::Completed => !row.strict || failed == 0,
            SessionStatus::Running | SessionStatus::Paused | SessionStatus::Cancelled => true,
        };
        ensure(right, "failed_without_reason", || format!("{row:?}"))
    }

    fn check_end(&self, row: &SessionRecord) -> Verdict {
        let held = self.rows.live.keys().find(|task| task.session == row.id);
        ensure(held.is_none(), "session_ends_with_live_ids", || format!("{row:?} with {held:?}"))?;
        let open = self.rows.tasks_of(&row.id).find(|task| !task.status.is_ended());
        ensure(open.is_none(), "session_ends_with_open_ranges", || format!("{row:?} with {open:?}"))?;
        match row.status {
            SessionStatus::Completed => {
                self.seen.count("session completed");
                self.check_complete(row)
            }
            SessionStatus::Cancelled => {
                self.seen.count("session cancelled");
                ensure(self.cancelling.contains(&row.id), "cancelled_by_nobody", || format!("{row:?}"))
            }
            _ => {
                self.seen.count("session failed");
                self.check_complete(row)
            }
        }
    }

    /// 8: every frame stands in exactly one completed or failed range, and the manifest on disk is made of the completed.
    fn check_complete(&self, row: &SessionRecord) -> Verdict {
        let mut next = 0;
        let ranges = self.rows.tasks_of(&row.id);
        for range in ranges.map(|task| FrameRange { start: task.id.start, end: task.end }) {
            ensure(range.start == next, "frame_not_once", || {
                format!("{row:?}: {range} follows what ends at {next}")
            })?;
            next = range.end;
        }
        ensure(next == row.total_frames, "frame_not_once", || format!("{row:?} is done up to {next}"))?;
        self.check_manifest(row)
    }

    /// The manifest on disk is made of just what was accepted.
    pub(super) fn check_manifest(&self, row: &SessionRecord) -> Verdict {
        let rows = self.rows.tasks_of(&row.id);
        let right: Vec<(FrameRange, u64)> = rows
            .filter(|task| task.status == FrameTaskStatus::Completed)
            .map(|task| (FrameRange { start: task.id.start, end: task.end }, task.ids.chunk))
            .collect();
        let written = self.manifests.get(&row.id);
        ensure(written == Some(&right), "manifest_unlike_its_session", || {
            format!("{row:?} is {right:?}, its manifest {written:?}")
        })
    }

    fn completed(&self, session: &SessionId) -> impl Iterator<Item = FrameRange> {
        let done = self.rows.tasks_of(session).filter(|task| task.status == FrameTaskStatus::Completed);
        done.map(|task| FrameRange { start: task.id.start, end: task.end })
    }
}

impl FrameBook {
    pub(super) fn check_ranges(&self, before: &Before) -> Verdict {
        for (id, old) in &before.tasks {
            let row = &self.rows.tasks[id];
            self.check_cut(row, old.as_ref())?;
            self.check_status(row)?;
            if let Some(old) = old.as_ref().filter(|old| old.status == FrameTaskStatus::Completed) {
                self.check_accepted(row, old)?;
            }
            if row.status == FrameTaskStatus::Completed {
                self.seen.count("range completed");
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

impl FrameBook {
    /// True if no session is open, and nothing has to be moved.
    pub(crate) fn is_quiet(&self) -> bool {
        self.rows.sessions.values().all(|session| !session.open)
            && self.rows.quarantine.values().all(|entry| entry.moved)
    }

    /// The last look.
    pub(in crate::checker) fn at_rest(&self) -> Verdict {
        let live = self.rows.live.iter().next();
        ensure(live.is_none(), "live_ids_at_rest", || format!("{live:?}"))?;
        let missing = self.rows.quarantine.keys().find(|entry| !self.moved.contains(entry));
        ensure(missing.is_none(), "files_not_moved", || format!("{missing:?}"))?;
        for session in self.rows.sessions.values() {
            let replays: BTreeSet<u64> = self
                .rows
                .replays
                .values()
                .filter(|replay| replay.session == session.id)
                .map(|replay| replay.new)
                .collect();
            let written = self.written.get(&session.id);
            let is_due = session.status == SessionStatus::Completed;
            ensure(!is_due || written == Some(&replays), "session_unlike_its_file", || {
                format!("{session:?} has replays {replays:?}, its file {written:?}")
            })?;
            if is_due {
                self.check_manifest(session)?;
            }
        }
        Ok(())
    }

    /// Describes the rows that keep the ledger from being quiet.
    pub(in crate::checker) fn unrest(&self) -> String {
        let open: Vec<_> = self.rows.sessions.values().filter(|session| session.open).collect();
        let tasks: Vec<_> = self.rows.tasks.values().filter(|task| !task.status.is_ended()).collect();
        let unmoved: Vec<&EntryId> =
            self.rows.quarantine.values().filter(|entry| !entry.moved).map(|entry| &entry.id).collect();
        let workers: Vec<_> = self.rows.renderers.values().map(|row| (&row.id, row.state)).collect();
        let farm = self.rows.farm;
        format!(
            "open sessions {open:?}, ranges {tasks:?}, not moved {unmoved:?}, workers {workers:?}, {farm:?}"
        )
    }
}
