//! S21: session.json as it goes, manifest.json when all is done.

use super::super::{OutputError, SessionFiles, crash};
use super::*;
use muster_model::{FrameRange, ReplayRecord};
use serde_json::{Value, json};
use std::{collections::HashMap, os::unix::fs::symlink};

/// S21: session.json says which session, how many frames and what was given out anew.
#[test]
fn session_json_is_written() {
    let world = World::new();
    world.root.write_session(&files(20)).unwrap();
    let replay = ReplayRecord {
        session: session("s1"),
        range: FrameRange { start: 0, end: 10 },
        retired: 1,
        new: 3,
        at: Timestamp(0),
    };
    world.root.write_session(&SessionFiles { replays: vec![replay], ..files(20) }).unwrap();
    let text: Value = serde_json::from_str(&world.read("session_s1/meta/session.json")).unwrap();
    let replays = json!([{"frameRange": [0, 10], "retiredChunkId": 1, "newChunkId": 3}]);
    assert_eq!(text, json!({"sessionId": "s1", "totalFrames": 20, "replays": replays}));
}

/// S21, S25: session.json is whole whenever the server dies.
#[test]
fn session_json_is_whole() {
    for changes in 0.. {
        let world = World::new();
        world.root.write_session(&files(10)).unwrap();
        let (written, died) = crash::after(changes, || world.root.write_session(&files(20)));
        let text: Value = serde_json::from_str(&world.read("session_s1/meta/session.json")).unwrap();
        assert!(text["totalFrames"] == 20 || (died && text["totalFrames"] == 10), "{text}");
        if !died {
            return written.unwrap();
        }
    }
}

/// S26: two sessions never share a directory: their fragments would mix.
#[test]
fn a_directory_has_one_session() {
    let world = World::new();
    world.root.claim_directory(&files(20)).unwrap();
    world.root.claim_directory(&files(20)).unwrap();
    let other = SessionFiles { session: session("s2"), ..files(20) };
    for error in [
        world.root.claim_directory(&other).unwrap_err(),
        world.root.write_session(&other).unwrap_err(),
        world.root.merge(&other, &HashMap::new()).unwrap_err(),
    ] {
        assert!(matches!(&error, OutputError::Taken { session, .. } if session == "s1"), "{error:?}");
        assert!(error.is_callers());
    }
    world.write("theirs/meta/session.json", "[]");
    let theirs = SessionFiles { output: "theirs".into(), ..files(20) };
    assert!(matches!(world.root.claim_directory(&theirs), Err(OutputError::InTheWay { .. })));
    symlink(world.outside(), world.path("linked")).unwrap();
    let linked = SessionFiles { output: "linked".into(), ..files(20) };
    assert!(matches!(world.root.claim_directory(&linked), Err(OutputError::Path { .. })));
}

/// S21, S5: the manifest is made of the accepted fragments and of no others; those are kept.
#[test]
fn a_merge_takes_accepted_fragments_only() {
    let world = World::new();
    place(&world, "W1", 1, [0, 10]);
    place(&world, "W2", 2, [10, 20]);
    place(&world, "W1", 3, [10, 20]);
    place(&world, "W3", 2, [10, 20]);
    world.write("session_s1/meta/manifest_fragment_W9.json", "{}");
    world.write("session_s1/meta/manifest_fragment_W9_007.json", "{}");
    world.write("session_s1/meta/notes.txt", "somebody's");
    let accepted = HashMap::from([(1, name("W1")), (2, name("W2"))]);
    let report = world.root.merge(&files(20), &accepted).unwrap();
    assert!(report.is_fine() && report.fragments == 2);
    let manifest: Value = serde_json::from_str(&world.read("session_s1/meta/manifest.json")).unwrap();
    let chunks: Vec<&Value> =
        manifest["ranges"].as_array().unwrap().iter().map(|range| &range["globalIdChunkId"]).collect();
    assert_eq!(chunks, [1, 2]);
    let mut left: Vec<String> = fs::read_dir(world.path("session_s1/meta"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("manifest_fragment"))
        .collect();
    left.sort_unstable();
    assert_eq!(left, ["manifest_fragment_W1_1.json", "manifest_fragment_W2_2.json"]);
    assert!(world.has("session_s1/meta/notes.txt"));
    for (home, file) in [
        ("3", "manifest_fragment_W1_3.json"),
        ("2", "manifest_fragment_W3_2.json"),
        ("unknown", "manifest_fragment_W9.json"),
        ("unknown", "manifest_fragment_W9_007.json"),
    ] {
        assert!(world.has(&format!("quarantine/dropped_chunks/{home}/{file}")), "{file}");
        world.check_audit(&format!("quarantine/dropped_chunks/{home}"));
    }
    world.root.merge(&files(20), &accepted).unwrap();
}

/// S21: a fragment that is gone is an error that names it.
#[test]
fn a_missing_fragment_is_named() {
    let world = World::new();
    place(&world, "W1", 1, [0, 10]);
    let accepted = HashMap::from([(1, name("W1")), (2, name("W2"))]);
    let error = world.root.merge(&files(20), &accepted).unwrap_err();
    assert!(matches!(error, OutputError::Incomplete { .. }));
    assert!(error.to_string().contains("manifest_fragment_W2_2.json is missing"), "{error}");
    let error = world.root.merge(&files(20), &HashMap::from([(1, name("W1"))])).unwrap_err();
    assert!(error.to_string().contains("no fragment for frames [10, 20)"), "{error}");
    place(&world, "W2", 2, [10, 20]);
    world.write("session_s1/meta/manifest_fragment_W2_2.json", "spoilt");
    let error = world.root.merge(&files(20), &accepted).unwrap_err();
    assert!(error.to_string().contains("refused manifest_fragment_W2_2.json: "), "{error}");
}

/// S21: whenever the server dies, the next try makes the same manifest.
#[test]
fn a_merge_survives_a_crash_anywhere() {
    let accepted = HashMap::from([(1, name("W1"))]);
    for changes in 0.. {
        let world = World::new();
        place(&world, "W1", 1, [0, 10]);
        place(&world, "W1", 2, [0, 10]);
        let (_, died) = crash::after(changes, || world.root.merge(&files(10), &accepted));
        assert!(world.root.merge(&files(10), &accepted).unwrap().is_fine());
        world.check_audit("quarantine/dropped_chunks/2");
        if !died {
            return;
        }
    }
}

fn files(total_frames: u64) -> SessionFiles {
    SessionFiles { session: session("s1"), output: "session_s1".into(), total_frames, replays: Vec::new() }
}

fn place(world: &World, worker: &str, chunk: u64, range: [u64; 2]) {
    let fragment = json!({
        "workerId": worker, "frameRange": range, "globalIdChunkId": chunk, "cameras": [],
        "statistics": {"frameCount": range[1] - range[0]}, "validationSummary": {},
    });
    world.root.place_fragment(task(chunk), &name(worker), fragment.to_string().as_bytes()).unwrap();
}
