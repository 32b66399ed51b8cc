//! The contract's own text and status for every refusal (P3, P5, P6, P8, P11, P13, P15).

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use muster_model::{PoolRejection, Rejection};
use muster_problem::{Problem, WireMutant, planted};
use std::borrow::Cow;

/// A refusal in the contract's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The status of the response.
    pub status: StatusCode,
    /// The `detail` of the response.
    pub detail: Cow<'static, str>,
    /// The very same bytes were accepted before (P8).
    pub identical: bool,
}

impl Refusal {
    /// 400.
    #[must_use]
    pub const fn bad(detail: &'static str) -> Self {
        Self::new(StatusCode::BAD_REQUEST, detail)
    }

    /// 404.
    #[must_use]
    pub const fn not_found(detail: &'static str) -> Self {
        Self::new(StatusCode::NOT_FOUND, detail)
    }

    /// 409.
    #[must_use]
    pub const fn conflict(detail: &'static str) -> Self {
        Self::new(StatusCode::CONFLICT, detail)
    }

    const fn new(status: StatusCode, detail: &'static str) -> Self {
        Self { status, detail: Cow::Borrowed(detail), identical: false }
    }

    fn full(detail: String) -> Self {
        Self { status: StatusCode::TOO_MANY_REQUESTS, detail: Cow::Owned(detail), identical: false }
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        match refusal.status {
            StatusCode::BAD_REQUEST => Self::bad_request(refusal.detail),
            StatusCode::NOT_FOUND => Self::not_found(refusal.detail),
            StatusCode::CONFLICT if refusal.identical && !planted(WireMutant::PoolIdenticalHeaderDropped) => {
                Self::conflict(refusal.detail)
                    .header(HeaderName::from_static(IDENTICAL), HeaderValue::from_static("true"))
            }
            StatusCode::CONFLICT => Self::conflict(refusal.detail),
            status => {
                Self::new(status, "too-many", "Too many requests", refusal.detail).retry_after(RETRY_AFTER_S)
            }
        }
    }
}

impl From<&PoolRejection> for Refusal {
    fn from(rejection: &PoolRejection) -> Self {
        match rejection {
            PoolRejection::WorkerUnknown => WORKER_NOT_FOUND,
            PoolRejection::NameTaken => Self::conflict(NAME_TAKEN),
            PoolRejection::AssignmentUnknown => Self::not_found("Assignment not found"),
            PoolRejection::NonceInvalid => Self::bad("Invalid nonce"),
            PoolRejection::AlreadySubmitted { .. } if planted(WireMutant::PoolAlreadySubmittedStatus) => {
                Self::bad(ALREADY_SUBMITTED)
            }
            PoolRejection::AlreadySubmitted { identical } => {
                Self { identical: *identical, ..Self::conflict(ALREADY_SUBMITTED) }
            }
            PoolRejection::NotSubmittable => Self::conflict("Assignment is not in a submittable state"),
            PoolRejection::OutputRequired => Self::bad("Output required"),
            PoolRejection::HashMismatch => Self::bad("Output hash mismatch"),
            // The key was replaced while the result was on its way: it does not verify the result any more.
            PoolRejection::KeyReplaced => Self::bad(SIGNATURE_INVALID),
            PoolRejection::JobUnknown => JOB_NOT_FOUND,
            PoolRejection::JobFinished if planted(WireMutant::PoolJobFinishedSaidMissing) => JOB_NOT_FOUND,
            PoolRejection::JobFinished => Self::conflict("Job already finished"),
            PoolRejection::KeyConflict => Self::conflict("Idempotency-Key was used before, for another body"),
            PoolRejection::IdsExhausted => Self::conflict("There are no more ids"),
            PoolRejection::TooManyWaiting { max } => Self::full(format!(
                "{max} of your jobs wait, which is all that may; hand in more once some have ended"
            )),
            PoolRejection::TooManyWorkers { max } => {
                Self::full(format!("you have {max} workers, which is all that one owner may have"))
            }
            PoolRejection::TooManyDemands { max } => Self::full(format!(
                "your open jobs have {max} different combinations of region and requires, which is all that they may; hand in more once some have ended"
            )),
        }
    }
}

/// Puts a rejection into this contract's words.
#[must_use]
pub fn problem_of(rejection: &Rejection) -> Problem {
    match rejection {
        Rejection::Pool(rejection) => Refusal::from(rejection).into(),
        // No command of this contract is about anything else.
        Rejection::Accounts(_)
        | Rejection::Schedules(_)
        | Rejection::Frames(_)
        | Rejection::ReportConflict
        | Rejection::KeyConflict
        | Rejection::JobUnknown
        | Rejection::TaskUnknown
        | Rejection::LaneUnknown
        | Rejection::WorkerUnknown
        | Rejection::NotHolder { .. }
        | Rejection::TaskNotRunning { .. }
        | Rejection::JobEnded { .. }
        | Rejection::LaneInService => Problem::conflict("something outside of the pool does not allow it"),
    }
}

/// Reads whether a submission was refused only because the very same bytes were accepted before (P8).
#[must_use]
pub fn is_identical(status: StatusCode, headers: &HeaderMap) -> bool {
    let says_so = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"true");
    status == StatusCode::CONFLICT && headers.get(IDENTICAL).is_some_and(says_so)
}

/// The refusal of a worker that does not exist or belongs to another owner (P5).
pub const WORKER_NOT_FOUND: Refusal = Refusal::not_found("Worker not found");
/// The refusal of a job that does not exist or belongs to another client (P13).
pub const JOB_NOT_FOUND: Refusal = Refusal::not_found("Job not found");
/// The refusal of a poll for which there is no work (P6).
pub const NO_ASSIGNMENT: Refusal = Refusal::not_found("No assignment available");
/// The refusal of a submission whose fate is unknown: the leader's term ended during the commit (P8).
pub const CONCURRENT_SUBMISSION: Refusal = Refusal::conflict("Concurrent submission conflict");
/// 409 for a name that another worker has (P3).
pub const NAME_TAKEN: &str = "Worker name already exists";
/// 409 for an assignment that has its result (P8).
pub const ALREADY_SUBMITTED: &str = "Assignment already submitted";
/// 400 for a signature that is not the worker's (P8).
pub const SIGNATURE_INVALID: &str = "Signature verification failed";
/// The header of a refusal for bytes that were accepted before (P8).
pub const IDENTICAL: &str = "muster-identical";
/// Jobs end all the time; there is room again soon.
const RETRY_AFTER_S: u32 = 5;

#[cfg(test)]
mod tests {
    use super::*;

    /// P3, P5, P8, P11, P13, P15: each refusal has the contract's status and exactly its text.
    #[test]
    fn refusals_have_the_contracts_words() {
        for (rejection, status, text) in [
            (PoolRejection::WorkerUnknown, 404, "Worker not found"),
            (PoolRejection::NameTaken, 409, "Worker name already exists"),
            (PoolRejection::AssignmentUnknown, 404, "Assignment not found"),
            (PoolRejection::NonceInvalid, 400, "Invalid nonce"),
            (PoolRejection::AlreadySubmitted { identical: false }, 409, "Assignment already submitted"),
            (PoolRejection::NotSubmittable, 409, "Assignment is not in a submittable state"),
            (PoolRejection::OutputRequired, 400, "Output required"),
            (PoolRejection::HashMismatch, 400, "Output hash mismatch"),
            (PoolRejection::KeyReplaced, 400, "Signature verification failed"),
            (PoolRejection::JobUnknown, 404, "Job not found"),
            (PoolRejection::JobFinished, 409, "Job already finished"),
        ] {
            let problem = problem_of(&Rejection::Pool(rejection));
            assert_eq!((problem.status().as_u16(), problem.detail()), (status, text));
        }
        assert_eq!(problem_of(&Rejection::Pool(PoolRejection::KeyConflict)).status(), 409);
    }

    /// P8: a header marks a submission that was accepted before, byte for byte, and its sender reads it.
    #[test]
    fn a_repeat_is_marked_by_a_header() {
        for identical in [true, false] {
            let problem = problem_of(&Rejection::Pool(PoolRejection::AlreadySubmitted { identical }));
            let response = problem.to_http();
            assert_eq!(response.headers().contains_key("Muster-Identical"), identical);
            assert_eq!(is_identical(response.status(), response.headers()), identical);
        }
    }

    /// I9: a client that submits too much learns when to try again.
    #[test]
    fn a_full_house_says_when_to_come_again() {
        for full in [PoolRejection::TooManyWaiting { max: 7 }, PoolRejection::TooManyDemands { max: 7 }] {
            let response = problem_of(&Rejection::Pool(full)).to_http();
            assert_eq!(response.status(), 429);
            assert!(response.headers().contains_key("retry-after"));
        }
    }
}
