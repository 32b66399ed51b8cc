//! Workers as people see them (S8, S11).

use crate::{Backpressure, JsonText, session::frames_a_second};
use muster_model::{RendererRecord, RendererState, RendererView, TransitionRecord};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

/// A worker in the catalogue (S11).
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Worker {
    /// Its name.
    pub worker_id: String,
    /// As it said when it registered.
    pub role: Option<String>,
    /// As it said when it registered.
    pub capabilities: JsonText,
    /// Where it stands; `zombie` for one that was removed and keeps calling, or never answered.
    pub state: &'static str,
    /// Since when, epoch milliseconds.
    pub state_since: i64,
    /// Its last heartbeat, epoch milliseconds.
    pub last_heartbeat: Option<i64>,
    /// The task it is at; of several, the first.
    pub current_task: Option<String>,
    /// All tasks it holds.
    pub tasks: Vec<String>,
    /// As it last said.
    pub queue_ratio: Option<f64>,
    /// As its latest progress said.
    pub max_queue_ratio: Option<f64>,
    /// As it last said.
    pub gpu_usage: Option<f64>,
    /// As it last said.
    pub last_frame: Option<u64>,
    /// How fast it may go.
    pub backpressure: Option<Backpressure>,
    /// Frames a second, as its completed ranges tell.
    pub rate: Option<f64>,
    /// Losses and failures that count towards its diagnosis.
    pub failures: u32,
    /// Tasks it takes at a time.
    pub slots: u32,
    /// Where it takes tasks by push.
    pub endpoint: Option<String>,
    /// When it last registered, epoch milliseconds.
    pub registered_at: i64,
}

/// One worker with its life (S11).
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkerDetail {
    /// The worker itself.
    #[serde(flatten)]
    pub worker: Worker,
    /// Its changes of state, oldest first; the last hundred.
    pub transitions: Vec<Transition>,
    /// Its registration as it was sent, fields that are not known included.
    pub registration: JsonText,
}

/// A change of a worker's state (S11).
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Transition {
    /// From which state.
    pub from: &'static str,
    /// To which.
    pub to: &'static str,
    /// Why.
    pub cause: String,
    /// When, epoch milliseconds.
    pub at: i64,
}

/// A worker and where it stands.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkerState {
    /// Who.
    pub worker_id: String,
    /// Where it stands.
    pub state: &'static str,
}

/// The word for a worker's state; `calls` if it goes on calling after its removal, or never answered it.
#[must_use]
pub const fn state_word(state: RendererState, calls: bool) -> &'static str {
    match state {
        RendererState::Removed if calls => "zombie",
        state => state.as_str(),
    }
}

impl Worker {
    /// The entry of a worker; `view` is what memory knows of it beyond the store.
    #[must_use]
    pub fn new(record: &RendererRecord, view: Option<&RendererView>) -> Self {
        let said = Description::of(record);
        let tasks: Vec<String> =
            view.into_iter().flat_map(|view| &view.tasks).map(|task| task.id.to_string()).collect();
        Self {
            worker_id: record.id.to_string(),
            role: said.role,
            capabilities: said.capabilities.map_or_else(JsonText::null, Into::into),
            state: view.map_or(record.state.as_str(), |view| state_word(view.state, view.zombie)),
            state_since: record.state_since.0,
            last_heartbeat: view
                .and_then(|view| view.last_heartbeat)
                .or(record.last_heartbeat)
                .map(|at| at.0),
            current_task: tasks.first().cloned(),
            tasks,
            queue_ratio: view.map(|view| view.queue_ratio.value()),
            max_queue_ratio: view.and_then(|view| view.max_queue_ratio).map(|ratio| ratio.value()),
            gpu_usage: view.and_then(|view| view.gpu_usage).map(|ratio| ratio.value()),
            last_frame: view.and_then(|view| view.last_frame),
            backpressure: view.map(|view| Backpressure::new(view.pressure)),
            rate: view.and_then(|view| view.rate).map(frames_a_second),
            failures: view.map_or_else(|| count(record), |view| view.failures),
            slots: record.slots,
            endpoint: record.endpoint.as_deref().map(str::to_owned),
            registered_at: record.registered_at.0,
        }
    }
}

impl WorkerDetail {
    /// One worker with its transitions.
    #[must_use]
    pub fn new(
        record: &RendererRecord,
        view: Option<&RendererView>,
        transitions: Vec<TransitionRecord>,
    ) -> Self {
        let registration = record.description.as_deref().and_then(|text| JsonText::new(text).ok());
        Self {
            worker: Worker::new(record, view),
            transitions: transitions.into_iter().map(Transition::from).collect(),
            registration: registration.unwrap_or_else(JsonText::null),
        }
    }
}

impl From<TransitionRecord> for Transition {
    fn from(transition: TransitionRecord) -> Self {
        Self {
            from: transition.from.as_str(),
            to: transition.to.as_str(),
            cause: transition.cause.into(),
            at: transition.at.0,
        }
    }
}

/// The parts of a registration that the catalogue shows. It was checked when it came; a damaged one shows as nothing.
#[derive(Default, Deserialize)]
struct Description {
    role: Option<String>,
    capabilities: Option<Box<RawValue>>,
}

impl Description {
    fn of(record: &RendererRecord) -> Self {
        record.description.as_deref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    }
}

fn count(record: &RendererRecord) -> u32 {
    u32::try_from(record.failures.len() + record.losses.len()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_model::{Name, Timestamp};
    use serde_json::json;

    /// S6: a removed worker that calls is a zombie; one that is only looked at is not.
    #[test]
    fn a_removed_worker_that_calls_is_a_zombie() {
        assert_eq!(state_word(RendererState::Removed, true), "zombie");
        assert_eq!(state_word(RendererState::Removed, false), "Removed");
        assert_eq!(state_word(RendererState::Lost, true), "Lost");
    }

    /// S11: the catalogue shows what a worker said of itself, and how it changed.
    #[test]
    fn a_worker_is_shown() {
        let record = RendererRecord {
            id: Name::new("w1").unwrap(),
            state: RendererState::Lost,
            state_since: Timestamp(7),
            token_hash: [0; 32],
            endpoint: None,
            slots: 1,
            failures: vec![Timestamp(1)],
            losses: vec![Timestamp(2)],
            last_completed: None,
            removal: None,
            removed_from: Vec::new(),
            registered_at: Timestamp(1),
            last_heartbeat: Some(Timestamp(5)),
            description: Some(r#"{"workerId":"w1","role":"sim","capabilities":{"gpu":"x"},"own":1}"#.into()),
        };
        let change = TransitionRecord {
            worker: record.id.clone(),
            from: RendererState::Healthy,
            to: RendererState::Lost,
            cause: "silent".into(),
            at: Timestamp(7),
        };
        let shown = serde_json::to_value(WorkerDetail::new(&record, None, vec![change])).unwrap();
        assert_eq!((&shown["role"], &shown["capabilities"]), (&json!("sim"), &json!({"gpu": "x"})));
        assert_eq!((&shown["state"], &shown["failures"]), (&json!("Lost"), &json!(2)));
        assert_eq!((&shown["lastHeartbeat"], &shown["currentTask"]), (&json!(5), &json!(null)));
        assert_eq!(
            shown["transitions"],
            json!([{"from": "Healthy", "to": "Lost", "cause": "silent", "at": 7}])
        );
        assert_eq!(shown["registration"]["own"], 1);
    }
}
