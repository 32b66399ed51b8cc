//! The engine's rejections in this contract's words, and in PostgREST's (Q14).

use muster_model::{Rejection, ScheduleRejection};
use muster_problem::{Problem, WireMutant, planted};
use serde_json::Value;

/// Puts a rejection into this contract's words.
#[must_use]
pub fn phrase(rejection: &Rejection) -> Problem {
    match rejection {
        Rejection::KeyConflict => Problem::conflict("the Idempotency-Key was used before, for another body"),
        Rejection::JobUnknown => Problem::not_found("there is no such run"),
        Rejection::TaskUnknown => Problem::not_found("there is no such task_device"),
        Rejection::LaneUnknown => Problem::not_found("there is no such device"),
        Rejection::WorkerUnknown => Problem::not_found("there is no such PC"),
        Rejection::NotHolder { holder } => Problem::conflict(format!("the task_device is held by {holder}")),
        Rejection::TaskNotRunning { status } => {
            Problem::conflict(format!("the task_device is not running; it is {}", status.as_str()))
        }
        Rejection::JobEnded { .. } if planted(WireMutant::RunEndedSaidMissing) => {
            Problem::not_found("there is no such run")
        }
        Rejection::JobEnded { status } => {
            Problem::conflict(format!("the run has ended; it is {}", status.as_str()))
        }
        Rejection::LaneInService => {
            Problem::conflict("the device is in service; there is nothing to return it from")
        }
        Rejection::ReportConflict => Problem::conflict("the id was used before, for another content"),
        // No command of this contract is about sessions.
        Rejection::Frames(_) => Problem::conflict("a session of frames does not allow it"),
        Rejection::Pool(_) => Problem::conflict("the pool does not allow it"),
        Rejection::Accounts(_) => Problem::conflict("the accounts do not allow it"),
        Rejection::Schedules(rejection) => phrase_schedules(*rejection),
    }
}

fn phrase_schedules(rejection: ScheduleRejection) -> Problem {
    match rejection {
        ScheduleRejection::Unknown => Problem::not_found("there is no such schedule"),
        ScheduleRejection::SlotTaken => Problem::conflict("the slot was dealt with before"),
        ScheduleRejection::TooMany { max } => Problem::conflict(format!(
            "there are {max} schedules, which is all there can be; delete one first"
        )),
    }
}

/// Adds the members that PostgREST's clients look at (Q14).
#[must_use]
pub fn as_postgrest(problem: Problem) -> Problem {
    let code = match problem.status().as_u16() {
        400 | 415 => "PGRST102",
        401 => "PGRST301",
        403 => "42501",
        404 => "P0002",
        409 => "55000",
        413 => "54000",
        422 => "22023",
        _ => "PGRST000",
    };
    let message = problem.detail().to_owned();
    let details = problem.field().map(|field| format!("field: {field}"));
    let problem = problem.with("code", code).with("message", message);
    problem.with("details", details.map_or(Value::Null, Value::from)).with("hint", Value::Null)
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_model::{JobStatus, Name, TaskStatus};

    /// Q14, Q15: what is unknown is 404, what does not fit the state 409, in words that name it.
    #[test]
    fn refusals_have_the_contracts_status() {
        for unknown in
            [Rejection::JobUnknown, Rejection::TaskUnknown, Rejection::LaneUnknown, Rejection::WorkerUnknown]
        {
            assert_eq!(phrase(&unknown).status(), 404);
        }
        let holder = Name::new("PC-02").unwrap();
        for (rejection, word) in [
            (Rejection::KeyConflict, "Idempotency-Key"),
            (Rejection::NotHolder { holder }, "PC-02"),
            (Rejection::TaskNotRunning { status: TaskStatus::Completed }, "completed"),
            (Rejection::JobEnded { status: JobStatus::Success }, "success"),
            (Rejection::LaneInService, "in service"),
        ] {
            let problem = phrase(&rejection);
            assert_eq!(problem.status(), 409);
            assert!(problem.detail().contains(word), "{problem}");
        }
    }

    /// Q14: problems under /rest/v1 carry code, message, details and hint beside their own members.
    #[test]
    fn a_problem_carries_postgrests_members() {
        let problem = as_postgrest(Problem::unprocessable("max_to_claim", "must be an integer"));
        let shown: Value = serde_json::from_str(&problem.body()).unwrap();
        assert_eq!(
            (&shown["code"], &shown["message"]),
            (&"22023".into(), &"max_to_claim must be an integer".into())
        );
        assert_eq!((&shown["details"], &shown["hint"]), (&"field: max_to_claim".into(), &Value::Null));
        assert_eq!(shown["status"], 422);
        assert!(shown["type"].is_string() && shown["title"].is_string() && shown["detail"].is_string());
    }
}
