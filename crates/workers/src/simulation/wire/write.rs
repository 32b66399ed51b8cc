//! What a worker says.

use super::super::{
    Task,
    core::{Beat, Progress, Rebind},
};
use muster_worker_kit::Text;
use serde_json::{Value, json};

/// Who a worker is, as it registers (S1).
#[derive(Clone, Debug)]
pub struct Introduction {
    /// Its name.
    pub worker: Text,
    /// What it is for.
    pub role: Text,
    /// How many cameras it renders.
    pub cameras: u32,
    /// What its GPU is called.
    pub gpu: Text,
    /// How many tasks it holds at once.
    pub slots: u32,
    /// Where tasks can be pushed to.
    pub endpoint: Option<Text>,
}

/// Writes a registration (S1).
#[must_use]
pub fn write_introduction(who: &Introduction) -> Vec<u8> {
    let mut body = json!({
        "workerId": &*who.worker,
        "role": &*who.role,
        "capabilities": {"cameras": who.cameras, "gpu": &*who.gpu, "slots": who.slots},
        "currentSession": null,
    });
    if let Some(endpoint) = &who.endpoint {
        body["endpoint"] = json!(&**endpoint);
    }
    bytes(&body)
}

/// Writes a heartbeat (S2).
#[must_use]
pub fn write_beat(beat: &Beat) -> Vec<u8> {
    let mut body = json!({
        "queueRatio": beat.queue.value(),
        "gpuUsage": beat.gpu.value(),
        "lastFrame": beat.last_frame,
        "status": beat.status,
    });
    if let Some(rtt) = beat.rtt {
        body["rttMs"] = json!(rtt.0);
    }
    bytes(&body)
}

/// Writes what a worker tells a master of a newer term (S19): that it holds this task, or none.
#[must_use]
pub fn write_rebind(worker: &str, rebind: &Rebind, task: Option<&Task>) -> Vec<u8> {
    bytes(&json!({
        "workerId": worker,
        "epoch": rebind.epoch,
        "currentTask": task.map(task_value),
        "lastFrame": rebind.last_frame,
        "state": &*rebind.state,
    }))
}

/// Writes how far a task is (S4).
#[must_use]
pub fn write_progress(progress: &Progress) -> Vec<u8> {
    bytes(&json!({
        "sessionId": &*progress.task.session,
        "taskId": &*progress.task.id,
        "processedFrames": progress.seen.processed,
        "maxQueueRatio": progress.queue_max.value(),
        "droppedFrames": progress.seen.dropped,
        "diagnostics": progress.diagnostics.iter().map(|remark| &**remark).collect::<Vec<_>>(),
    }))
}

/// Writes why a task failed (S5b).
#[must_use]
pub fn write_fail(worker: &str, attempt: u32, error: &str) -> Vec<u8> {
    bytes(&json!({"workerId": worker, "attempt": attempt, "error": error}))
}

/// Writes a request for further ids (S1).
#[must_use]
pub fn write_ids_request(worker: &str, task: &str, count: u64) -> Vec<u8> {
    bytes(&json!({"workerId": worker, "taskId": task, "requestedCount": count}))
}

/// A task as the master wrote it (S3).
fn task_value(task: &Task) -> Value {
    let value = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
    let mut task_value = json!({
        "taskId": &*task.id,
        "sessionId": &*task.session,
        "scenario": value(&task.scenario),
        "frameRange": [task.frames.start, task.frames.end],
        "globalIdChunk": {"chunkId": task.ids.chunk, "range": [task.ids.start, task.ids.end]},
        "attempt": task.attempt,
        "epoch": task.epoch,
        "outputDirectory": &*task.directory,
        "replay": task.replay,
    });
    if let Some(cameras) = &task.cameras {
        task_value["cameras"] = value(cameras);
    }
    task_value
}

fn bytes(body: &Value) -> Vec<u8> {
    body.to_string().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::super::super::task::tests::example;
    use super::super::read_task;
    use super::*;
    use crate::simulation::core::Seen;
    use muster_model::{Millis, Ratio};
    use std::sync::Arc;

    fn value(bytes: &[u8]) -> Value {
        serde_json::from_slice(bytes).unwrap()
    }

    /// S1: a registration as the contract has it.
    #[test]
    fn a_registration_is_written() {
        let who = Introduction {
            worker: "W1".into(),
            role: "simulation".into(),
            cameras: 4,
            gpu: "RTX".into(),
            slots: 2,
            endpoint: None,
        };
        let mut expected = json!({"workerId": "W1", "role": "simulation", "currentSession": null,
            "capabilities": {"cameras": 4, "gpu": "RTX", "slots": 2}});
        assert_eq!(value(&write_introduction(&who)), expected);
        expected["endpoint"] = json!("http://10.0.0.7:9000");
        let who = Introduction { endpoint: Some("http://10.0.0.7:9000".into()), ..who };
        assert_eq!(value(&write_introduction(&who)), expected);
    }

    /// S2, S4: heartbeats and progress as the contract has them.
    #[test]
    fn signs_of_life_are_written() {
        let beat = Beat {
            number: 1,
            queue: Ratio(250_000),
            gpu: Ratio(0),
            last_frame: Some(41),
            status: "rendering",
            rtt: Some(Millis(12)),
        };
        let expected =
            json!({"queueRatio": 0.25, "gpuUsage": 0.0, "lastFrame": 41, "status": "rendering", "rttMs": 12});
        assert_eq!(value(&write_beat(&beat)), expected);
        let beat = Beat { rtt: None, last_frame: None, ..beat };
        assert_eq!(value(&write_beat(&beat)).get("rttMs"), None);
        let progress = Progress {
            number: 1,
            task: Arc::new(example()),
            seen: Seen { processed: 7, dropped: 1, ..Seen::default() },
            queue_max: Ratio(500_000),
            diagnostics: vec!["slow disk".into()],
        };
        let expected = json!({"sessionId": "demo", "taskId": "demo.00000000", "processedFrames": 7,
            "maxQueueRatio": 0.5, "droppedFrames": 1, "diagnostics": ["slow disk"]});
        assert_eq!(value(&write_progress(&progress)), expected);
    }

    /// S19: currentTask is the task as in S3, or null.
    #[test]
    fn a_rebind_holds_the_task() {
        let task = Arc::new(Task { cameras: Some("[1]".into()), ..example() });
        let rebind = Rebind {
            number: 1,
            epoch: 2,
            tasks: vec![Arc::clone(&task)],
            last_frame: Some(3),
            state: "Healthy".into(),
        };
        let body = value(&write_rebind("W1", &rebind, Some(&task)));
        assert_eq!(read_task(body["currentTask"].to_string().as_bytes()).unwrap(), *task);
        let none = value(&write_rebind("W1", &rebind, None));
        assert_eq!(
            none,
            json!({"workerId": "W1", "epoch": 2, "currentTask": null, "lastFrame": 3, "state": "Healthy"})
        );
    }
}
