//! Q9, Q12, N15, N15b: the stations of every attempt, numbered without gaps; rows agree with them, a lane has one lease, and
//! nothing ends before its time or outlasts it.

use super::{
    Checker, Verdict, ensure,
    mirror::{Before, Mirror},
};
use crate::{plan::WAIT_MAX, scene::Counts};
use muster_model::{
    Change, LaneRecord, LeaseKind, LogKind, LogRecord, Millis, Name, Settings, TaskId, TaskRecord,
    TaskStatus, Timestamp, WorkerRecord, WorkerStatus,
};
use muster_store::Batch;
use std::collections::BTreeMap;

/// Last entry of a task's log.
#[derive(Clone, Copy, Debug)]
struct Station {
    seq: u32,
    kind: LogKind,
    attempt: u16,
}

/// All logs, and the lanes held by attempts that were sent and have not ended.
pub(super) struct Histories {
    seen: Counts,
    stations: BTreeMap<TaskId, Station>,
    holders: BTreeMap<Name, TaskId>,
}

impl Histories {
    pub(super) fn new(seen: &Counts) -> Self {
        Self { seen: seen.clone(), stations: BTreeMap::new(), holders: BTreeMap::new() }
    }

    pub(super) fn write(&mut self, log: &LogRecord, mirror: &Mirror) -> Verdict {
        self.seen.count(word(log.kind));
        let last = self.stations.get(&log.task).copied();
        ensure(log.seq == last.map_or(0, |last| last.seq) + 1, "log_numbers", || {
            format!("{log:?} after {last:?}")
        })?;
        ensure(follows(last, log), "log_order", || format!("{log:?} after {last:?}"))?;
        if last.is_some_and(|last| last.kind == LogKind::RetryScheduled) && log.kind == LogKind::Succeeded {
            self.seen.count("late success");
        }
        let station = Station { seq: log.seq, kind: log.kind, attempt: log.attempt };
        self.stations.insert(log.task, station);
        let lane = mirror.tasks.get(&log.task).map(|row| row.lane.clone());
        match (log.kind, lane) {
            (LogKind::Sent, Some(lane)) => self.hold(lane, log.task),
            (LogKind::Succeeded | LogKind::Failed | LogKind::Timeout, Some(lane)) => {
                self.holders.retain(|held, task| *held != lane || *task != log.task);
                Ok(())
            }
            (_, Some(_)) => Ok(()),
            (_, None) => ensure(false, "log_without_row", || format!("{log:?}")),
        }
    }

    /// Invariant 1: a lane is leased to one attempt at a time.
    fn hold(&mut self, lane: Name, task: TaskId) -> Verdict {
        let holder = self.holders.get(&lane).copied();
        ensure(holder.is_none(), "lane_leased_twice", || {
            format!("{lane} is held by {holder:?} and was leased for {task}")
        })?;
        self.holders.insert(lane, task);
        Ok(())
    }

    /// A row and its log tell the same story.
    pub(super) fn agree(&self, row: &TaskRecord) -> Verdict {
        let last = self.stations.get(&row.id);
        let told = |kinds: &[LogKind]| last.is_some_and(|last| kinds.contains(&last.kind));
        let same = match row.status {
            TaskStatus::Running => told(&[LogKind::Sent, LogKind::Acked]),
            TaskStatus::Pending => told(&[LogKind::RetryScheduled]),
            TaskStatus::Completed => told(&[LogKind::Succeeded]),
            TaskStatus::Failed => told(&[LogKind::FailedFinal]),
            // Its attempt, if there was one, has ended: a lane is not given away under a running task (Q7).
            TaskStatus::Cancelled => !told(&[LogKind::Sent, LogKind::Acked, LogKind::FailedFinal]),
        };
        let counted = last.is_some_and(|last| last.seq == row.logs && last.attempt == row.attempt);
        ensure(same && counted, "row_unlike_its_log", || format!("{row:?} with {last:?}"))
    }

    pub(super) fn lanes_are_free(&self) -> Verdict {
        ensure(self.holders.is_empty(), "lane_held_at_rest", || format!("{:?}", self.holders))
    }
}

/// True if a station may follow the one before it. A late success ends a task that waits again (N15b).
fn follows(last: Option<Station>, log: &LogRecord) -> bool {
    use LogKind::{Acked, Created, Failed, FailedFinal, RetryScheduled, Sent, Succeeded, Timeout};
    let Some(last) = last else {
        return log.kind == Created && log.attempt <= 1;
    };
    let same = log.attempt == last.attempt;
    match (last.kind, log.kind) {
        (Created, Sent) => log.attempt == 1,
        (RetryScheduled, Sent) => log.attempt == last.attempt + 1,
        (Sent, Acked) | (Sent | Acked, Succeeded | Failed | Timeout) => same,
        (Failed | Timeout, RetryScheduled | FailedFinal) => same,
        (RetryScheduled, Succeeded) => same,
        _ => false,
    }
}

fn word(kind: LogKind) -> &'static str {
    match kind {
        LogKind::Created => "log CREATED",
        LogKind::Sent => "log SENT",
        LogKind::Acked => "log ACKED",
        LogKind::Succeeded => "log SUCCEEDED",
        LogKind::Failed => "log FAILED",
        LogKind::Timeout => "log TIMEOUT",
        LogKind::RetryScheduled => "log RETRY_SCHEDULED",
        LogKind::FailedFinal => "log FAILED_FINAL",
    }
}

pub(super) fn check_row(row: &TaskRecord, before: Option<&TaskRecord>, settings: &Settings) -> Verdict {
    ensure(row.attempt <= row.max_attempts, "attempts_unbounded", || {
        format!("{} is at attempt {} of {}", row.id, row.attempt, row.max_attempts)
    })?;
    ensure(
        row.status != TaskStatus::Failed || row.attempt >= row.max_attempts,
        "failed_with_attempts_left",
        || format!("{row:?}"),
    )?;
    check_clock(row, settings)?;
    before.map_or(Ok(()), |before| check_change(row, before))
}

/// Q9: the clock of an attempt begins with its grant, whatever is shown again or renewed later.
fn check_clock(row: &TaskRecord, settings: &Settings) -> Verdict {
    let (Some(started), Some(timeout)) = (row.started_at, row.timeout_at) else {
        return ensure(row.status != TaskStatus::Running, "runs_without_a_clock", || format!("{row:?}"));
    };
    ensure(timeout == started + settings.attempt_timeout, "attempt_clock", || {
        format!("{} began at {started:?} and times out at {timeout:?}", row.id)
    })
}

fn check_change(row: &TaskRecord, before: &TaskRecord) -> Verdict {
    let same_device = row.lane == before.lane && row.created_at == before.created_at;
    ensure(same_device, "row_changes_device", || format!("{before:?} became {row:?}"))?;
    ensure(!before.status.is_ended() || row == before, "ended_row_changes", || {
        format!("{before:?} became {row:?}")
    })?;
    ensure(row.attempt >= before.attempt, "attempt_goes_back", || {
        format!("{} from {} to {}", row.id, before.attempt, row.attempt)
    })?;
    let same_attempt = row.attempt == before.attempt;
    ensure(
        !same_attempt || (row.fence == before.fence && row.worker == before.worker),
        "fence_changes_within_attempt",
        || format!("{} attempt {}", row.id, row.attempt),
    )?;
    ensure(!same_attempt || row.started_at == before.started_at, "attempt_begins_twice", || {
        format!("{} attempt {}", row.id, row.attempt)
    })?;
    ensure(same_attempt || row.fence != before.fence, "fence_used_twice", || {
        format!("{} attempt {}", row.id, row.attempt)
    })
}

impl Checker {
    pub(super) fn check_grants(&self, batch: &Batch, before: &Before) -> Verdict {
        for change in &batch.changes {
            let Change::Log(log) = change else { continue };
            match log.kind {
                LogKind::Sent => self.check_grant(log, before)?,
                LogKind::FailedFinal => self.check_failed_lane(log.task, before)?,
                LogKind::Failed | LogKind::Timeout => self.check_forgiven(log, before)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Judged only by rows that this batch leaves as they were: they held at the moment of the grant.
    fn check_grant(&self, log: &LogRecord, before: &Before) -> Verdict {
        let row = &self.mirror.tasks[&log.task];
        if row.attempt != log.attempt {
            return Ok(());
        }
        if let Some(worker) = self.steady_worker(&row.worker, before) {
            ensure(!worker.draining, "grant_to_drained_worker", || format!("{log:?} to {worker:?}"))?;
            let resting = worker.paused_until.is_some_and(|until| log.at < until);
            ensure(!resting, "grant_to_resting_worker", || format!("{log:?} to {worker:?}"))?;
            let cap = worker.cap.unwrap_or(self.settings.slots) as usize;
            let running = self.running().filter(|row| row.worker == worker.id).count();
            ensure(running <= cap, "more_leases_than_slots", || {
                format!("{} has {running} leases and {cap} slots", worker.id)
            })?;
        }
        if let Some(lane) = self.steady_lane(&row.lane, before) {
            ensure(!lane.failed, "grant_on_failed_lane", || format!("{log:?} on {lane:?}"))?;
            ensure(lane.offline_since.is_none(), "grant_on_offline_lane", || format!("{log:?} on {lane:?}"))?;
            ensure(lane.worker == row.worker, "grant_on_strange_lane", || format!("{row:?} on {lane:?}"))?;
        }
        Ok(())
    }

    /// Q11: a device whose attempts are used up is out of service until an operator returns it.
    fn check_failed_lane(&self, task: TaskId, before: &Before) -> Verdict {
        let lane = &self.mirror.lanes[&self.mirror.tasks[&task].lane];
        let old = before.lanes.get(&lane.id).and_then(Option::as_ref);
        let returned = old.is_some_and(|old| old.note != lane.note);
        ensure(lane.failed || returned, "failed_lane_in_service", || format!("{task} on {lane:?}"))
    }

    /// N17: an attempt that ends on an absent device while its worker's supply rests costs nothing.
    fn check_forgiven(&self, log: &LogRecord, before: &Before) -> Verdict {
        let (row, Some(Some(old))) = (&self.mirror.tasks[&log.task], before.tasks.get(&log.task)) else {
            return Ok(());
        };
        let (Some(worker), Some(lane)) =
            (self.steady_worker(&old.worker, before), self.steady_lane(&old.lane, before))
        else {
            return Ok(());
        };
        let resting = worker.paused_until.is_some_and(|until| log.at < until);
        let absent = lane.offline_since.is_some_and(|since| since <= log.at);
        if !resting || !absent || row.status == TaskStatus::Cancelled || old.attempt != log.attempt {
            return Ok(());
        }
        self.seen.count("attempt forgiven");
        ensure(row.max_attempts > old.max_attempts, "dropout_burns_attempt", || {
            format!("{old:?} became {row:?} on {lane:?} of {worker:?}")
        })
    }

    /// A worker as it was before and after the batch alike.
    fn steady_worker(&self, name: &Name, before: &Before) -> Option<&WorkerRecord> {
        let worker = self.mirror.workers.get(name)?;
        let steady = before.workers.get(name).is_none_or(|old| {
            old.as_ref().is_some_and(|old| {
                (old.draining, old.paused_until, old.cap)
                    == (worker.draining, worker.paused_until, worker.cap)
            })
        });
        steady.then_some(worker)
    }

    /// A lane that the batch did not touch.
    fn steady_lane(&self, name: &Name, before: &Before) -> Option<&LaneRecord> {
        let lane = self.mirror.lanes.get(name)?;
        (!before.lanes.contains_key(name)).then_some(lane)
    }
}

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
    pub(super) fn check_offline(&self, before: &Before) -> Verdict {
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
            self.seen.count("worker offline");
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

/// Maximum time for a commit and the wait before it.
const SLACK: Millis = Millis(3_000);
