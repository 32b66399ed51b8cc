//! Reads what an entry of the feed says was done, or went wrong. Most kinds say neither and are not parsed.

use muster_model::{RangeEnd, Timestamp};
use serde::{Deserialize, Serialize, de::IgnoredAny};
use std::borrow::Cow;
use utoipa::ToSchema;

/// Whose work it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Contract {
    Nodes,
    Sessions,
    Pool,
}

/// One thing to count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Finding<'body> {
    TaskDone,
    FramesDone(u64),
    JobsDone(u64),
    JobsFailed(u64),
    Failed(Contract, Cow<'body, str>),
}

/// What an entry says, and when that was; none if it says nothing that is counted.
pub(super) fn findings<'body>(kind: &str, body: &'body str) -> Option<(Timestamp, Vec<Finding<'body>>)> {
    if !COUNTED.contains(&kind) {
        return None;
    }
    let Ok(told) = serde_json::from_str::<Told<'body>>(body) else {
        tracing::debug!(kind, "an entry of the feed cannot be read");
        return None;
    };
    Some((Timestamp(told.at), told.findings(kind)))
}

/// The members of bodies that matter here, of all kinds together.
#[derive(Deserialize)]
struct Told<'body> {
    at: i64,
    #[serde(borrow, default)]
    outcome: Cow<'body, str>,
    #[serde(borrow, default)]
    end: Cow<'body, str>,
    #[serde(rename = "frameRange", default)]
    frames: (u64, u64),
    #[serde(default)]
    completed: Vec<IgnoredAny>,
    #[serde(default)]
    failed: Vec<IgnoredAny>,
}

impl<'body> Told<'body> {
    fn findings(self, kind: &str) -> Vec<Finding<'body>> {
        match kind {
            ATTEMPT_ENDED if self.outcome == "succeeded" => vec![Finding::TaskDone],
            ATTEMPT_ENDED if self.outcome == "cancelled" => Vec::new(),
            ATTEMPT_ENDED => vec![Finding::Failed(Contract::Nodes, self.outcome)],
            RANGE_COMPLETED => vec![Finding::FramesDone(self.frames.1.saturating_sub(self.frames.0))],
            RANGE_ENDED if is_wanted(&self.end) => Vec::new(),
            RANGE_ENDED => vec![Finding::Failed(Contract::Sessions, self.end)],
            JOBS_ENDED => self.jobs(),
            DISSENTED => vec![Finding::Failed(Contract::Pool, "outvoted".into())],
            _ => Vec::new(),
        }
    }

    /// One entry tells of all jobs that a command ended; each that failed is one failure.
    fn jobs(self) -> Vec<Finding<'body>> {
        let (done, failed) = (self.completed.len() as u64, self.failed.len() as u64);
        let each = self.failed.iter().map(|_| Finding::Failed(Contract::Pool, "job_failed".into()));
        [Finding::JobsDone(done), Finding::JobsFailed(failed)].into_iter().chain(each).collect()
    }
}

/// Whether somebody wanted an assignment of frames to end so.
fn is_wanted(end: &str) -> bool {
    [RangeEnd::GivenBack, RangeEnd::Retired, RangeEnd::SessionEnded].iter().any(|known| known.as_str() == end)
}

const ATTEMPT_ENDED: &str = "attempt_ended";
const RANGE_COMPLETED: &str = "range_completed";
const RANGE_ENDED: &str = "range_ended";
const JOBS_ENDED: &str = "pool_jobs_ended";
const DISSENTED: &str = "pool_worker_dissented";
const COUNTED: [&str; 5] = [ATTEMPT_ENDED, RANGE_COMPLETED, RANGE_ENDED, JOBS_ENDED, DISSENTED];
