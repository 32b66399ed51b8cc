//! A worker as people see it: its options, its status and its log.

use super::super::core::{self, Loss, Note, Status, Trouble};
use muster_contract_simulation::RegisterRequest;
use muster_model::Timestamp;
use muster_worker_kit::Text;
use std::{fmt, path::PathBuf, sync::Arc};
use tokio::net::TcpListener;

/// The options of a worker.
pub struct Options {
    /// Who it is.
    pub who: RegisterRequest,
    /// Where it may write, if not everywhere.
    pub output_root: Option<PathBuf>,
    /// Where tasks are brought; without it they are asked for (S3).
    pub listener: Option<TcpListener>,
    /// Tells the time; never less than it was.
    pub now: Arc<dyn Fn() -> Timestamp + Send + Sync>,
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("who", &self.who)
            .field("output_root", &self.output_root)
            .field("listener", &self.listener)
            .finish_non_exhaustive()
    }
}

/// The status of a worker, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Its name.
    pub worker: Text,
    /// In one or two words; the worst that is true.
    pub state: Text,
    /// The newest term of a master that was heard of.
    pub epoch: u64,
    /// Tasks held.
    pub held: usize,
    /// How many may be.
    pub slots: u32,
    /// Frames made in all.
    pub frames: u64,
    /// How fast it may render, in percent.
    pub pace_percent: u32,
}

impl Report {
    pub(super) fn new(worker: &Text, slots: u32, status: &Status) -> Self {
        Self {
            worker: worker.clone(),
            state: state(status),
            epoch: status.epoch,
            held: status.held,
            slots,
            frames: status.frames,
            pace_percent: status.pace.0 / 10_000,
        }
    }
}

fn state(status: &Status) -> Text {
    match status {
        Status { leaving: true, .. } => "leaving".into(),
        Status { state: None, .. } => "registering".into(),
        Status { reachable: false, .. } => "no answer".into(),
        Status { state: Some(state), .. } => state.clone(),
    }
}

/// Logs a note of the core.
pub(super) fn log(note: &Note) {
    match note {
        Note::Registered { epoch } => tracing::info!(epoch, "registered"),
        Note::NotRegistered(trouble) => not_registered(trouble),
        Note::StaleMaster { epoch } => tracing::warn!(
            epoch,
            "a master of an older epoch answered and is not obeyed; if its store was replaced, start the worker anew"
        ),
        Note::Lost(loss) => {
            tracing::warn!("{}; what was held is stopped, and the worker registers anew", why(*loss))
        }
        Note::State(state) => tracing::info!(%state, "the master says how the worker stands"),
        Note::Paced(pace) => tracing::info!(factor = pace.value(), "the master sets the pace"),
        Note::NotTaken { task, why } => {
            tracing::warn!(task = task.as_deref().unwrap_or("-"), %why, "a task is not done here");
        }
        Note::Stopping { task } => {
            tracing::info!(%task, "the task is no longer this worker's: it is stopped")
        }
        Note::Taken(core::Report::Complete { task, .. }) => tracing::info!(%task, "completed"),
        Note::Taken(core::Report::Fail { task, error, .. }) => tracing::warn!(%task, %error, "failed"),
        Note::GivenUp { report, refusal } => {
            let (core::Report::Complete { task, .. } | core::Report::Fail { task, .. }) = report;
            tracing::warn!(%task, status = refusal.status, detail = %refusal.detail,
                "the master did not take the result; it is given up");
        }
    }
}

fn not_registered(trouble: &Trouble) {
    match trouble {
        Trouble::NoAnswer(_) => tracing::warn!("no answer to a registration; trying again"),
        Trouble::Unauthorized => tracing::warn!("the enrolment secret is not taken any more; trying again"),
        Trouble::Refused(refusal) => {
            tracing::warn!(status = refusal.status, detail = %refusal.detail, "registration refused; trying again");
        }
    }
}

const fn why(loss: Loss) -> &'static str {
    match loss {
        Loss::Unreachable => "the master does not answer",
        Loss::Stalled => "the worker was asleep for too long",
        Loss::Ordered => "the master gave the worker up",
        Loss::Unknown => "the master does not know the token: another worker of this name, or another store",
    }
}
