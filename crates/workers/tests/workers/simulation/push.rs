//! S3: a worker to which tasks are brought.

use super::scene::{Cast, Scene, synthetic};
use hmac::{Hmac, KeyInit, Mac};
use muster_workers::simulation::{
    core::Over,
    render::{Renderer, Synthetic},
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

pub(crate) async fn scene(renderer: Renderer) -> Scene {
    let scene = Scene::start(|_| Cast { is_pushed_to: true, ..Cast::of(renderer) }).await;
    // Registered, and the token is in place.
    scene.master.nth("POST workers/W1/heartbeat", 0).await;
    scene
}

fn signature(scene: &Scene, body: &[u8]) -> String {
    let key = Sha256::digest(scene.master.desk().token());
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).unwrap();
    mac.update(body);
    mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

async fn push_to(scene: &Scene, worker: &str, body: &str, signature: &str) -> (u16, Value) {
    let url = format!("{}/workers/{worker}/tasks", scene.endpoint.as_deref().unwrap());
    let client = muster_worker_kit::http::client_for(&url).no_proxy().build().unwrap();
    let request = client.post(url).header("x-muster-signature", signature).body(body.to_owned());
    let answer = request.send().await.unwrap();
    (answer.status().as_u16(), serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap())
}

pub(crate) async fn push(scene: &Scene, task: &Value) -> (u16, Value) {
    let body = task.to_string();
    let signature = signature(scene, body.as_bytes());
    push_to(scene, "W1", &body, &signature).await
}

/// S3: the worker tells where it can be reached, takes what the master signed, and never asks.
#[tokio::test]
async fn a_pushed_task_is_done() {
    let scene = scene(synthetic()).await;
    let register = scene.master.nth("POST workers/register", 0).await.json();
    assert_eq!(register["endpoint"].as_str(), scene.endpoint.as_deref());
    assert_eq!(push(&scene, &scene.task(5, (0, 10))).await, (200, json!({"ack": true})));
    scene.master.nth("POST tasks/t5/complete", 0).await;
    assert_eq!(scene.master.count("GET workers/W1/tasks"), 0);
}

/// S3: the same task again is acked again and done once; a second one finds no slot; S18: an older epoch is refused.
#[tokio::test]
async fn what_is_taken_once_is_taken_once() {
    let scene = scene(Renderer::Synthetic(Synthetic { frames_per_second: 1, persons_per_frame: 1 })).await;
    let task = scene.task(5, (0, 1_000));
    for _ in 0..3 {
        assert_eq!(push(&scene, &task).await, (200, json!({"ack": true})));
    }
    let (status, answer) = push(&scene, &scene.task(6, (0, 10))).await;
    assert_eq!((status, &answer["ack"]), (409, &json!(false)), "{answer}");
    let mut old = scene.task(7, (0, 10));
    old["epoch"] = json!(0);
    let (status, answer) = push(&scene, &old).await;
    assert_eq!((status, answer["detail"].as_str()), (409, Some("the task is of an older epoch than 1")));
    // Done with it, it is still not done again.
    scene.master.desk().commands = vec![json!({"stop": "t5"})];
    let is_idle = |script: &super::master::Script| {
        let last = script.calls.iter().rfind(|call| call.what == "POST workers/W1/heartbeat")?;
        (script.commands.is_empty() && last.json()["status"] == "idle").then_some(())
    };
    scene.master.until(is_idle).await;
    assert_eq!(push(&scene, &task).await.0, 200);
    assert_eq!(push(&scene, &scene.task(6, (0, 1))).await, (200, json!({"ack": true})));
    scene.master.nth("POST tasks/t6/complete", 0).await;
    assert_eq!(scene.master.count("POST tasks/t5/complete"), 0);
}

/// S3: whoever does not know the token brings nothing, and learns nothing.
#[tokio::test]
async fn only_the_master_brings_tasks() {
    let scene = scene(synthetic()).await;
    let body = scene.task(5, (0, 10)).to_string();
    let right = signature(&scene, body.as_bytes());
    let wrong = signature(&scene, b"another body");
    for signature in ["", "x", wrong.as_str(), &right.to_uppercase(), &right[..62]] {
        assert_eq!(push_to(&scene, "W1", &body, signature).await.0, 401, "{signature}");
    }
    assert_eq!(push_to(&scene, "W2", &body, &right).await.0, 404);
    let mut nonsense = scene.task(5, (0, 10));
    nonsense["frameRange"] = json!([7]);
    let (status, answer) = push(&scene, &nonsense).await;
    assert_eq!(
        (status, answer["detail"].as_str().unwrap().starts_with("frameRange")),
        (422, true),
        "{answer}"
    );
    assert!(!scene.chunk(5).exists());
    assert_eq!(push_to(&scene, "W1", &body, &right).await.0, 200);
}

async fn remove(scene: &Scene, worker: &str, body: &str, signature: &str) -> (u16, Value) {
    let url = format!("{}/workers/{worker}", scene.endpoint.as_deref().unwrap());
    let client = muster_worker_kit::http::client_for(&url).no_proxy().build().unwrap();
    let request = client.delete(url).header("x-muster-signature", signature).body(body.to_owned());
    let answer = request.send().await.unwrap();
    (answer.status().as_u16(), serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap())
}

/// S6: a worker that the master removes acknowledges it, stops its task and ends. Nothing is reported of the task, and
/// no further call is made.
#[tokio::test]
async fn a_removed_worker_acknowledges_and_ends() {
    for has_task in [true, false] {
        let mut scene =
            scene(Renderer::Synthetic(Synthetic { frames_per_second: 1, persons_per_frame: 1 })).await;
        if has_task {
            assert_eq!(push(&scene, &scene.task(5, (0, 1_000))).await.0, 200);
        }
        let body = json!({"workerId": "W1", "removed": true}).to_string();
        let signature = signature(&scene, body.as_bytes());
        assert_eq!(remove(&scene, "W1", &body, &signature).await, (200, json!({"ack": true})));
        let over = (&mut scene.worker).await.unwrap();
        assert!(matches!(&over, Over::Refused(refusal) if refusal.status == 410), "{over:?}");
        let ends = ["POST tasks/t5/fail", "POST tasks/t5/complete", "DELETE workers/W1"];
        assert_eq!(ends.map(|what| scene.master.count(what)), [0; 3]);
    }
}

/// S6: only the master removes a worker; a signed task that was recorded does not pass for a removal.
#[tokio::test]
async fn only_the_master_removes_a_worker() {
    let scene = scene(synthetic()).await;
    let body = json!({"workerId": "W1", "removed": true}).to_string();
    let right = signature(&scene, body.as_bytes());
    let wrong = signature(&scene, b"another body");
    for signature in ["", wrong.as_str(), &right.to_uppercase()] {
        assert_eq!(remove(&scene, "W1", &body, signature).await.0, 401, "{signature}");
    }
    assert_eq!(remove(&scene, "W2", &body, &right).await.0, 404);
    let task = scene.task(5, (0, 10)).to_string();
    let not_removed = json!({"workerId": "W1", "removed": false}).to_string();
    let of_another = json!({"workerId": "W2", "removed": true}).to_string();
    for other in [task.as_str(), &not_removed, &of_another, "", "[]"] {
        let signature = signature(&scene, other.as_bytes());
        assert_eq!(remove(&scene, "W1", other, &signature).await.0, 422, "{other}");
    }
    assert_eq!(push(&scene, &scene.task(5, (0, 10))).await.0, 200, "the worker works on");
    scene.master.nth("POST tasks/t5/complete", 0).await;
}
