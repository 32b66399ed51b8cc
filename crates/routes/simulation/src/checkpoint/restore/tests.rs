//! Documents that are read and documents that are refused; nothing is written unless all of it is good.

use super::*;
use muster_contract_simulation::digest;
use muster_model::{FarmRecord, FrameTaskStatus, RendererState, SessionId, Timestamp};
use muster_store::{Candidate, Cursor, MemoryStore, Store, StoreError};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::path::Path;

/// A body as it was submitted, as a text, and its digest.
fn body(session: &str) -> (String, String) {
    let body =
        json!({"sessionId": session, "totalFrames": 40, "framesPerTask": 10, "scenario": {"map": 1.50}});
    (body.to_string(), format!("{:032x}", digest(&body).0))
}

fn worker(id: &str, state: &str) -> Value {
    json!({"workerId": id, "state": state, "stateSince": 10, "lastHeartbeat": 20, "currentTask": null,
        "frameRange": null, "queueRatio": 0.5, "lastFrame": 7, "tokenHash": "ab".repeat(32), "endpoint": null,
        "slots": 1, "failures": [5], "registeredAt": 9, "registration": "{\"role\":\"sim\"}"})
}

fn session(id: &str, status: &str) -> Value {
    let (body, digest) = body(id);
    json!({"sessionId": id, "status": status, "totalFrames": 40, "framesPerTask": 10, "qualityMode": "strict",
        "outputDirectory": format!("session_{id}"), "completedFrames": 0, "createdAt": 1, "endedAt": null,
        "error": null, "digest": digest, "body": body})
}

fn task(start: u64, status: &str, attempt: u16, chunk: u64) -> Value {
    json!({"taskId": format!("s1.{start:08}"), "sessionId": "s1", "frameRange": [start, start + 10], "status": status,
        "globalIdChunk": {"chunkId": chunk, "range": [chunk * 1000, chunk * 1000 + 1000]}, "attempt": attempt,
        "failures": 0, "losers": ["w2"], "workerId": "w1", "createdAt": 1, "grantedAt": 2, "confirmedAt": 3,
        "endedAt": null, "droppedFrames": 0, "digest": null, "error": null, "result": null})
}

fn chunk(number: u64, task: &str, attempt: u16, state: &str) -> Value {
    json!({"chunkId": number, "range": [number * 1000, number * 1000 + 1000], "taskId": task, "workerId": "w1",
        "attempt": attempt, "state": state, "reason": null, "at": 4})
}

/// A checkpoint with some of everything.
fn golden() -> Value {
    let mut running = session("s1", "running");
    running["completedFrames"] = json!(10);
    let mut cancelled = session("s0", "cancelled");
    cancelled["endedAt"] = json!(8);
    let mut done = task(0, "completed", 1, 1);
    (done["endedAt"], done["digest"]) = (json!(7), json!("0f".repeat(16)));
    done["result"] = json!("{\"poseFiles\":[]}");
    let uncut = json!({"taskId": "s1.00000030", "sessionId": "s1", "frameRange": [30, 40], "globalIdChunk": null,
        "status": "pending", "attempt": 0});
    json!({
        "epoch": 6, "takenAt": 100, "paused": true, "metricsSnapshot": {},
        "workers": [worker("w1", "Healthy"), worker("w2", "Lost"), worker("w3", "zombie")],
        "sessions": [cancelled, running],
        "tasks": [done, task(10, "running", 2, 3), task(20, "lost", 1, 4), uncut],
        "chunks": [chunk(1, "s1.00000000", 1, "used"), chunk(2, "s1.00000010", 1, "retired"),
            chunk(3, "s1.00000010", 2, "live"), chunk(4, "s1.00000020", 1, "retired"),
            chunk(5, "s0.00000000", 1, "retired")],
        "replays": [{"sessionId": "s1", "frameRange": [10, 20], "retiredChunkId": 2, "newChunkId": 3, "at": 4}],
        "quarantine": [{"id": "chunk-2", "sessionId": "s1", "outputDirectory": "session_s1", "workerId": "w2",
            "moved": true, "files": 3, "confirmed": "seen", "at": 5}, {"id": "worker-w2.s1", "sessionId": "s1",
            "outputDirectory": "session_s1", "workerId": "w2", "moved": false, "files": 0, "confirmed": null, "at": 5}],
        "globalIdAllocator": {"nextRangeStart": 6000, "nextChunkId": 6, "chunkSize": 1000, "retiredChunks": [2, 4, 5]},
        "manifestFragments": ["session_s1/meta/manifest_fragment_w1_1.json"],
    })
}

fn seal(distributed: &Value) -> Vec<u8> {
    let checkpoint = json!({"distributed": distributed});
    let hash = crate::output::hex(&Sha256::digest(checkpoint.to_string().as_bytes()));
    // Spaced as a person would: the hash is of the canonical form.
    serde_json::to_vec_pretty(&json!({"checkpoint": checkpoint, "sha256": hash})).unwrap()
}

fn read(distributed: &Value) -> Result<Checkpoint, ReadError> {
    Checkpoint::read(&seal(distributed))
}

fn all() -> Cursor {
    Cursor { after: None, limit: 1000 }
}

/// S20: everything stands in the store, and the next term is later than the checkpoint's.
#[test]
fn everything_is_restored() {
    let store = MemoryStore::new();
    let restored = read(&golden()).unwrap().restore(&store, Path::new("/nowhere")).unwrap();
    let counts = (restored.sessions, restored.open_sessions, restored.tasks, restored.completed_tasks);
    assert_eq!(counts, (2, 1, 3, 1));
    let counts = (restored.chunks, restored.retired_chunks, restored.replays, restored.workers);
    assert_eq!(counts, (5, 3, 1, 3));
    assert_eq!((restored.quarantine, restored.skipped_chunks), (2, 0));
    assert!(store.begin_term().unwrap().epoch > 6);

    let reader = store.reader();
    assert_eq!(reader.farm().unwrap(), FarmRecord { paused: true, next_chunk: 6, next_id: 6000 });
    let states: Vec<_> = reader.renderers(&all()).unwrap().items.iter().map(|worker| worker.state).collect();
    assert_eq!(states, [RendererState::Healthy, RendererState::Lost, RendererState::Removed]);
    let s1 = SessionId::new("s1").unwrap();
    let session = reader.session(&s1).unwrap().unwrap();
    assert_eq!((session.seq, session.open, session.body.as_deref()), (2, true, Some(&*body("s1").0)));
    let done = reader.frame_task(&"s1.00000000".parse().unwrap()).unwrap().unwrap();
    assert_eq!(done.result.as_deref(), Some("{\"poseFiles\":[]}"));
    let tasks = reader.frame_tasks(&s1, &all()).unwrap().items;
    let statuses: Vec<_> = tasks.iter().map(|task| (task.status, task.attempt)).collect();
    let expected =
        [(FrameTaskStatus::Completed, 1), (FrameTaskStatus::Running, 2), (FrameTaskStatus::Lost, 1)];
    assert_eq!(statuses, expected);
    assert_eq!(reader.chunks(&muster_store::ChunkFilter::default(), &all()).unwrap().items.len(), 5);
    assert_eq!(reader.replays(&s1, &all()).unwrap().items.len(), 1);
    assert_eq!(reader.quarantine(&all()).unwrap().items.len(), 2);
}

/// S18, S20: workers may have seen epochs that are later than the checkpoint's; the next one is later than those, too.
#[test]
fn epochs_of_later_terms_are_not_given_again() {
    let restored_at = |now| {
        let checkpoint = read(&golden()).unwrap().after(Timestamp(now));
        checkpoint.restore(&MemoryStore::new(), Path::new("/nowhere")).unwrap().epoch
    };
    assert_eq!(restored_at(1_795_000_000_999), 1_795_000_001);
    assert_eq!([restored_at(5_000), restored_at(-1)], [7, 7], "a clock that is wrong does no harm");
}

/// S20: only an empty store is restored into, and what is there stays as it was.
#[test]
fn a_store_that_is_not_empty_is_left_alone() {
    let store = MemoryStore::new();
    read(&golden()).unwrap().restore(&store, Path::new("/nowhere")).unwrap();
    let epoch = store.begin_term().unwrap().epoch;
    let again = read(&golden()).unwrap().after(Timestamp(1_795_000_000_000));
    let again = again.restore(&store, Path::new("/nowhere"));
    assert!(matches!(again, Err(RestoreError::NotEmpty("sessions"))), "{again:?}");
    assert_eq!(store.begin_term().unwrap().epoch, epoch + 1);
    assert_eq!(store.reader().sessions(None, &all()).unwrap().items.len(), 2);
}

/// S18, S20: a store that servers share is restored into in one term, taken from nobody and given back.
#[test]
fn a_store_that_is_led_is_left_alone() {
    let store = MemoryStore::shared();
    let election = store.election().unwrap();
    let leader = Candidate { node: "n1".to_owned(), address: "http://10.0.0.1:7400".to_owned() };
    let term = election.take(&election.look().unwrap(), &leader, 0).unwrap().unwrap();
    let restore = || read(&golden()).unwrap().restore(&store, Path::new("/nowhere"));
    let refused = restore();
    assert!(
        matches!(&refused, Err(RestoreError::Store(StoreError::Led(at))) if *at == leader.address),
        "{refused:?}"
    );
    election.renew(term.epoch).expect("its term was not taken away");
    election.resign(term.epoch).unwrap();
    assert_eq!(restore().unwrap().epoch, 7, "the first after the checkpoint's");
    let standing = election.look().unwrap();
    assert_eq!((standing.epoch, standing.leader), (7, None));
    assert!(matches!(restore(), Err(RestoreError::NotEmpty(_))));
}

/// S20: what was changed, cut off or is no checkpoint at all is told apart from what is.
#[test]
fn a_damaged_document_is_refused() {
    assert!(matches!(Checkpoint::read(b"{"), Err(ReadError::NotJson(_))));
    assert!(matches!(Checkpoint::read(b"[]"), Err(ReadError::Field(_))));
    assert!(matches!(Checkpoint::read(br#"{"checkpoint":{"distributed":{}}}"#), Err(ReadError::Field(_))));
    let text = String::from_utf8(seal(&golden())).unwrap();
    let changed = text.replacen("\"slots\": 1", "\"slots\": 2", 1);
    assert!(matches!(Checkpoint::read(changed.as_bytes()), Err(ReadError::Hash { .. })));
    let unknown_field = text.replacen("\"sha256\"", "\"more\": 1, \"sha256\"", 1);
    assert!(Checkpoint::read(unknown_field.as_bytes()).is_ok());
    let deep = "[".repeat(100_000);
    assert!(matches!(Checkpoint::read(deep.as_bytes()), Err(ReadError::NotJson(_))));
}

/// S20: each field is checked by itself, and the one that is wrong is named.
#[test]
fn a_wrong_field_is_named() {
    for line in BAD_FIELDS.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (pointer, bads) = line.split_once(' ').unwrap();
        for bad in bads.split(" | ").map(|bad| serde_json::from_str::<Value>(bad).unwrap()) {
            let mut distributed = golden();
            *distributed.pointer_mut(pointer).unwrap() = bad.clone();
            let error = read(&distributed).map(|_| ()).unwrap_err().to_string();
            let (list, rest) = pointer[1..].split_once('/').unwrap_or((&pointer[1..], ""));
            assert!(error.starts_with(&format!("checkpoint.distributed.{list}")), "{pointer} {bad}: {error}");
            let field = rest.rsplit('/').find(|part| part.parse::<u32>().is_err()).unwrap_or("");
            assert!(error.contains(field), "{pointer} {bad}: {error}");
        }
    }
}

/// S12, S13, S14, S20: what does not fit together is refused where it shows.
#[test]
fn what_does_not_fit_together_is_named() {
    for line in BAD_WHOLES.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (changes, expected) = line.split_once(" => ").unwrap();
        let mut distributed = golden();
        for change in changes.split("; ") {
            let (pointer, value) = change.trim().split_once(' ').unwrap();
            match value {
                "removed" => {
                    let (list, index) = pointer.rsplit_once('/').unwrap();
                    let list = distributed.pointer_mut(list).unwrap().as_array_mut().unwrap();
                    list.remove(index.parse().unwrap());
                }
                value => {
                    *distributed.pointer_mut(pointer).unwrap() = serde_json::from_str(value).unwrap();
                }
            }
        }
        let error = read(&distributed).map(|_| ()).unwrap_err().to_string();
        assert!(error.starts_with(&format!("checkpoint.distributed.{expected}")), "{line}: {error}");
    }
}

/// Changes, and what is blamed for them.
const BAD_WHOLES: &str = r#"
    # A frame twice, a frame in no task, a task longer than may be, one outside its session.
    /tasks/3/frameRange [25, 40] => tasks[3].taskId
    /tasks/3/frameRange [25, 40]; /tasks/3/taskId "s1.00000025" => tasks[3].frameRange overlaps with that of s1.00000020
    /tasks/3 removed => sessions[1].totalFrames
    /tasks/2/frameRange [20, 31] => tasks[2].frameRange must have at most 10
    /tasks/3/frameRange [30, 41] => tasks[3].frameRange must lie in
    # Something of a session that is not there, or that has ended.
    /sessions/1 removed => tasks[0].sessionId
    /sessions/1/status "failed"; /sessions/1/endedAt 5 => tasks[1].status must be completed
    # Ids that are retired and in use, of another, or beyond what was granted.
    /chunks/0/state "retired" => tasks[0].globalIdChunk is retired
    /chunks/2/state "retired" => tasks[1].globalIdChunk is retired
    /chunks/0/workerId "w2" => chunks[0].state must not be used
    /chunks/3 removed => tasks[2].globalIdChunk is not among
    /globalIdAllocator/nextRangeStart 5999 => chunks[4].range must lie below nextRangeStart
    /globalIdAllocator/nextChunkId 5 => chunks[4].chunkId must be below nextChunkId
    /tasks/0/globalIdChunk/range [1000, 1999] => tasks[0].globalIdChunk is not as
    # Whoever may not work holds nothing.
    /workers/0/state "Quarantined" => tasks[1].workerId
    /workers/0 removed => tasks[1].workerId
"#;

/// Fields, and what each cannot be.
const BAD_FIELDS: &str = r#"
    /epoch                              -1 | 1.5 | "6" | 4503599627370497 | null
    /takenAt                            "now" | -1
    /paused                             0 | null
    /metricsSnapshot                    []
    /workers                            {} | null
    /workers/1                          7
    /workers/0/workerId                 "a/b" | ".." | "-a" | 1 | "w2"
    /workers/0/state                    "healthy" | null
    /workers/0/stateSince               null | -1
    /workers/0/tokenHash                "ab" | null | "AB00000000000000000000000000000000000000000000000000000000000000"
    /workers/0/tokenHash                "+f00000000000000000000000000000000000000000000000000000000000000"
    /workers/0/endpoint                 "file:///etc" | "x" | 7
    /workers/0/slots                    0 | 1025
    /workers/0/failures                 null | 3
    /workers/0/failures/0               "x" | -1
    /workers/0/registeredAt             null
    /workers/0/lastHeartbeat            "x"
    /workers/0/registration             "{" | "[]" | {}
    /workers/0/currentTask              "s1" | 7
    /workers/0/queueRatio               -1 | "x"
    /workers/0/lastFrame                -1
    /sessions/1/sessionId               "S1" | "s0" | null
    /sessions/1/status                  "Running" | null
    /sessions/1/totalFrames             0 | 10000001 | 50
    /sessions/1/framesPerTask           0 | 20
    /sessions/1/qualityMode             "relaxed" | "x"
    /sessions/1/outputDirectory         "../x" | "/x" | "meta" | "other"
    /sessions/1/completedFrames         -1 | 20
    /sessions/1/createdAt               null
    /sessions/1/endedAt                 5
    /sessions/0/endedAt                 null
    /sessions/1/error                   7
    /sessions/1/digest                  "00000000000000000000000000000000" | "zz" | null
    /sessions/1/body                    "{}" | "x" | {}
    /tasks/0/taskId                     "s1.00000001" | "s2.00000000" | "s1.0"
    /tasks/0/frameRange                 [10, 0] | [0] | [0, 0] | "0-10"
    /tasks/0/frameRange/0               -1 | 0.5
    /tasks/0/status                     "cancelled" | "done"
    /tasks/0/attempt                    0 | 65536
    /tasks/0/failures                   -1 | 2
    /tasks/0/losers/0                   "a b"
    /tasks/0/workerId                   "" | null
    /tasks/0/createdAt                  null
    /tasks/0/grantedAt                  null
    /tasks/0/endedAt                    null
    /tasks/0/droppedFrames              -1
    /tasks/0/digest                     null | "0"
    /tasks/0/result                     "x" | {}
    /tasks/1/digest                     "0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f"
    /tasks/1/result                     "{}"
    /tasks/1/confirmedAt                null
    /tasks/2/globalIdChunk              null | 7
    /tasks/0/globalIdChunk/chunkId      0 | "1"
    /tasks/0/globalIdChunk/range        [2000, 1000]
    /chunks/0/chunkId                   0 | 2
    /chunks/0/range                     [1000, 1000]
    /chunks/0/range/0                   0
    /chunks/0/taskId                    "s9.00000000" | "s1.00000005" | "x"
    /chunks/0/workerId                  ".."
    /chunks/0/attempt                   0 | 2
    /chunks/0/state                     "free" | "live"
    /chunks/0/at                        null
    /chunks/1/state                     "used" | "live"
    /chunks/4/state                     "used" | "live"
    /chunks/4/range                     [5000, 6001] | [4999, 6000]
    /replays/0/sessionId                "S"
    /replays/0/frameRange               [10, 15]
    /replays/0/retiredChunkId           1 | 3 | 4 | 0
    /replays/0/newChunkId               2 | 1 | 9
    /quarantine/0/id                    "chunk-1" | "chunk-6" | "x" | "worker-w2.s1"
    /quarantine/1/id                    "worker-w1.s1" | "chunk-2"
    /quarantine/0/outputDirectory       "a/../.."
    /quarantine/0/moved                 "yes"
    /quarantine/0/files                 -1
    /globalIdAllocator/nextRangeStart   0 | null
    /globalIdAllocator/nextChunkId      0
    /globalIdAllocator/chunkSize        0
    /globalIdAllocator/retiredChunks    [2, 4] | [1, 2, 4, 5] | [2, 4, 5, 9]
    /manifestFragments/0                "session_s1/meta/manifest_fragment_w1_3.json"
    /manifestFragments                  []
"#;
