//! Between the core's words and the coordinator's, without the JSON in between.

use super::exchange::Answer;
use crate::pool::PoolView;
use muster_agent::Text;
use muster_model::{
    Ask, Millis, PoolHandout, PoolRegistration, PoolRejection, PoolWorkerRecord, Rejection, Reply, UserId,
    ask::pool::{Poll, Resume},
};
use muster_workers::pool::{
    Assignment,
    core::{Refusal, Started, Submitted, Trouble, WorkerSummary},
};

/// What came back, as the core hears it.
pub(super) fn answer(result: Result<Reply, Rejection>) -> Answer {
    result.map_err(|rejection| match rejection {
        Rejection::Pool(rejection) => Trouble::Refused(refusal(&rejection)),
        _ => nobody(None),
    })
}

pub(super) fn nobody(patience: Option<Millis>) -> Trouble {
    Trouble::NoAnswer(patience)
}

/// An owner's workers, as the store has them (P4).
pub(super) fn known(view: &PoolView<'_>, owner: UserId) -> Vec<WorkerSummary> {
    view.workers.iter().filter(|row| row.owner == owner).map(|row| worker(row)).collect()
}

pub(super) fn registered(reply: Reply) -> WorkerSummary {
    worker(&PoolRegistration::reply(reply))
}

pub(super) fn polled(reply: Reply) -> Option<Assignment> {
    Poll::reply(reply).as_ref().map(assignment)
}

pub(super) fn started(reply: Reply) -> Started {
    Started::All(Resume::reply(reply).iter().map(assignment).collect())
}

/// A repeat of the very same bytes was taken before (P8).
pub(super) fn submitted(answer: Answer) -> Result<Submitted, Trouble> {
    match answer {
        Err(Trouble::Refused(refusal)) if &*refusal.detail == IDENTICAL => Ok(Submitted::Before),
        answer => answer.map(|_| Submitted::Now),
    }
}

fn worker(row: &PoolWorkerRecord) -> WorkerSummary {
    WorkerSummary {
        id: row.id.0,
        name: Text::from(&*row.name),
        key: row.public_key.as_deref().map(Text::from),
        slots: Some(row.slots.into()),
        last_seen: None,
    }
}

fn assignment(handout: &PoolHandout) -> Assignment {
    Assignment { id: handout.assignment.0, nonce: handout.fence.0.to_string().into(), job: "{}".into() }
}

/// The status and the words that contract P gives to a refusal.
fn refusal(rejection: &PoolRejection) -> Refusal {
    let (status, detail) = match rejection {
        PoolRejection::WorkerUnknown => (404, "Worker not found"),
        PoolRejection::AssignmentUnknown => (404, "Assignment not found"),
        PoolRejection::NonceInvalid => (400, "Invalid nonce"),
        PoolRejection::AlreadySubmitted { identical: true } => (409, IDENTICAL),
        PoolRejection::AlreadySubmitted { identical: false } => (409, "Assignment already submitted"),
        PoolRejection::NotSubmittable => (409, "Assignment is not in a submittable state"),
        PoolRejection::OutputRequired => (400, "Output required"),
        PoolRejection::HashMismatch => (400, "Output hash mismatch"),
        PoolRejection::KeyReplaced => (400, "Signature verification failed"),
        PoolRejection::NameTaken => (409, "Worker name already exists"),
        _ => (409, "something else"),
    };
    Refusal { status, detail: detail.into() }
}

const IDENTICAL: &str = "Assignment already submitted, identical";
