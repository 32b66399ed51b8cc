//! A callback as the server recorded it.

use serde::Deserialize;
use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

/// One row of `node_events`.
#[derive(Clone, Debug, Default)]
pub(super) struct Report {
    pub(super) id: String,
    pub(super) node: String,
    /// One of the six types (N8 to N14).
    pub(super) kind: String,
    /// It took effect, and was not merely kept.
    pub(super) is_applied: bool,
    pub(super) body: Body,
}

/// What it says, as far as the demo looks at it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Body {
    pub(super) timestamp: i64,
    pub(super) run_id: String,
    pub(super) task_id: String,
    pub(super) attempt: u16,
    step: String,
    status: String,
    failure_reason: String,
    error_message: String,
}

impl Report {
    /// Whether it is about a task, not about a run.
    pub(super) fn is_of_a_task(&self) -> bool {
        !self.body.task_id.is_empty()
    }

    pub(super) fn ends_a_task(&self) -> bool {
        self.kind == "task_finished"
    }

    /// Whether it tells of a task that ended with its agent (N22b).
    pub(super) fn is_interruption(&self) -> bool {
        self.ends_a_task() && self.body.error_message == "agent restarted"
    }

    /// What a task's report says, in a word or two.
    pub(super) fn words(&self) -> String {
        let Body { step, status, failure_reason, .. } = &self.body;
        match self.kind.as_str() {
            "task_started" => STARTED.to_owned(),
            "task_progress" => format!("{step} {status}"),
            _ if self.is_interruption() => INTERRUPTED.to_owned(),
            "task_finished" if status == "succeeded" => SUCCEEDED.to_owned(),
            "task_finished" => format!("{FAILED}{failure_reason}"),
            other => other.to_owned(),
        }
    }
}

/// How long slots of agents were free between two tasks of a run, by the agents' own clocks.
///
/// A task is taken to follow in the slot that has been free the longest. The first tasks of a run waited for the run and
/// are not measured.
pub(super) fn slot_waits(reports: &[Report]) -> Vec<Duration> {
    let mut free: BTreeMap<&str, VecDeque<&Report>> = BTreeMap::new();
    let mut waits = Vec::new();
    for report in reports {
        let free = free.entry(&report.node).or_default();
        match report.kind.as_str() {
            "task_finished" => free.push_back(report),
            "task_started" => {
                let before = free.pop_front().filter(|before| before.body.run_id == report.body.run_id);
                let wait = before.map(|before| report.body.timestamp - before.body.timestamp);
                waits.extend(wait.and_then(|ms| u64::try_from(ms).ok()).map(Duration::from_millis));
            }
            _ => {}
        }
    }
    waits
}

pub(super) const STARTED: &str = "started";
pub(super) const SUCCEEDED: &str = "succeeded";
pub(super) const INTERRUPTED: &str = "interrupted";
/// A reason follows.
pub(super) const FAILED: &str = "failed: ";

#[cfg(test)]
mod tests {
    use super::*;

    fn report(kind: &str, run: &str, timestamp: i64) -> Report {
        let body = Body { run_id: run.to_owned(), timestamp, ..Body::default() };
        Report { kind: kind.to_owned(), node: "PC-01".to_owned(), body, ..Report::default() }
    }

    #[test]
    fn a_slot_waits_from_one_task_of_a_run_to_the_next() {
        let elsewhere = Report { node: "PC-02".to_owned(), ..report("task_started", "r", 9) };
        let reports = [
            report("task_started", "r", 0),
            report("task_finished", "r", 100),
            elsewhere,
            report("task_started", "r", 104),
            report("task_finished", "r", 200),
            report("task_started", "next", 900),
        ];
        assert_eq!(slot_waits(&reports), [Duration::from_millis(4)]);
    }
}
