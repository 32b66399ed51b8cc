//! S8, S14, S21, S26, invariant 8: a session ends when it is over, and as it must.

use super::{FrameBook, Verdict, ensure, rows::Before};
use crate::scene::Scene;
use muster_model::{FrameRange, FrameTaskStatus, SessionId, SessionRecord, SessionStatus};
use std::collections::BTreeSet;

impl FrameBook {
    pub(super) fn check_sessions(&self, before: &Before, scene: &mut Scene) -> Verdict {
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
                Some(old) if !old.open && row.open => scene.count("session reopened"),
                _ if !row.open => self.check_end(row, scene)?,
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

    fn check_end(&self, row: &SessionRecord, scene: &mut Scene) -> Verdict {
        let held = self.rows.live.keys().find(|task| task.session == row.id);
        ensure(held.is_none(), "session_ends_with_live_ids", || format!("{row:?} with {held:?}"))?;
        let open = self.rows.tasks_of(&row.id).find(|task| !task.status.is_ended());
        ensure(open.is_none(), "session_ends_with_open_ranges", || format!("{row:?} with {open:?}"))?;
        match row.status {
            SessionStatus::Completed => {
                scene.count("session completed");
                self.check_complete(row)
            }
            SessionStatus::Cancelled => {
                scene.count("session cancelled");
                ensure(self.cancelling.contains(&row.id), "cancelled_by_nobody", || format!("{row:?}"))
            }
            _ => {
                scene.count("session failed");
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
