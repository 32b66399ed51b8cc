//! Sessions from submission to manifest: S14, S16, S26.

use crate::world::{ADMIN, World, request};
use axum::{
    body::Body,
    http::{Request, header},
};
use futures_util::StreamExt;
use serde_json::{Value, json};

fn body(id: &str) -> Value {
    json!({"sessionId": id, "totalFrames": 100, "framesPerTask": 10, "scenario": {"map": "plaza"}})
}

/// S26: the same session again is 200, the same id for another body 409; what is wrong is named.
#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_submitted_once() {
    let world = World::new().await;
    let first = world.post("sessions", body("s1")).await;
    assert_eq!(first.status, 201);
    assert_eq!(
        first.body,
        json!({"sessionId": "s1", "status": "running", "totalFrames": 100, "completedFrames": 0, "framesPerTask": 10,
            "complete": false, "skippedFrames": 0,
            "qualityMode": "strict", "outputDirectory": "session_s1", "createdAt": 1_700_000_000_000_i64, "endedAt": null})
    );
    let again = world.post("sessions", body("s1")).await;
    assert_eq!((again.status, &again.body), (200, &first.body));
    let mut other = body("s1");
    other["framesPerTask"] = json!(20);
    assert_eq!(world.post("sessions", other).await.status, 409);
    for (key, wrong) in [
        ("totalFrames", json!(0)),
        ("outputDirectory", json!("../x")),
        ("outputDirectory", json!("session_s1")),
    ] {
        let mut bad = body("s2");
        bad[key] = wrong.clone();
        let answer = world.post("sessions", bad).await;
        assert_eq!((answer.status, &answer.body["field"]), (422, &json!(key)), "{wrong}");
    }
    let listed = world.get("sessions?status=running").await.body;
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 1);
    assert_eq!(world.get("sessions?status=done").await.status, 422);
}

/// S14, S16, S21, S26: a session runs to its end, through a loss: every frame belongs to one fragment, the loss is a
/// replay, and the manifest is there when it says completed.
#[tokio::test(flavor = "multi_thread")]
async fn a_session_completes() {
    let world = World::new().await;
    world.session_as(body("s1")).await;
    let lost = world.register("w0").await;
    let first = lost.task().await;
    assert_eq!(world.call("DELETE /api/v1/workers/w0", ADMIN, Value::Null).await.status, 200);
    let worker = world.register("w1").await.healthy().await;
    let (mut frames, mut tasks) = (0, Vec::new());
    while frames < 100 {
        let task = worker.task().await;
        frames += task["frameRange"][1].as_u64().unwrap() - task["frameRange"][0].as_u64().unwrap();
        assert_eq!(worker.complete(&task).await.status, 200);
        tasks.push(task);
    }
    let session = world.until("sessions/s1", |session| session["status"] == "completed").await;
    assert_eq!((&session["completedFrames"], &session["etaSeconds"]), (&json!(100), &Value::Null));
    assert_eq!(
        session["coverage"],
        json!([{"frameRange": [0, 100], "status": "completed", "workerId": "w1"}])
    );
    assert_eq!((&session["coverageComplete"], &session["drops"]), (&json!(true), &json!([])));
    let again = tasks.iter().find(|task| task["taskId"] == first["taskId"]).unwrap();
    let replay = json!({"frameRange": first["frameRange"], "retiredChunkId": first["globalIdChunk"]["chunkId"],
        "newChunkId": again["globalIdChunk"]["chunkId"]});
    assert_eq!(session["replays"], json!([replay]));
    assert_eq!((&session["scenario"], &session["cameras"]), (&json!({"map": "plaza"}), &Value::Null));
    let mut end = 0;
    for range in world.manifest()["ranges"].as_array().unwrap() {
        assert_eq!(range["frameRange"][0], end);
        end = range["frameRange"][1].as_u64().unwrap();
    }
    assert_eq!(end, 100);
    let tasks = world.get("sessions/s1/tasks?limit=1000").await.body["tasks"].clone();
    assert!(tasks.as_array().unwrap().iter().all(|task| task["status"] == "completed"));
    assert_eq!(world.post("sessions/s1/cancel", Value::Null).await.status, 409);
}

/// S26: the map shows what is held.
#[tokio::test(flavor = "multi_thread")]
async fn coverage_shows_what_is_held() {
    let world = World::new().await;
    world.session_as(body("s1")).await;
    let held = world.register("w1").await.task().await;
    let coverage = world.get("sessions/s1").await.body["coverage"].clone();
    assert_eq!((&coverage[0]["status"], &coverage[0]["taskId"]), (&json!("assigned"), &held["taskId"]));
    assert_eq!((&coverage[0]["globalIdChunkId"], &coverage[0]["attempt"]), (&json!(1), &json!(1)));
    assert_eq!(world.get("sessions/unknown").await.status, 404);
    assert_eq!(world.get("sessions/unknown/tasks").await.status, 404);
    assert_eq!(world.get("sessions/un.known/diagnostics").await.status, 404);
}

/// S26: a paused session gives out nothing, but what is held may be completed; a cancelled one ends at once.
#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_steered() {
    let world = World::new().await;
    world.session_as(body("s1")).await;
    let worker = world.register("w1").await;
    let task = worker.task().await;
    let paused = world.post("sessions/s1/pause", Value::Null).await;
    assert_eq!((paused.status, &paused.body["status"]), (200, &json!("paused")));
    assert_eq!(worker.complete(&task).await.status, 200);
    assert_eq!(worker.pull().await.body, json!({"task": null}));
    assert_eq!(world.post("sessions/s1/resume", json!({})).await.body["status"], "running");
    let task = worker.task().await;
    let cancelled = world.post("sessions/s1/cancel", Value::Null).await;
    assert_eq!((cancelled.status, &cancelled.body["status"]), (200, &json!("cancelled")));
    assert!(cancelled.body["endedAt"].is_i64());
    assert_eq!(worker.complete(&task).await.status, 409);
    let told = worker.beat(0.1).await;
    assert!(told["commands"].as_array().unwrap().contains(&json!({"stop": task["taskId"]})), "{told}");
    assert_eq!(world.post("sessions/s1/pause", Value::Null).await.status, 409);
    assert_eq!(world.post("sessions/nothing/pause", Value::Null).await.status, 404);
    let session = world.get("sessions/s1").await.body;
    assert_eq!(session["coverage"].as_array().unwrap().last().unwrap()["status"], "cancelled");
}

/// S26: the stream has what is durable with an id, in order and of this session alone, and live ticks without one;
/// `Last-Event-ID` goes on after it.
#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_streamed() {
    let world = World::new().await;
    world.session_as(body("s1")).await;
    world.session_as(body("s2")).await;
    let worker = world.register("w1").await;
    let task = worker.task().await;
    assert_eq!((worker.complete(&task).await.status, &task["sessionId"]), (200, &json!("s1")));
    let events = events(&world, "GET /api/v1/sessions/s1/stream?after=0").await;
    let tick = events.iter().find(|event| event.kind == "tick").unwrap();
    assert_eq!((tick.id, &tick.data["sessionId"]), (None, &json!("s1")));
    assert_eq!((&tick.data["totalFrames"], &tick.data["status"]), (&json!(100), &json!("running")));
    let durable: Vec<&Event> = events.iter().filter(|event| event.id.is_some()).collect();
    assert_eq!(durable[0].kind, "session_submitted");
    assert!(durable.is_sorted_by_key(|event| event.id));
    assert!(durable.iter().all(|event| event.data["session"] == "s1"), "{events:?}");
    let path = "/api/v1/sessions/s1/stream";
    let resumed =
        Request::get(path).header(header::HOST, "localhost").header("last-event-id", durable[0].id.unwrap());
    let resumed =
        resumed.header(header::AUTHORIZATION, format!("Bearer {ADMIN}")).body(Body::empty()).unwrap();
    let after = read(world.respond(resumed).await.into_body()).await;
    let first = after.iter().find(|event| event.id.is_some()).unwrap();
    assert_eq!(first.id, durable[1].id);
    assert_eq!(world.get("sessions/nothing/stream").await.status, 404);
    assert_eq!(world.get("sessions/s1/stream?after=99999").await.status, 410);
    assert_eq!(world.get("sessions/s1/stream?after=x").await.status, 422);
}

#[derive(Debug)]
struct Event {
    id: Option<u64>,
    kind: String,
    data: Value,
}

async fn events(world: &World, route: &str) -> Vec<Event> {
    read(world.respond(request(route, ADMIN, Value::Null)).await.into_body()).await
}

/// The first events of a stream, until there are a tick and two that are durable.
async fn read(body: Body) -> Vec<Event> {
    let mut stream = body.into_data_stream();
    let mut text = String::new();
    while !text.contains("event: tick") || text.matches("id: ").count() < 2 || !text.ends_with("\n\n") {
        text.push_str(std::str::from_utf8(&stream.next().await.unwrap().unwrap()).unwrap());
    }
    text.split("\n\n").filter(|block| !block.is_empty()).map(event).collect()
}

fn event(block: &str) -> Event {
    let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name));
    Event {
        id: field("id: ").map(|id| id.parse().unwrap()),
        kind: field("event: ").unwrap_or_default().to_owned(),
        data: field("data: ").map_or(Value::Null, |data| serde_json::from_str(data).unwrap()),
    }
}
