//! S8: nobody is waited for without end.

use super::{FrameBook, SLACK, Verdict, ensure};
use muster_model::{FrameTaskId, Millis, Timestamp};

impl FrameBook {
    /// Looks at what must not last, after every step.
    pub(in crate::checker) fn after_step(&self, now: Timestamp) -> Verdict {
        self.check_lost(now)?;
        self.check_stalled(now)
    }

    /// An assignment of which nothing is heard goes to another, unless everything stands still on request, or its worker
    /// says with every heartbeat that it must.
    fn check_stalled(&self, now: Timestamp) -> Verdict {
        if self.rows.farm.paused || self.steered.all {
            return Ok(());
        }
        let limit = Millis(self.settings.stall.0 + LOOK_AGAIN.0 + SLACK.0);
        let is_stalled = |(task, news): &(&FrameTaskId, &Timestamp)| {
            let worker = self.rows.tasks.get(task).map(|row| &row.worker);
            let full_at = worker.and_then(|worker| self.full_at.get(worker)).copied();
            now > (**news).max(self.resumed_at).max(full_at.unwrap_or(Timestamp(0))) + limit
        };
        let stalled = self.news.iter().find(is_stalled);
        ensure(stalled.is_none(), "stall_outlasts", || format!("{stalled:?} at {now:?}"))
    }
}

/// How late the end of a pause may be noticed.
const LOOK_AGAIN: Millis = Millis(10_000);
