//! The status of everything (S7).

use muster_model::{AlertKind, AlertRecord, RendererState, SessionStatus, StatusView};
use serde::Serialize;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// The state of the whole (S7).
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// `ok`, or `paused` between `PauseAll` and `ResumeAll`.
    pub status: &'static str,
    /// The epoch.
    pub epoch: u64,
    /// Advertised URL of the leading server.
    pub leader: String,
    /// Open sessions by status.
    pub sessions: BTreeMap<&'static str, u64>,
    /// Workers by state.
    pub workers: BTreeMap<&'static str, u64>,
    /// The largest maxQueueRatio of all workers' latest progress.
    pub queue_depth_summary: f64,
    /// What somebody should look at.
    pub warnings: Vec<Warning>,
}

/// Something that somebody should look at (S17).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Warning {
    /// What kind.
    #[schema(example = "chunkIntegrity")]
    pub code: &'static str,
    /// What people read.
    pub message: String,
    /// The worker it is about.
    pub worker_id: String,
    /// When, epoch milliseconds.
    pub at: i64,
}

impl Status {
    /// The figures; the leader and the warnings are still to be filled in.
    #[must_use]
    pub fn new(view: &StatusView) -> Self {
        let mut sessions: BTreeMap<&'static str, u64> = SessionStatus::ALL
            .into_iter()
            .filter(|status| !status.is_ended())
            .map(|status| (status.as_str(), 0))
            .collect();
        sessions.extend(view.sessions.iter().map(|(status, count)| (status.as_str(), *count)));
        Self {
            status: if view.paused { "paused" } else { "ok" },
            epoch: 0,
            leader: String::new(),
            sessions,
            workers: count_workers(view),
            queue_depth_summary: view.queue_depth.value(),
            warnings: Vec::new(),
        }
    }
}

impl Warning {
    /// The warning of an alert, if it is about this contract (S7).
    #[must_use]
    pub fn of(alert: AlertRecord) -> Option<Self> {
        match alert.kind {
            AlertKind::ChunkIntegrity | AlertKind::WorkerZombie | AlertKind::FramesSkipped => Some(Self {
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
}

/// Workers by state, every state named; removed ones show as long as they call.
#[must_use]
pub fn count_workers(view: &StatusView) -> BTreeMap<&'static str, u64> {
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
        let shown = serde_json::to_value(Status::new(&view)).unwrap();
        assert_eq!((&shown["status"], &shown["queueDepthSummary"]), (&json!("paused"), &json!(0.93)));
        let workers =
            json!({"Registered": 0, "Healthy": 2, "Degraded": 0, "Lost": 0, "Quarantined": 0, "zombie": 1});
        assert_eq!((&shown["workers"], &shown["sessions"]), (&workers, &json!({"running": 1, "paused": 0})));
        assert_eq!(shown["warnings"], json!([]));
    }
}
