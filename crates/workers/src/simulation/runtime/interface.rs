//! The options of a worker, and its status.

use super::super::{core::Status, wire::Introduction};
use muster_model::Timestamp;
use muster_worker_kit::Text;
use std::{fmt, path::PathBuf, sync::Arc};
use tokio::net::TcpListener;

/// The options of a worker.
pub struct Options {
    /// Who it is.
    pub who: Introduction,
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
