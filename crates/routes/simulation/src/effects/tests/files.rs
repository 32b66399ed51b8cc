//! S15, S21: moves and manifests, told to the engine when they are done.

use super::*;
use muster_model::{
    EntryId, FrameTaskId, QuarantineRecord, SessionRecord, SessionStatus, ask::frames::RetireChunk,
};
use serde_json::Value;
use std::fs;

/// S15, S17: what is wanted out of the way is moved, and the engine hears how much it was.
#[tokio::test]
async fn a_retired_chunks_files_are_moved() {
    let world = World::new().await;
    let running = world.run();
    world.register("W1", None).await;
    world.submit(10).await;
    let handout = world.pull("W1").await;
    let chunk = handout.ids.chunk;
    let home = world.root.make_task_directory(TaskFiles { output: "session_s1", chunk }).unwrap();
    fs::write(home.join("1.png"), "one").unwrap();
    fs::write(home.join("2.png"), "two").unwrap();
    retire(&world, chunk, &handout.task).await;
    let entry = world.until(async || moved(&world, chunk).await).await;
    assert_eq!(entry.files, 2);
    assert!(!home.exists());
    let audit = fs::read_to_string(world.path(&format!("quarantine/dropped_chunks/{chunk}/audit.jsonl")));
    assert_eq!(audit.unwrap().lines().count(), 2);
    running.abort();
}

/// S21: a session is completed when its manifest is there, of the accepted fragments; session.json tells of replays.
#[tokio::test]
async fn a_session_completes_with_its_manifest() {
    let world = World::new().await;
    let running = world.run();
    world.register("W1", None).await;
    world.submit(10).await;
    let first = world.pull("W1").await;
    retire(&world, first.ids.chunk, &first.task).await;
    let second = world.pull("W1").await;
    assert_ne!(second.ids.chunk, first.ids.chunk);
    world.complete("W1", &second).await;
    let record = world.until(async || ended(&world).await).await;
    assert_eq!(record.status, SessionStatus::Completed);
    let read = |file: &str| -> Value {
        serde_json::from_slice(&fs::read(world.path(&format!("session_s1/meta/{file}"))).unwrap()).unwrap()
    };
    let manifest = read("manifest.json");
    assert_eq!(manifest["ranges"][0]["globalIdChunkId"], second.ids.chunk);
    let (retired, new) = (first.ids.chunk, second.ids.chunk);
    let replays = json!([{"frameRange": [0, 10], "retiredChunkId": retired, "newChunkId": new}]);
    assert_eq!(read("session.json"), json!({"sessionId": "s1", "totalFrames": 10, "replays": replays}));
    running.abort();
}

/// S15, S21: what was due when a server died is done by the next.
#[tokio::test]
async fn what_a_dead_server_owed_is_done() {
    let world = World::new().await;
    world.register("W1", None).await;
    world.submit(10).await;
    let first = world.pull("W1").await;
    let chunk = first.ids.chunk;
    let home = world.root.make_task_directory(TaskFiles { output: "session_s1", chunk }).unwrap();
    fs::write(home.join("1.png"), "one").unwrap();
    retire(&world, chunk, &first.task).await;
    let second = world.pull("W1").await;
    world.complete("W1", &second).await;
    assert!(home.exists() && !world.path("session_s1/meta/manifest.json").exists());

    let world = world.reborn().await;
    let running = world.run();
    assert_eq!(world.until(async || moved(&world, chunk).await).await.files, 1);
    let record = world.until(async || ended(&world).await).await;
    assert_eq!(record.status, SessionStatus::Completed);
    assert!(!home.exists() && world.path("session_s1/meta/manifest.json").exists());
    running.abort();
}

async fn retire(world: &World, chunk: u64, task: &FrameTaskId) {
    let (task, reason) = (Some(task.clone()), "by a test".into());
    world.ask(RetireChunk { chunk, task, reason }).await;
}

async fn moved(world: &World, chunk: u64) -> Option<QuarantineRecord> {
    let entry = world.coordinator.read(move |reader| reader.quarantined(&EntryId::Chunk(chunk))).await;
    entry.unwrap().filter(|entry| entry.moved)
}

async fn ended(world: &World) -> Option<SessionRecord> {
    let record = world.coordinator.read(|reader| reader.session(&session())).await.unwrap();
    record.filter(|record| record.status.is_ended())
}
