//! Runs as people and scripts see them: state, progress, speed and remaining time (Q15).

use muster_model::{JobId, JobRecord, JobStatus, Millis, Name, TaskStatus, Timestamp};
use muster_problem::{WireMutant, planted};
use serde::{Deserialize, Serialize};
use std::{borrow::Cow, collections::BTreeMap};
use utoipa::ToSchema;

/// A run and where it stands.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunState {
    /// The run's id.
    pub run_id: String,
    /// `pending`, `running`, `success`, `failed` or `cancelled`.
    pub status: Cow<'static, str>,
}

/// One run in a list.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Run {
    /// The run's id.
    pub run_id: String,
    /// `pending`, `running`, `success`, `failed` or `cancelled`.
    pub status: Cow<'static, str>,
    /// How much of it was done: `open`, `complete`, `partial`, `failed` or `cancelled` (Q7b).
    // A server of an earlier version does not tell it; then this is empty.
    #[serde(default)]
    #[schema(required = true)]
    pub outcome: Cow<'static, str>,
    /// For people.
    pub title: Option<String>,
    /// What the agents execute.
    pub workflow_id: String,
    /// Its queue.
    pub queue: String,
    /// Attempts in all per device.
    pub max_attempts: u16,
    /// When it was submitted, epoch milliseconds.
    pub created_at: i64,
    /// When it became active.
    pub started_at: Option<i64>,
    /// When it ended.
    pub completed_at: Option<i64>,
    /// Why it failed.
    pub error: Option<String>,
    /// The schedule that submitted it (Q17).
    pub schedule_id: Option<String>,
}

/// One run in a list, with how far it is.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct ListedRun {
    /// The run itself.
    #[serde(flatten)]
    pub run: Run,
    /// How many of its devices stand where; those that have no row yet stand nowhere.
    pub counts: Counts,
    /// How many devices it is for: what its scope matches now, of a run that has ended its rows. Null where that is not
    /// known, as for labels.
    pub total: Option<u64>,
}

/// One run with its figures.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct RunDetail {
    /// The run itself.
    #[serde(flatten)]
    pub run: Run,
    /// How many of its devices stand where.
    pub counts: Counts,
    /// The same by PC.
    pub per_pc: BTreeMap<String, Counts>,
    /// How many devices it is for: what its scope matches now, of a run that has ended its rows. Null where that is not
    /// known, as for labels.
    pub total: Option<u64>,
    /// Devices that ended per minute, over the last five minutes or since its start.
    pub rate_per_min: f64,
    /// How long it will take at that rate; null where that cannot be known.
    pub eta_ms: Option<u64>,
}

/// How a run's devices failed, the most frequent first.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct FailureList {
    /// All of them.
    pub failures: Vec<Failure>,
}

/// One way to fail.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Failure {
    /// The failure reason where there is one, else how the error begins.
    pub error: String,
    /// How many rows failed so.
    pub count: u64,
}

/// How many rows stand where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Counts {
    /// Waiting for another attempt.
    pub pending: u64,
    /// Leased out.
    pub running: u64,
    /// Ended well.
    pub completed: u64,
    /// Ended badly.
    pub failed: u64,
    /// Ended on request or because the device stayed away.
    pub cancelled: u64,
}

impl Counts {
    /// All rows.
    #[must_use]
    pub const fn rows(&self) -> u64 {
        self.pending + self.running + self.ended()
    }

    /// Rows that ended, however they did.
    #[must_use]
    pub const fn ended(&self) -> u64 {
        self.completed + self.failed + self.cancelled
    }
}

/// A run and where it stands.
#[must_use]
pub fn show_state(job: JobId, status: JobStatus) -> RunState {
    let status = match status {
        JobStatus::Cancelled if planted(WireMutant::CancelledSaidRunning) => JobStatus::Running,
        status => status,
    };
    RunState { run_id: job.to_string(), status: status.as_str().into() }
}

/// A run in a list, with its rows and how many devices it is for.
#[must_use]
pub fn show_listed(job: JobRecord, counts: Counts, targets: Option<u64>) -> ListedRun {
    let total = total_of(&job, &counts, targets);
    ListedRun { run: show_run(job), counts, total }
}

/// Number of devices of a run. Rows of devices that its scope no longer matches count as well.
fn total_of(job: &JobRecord, counts: &Counts, targets: Option<u64>) -> Option<u64> {
    match job.status.is_ended() {
        true => Some(counts.rows()),
        false => targets.map(|targets| targets.max(counts.rows())),
    }
}

/// A run.
fn show_run(job: JobRecord) -> Run {
    let payload = job.payload.map(|payload| (payload.title, payload.workflow, payload.schedule));
    let (title, workflow, schedule) = payload.unwrap_or_default();
    Run {
        run_id: job.id.to_string(),
        status: job.status.as_str().into(),
        outcome: job.outcome.as_str().into(),
        title: title.map(Into::into),
        workflow_id: workflow.into(),
        queue: job.queue.to_string(),
        max_attempts: job.max_attempts,
        created_at: job.created_at.0,
        started_at: job.started_at.map(|at| at.0),
        completed_at: job.completed_at.map(|at| at.0),
        error: job.error.map(Into::into),
        schedule_id: schedule.map(|schedule| schedule.to_string()),
    }
}

/// The rows of a run, counted.
#[derive(Clone, Debug)]
pub struct RowCounts {
    /// By worker and status, sorted by worker.
    pub per_worker: Vec<(Name, TaskStatus, u64)>,
    /// Rows that ended since [`rate_since`].
    pub ended_since: u64,
}

/// Known progress of a run.
#[derive(Clone, Debug)]
pub struct Progress {
    /// The run.
    pub job: JobRecord,
    /// Its rows.
    pub counts: RowCounts,
    /// Number of devices of the run, if that can be determined.
    pub targets: Option<u64>,
    /// The time.
    pub now: Timestamp,
}

impl Progress {
    /// The run with its figures.
    #[must_use]
    pub fn show(self) -> RunDetail {
        let per_pc = by_pc(&self.counts);
        let counts = per_pc.values().fold(Counts::default(), sum);
        let rate_per_min = self.rate_per_min();
        let eta_ms = self.eta_ms(&counts, rate_per_min);
        let total = total_of(&self.job, &counts, self.targets);
        RunDetail { run: show_run(self.job), counts, per_pc, total, rate_per_min, eta_ms }
    }

    fn rate_per_min(&self) -> f64 {
        let window = self.now - rate_since(self.job.started_at, self.now);
        // A run that has just begun: a window of nothing would make any rate out of it.
        let window = window.max(WINDOW_MIN);
        let rate = as_f64(self.counts.ended_since) * 60_000.0 / as_f64(window.0.unsigned_abs());
        (rate * 100.0).round() / 100.0
    }

    fn eta_ms(&self, counts: &Counts, rate_per_min: f64) -> Option<u64> {
        if self.job.status != JobStatus::Running || rate_per_min <= 0.0 {
            return None;
        }
        let to_come = self.targets?.saturating_sub(counts.rows());
        let left = as_f64(counts.pending + counts.running + to_come);
        let eta = (left * 60_000.0 / rate_per_min).ceil();
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a finite positive number below 2^53"
        )]
        (eta < ETA_MAX).then_some(eta as u64)
    }
}

/// Since when a run's speed is measured: five minutes ago or its start, whichever is later.
#[must_use]
pub fn rate_since(started_at: Option<Timestamp>, now: Timestamp) -> Timestamp {
    started_at.unwrap_or(now).max(now - WINDOW_MAX).min(now)
}

/// Rows by status.
#[must_use]
pub fn count_rows(by_status: &[(TaskStatus, u64)]) -> Counts {
    let mut counts = Counts::default();
    by_status.iter().for_each(|(status, rows)| *place(&mut counts, *status) += rows);
    counts
}

fn by_pc(counts: &RowCounts) -> BTreeMap<String, Counts> {
    let mut per_pc = BTreeMap::<String, Counts>::new();
    for (worker, status, rows) in &counts.per_worker {
        *place(per_pc.entry(worker.to_string()).or_default(), *status) += rows;
    }
    per_pc
}

const fn place(counts: &mut Counts, status: TaskStatus) -> &mut u64 {
    match status {
        TaskStatus::Pending => &mut counts.pending,
        TaskStatus::Running => &mut counts.running,
        TaskStatus::Completed => &mut counts.completed,
        TaskStatus::Failed => &mut counts.failed,
        TaskStatus::Cancelled => &mut counts.cancelled,
    }
}

fn sum(a: Counts, b: &Counts) -> Counts {
    Counts {
        pending: a.pending + b.pending,
        running: a.running + b.running,
        completed: a.completed + b.completed,
        failed: a.failed + b.failed,
        cancelled: a.cancelled + b.cancelled,
    }
}

#[allow(clippy::cast_precision_loss, reason = "counts of rows and milliseconds stay far below 2^53")]
fn as_f64(count: u64) -> f64 {
    count as f64
}

const WINDOW_MAX: Millis = Millis::from_secs(300);
const WINDOW_MIN: Millis = Millis::from_secs(1);
/// Later than that is as good as never, and no reader's number holds it.
const ETA_MAX: f64 = 9_007_199_254_740_992.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden;
    use muster_model::{JobId, JobOutcome, Name, Scope};
    use serde_json::json;

    fn progress(started_at: Option<i64>, ended_since: u64, targets: Option<u64>) -> Progress {
        let pc = |text: &str| Name::new(text).unwrap();
        let per_worker = vec![
            (pc("PC-01"), TaskStatus::Running, 2),
            (pc("PC-01"), TaskStatus::Completed, 5),
            (pc("PC-02"), TaskStatus::Failed, 1),
            (pc("PC-02"), TaskStatus::Pending, 2),
        ];
        let job = JobRecord {
            id: JobId(1),
            seq: 1,
            queue: pc("default"),
            status: JobStatus::Running,
            outcome: JobOutcome::Open,
            scope: Scope::All,
            max_attempts: 3,
            tasks: 10,
            open: true,
            created_at: Timestamp(1),
            started_at: started_at.map(Timestamp),
            completed_at: None,
            error: None,
            payload: None,
        };
        Progress { job, counts: RowCounts { per_worker, ended_since }, targets, now: Timestamp(1_000_000) }
    }

    /// Q15: counts, per PC and in all.
    #[test]
    fn a_run_is_counted() {
        let shown = serde_json::to_value(progress(None, 0, None).show()).unwrap();
        golden::check(&progress(None, 0, None).show(), &shown);
        assert_eq!(
            shown["counts"],
            json!({"pending": 2, "running": 2, "completed": 5, "failed": 1, "cancelled": 0})
        );
        assert_eq!(
            shown["per_pc"]["PC-02"],
            json!({"pending": 2, "running": 0, "completed": 0, "failed": 1, "cancelled": 0})
        );
        assert_eq!(shown["run_id"], "00000000-0000-0000-0000-000000000001");
        assert_eq!((&shown["status"], &shown["eta_ms"]), (&json!("running"), &json!(null)));
    }

    /// Q15: a client shows words that a newer server added; an earlier server tells no outcome.
    #[test]
    fn a_client_reads_other_versions() {
        let mut shown = serde_json::to_value(progress(None, 0, None).show()).unwrap();
        shown["status"] = json!("resting");
        shown.as_object_mut().unwrap().remove("outcome");
        let read: RunDetail = serde_json::from_value(shown).unwrap();
        assert_eq!((&*read.run.status, &*read.run.outcome), ("resting", ""));
    }

    /// Q15: a run is for as many devices as its scope matches; one that has ended for as many as have rows.
    #[test]
    fn a_run_is_for_a_number_of_devices() {
        assert_eq!(progress(None, 0, Some(20)).show().total, Some(20));
        assert_eq!(progress(None, 0, Some(3)).show().total, Some(10), "its rows are there, matched or not");
        assert_eq!(progress(None, 0, None).show().total, None);
        let mut ended = progress(None, 0, Some(20));
        ended.job.status = JobStatus::Failed;
        assert_eq!(ended.show().total, Some(10));
    }

    /// Q15: the rate is over five minutes, or since the start if that is shorter.
    #[test]
    fn a_rate_is_measured() {
        let now = Timestamp(1_000_000);
        assert_eq!(rate_since(Some(Timestamp(5)), now), Timestamp(700_000));
        assert_eq!(rate_since(Some(Timestamp(940_000)), now), Timestamp(940_000));
        assert_eq!(rate_since(None, now), now);
        assert_eq!(rate_since(Some(Timestamp(2_000_000)), now), now);
        assert!((progress(Some(5), 10, None).show().rate_per_min - 2.0).abs() < 1e-9);
        assert!((progress(Some(940_000), 10, None).show().rate_per_min - 10.0).abs() < 1e-9);
    }

    /// Q15: the time left is told only where the number of devices is known and something moves.
    #[test]
    fn an_eta_is_told_where_it_can_be() {
        // 2 pending, 2 running, 20 - 10 to come: 14 at 10 a minute.
        assert_eq!(progress(Some(940_000), 10, Some(20)).show().eta_ms, Some(84_000));
        assert_eq!(progress(Some(940_000), 10, Some(3)).show().eta_ms, Some(24_000));
        assert_eq!(progress(Some(940_000), 10, None).show().eta_ms, None);
        assert_eq!(progress(Some(940_000), 0, Some(20)).show().eta_ms, None);
        let mut ended = progress(Some(940_000), 10, Some(20));
        ended.job.status = JobStatus::Success;
        assert_eq!(ended.show().eta_ms, None);
    }
}
