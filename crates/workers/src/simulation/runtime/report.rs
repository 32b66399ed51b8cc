//! How a worker is, for people.

use super::super::core::Status;
use muster_worker_kit::Text;

/// How a worker is.
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
