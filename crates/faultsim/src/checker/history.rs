//! Q12: the stations of every attempt, in order, numbered without gaps; and who holds which lane by them.

use super::{Verdict, ensure, mirror::Mirror};
use crate::scene::Scene;
use muster_model::{LogKind, LogRecord, Name, TaskId, TaskRecord, TaskStatus};
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
