//! Attempts of a run, as a chart shows them (Q12).

use muster_model::{LogKind, LogRecord, TaskRecord, TaskStatus};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use utoipa::ToSchema;

/// One attempt of one row.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Attempt {
    /// Its row.
    pub task_device_id: String,
    /// The row's device.
    pub device_id: String,
    /// The PC that has or last had the row.
    pub pc_id: String,
    /// Counts up from 1 within the row.
    pub attempt: u16,
    /// When it was handed out.
    pub started_at: i64,
    /// When it ended; null while it runs.
    pub ended_at: Option<i64>,
    /// `running`, `succeeded`, `failed`, `timeout` or `cancelled`.
    pub outcome: Cow<'static, str>,
    /// What went wrong; null where nothing did.
    pub error: Option<String>,
}

/// The attempts of some rows. Both lists are in the order of the rows, the stations of a row in theirs.
#[must_use]
pub fn show_attempts(tasks: &[TaskRecord], stations: &[LogRecord]) -> Vec<Attempt> {
    let mut attempts = Vec::new();
    let mut rest = stations;
    for task in tasks {
        let skipped = rest.iter().take_while(|station| station.task < task.id).count();
        let of_task = rest[skipped..].iter().take_while(|station| station.task == task.id).count();
        let (own, others) = rest[skipped..].split_at(of_task);
        rest = others;
        attempts.extend(attempts_of(task, own));
    }
    attempts
}

fn attempts_of(task: &TaskRecord, stations: &[LogRecord]) -> Vec<Attempt> {
    let mut attempts: Vec<Attempt> = Vec::new();
    for station in stations {
        match outcome(station.kind) {
            None if station.kind == LogKind::Sent => attempts.push(begun(task, station)),
            None => {}
            // A success may come after the attempt was given up, and counts (N15b): the last word is the outcome.
            Some(outcome) => {
                let ended = attempts.iter_mut().rfind(|attempt| attempt.attempt == station.attempt);
                if let Some(attempt) = ended {
                    (attempt.ended_at, attempt.outcome) = (Some(station.at.0), outcome.into());
                    attempt.error = station.message.as_deref().map(str::to_owned);
                }
            }
        }
    }
    // Close the open attempts of a cancelled task, because no node may report their end.
    for open in attempts.iter_mut().filter(|attempt| attempt.ended_at.is_none() && task.status.is_ended()) {
        (open.ended_at, open.outcome) = (task.completed_at.map(|at| at.0), "cancelled".into());
    }
    // Or its agent says that it failed: it was told to stop. What failed before that was to be tried again.
    let was_stopped =
        stations.last().is_some_and(|last| matches!(last.kind, LogKind::Failed | LogKind::Timeout));
    if let Some(last) = attempts.last_mut().filter(|_| was_stopped && task.status == TaskStatus::Cancelled) {
        (last.outcome, last.error) = ("cancelled".into(), None);
    }
    attempts
}

fn begun(task: &TaskRecord, station: &LogRecord) -> Attempt {
    Attempt {
        task_device_id: task.id.to_string(),
        device_id: task.lane.to_string(),
        pc_id: task.worker.to_string(),
        attempt: station.attempt,
        started_at: station.at.0,
        ended_at: None,
        outcome: "running".into(),
        error: None,
    }
}

const fn outcome(kind: LogKind) -> Option<&'static str> {
    match kind {
        LogKind::Succeeded => Some("succeeded"),
        LogKind::Failed => Some("failed"),
        LogKind::Timeout => Some("timeout"),
        LogKind::Created
        | LogKind::Sent
        | LogKind::Acked
        | LogKind::RetryScheduled
        | LogKind::FailedFinal => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task_device::tests::row;
    use LogKind::{Acked, Created, Failed, FailedFinal, RetryScheduled, Sent, Succeeded, Timeout};
    use muster_model::{TaskId, Timestamp};

    fn task(ordinal: u32, status: TaskStatus) -> TaskRecord {
        let id = TaskId { ordinal, ..row().id };
        TaskRecord { id, status, completed_at: Some(Timestamp(99)), ..row() }
    }

    fn stations(task: &TaskRecord, told: &[(u16, LogKind)]) -> Vec<LogRecord> {
        let station = |(seq, (attempt, kind)): (u32, &(u16, LogKind))| LogRecord {
            task: task.id,
            seq,
            attempt: *attempt,
            kind: *kind,
            message: None,
            at: Timestamp(i64::from(seq)),
        };
        (1..).zip(told).map(station).collect()
    }

    fn shown(attempts: &[Attempt]) -> Vec<(u16, i64, Option<i64>, &str)> {
        attempts.iter().map(|one| (one.attempt, one.started_at, one.ended_at, &*one.outcome)).collect()
    }

    /// Q12, Q10: each attempt has its beginning and its end.
    #[test]
    fn attempts_begin_and_end() {
        let failed = task(1, TaskStatus::Failed);
        let told = [
            (0, Created),
            (1, Sent),
            (1, Acked),
            (1, Timeout),
            (1, RetryScheduled),
            (2, Sent),
            (2, Failed),
            (2, FailedFinal),
        ];
        let running = task(3, TaskStatus::Running);
        let mut log = stations(&failed, &told);
        log.extend(stations(&task(2, TaskStatus::Failed), &[(1, Sent), (1, Failed)]));
        log.extend(stations(&running, &[(1, Sent), (1, Acked)]));
        let attempts = show_attempts(&[failed, running], &log);
        let expected = [(1, 2, Some(4), "timeout"), (2, 6, Some(7), "failed"), (1, 1, None, "running")];
        assert_eq!(shown(&attempts), expected);
        assert!(attempts[2].task_device_id.ends_with(".0000003"));
    }

    /// Q12, N15b: an attempt says why it ended; that of a lost worker as well.
    #[test]
    fn ends_have_reasons() {
        let lost = task(1, TaskStatus::Running);
        let mut told = stations(&lost, &[(1, Sent), (1, Timeout), (1, RetryScheduled), (2, Sent)]);
        told[1].message = Some("its holder fell silent".into());
        let errors: Vec<_> = show_attempts(&[lost], &told).into_iter().map(|one| one.error).collect();
        assert_eq!(errors, [Some("its holder fell silent".to_owned()), None]);
    }

    /// N15b, Q7: a late success counts; what was cancelled ends with its row, also where its agent called that a failure; a row without an attempt has none.
    #[test]
    fn odd_ends_are_told() {
        let late = task(1, TaskStatus::Completed);
        let told = stations(&late, &[(1, Sent), (1, Timeout), (1, RetryScheduled), (1, Succeeded)]);
        assert_eq!(shown(&show_attempts(&[late], &told)), [(1, 1, Some(4), "succeeded")]);
        let cancelled = task(1, TaskStatus::Cancelled);
        let told = stations(&cancelled, &[(1, Sent)]);
        assert_eq!(
            shown(&show_attempts(std::slice::from_ref(&cancelled), &told)),
            [(1, 1, Some(99), "cancelled")]
        );
        let stopped = stations(&cancelled, &[(1, Sent), (1, Failed)]);
        let one = std::slice::from_ref(&cancelled);
        assert_eq!(shown(&show_attempts(one, &stopped)), [(1, 1, Some(2), "cancelled")]);
        let waited = stations(&cancelled, &[(1, Sent), (1, Failed), (1, RetryScheduled)]);
        assert_eq!(shown(&show_attempts(one, &waited)), [(1, 1, Some(2), "failed")]);
        assert_eq!(
            show_attempts(std::slice::from_ref(&cancelled), &stations(&cancelled, &[(0, Created)])),
            []
        );
    }
}
