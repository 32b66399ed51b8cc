//! How everything stands (S7).

use crate::wire::{Status, Warning};
use muster_model::{AlertKind, AlertRecord, RendererState, SessionStatus, StatusView};
use std::collections::BTreeMap;

/// The figures; who leads and what to look at are still to be told.
pub(crate) fn show_status(view: &StatusView) -> Status {
    let mut sessions: BTreeMap<&'static str, u64> = SessionStatus::ALL
        .into_iter()
        .filter(|status| !status.is_ended())
        .map(|status| (status.as_str(), 0))
        .collect();
    sessions.extend(view.sessions.iter().map(|(status, count)| (status.as_str(), *count)));
    Status {
        status: if view.paused { "paused" } else { "ok" },
        epoch: 0,
        leader: String::new(),
        sessions,
        workers: workers(view),
        queue_depth_summary: view.queue_depth.value(),
        warnings: Vec::new(),
    }
}

/// The warning that an alert about this contract is shown as (S7).
pub(crate) fn show_warning(alert: AlertRecord) -> Option<Warning> {
    match alert.kind {
        AlertKind::ChunkIntegrity | AlertKind::WorkerZombie | AlertKind::FramesSkipped => Some(Warning {
            code: alert.kind.as_str(),
            message: alert.message.into(),
            worker_id: alert.worker.to_string(),
            at: alert.at.0,
        }),
        AlertKind::MassDropout
        | AlertKind::SummaryMismatch
        | AlertKind::DeviceContested
        | AlertKind::EventConflict
        | AlertKind::HeartbeatLate => None,
    }
}

/// Workers by state, every state named; removed ones show as long as they call.
pub(crate) fn workers(view: &StatusView) -> BTreeMap<&'static str, u64> {
    let known = RendererState::ALL.into_iter().filter(|state| *state != RendererState::Removed);
    let mut workers: BTreeMap<&'static str, u64> = known.map(|state| (state.as_str(), 0)).collect();
    let counted = view.renderers.iter().filter(|(state, _)| *state != RendererState::Removed);
    workers.extend(counted.map(|(state, count)| (state.as_str(), *count)));
    workers.insert("zombie", view.zombies);
    workers
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_model::Ratio;
    use serde_json::json;

    /// S7: every state is counted, also those that nobody is in; the deepest queue is told.
    #[test]
    fn golden_status() {
        let view = StatusView {
            renderers: vec![(RendererState::Healthy, 2), (RendererState::Removed, 3)],
            zombies: 1,
            sessions: vec![(SessionStatus::Running, 1)],
            queue_depth: Ratio(930_000),
            paused: true,
            ..StatusView::default()
        };
        let shown = serde_json::to_value(show_status(&view)).unwrap();
        assert_eq!((&shown["status"], &shown["queueDepthSummary"]), (&json!("paused"), &json!(0.93)));
        let workers =
            json!({"Registered": 0, "Healthy": 2, "Degraded": 0, "Lost": 0, "Quarantined": 0, "zombie": 1});
        assert_eq!((&shown["workers"], &shown["sessions"]), (&workers, &json!({"running": 1, "paused": 0})));
        assert_eq!(shown["warnings"], json!([]));
    }
}
