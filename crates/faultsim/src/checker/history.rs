//! Q12: the stations of every attempt, numbered without gaps; rows agree with them, and a lane has one lease.

use super::{Verdict, ensure, mirror::Mirror};
use crate::{
    checker::{Checker, mirror::Before},
    scene::Scene,
};
use muster_model::{
    Change, LaneRecord, LogKind, LogRecord, Name, Settings, TaskId, TaskRecord, TaskStatus, WorkerRecord,
};
use muster_store::Batch;
use std::collections::BTreeMap;

/// Where a task's log stands.
#[derive(Clone, Copy, Debug)]
struct Station {
    seq: u32,
    kind: LogKind,
    attempt: u16,
}

/// All logs, and the lanes held by attempts that were sent and have not ended.
#[derive(Default)]
pub(super) struct Histories {
    stations: BTreeMap<TaskId, Station>,
    holders: BTreeMap<Name, TaskId>,
}

impl Histories {
    pub(super) fn write(&mut self, log: &LogRecord, mirror: &Mirror, scene: &mut Scene) -> Verdict {
        scene.count(word(log.kind));
        let last = self.stations.get(&log.task).copied();
        ensure(log.seq == last.map_or(0, |last| last.seq) + 1, "log_numbers", || {
            format!("{log:?} after {last:?}")
        })?;
        ensure(follows(last, log), "log_order", || format!("{log:?} after {last:?}"))?;
        if last.is_some_and(|last| last.kind == LogKind::RetryScheduled) && log.kind == LogKind::Succeeded {
            scene.count("late success");
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

/// Whether a station may follow the one before it. A late success ends a task that waits again (N15b).
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
    pub(super) fn check_grants(&self, batch: &Batch, before: &Before, scene: &mut Scene) -> Verdict {
        for change in &batch.changes {
            let Change::Log(log) = change else { continue };
            match log.kind {
                LogKind::Sent => self.check_grant(log, before)?,
                LogKind::FailedFinal => self.check_failed_lane(log.task, before)?,
                LogKind::Failed | LogKind::Timeout => self.check_forgiven(log, before, scene)?,
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
    fn check_forgiven(&self, log: &LogRecord, before: &Before, scene: &mut Scene) -> Verdict {
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
        scene.count("attempt forgiven");
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
