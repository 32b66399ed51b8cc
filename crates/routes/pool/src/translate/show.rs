//! What there is, in the contract's words (P3, P4, P6, P7, P13, P17).

use crate::wire::{Assignment, Job, JsonText, Moment, Receipt, Registered, Submitted, Worker};
use muster_model::{
    AssignmentRecord, AssignmentState, PoolHandout, PoolJobDraft, PoolJobId, PoolResult, PoolTaken,
    PoolWorkerRecord, Timestamp,
};
use muster_proof::{encode_base64url, signed_bytes};
use muster_store::PoolJobView;
use std::sync::Arc;

/// A worker as its registration answers it.
pub(crate) fn show_registered(worker: PoolWorkerRecord) -> Registered {
    Registered {
        id: worker.id.0,
        name: worker.name,
        owner_user_id: worker.owner.0,
        status: worker.status.as_str(),
        region: worker.region,
        specs_json: worker.specs_json.as_deref().map(JsonText::from),
        public_key: worker.public_key,
        last_seen_at: worker.last_seen.map(Moment),
    }
}

/// A worker; `seen` is when memory last heard of it, newer than what was written down.
pub(crate) fn show_worker(mut worker: PoolWorkerRecord, seen: Option<Timestamp>) -> Worker {
    worker.last_seen = worker.last_seen.max(seen);
    Worker {
        reputation: worker.reputation(),
        dissents: worker.dissents,
        draining: worker.draining,
        ban_reason: worker.ban_reason.take(),
        registered: show_registered(worker),
    }
}

/// An assignment with the payload of its job.
pub(crate) fn show_assignment(handout: &PoolHandout, payload: Arc<str>) -> Assignment {
    Assignment {
        assignment_id: handout.assignment.0,
        job: payload.into(),
        nonce: handout.fence.to_string(),
        cost_hint_tokens: handout.priority,
    }
}

/// A result that was taken.
pub(crate) fn show_taken(taken: &PoolTaken) -> Submitted {
    Submitted {
        assignment_id: taken.assignment.0,
        status: taken.status.as_str(),
        finished_at: Moment(taken.at),
    }
}

/// A job as it was when it was handed in, whatever has come of it since: so a repeat is answered as the first was (P13).
pub(crate) fn show_created(id: PoolJobId, draft: PoolJobDraft, at: Timestamp) -> Job {
    Job {
        id: id.0,
        status: muster_model::PoolJobStatus::Queued.as_str(),
        payload: draft.payload.into(),
        priority: draft.priority,
        region: draft.demand.region,
        output: None,
        output_hash: None,
        error_message: None,
        artifact_uri: None,
        metrics_json: None,
        created_at: Moment(at),
        finished_at: None,
        explanation: None,
    }
}

/// A job as it stands now.
pub(crate) fn show_job(view: PoolJobView) -> Job {
    let status = view.status().as_str();
    let created = show_created(view.job.id, view.job.draft, view.job.created_at);
    let result = view.result.and_then(|assignment| assignment.result);
    let result = result.as_deref();
    let text = |of: fn(&PoolResult) -> &Option<Box<str>>| result.and_then(|result| of(result).clone());
    let json = |of: fn(&PoolResult) -> &Option<Box<str>>| result.and_then(|result| of(result).as_deref());
    let why = view.end.as_ref().and_then(|end| end.error.clone());
    Job {
        status,
        output: json(|result| &result.output).map(JsonText::from),
        output_hash: text(|result| &result.output_hash),
        error_message: why.or_else(|| text(|result| &result.error)),
        artifact_uri: text(|result| &result.artifact_uri),
        metrics_json: json(|result| &result.metrics).map(JsonText::from),
        finished_at: view.end.map(|end| Moment(end.at)),
        ..created
    }
}

/// The receipt of an assignment; `None` for one without a completed result (P17).
pub(crate) fn show_receipt(assignment: &AssignmentRecord) -> Option<Receipt> {
    if assignment.state != AssignmentState::Completed {
        return None;
    }
    let (id, result) = (assignment.id, assignment.result.as_ref()?);
    let signed = signed_bytes(id.0, &assignment.fence.to_string(), result.output_hash.as_deref());
    Some(Receipt {
        assignment_id: id.0,
        job_id: id.job().0,
        worker_id: assignment.worker.0,
        public_key: result.public_key.clone(),
        signed_bytes: encode_base64url(&signed),
        signature: result.signature.clone(),
        output_hash: result.output_hash.clone(),
        finished_at: Moment(assignment.ended_at?),
    })
}

#[cfg(test)]
#[path = "show_tests.rs"]
mod tests;
