//! N15, N15b, Q9: nothing ends before its time, and nothing outlasts it.

use super::{Checker, Verdict, ensure, mirror::Before};
use crate::{plan::WAIT_MAX, scene::Scene};
use muster_model::{LeaseKind, LogKind, LogRecord, Millis, Name, TaskRecord, Timestamp, WorkerStatus};

impl Checker {
    /// An attempt ends by time only when its clock or its lease has really run out.
    pub(super) fn check_timeout(&self, log: &LogRecord, before: &Before) -> Verdict {
        if log.kind != LogKind::Timeout {
            return Ok(());
        }
        // Q9b: log, row and error text never disagree about a timeout, also where the PC fell silent.
        let says_so = self.mirror.tasks.get(&log.task).is_some_and(|row| row.timed_out)
            && log.message.as_ref().is_some_and(|text| text.contains("timeout"));
        ensure(says_so, "timeout_not_marked", || {
            format!("{log:?} of {:?}", self.mirror.tasks.get(&log.task))
        })?;
        let Some(Some(row)) = before.tasks.get(&log.task) else {
            return Ok(());
        };
        // The attempt may have been granted in this very batch: then its clock is not known here.
        if row.attempt != log.attempt || row.timeout_at.is_none() {
            return Ok(());
        }
        let clock_over = row.timeout_at.is_some_and(|at| at <= log.at);
        let lease_over = match row.lease {
            LeaseKind::Presence => self.silence_ends(row, log.at) <= log.at,
            LeaseKind::Claim => row.lease_until.is_none_or(|until| until <= log.at),
        };
        ensure(clock_over || lease_over, "lease_ended_early", || {
            format!("{log:?} of {row:?}, last heard {:?}", self.last_heard(&row.worker, log.at))
        })
    }

    /// N15: a worker is offline only after a silence.
    pub(super) fn check_offline(&self, before: &Before, scene: &mut Scene) -> Verdict {
        for name in before.workers.keys() {
            let worker = &self.mirror.workers[name];
            let was = before.workers[name].as_ref();
            if worker.status == WorkerStatus::Online
                || was.is_some_and(|was| {
                    was.status == WorkerStatus::Offline && was.status_since == worker.status_since
                })
            {
                continue;
            }
            scene.count("worker offline");
            let at = worker.status_since;
            let heard = self.last_heard(name, at).unwrap_or(worker.created_at);
            ensure(heard + self.settings.offline_after <= at, "offline_too_early", || {
                format!("{name} was heard at {heard:?} and is offline at {at:?}")
            })?;
        }
        Ok(())
    }

    /// No attempt outlasts its clock or its lease by more than a commit takes.
    pub(super) fn check_overdue(&self, now: Timestamp) -> Verdict {
        for row in self.running() {
            let clock = row.timeout_at.unwrap_or(row.created_at).max(self.up_since);
            ensure(now <= clock + SLACK, "attempt_outlasts_its_clock", || format!("{row:?} at {now:?}"))?;
            let lease = match row.lease {
                // A waiting pull that is decided again counts as a sign of life while it waits.
                LeaseKind::Presence => self.silence_ends(row, now) + WAIT_MAX,
                LeaseKind::Claim => row.lease_until.unwrap_or(row.created_at),
            };
            let lease = lease.max(self.up_since);
            ensure(now <= lease + SLACK, "lease_outlives_silence", || {
                format!("{row:?} at {now:?}, last heard {:?}", self.last_heard(&row.worker, now))
            })?;
        }
        Ok(())
    }

    fn silence_ends(&self, row: &TaskRecord, before: Timestamp) -> Timestamp {
        let granted = row.started_at.unwrap_or(row.created_at);
        let heard = self.last_heard(&row.worker, before).unwrap_or(granted);
        heard.max(granted) + self.settings.lease
    }

    /// The last time a worker was heard of before a moment.
    fn last_heard(&self, worker: &Name, before: Timestamp) -> Option<Timestamp> {
        let heard = self.heard.get(worker)?;
        let place = heard.partition_point(|at| *at < before);
        heard.get(place.checked_sub(1)?).copied()
    }
}

/// What a commit and its waiting may take.
const SLACK: Millis = Millis(3_000);
