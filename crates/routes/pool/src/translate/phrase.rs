//! What a caller is told when the answer is no: the contract's own texts.

use axum::http::{HeaderName, HeaderValue, StatusCode};
use muster_http::Problem;
use muster_model::{PoolRejection, Rejection};
use std::borrow::Cow;

/// A refusal in the contract's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Words {
    pub(crate) status: StatusCode,
    pub(crate) detail: Cow<'static, str>,
    /// The very same bytes were taken before (P8).
    pub(crate) identical: bool,
}

impl Words {
    /// A result that cannot be its worker's (P8).
    pub(crate) const fn bad(detail: &'static str) -> Self {
        Self::new(StatusCode::BAD_REQUEST, detail)
    }

    pub(crate) const fn not_found(detail: &'static str) -> Self {
        Self::new(StatusCode::NOT_FOUND, detail)
    }

    pub(crate) const fn conflict(detail: &'static str) -> Self {
        Self::new(StatusCode::CONFLICT, detail)
    }

    const fn new(status: StatusCode, detail: &'static str) -> Self {
        Self { status, detail: Cow::Borrowed(detail), identical: false }
    }

    fn full(detail: String) -> Self {
        Self { status: StatusCode::TOO_MANY_REQUESTS, detail: Cow::Owned(detail), identical: false }
    }
}

impl From<Words> for Problem {
    fn from(words: Words) -> Self {
        match words.status {
            StatusCode::BAD_REQUEST => Self::bad_request(words.detail),
            StatusCode::NOT_FOUND => Self::not_found(words.detail),
            StatusCode::CONFLICT if words.identical => Self::conflict(words.detail)
                .header(HeaderName::from_static("muster-identical"), HeaderValue::from_static("true")),
            StatusCode::CONFLICT => Self::conflict(words.detail),
            status => {
                Self::new(status, "too-many", "Too many requests", words.detail).retry_after(RETRY_AFTER_S)
            }
        }
    }
}

/// Puts a rejection into this contract's words.
pub(crate) fn phrase(rejection: &Rejection) -> Problem {
    match rejection {
        Rejection::Pool(rejection) => words(rejection).into(),
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

/// The contract's words for what the pool does not allow.
pub(crate) fn words(rejection: &PoolRejection) -> Words {
    match rejection {
        PoolRejection::WorkerUnknown => Words::not_found("Worker not found"),
        PoolRejection::NameTaken => Words::conflict("Worker name already exists"),
        PoolRejection::AssignmentUnknown => Words::not_found("Assignment not found"),
        PoolRejection::NonceInvalid => Words::bad("Invalid nonce"),
        PoolRejection::AlreadySubmitted { identical } => {
            Words { identical: *identical, ..Words::conflict("Assignment already submitted") }
        }
        PoolRejection::NotSubmittable => Words::conflict("Assignment is not in a submittable state"),
        PoolRejection::OutputRequired => Words::bad("Output required"),
        PoolRejection::HashMismatch => Words::bad("Output hash mismatch"),
        // The key was replaced while the result was on its way: it does not verify the result any more.
        PoolRejection::KeyReplaced => Words::bad("Signature verification failed"),
        PoolRejection::JobUnknown => Words::not_found("Job not found"),
        PoolRejection::JobFinished => Words::conflict("Job already finished"),
        PoolRejection::KeyConflict => Words::conflict("Idempotency-Key was used before, for another body"),
        PoolRejection::IdsExhausted => Words::conflict("There are no more ids"),
        PoolRejection::TooManyWaiting { max } => Words::full(format!(
            "{max} of your jobs wait, which is all that may; hand in more once some have ended"
        )),
        PoolRejection::TooManyWorkers { max } => {
            Words::full(format!("you have {max} workers, which is all that one owner may have"))
        }
        PoolRejection::TooManyDemands { max } => Words::full(format!(
            "your open jobs have {max} different combinations of region and requires, which is all that they may; hand in more once some have ended"
        )),
    }
}

/// Jobs end all the time; somebody's place is free soon.
const RETRY_AFTER_S: u32 = 5;

#[cfg(test)]
mod tests {
    use super::*;
    use axum::response::IntoResponse;

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
            let problem = phrase(&Rejection::Pool(rejection));
            assert_eq!((problem.status().as_u16(), problem.detail()), (status, text));
        }
        assert_eq!(phrase(&Rejection::Pool(PoolRejection::KeyConflict)).status(), 409);
    }

    /// P8: what was taken before, byte for byte, is told by a header.
    #[test]
    fn a_repeat_is_told_by_a_header() {
        let header = |identical| {
            let response =
                phrase(&Rejection::Pool(PoolRejection::AlreadySubmitted { identical })).into_response();
            response.headers().get("Muster-Identical").cloned()
        };
        assert_eq!(header(true), Some(HeaderValue::from_static("true")));
        assert_eq!(header(false), None);
    }

    /// I9: who hands in too much is told when to come again.
    #[test]
    fn a_full_house_says_when_to_come_again() {
        for full in [PoolRejection::TooManyWaiting { max: 7 }, PoolRejection::TooManyDemands { max: 7 }] {
            let response = phrase(&Rejection::Pool(full)).into_response();
            assert_eq!(response.status(), 429);
            assert!(response.headers().contains_key("retry-after"));
        }
    }
}
