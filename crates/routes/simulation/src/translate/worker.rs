//! Workers as they and people see them (S2, S8, S10, S11).

use super::session::frames_a_second;
use crate::wire::{Backpressure, BeatAnswer, JsonText, Order, Transition, Worker, WorkerDetail};
use muster_model::{
    Beat, Order as Ordered, Pressure, RendererRecord, RendererState, RendererView, TransitionRecord,
};
use serde::Deserialize;
use serde_json::value::RawValue;

/// The answer to a heartbeat or a rebind. Whoever was removed and calls all the same is a zombie (S6).
pub(crate) fn show_beat(beat: Beat) -> BeatAnswer {
    BeatAnswer {
        state: show_state(beat.state, true),
        epoch: beat.epoch,
        backpressure: show_pressure(beat.pressure),
        commands: beat.orders.into_iter().map(show_order).collect(),
    }
}

/// Where a worker stands.
pub(crate) const fn show_state(state: RendererState, calls: bool) -> &'static str {
    match state {
        RendererState::Removed if calls => "zombie",
        state => state.as_str(),
    }
}

/// A worker in the catalogue; `view` is what memory knows of it beyond the store.
pub(crate) fn show_worker(record: &RendererRecord, view: Option<&RendererView>) -> Worker {
    let said = Said::of(record);
    let tasks: Vec<String> =
        view.into_iter().flat_map(|view| &view.tasks).map(|task| task.id.to_string()).collect();
    Worker {
        worker_id: record.id.to_string(),
        role: said.role,
        capabilities: said.capabilities.map_or_else(JsonText::null, Into::into),
        state: view.map_or(record.state.as_str(), |view| show_state(view.state, view.zombie)),
        state_since: record.state_since.0,
        last_heartbeat: view.and_then(|view| view.last_heartbeat).or(record.last_heartbeat).map(|at| at.0),
        current_task: tasks.first().cloned(),
        tasks,
        queue_ratio: view.map(|view| view.queue_ratio.value()),
        max_queue_ratio: view.and_then(|view| view.max_queue_ratio).map(|ratio| ratio.value()),
        gpu_usage: view.and_then(|view| view.gpu_usage).map(|ratio| ratio.value()),
        last_frame: view.and_then(|view| view.last_frame),
        backpressure: view.map(|view| show_pressure(view.pressure)),
        rate: view.and_then(|view| view.rate).map(frames_a_second),
        failures: view.map_or_else(|| count(record), |view| view.failures),
        slots: record.slots,
        endpoint: record.endpoint.as_deref().map(str::to_owned),
        registered_at: record.registered_at.0,
    }
}

/// One worker with its life.
pub(crate) fn show_detail(
    record: &RendererRecord,
    view: Option<&RendererView>,
    transitions: Vec<TransitionRecord>,
) -> WorkerDetail {
    let registration = record.description.as_deref().and_then(|text| JsonText::new(text).ok());
    WorkerDetail {
        worker: show_worker(record, view),
        transitions: transitions.into_iter().map(show_transition).collect(),
        registration: registration.unwrap_or_else(JsonText::null),
    }
}

fn show_transition(transition: TransitionRecord) -> Transition {
    Transition {
        from: transition.from.as_str(),
        to: transition.to.as_str(),
        cause: transition.cause.into(),
        at: transition.at.0,
    }
}

fn show_pressure(pressure: Pressure) -> Backpressure {
    Backpressure { level: pressure.as_str(), factor: f64::from(pressure.percent()) / 100.0 }
}

fn show_order(order: Ordered) -> Order {
    match order {
        Ordered::Rebind => Order::Word("rebind"),
        Ordered::Reregister => Order::Word("reregister"),
        Ordered::Pause => Order::Word("pause"),
        Ordered::Resume => Order::Word("resume"),
        Ordered::Stop(task) => Order::Stop { stop: task.to_string() },
    }
}

/// What a worker said of itself. It was checked when it came; a damaged text shows as nothing.
#[derive(Default, Deserialize)]
struct Said {
    role: Option<String>,
    capabilities: Option<Box<RawValue>>,
}

impl Said {
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

    /// S2, S10: the answer to a heartbeat, with every order and every level.
    #[test]
    fn golden_heartbeat_answer() {
        let orders = vec![
            Ordered::Rebind,
            Ordered::Reregister,
            Ordered::Pause,
            Ordered::Resume,
            Ordered::Stop("s1.00000100".parse().unwrap()),
        ];
        let beat = Beat { state: RendererState::Healthy, epoch: 3, pressure: Pressure::Caution, orders };
        let expected = json!({"state": "Healthy", "epoch": 3, "backpressure": {"level": "caution", "factor": 0.9},
            "commands": ["rebind", "reregister", "pause", "resume", {"stop": "s1.00000100"}]});
        assert_eq!(serde_json::to_value(show_beat(beat)).unwrap(), expected);
        for (pressure, level, factor) in
            [(Pressure::Ok, "ok", 1.0), (Pressure::Slow, "slow", 0.7), (Pressure::Pause, "pause", 0.0)]
        {
            assert_eq!(show_pressure(pressure), Backpressure { level, factor });
        }
    }

    /// S6: a removed worker that calls is a zombie; one that is only looked at is not.
    #[test]
    fn a_removed_worker_that_calls_is_a_zombie() {
        assert_eq!(show_state(RendererState::Removed, true), "zombie");
        assert_eq!(show_state(RendererState::Removed, false), "Removed");
        assert_eq!(show_state(RendererState::Lost, true), "Lost");
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
        let shown = serde_json::to_value(show_detail(&record, None, vec![change])).unwrap();
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
