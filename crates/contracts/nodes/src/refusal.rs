//! The engine's rejections in this contract's words (N6).

use muster_model::Rejection;
use muster_problem::{Problem, WireMutant, planted};

/// Puts a rejection into this contract's words.
#[must_use]
pub fn phrase(rejection: &Rejection) -> Problem {
    match rejection {
        Rejection::ReportConflict if planted(WireMutant::IdConflictSaidBusy) => {
            Problem::busy("event_id is in use")
        }
        Rejection::ReportConflict => Problem::conflict("event_id was used before, for another event"),
        Rejection::JobUnknown => Problem::not_found("run_id names no run"),
        Rejection::TaskUnknown => Problem::not_found("task_id names no task of this run"),
        Rejection::LaneUnknown => Problem::not_found("device_id is not the device of this task"),
        Rejection::WorkerUnknown => Problem::not_found("node_id names no node"),
        Rejection::NotHolder { holder } => {
            Problem::conflict(format!("the task is held by {holder}, not by node_id"))
        }
        Rejection::TaskNotRunning { .. } => Problem::conflict("the task is not running"),
        Rejection::JobEnded { .. } => Problem::conflict("the run has ended"),
        Rejection::KeyConflict => Problem::conflict("the key was used before, for another body"),
        Rejection::LaneInService => Problem::conflict("the device is in service"),
        // No command of this contract is about sessions.
        Rejection::Frames(_) => Problem::conflict("a session of frames does not allow it"),
        Rejection::Pool(_) => Problem::conflict("the pool does not allow it"),
        Rejection::Accounts(_) => Problem::conflict("the accounts do not allow it"),
        Rejection::Schedules(_) => Problem::conflict("a schedule does not allow it"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_model::Name;

    /// N6: unknown things are 404; an id of another body and a task of another node are 409.
    #[test]
    fn refusals_have_the_contracts_status() {
        let holder = Name::new("PC-02").unwrap();
        for unknown in [Rejection::JobUnknown, Rejection::TaskUnknown, Rejection::LaneUnknown] {
            assert_eq!(phrase(&unknown).status(), 404);
        }
        assert_eq!(phrase(&Rejection::ReportConflict).status(), 409);
        let problem = phrase(&Rejection::NotHolder { holder });
        assert_eq!(problem.status(), 409);
        assert!(problem.detail().contains("PC-02"));
    }
}
