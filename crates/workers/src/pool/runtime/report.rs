//! How a worker is, for people.

use super::super::core::{Counts, Status};
use muster_worker_kit::Text;

/// How a worker is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// What it is called.
    pub name: Text,
    /// In a word; the worst that is true.
    pub state: &'static str,
    /// Assignments in execution.
    pub running: usize,
    /// How many may be.
    pub slots: u32,
    /// Results that the server does not have yet.
    pub spooled: usize,
    /// What became of results.
    pub counts: Counts,
}

impl Report {
    pub(super) fn new(name: &Text, slots: u32, status: &Status) -> Self {
        Self {
            name: name.clone(),
            state: state(status),
            running: status.running,
            slots,
            spooled: status.spooled,
            counts: status.counts,
        }
    }
}

const fn state(status: &Status) -> &'static str {
    if status.leaving {
        "leaving"
    } else if !status.can_store {
        "disk full"
    } else if !status.is_able {
        "cannot execute"
    } else if !status.reachable {
        "server away"
    } else if status.worker.is_none() {
        "starting"
    } else {
        "online"
    }
}
