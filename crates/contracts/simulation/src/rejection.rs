//! Problems of this contract: the texts and statuses for what the engine rejects.

use muster_model::{FrameRejection, Name, Rejection};
use muster_problem::{Problem, WireMutant, planted};

/// Phrases a rejection.
#[must_use]
pub fn phrase(rejection: &Rejection) -> Problem {
    match rejection {
        Rejection::Frames(rejection) => phrase_frames(rejection),
        Rejection::Pool(_) => Problem::conflict("the pool does not allow it"),
        Rejection::Accounts(_) => Problem::conflict("the accounts do not allow it"),
        Rejection::Schedules(_) => Problem::conflict("a schedule does not allow it"),
        // No command of this contract is about jobs on devices.
        Rejection::ReportConflict
        | Rejection::KeyConflict
        | Rejection::JobUnknown
        | Rejection::TaskUnknown
        | Rejection::LaneUnknown
        | Rejection::WorkerUnknown
        | Rejection::NotHolder { .. }
        | Rejection::TaskNotRunning { .. }
        | Rejection::JobEnded { .. }
        | Rejection::LaneInService => Problem::conflict("a run on devices does not allow it"),
    }
}

/// As a problem is told to an operator. That a worker was removed is no end of anything for an operator, unlike for the
/// worker: it does not fit the state of things.
#[must_use]
pub fn for_operator(problem: Problem) -> Problem {
    match problem.status().as_u16() {
        410 if !planted(WireMutant::RemovedSaidGoneToOperator) => Problem::conflict("the worker was removed"),
        _ => problem,
    }
}

fn phrase_frames(rejection: &FrameRejection) -> Problem {
    match rejection {
        FrameRejection::RendererUnknown => Problem::not_found("there is no such worker"),
        FrameRejection::SessionUnknown => Problem::not_found("there is no such session"),
        FrameRejection::TaskUnknown => Problem::not_found("there is no such task"),
        FrameRejection::ChunkUnknown => Problem::not_found("there is no such chunk"),
        FrameRejection::Quarantined => {
            Problem::forbidden("the worker is in quarantine until an operator approves it")
        }
        FrameRejection::Removed => {
            Problem::gone("the worker was removed; to work again it must register anew")
        }
        FrameRejection::RangeForeign { expected } => Problem::unprocessable(
            "manifestFragment.frameRange",
            &format!("must be the frames of the assignment, [{}, {}]", expected.start, expected.end),
        ),
        FrameRejection::ChunkForeign { expected } => Problem::unprocessable(
            "manifestFragment.globalIdChunkId",
            &format!("must be the chunk of the assignment, {expected}"),
        ),
        FrameRejection::NotHolder { .. } if planted(WireMutant::NotHolderSaidUnprocessable) => {
            Problem::unprocessable("attempt", "must be live")
        }
        unfit => Problem::conflict(conflict(unfit)),
    }
}

/// The words for what does not fit the state of things.
fn conflict(rejection: &FrameRejection) -> String {
    match rejection {
        FrameRejection::NotQuarantined { state } => {
            format!("the worker is not in quarantine; it is {}", state.as_str())
        }
        FrameRejection::Unfit { state, live, slots } => {
            let state = state.as_str();
            format!("the worker cannot take the task: it is {state} and holds {live} of at most {slots}")
        }
        FrameRejection::SessionConflict => "sessionId was used before, for another body".to_owned(),
        FrameRejection::SessionEnded { session, status } => {
            format!("the session {session} has ended; it is {}", status.as_str())
        }
        FrameRejection::TaskNotWaiting { status } => {
            format!("the task does not wait for a worker; it is {}", status.as_str())
        }
        FrameRejection::NotHolder { holder } => not_holder(holder.as_ref()),
        FrameRejection::HoldsNone => {
            "the worker holds no task of that session, or several: name one in taskId".to_owned()
        }
        FrameRejection::CompletionConflict => {
            "this attempt was completed before, with another content".to_owned()
        }
        FrameRejection::FramesDropped { dropped } => {
            format!("the session is strict and {dropped} frames were dropped; the range is given out anew")
        }
        FrameRejection::Lost => "the worker was lost: it must register anew".to_owned(),
        FrameRejection::TooManyChunks { max } => {
            format!("the attempt has {max} further chunks already, which is all one can have")
        }
        FrameRejection::IdsExhausted => "there are no more ids below 2^63".to_owned(),
        FrameRejection::EntryMoving => {
            "the files are still on their way to quarantine: look at them once `moved` is true".to_owned()
        }
        FrameRejection::Paused => "no task is given out now: the session or everything is paused".to_owned(),
        FrameRejection::NothingFailed => {
            "nothing failed among these frames; `failedFrames` of the session lists what did".to_owned()
        }
        FrameRejection::SessionChanged => {
            "the session changed while it was read; send the request again".to_owned()
        }
        // Said before, with a status of their own.
        FrameRejection::RendererUnknown
        | FrameRejection::SessionUnknown
        | FrameRejection::TaskUnknown
        | FrameRejection::ChunkUnknown
        | FrameRejection::Quarantined
        | FrameRejection::Removed
        | FrameRejection::RangeForeign { .. }
        | FrameRejection::ChunkForeign { .. } => "the request does not fit".to_owned(),
    }
}

fn not_holder(holder: Option<&Name>) -> String {
    match holder {
        Some(holder) => format!("the task is held by {holder}; nothing of this was counted"),
        None => "the task is not held by this worker any more; nothing of this was counted".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_model::{FrameRange, FrameTaskStatus, RendererState, SessionId, SessionStatus};

    fn status(rejection: FrameRejection) -> u16 {
        phrase(&Rejection::Frames(rejection)).status().as_u16()
    }

    /// S5, S6, S9, S17, S26: each refusal has its status: 403, 404, 409, 410 or 422 with the field.
    #[test]
    fn refusals_have_the_contracts_status() {
        assert_eq!(status(FrameRejection::Quarantined), 403);
        assert_eq!(status(FrameRejection::Removed), 410);
        for unknown in [
            FrameRejection::RendererUnknown,
            FrameRejection::SessionUnknown,
            FrameRejection::TaskUnknown,
            FrameRejection::ChunkUnknown,
        ] {
            assert_eq!(status(unknown), 404);
        }
        for unfit in [
            FrameRejection::SessionConflict,
            FrameRejection::CompletionConflict,
            FrameRejection::HoldsNone,
            FrameRejection::NotHolder { holder: None },
            FrameRejection::FramesDropped { dropped: 2 },
            FrameRejection::IdsExhausted,
            FrameRejection::Paused,
            FrameRejection::EntryMoving,
            FrameRejection::NothingFailed,
            FrameRejection::SessionChanged,
        ] {
            assert_eq!(status(unfit), 409);
        }
    }

    /// S5: a fragment of other frames or another chunk is named by its field, with what it should have said.
    #[test]
    fn a_foreign_fragment_is_named() {
        let expected = FrameRange { start: 10, end: 20 };
        let problem = phrase(&Rejection::Frames(FrameRejection::RangeForeign { expected }));
        assert_eq!((problem.status().as_u16(), problem.field()), (422, Some("manifestFragment.frameRange")));
        assert!(problem.detail().contains("[10, 20]"));
        let problem = phrase(&Rejection::Frames(FrameRejection::ChunkForeign { expected: 7 }));
        assert_eq!(problem.field(), Some("manifestFragment.globalIdChunkId"));
        assert!(problem.detail().ends_with('7'));
    }

    /// S5, S6, S8, S26: what does not fit is said with what it is instead.
    #[test]
    fn a_conflict_says_how_things_stand() {
        let session = SessionId::new("night").unwrap();
        for (rejection, word) in [
            (FrameRejection::NotHolder { holder: Some(Name::new("W2").unwrap()) }, "W2"),
            (FrameRejection::NotQuarantined { state: RendererState::Healthy }, "Healthy"),
            (FrameRejection::Unfit { state: RendererState::Lost, live: 1, slots: 1 }, "Lost"),
            (FrameRejection::SessionEnded { session, status: SessionStatus::Cancelled }, "cancelled"),
            (FrameRejection::TaskNotWaiting { status: FrameTaskStatus::Running }, "running"),
        ] {
            let problem = phrase(&Rejection::Frames(rejection));
            assert!(problem.status() == 409 && problem.detail().contains(word), "{}", problem.detail());
        }
    }
}
