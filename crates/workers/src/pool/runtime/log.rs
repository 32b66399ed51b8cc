//! What the log says of a worker's life.

use super::super::core::{Note, Submitted};

/// Writes a line for people.
pub(super) fn write(note: &Note) {
    match note {
        Note::Away => tracing::warn!("the server does not answer; results are kept, and it is tried again"),
        Note::Back => tracing::info!("the server answers again"),
        Note::Found { worker, last_seen } => {
            tracing::info!(worker, last_seen = last_seen.as_deref(), "the server knows this worker");
        }
        Note::Registered { worker } => tracing::info!(worker, "registered"),
        Note::OtherSlots { theirs } => tracing::warn!(
            theirs,
            "the worker was registered with another number of slots, and is given no more at once than those"
        ),
        Note::KeyReplaced => tracing::info!("the key is replaced"),
        Note::KeyNotReplaced { why } => {
            tracing::error!(%why, "the new key is not in its place; trying again")
        }
        Note::Resumed { assignments } => {
            tracing::info!(assignments, "what was started before and has no result is executed again");
        }
        Note::Unable { assignment, why } => tracing::error!(
            assignment, %why, "this machine cannot execute: nothing more is taken, and it is tried again"
        ),
        Note::Dropped { assignment } => {
            tracing::warn!(
                assignment,
                "the server has this no longer: cancelled, or decided by others; it is ended"
            );
        }
        Note::Refused(refusal) => {
            tracing::warn!(status = refusal.status, detail = %refusal.detail, "a call was refused");
        }
        Note::Taken { assignment, is_error, how } => taken(*assignment, *is_error, *how),
        Note::SetAside { assignment, refusal } => tracing::error!(
            assignment, status = refusal.status, detail = %refusal.detail,
            "the server refused a result for good; it was set aside: see `muster pool-worker aside`"
        ),
    }
}

fn taken(assignment: u64, is_error: bool, how: Submitted) {
    match (how, is_error) {
        (Submitted::Now, false) => tracing::info!(assignment, "completed"),
        (Submitted::Now, true) => tracing::warn!(assignment, "failed"),
        (Submitted::Before, _) => tracing::info!(assignment, "the server had this result already"),
    }
}
