//! S21: session.json as it goes, manifest.json when all is done.

use super::super::{AcceptedRange, OutputError, PathFault, SessionFiles, directory::crash};
use super::*;
use muster_manifest::GivenUpRange;
use muster_model::{FrameRange, ReplayRecord};
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    os::unix::fs::{MetadataExt, symlink},
};

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
    let accepted = accept(&[(1, "W1", [0, 10]), (2, "W2", [10, 20])]);
    let report = world.root.merge(&files(20), &accepted).unwrap();
    assert!(report.is_fine() && report.fragments == 2);
    let manifest: Value = serde_json::from_str(&world.read("session_s1/meta/manifest.json")).unwrap();
    let chunks: Vec<&Value> =
        manifest["ranges"].as_array().unwrap().iter().map(|range| &range["globalIdChunkId"]).collect();
    assert_eq!(chunks, [1, 2]);
    let mut left = world.names("session_s1/meta");
    left.retain(|name| name.starts_with("manifest_fragment"));
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
    let accepted = accept(&[(1, "W1", [0, 10]), (2, "W2", [10, 20])]);
    let error = world.root.merge(&files(20), &accepted).unwrap_err();
    assert!(matches!(error, OutputError::Incomplete { .. }));
    assert!(error.to_string().contains("manifest_fragment_W2_2.json is missing"), "{error}");
    let error = world.root.merge(&files(20), &accept(&[(1, "W1", [0, 10])])).unwrap_err();
    assert!(error.to_string().contains("no fragment for frames [10, 20)"), "{error}");
    place(&world, "W2", 2, [10, 20]);
    world.write("session_s1/meta/manifest_fragment_W2_2.json", "spoilt");
    let error = world.root.merge(&files(20), &accepted).unwrap_err();
    assert!(error.to_string().contains("refused manifest_fragment_W2_2.json: "), "{error}");
}

/// S21, S26b: the manifest has what was submitted beside the fragments, and lists the frames that were given up.
#[test]
fn a_manifest_has_completions_and_given_up_frames() {
    let world = World::new();
    place(&world, "W1", 1, [0, 10]);
    let range = muster_manifest::FrameRange { start: 10, end: 20 };
    let given_up = vec![GivenUpRange { frame_range: range, reason: "failed 5 times".into() }];
    let files = SessionFiles { given_up, ..files(20) };
    let mut completions = world.root.begin_completions().unwrap();
    completions
        .add(1, r#"{"poseFiles": ["pose/0.json"], "metricsSnapshot": {"fps": 30}, "own": 1}"#)
        .unwrap();
    completions.add(2, r#"{"own": 1}"#).unwrap();
    world.root.write_session(&files).unwrap();
    world.root.finish_completions(&files, completions).unwrap();
    assert_eq!(world.read("session_s1/meta/completions.jsonl").lines().count(), 1);
    world.root.merge(&files, &accept(&[(1, "W1", [0, 10])])).unwrap();
    let manifest: Value = serde_json::from_str(&world.read("session_s1/meta/manifest.json")).unwrap();
    assert_eq!(manifest["ranges"][0]["poseFiles"], json!(["pose/0.json"]));
    assert_eq!(manifest["ranges"][0]["metricsSnapshot"], json!({"fps": 30}));
    assert_eq!(manifest["skipped"], json!([{"frameRange": [10, 20], "reason": "failed 5 times"}]));
}

/// S26c: the frames of the chunks that count lie in one directory, as links; a chunk that was rendered again replaces
/// the files of the one before, and nothing else in the directory is touched.
#[test]
fn frames_are_put_together() {
    let world = World::new();
    world.write("session_s1/chunks/1/0.png", "zero");
    world.write("session_s1/chunks/1/1.png", "one");
    world.write("session_s1/chunks/1/manifest_fragment_W1_1.json", "{}");
    world.write("session_s1/chunks/1/log.txt", "no frame");
    world.write("session_s1/chunks/2/out/frame_0002_cam1.png", "two, one");
    world.write("session_s1/chunks/2/out/frame_0002_cam2.png", "two, two");
    world.write("session_s1/chunks/2/out/frame_0009.png", "not of this range");
    world.write("session_s1/chunks/3/1.png", "retired");
    symlink(world.outside(), world.path("session_s1/chunks/2/3.png")).unwrap();
    let ranges = [(1, "W1", [0, 2]), (2, "W2", [2, 4])];
    assert_eq!(world.root.assemble(&files(4), &accept(&ranges)).unwrap(), 4);
    let names = || world.names("session_s1/frames");
    assert_eq!(names(), ["00000000.png", "00000001.png", "00000002_cam1.png", "00000002_cam2.png"]);
    let inode = |path: &str| fs::metadata(world.path(path)).unwrap().ino();
    assert_eq!(inode("session_s1/frames/00000001.png"), inode("session_s1/chunks/1/1.png"), "a link");
    world.write("session_s1/frames/notes.txt", "somebody's");
    world.write("session_s1/chunks/4/2.exr", "two, again");
    let ranges = [(1, "W1", [0, 2]), (4, "W2", [2, 4])];
    assert_eq!(world.root.assemble(&files(4), &accept(&ranges)).unwrap(), 3);
    assert_eq!(names(), ["00000000.png", "00000001.png", "00000002.exr", "notes.txt"]);
    assert_eq!(world.read("session_s1/frames/00000002.exr"), "two, again");
    world.root.assemble(&files(4), &accept(&ranges)).unwrap();
    assert_eq!(names().len(), 4);
}

/// S26c: whenever the server dies, the next try puts the same frames together.
#[test]
fn putting_frames_together_survives_a_crash_anywhere() {
    for changes in 0.. {
        let world = World::new();
        world.write("session_s1/chunks/1/0.png", "zero");
        world.write("session_s1/chunks/1/1.png", "one");
        let accepted = accept(&[(1, "W1", [0, 2])]);
        let (_, died) = crash::after(changes, || world.root.assemble(&files(2), &accepted));
        assert_eq!(world.root.assemble(&files(2), &accepted).unwrap(), 2);
        assert_eq!(world.read("session_s1/frames/00000001.png"), "one");
        if !died {
            return;
        }
    }
}

/// S26c: a session's directory is not called as the one of all frames.
#[test]
fn the_directory_of_frames_is_ours() {
    let world = World::new();
    for bad in ["frames", "a/Frames", "frames/x"] {
        let taken = world.root.check_directory(bad);
        assert!(matches!(taken, Err(OutputError::Path { fault: PathFault::Reserved(_), .. })), "{bad}");
    }
}

/// S26c: a new session does not take a directory that has frames of something else; nothing is deleted.
#[test]
fn frames_of_others_are_not_replaced() {
    let world = World::new();
    world.write("session_s1/frames/00000007.png", "somebody's");
    let taken = world.root.claim_directory(&files(20));
    assert!(matches!(taken, Err(OutputError::Path { fault: PathFault::HasFrames, .. })), "{taken:?}");
    assert_eq!(world.read("session_s1/frames/00000007.png"), "somebody's");
}

/// S26c: a file that cannot be brought in, or a directory in the way, does not hold up the others.
#[test]
fn one_bad_name_does_not_cost_the_others() {
    let world = World::new();
    world.write("session_s1/chunks/1/0.png", "zero");
    world.write(&format!("session_s1/chunks/1/1.{}", "x".repeat(250)), "too long once it has eight digits");
    world.write("session_s1/frames/20260101/notes.txt", "somebody's");
    assert_eq!(world.root.assemble(&files(2), &accept(&[(1, "W1", [0, 2])])).unwrap(), 1);
    assert!(world.has("session_s1/frames/00000000.png") && world.has("session_s1/frames/20260101/notes.txt"));
}

/// S21: whenever the server dies, the next try makes the same manifest.
#[test]
fn a_merge_survives_a_crash_anywhere() {
    let accepted = accept(&[(1, "W1", [0, 10])]);
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
    let (replays, given_up) = (Vec::new(), Vec::new());
    SessionFiles { session: session("s1"), output: "session_s1".into(), total_frames, replays, given_up }
}

fn accept(ranges: &[(u64, &str, [u64; 2])]) -> HashMap<u64, AcceptedRange> {
    let accepted = |&(chunk, worker, [start, end]): &(u64, &str, [u64; 2])| {
        (chunk, AcceptedRange { worker: name(worker), range: FrameRange { start, end } })
    };
    ranges.iter().map(accepted).collect()
}

fn place(world: &World, worker: &str, chunk: u64, range: [u64; 2]) {
    let fragment = json!({
        "workerId": worker, "frameRange": range, "globalIdChunkId": chunk, "cameras": [],
        "statistics": {"frameCount": range[1] - range[0]}, "validationSummary": {},
    });
    world.root.place_fragment(task(chunk), &name(worker), fragment.to_string().as_bytes()).unwrap();
}
