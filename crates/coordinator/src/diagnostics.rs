//! S20b: everything that did not go as planned with sessions, in the server's log once it is durable.

use muster_model::{Change, DiagnosticKind, FrameChange};
use muster_store::Batch;
use tracing::info;

/// Logs the lines that the master itself wrote into the diagnostics log, and every change of a worker's state.
pub(crate) fn log(batch: &Batch) {
    for change in &batch.changes {
        let Change::Frames(change) = change else { continue };
        match change {
            FrameChange::Diagnostic(line) if line.kind != DiagnosticKind::Message => {
                let task = line.task.as_ref().map(tracing::field::display);
                info!(session = %line.session, worker = %line.worker, task, kind = line.kind.as_str(), "{}", line.text);
            }
            FrameChange::Transition(moved) => {
                let (from, to) = (moved.from.as_str(), moved.to.as_str());
                info!(worker = %moved.worker, from, to, "simulation worker is {to}: {}", moved.cause);
            }
            _ => {}
        }
    }
}
