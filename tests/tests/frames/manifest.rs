//! `muster manifest merge` and `muster manifest verify`, as scripts and people meet them: S21–S25, I3, I4.

use muster_tests::{Dice, muster_command};
use serde_json::{Value, json};
use std::{
    fs,
    path::PathBuf,
    process::{Output, Stdio},
    thread,
};
use tempfile::TempDir;

/// The `meta/` of a session.
struct Meta(TempDir);

impl Meta {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// Two workers with ten frames each.
    fn complete() -> Self {
        let meta = Self::new();
        meta.fragment("A", [0, 10], 1);
        meta.fragment("B", [10, 20], 2);
        meta
    }

    fn path(&self, file: &str) -> PathBuf {
        self.0.path().join(file)
    }

    fn fragment(&self, worker: &str, range: [u64; 2], chunk: u64) {
        let text = json!({"frameRange": range, "globalIdChunkId": chunk, "workerId": worker, "cameras": [],
            "statistics": {"persons": 2}, "validationSummary": {}});
        self.write(&format!("manifest_fragment_{worker}_{chunk}.json"), &text.to_string());
    }

    /// Two frames with timestamps: of chunk 1 frames 0 and 1, of chunk 2 frames 2 and 3.
    fn timed(&self, chunk: u64, times: [f64; 2]) {
        let first = chunk * 2 - 2;
        let frames =
            json!([{"frameId": first, "timestamp": times[0]}, {"frameId": first + 1, "timestamp": times[1]}]);
        let text = json!({"frameRange": [first, first + 2], "globalIdChunkId": chunk, "frames": frames});
        self.write(&format!("manifest_fragment_A_{chunk}.json"), &text.to_string());
    }

    fn write(&self, file: &str, text: &str) {
        fs::write(self.path(file), text).unwrap();
    }

    fn manifest(&self) -> Value {
        serde_json::from_slice(&fs::read(self.path("manifest.json")).unwrap()).unwrap()
    }

    fn run(&self, action: &str, arguments: &[&str]) -> Output {
        manifest(&[&[action, self.0.path().to_str().unwrap()], arguments].concat())
    }

    fn exit(&self, action: &str, arguments: &[&str]) -> i32 {
        self.run(action, arguments).status.code().unwrap()
    }
}

fn manifest(arguments: &[&str]) -> Output {
    muster_command().arg("manifest").args(arguments).output().unwrap()
}

fn told(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// S21, S22, S24: a complete session is merged and verified with 0; `meta/` has the manifest and its log.
#[test]
fn a_complete_session_is_fine() {
    let meta = Meta::complete();
    let merged = meta.run("merge", &[]);
    assert_eq!(merged.status.code(), Some(0), "{merged:?}");
    assert!(merged.stdout.is_empty() && told(&merged).contains("complete: 20 of 20 frames"), "{merged:?}");
    let manifest = meta.manifest();
    assert_eq!(manifest["statistics"], json!({"persons": 4}));
    assert_eq!(manifest["distributed"]["workers"], json!(["A", "B"]));
    assert_eq!(manifest["distributed"]["fragmentHashes"].as_array().unwrap().len(), 2);
    assert!(fs::read_to_string(meta.path("manifest_merge.log")).unwrap().contains("complete"));
    assert_eq!(meta.exit("verify", &[]), 0);
}

/// S24: incomplete coverage ends with 1; `--total-frames` says where the end is.
#[test]
fn a_gap_is_a_failure() {
    let meta = Meta::complete();
    assert_eq!(meta.exit("merge", &["--total-frames", "20"]), 0);
    let short = meta.run("merge", &["--total-frames", "25"]);
    assert_eq!(short.status.code(), Some(1));
    assert!(told(&short).contains("missing: frames [20, 25)"), "{short:?}");
    assert_eq!(meta.manifest()["gaps"], json!([[20, 25]]));
    assert_eq!(meta.exit("verify", &[]), 1);
    meta.write("session.json", r#"{"sessionId":"s","totalFrames":30,"replays":[]}"#);
    assert_eq!(meta.exit("merge", &[]), 1);
    assert_eq!(meta.manifest()["gaps"], json!([[20, 30]]));
    meta.fragment("C", [20, 30], 3);
    assert_eq!(meta.exit("merge", &[]), 0);
}

/// S23: ranges whose times follow each other in another order are reordered, named, and end with 0.
#[test]
fn ranges_in_another_order_are_reordered() {
    let meta = Meta::new();
    meta.timed(1, [5.0, 6.0]);
    meta.timed(2, [3.0, 4.0]);
    let merged = meta.run("merge", &[]);
    assert_eq!(merged.status.code(), Some(0), "{merged:?}");
    for expected in [
        "warning: timestamps go backwards between ranges",
        "reordered: frames [2, 4) of chunk 2",
        "complete: 4 of 4 frames, 2 fragments merged, 2 ranges reordered by time",
    ] {
        assert!(told(&merged).contains(expected), "{merged:?}");
    }
    assert_eq!(meta.manifest()["reordered"][0], json!({"frameRange": [2, 4], "chunkId": 2}));
    assert_eq!(meta.exit("verify", &[]), 0);
    let document: Value = serde_json::from_slice(&meta.run("merge", &["--json"]).stdout).unwrap();
    assert_eq!(document["reordered"][1], json!({"frameRange": [0, 2], "chunkId": 1}));
}

/// S23: a range whose times interleave with an earlier one is skipped and named, and the exit code is 1.
#[test]
fn interleaving_ranges_are_a_failure() {
    let meta = Meta::new();
    meta.timed(1, [5.0, 7.0]);
    meta.timed(2, [6.0, 8.0]);
    let merged = meta.run("merge", &[]);
    assert_eq!(merged.status.code(), Some(1));
    assert!(told(&merged).contains("skipped: frames [2, 4): the timestamps of chunk 2"), "{merged:?}");
    assert!(told(&merged).contains(", 2 frames skipped"), "{merged:?}");
    let document: Value = serde_json::from_slice(&meta.run("merge", &["--json"]).stdout).unwrap();
    assert_eq!(document["skipped"][0]["frameRange"], json!([2, 4]));
    assert_eq!(document["skipped"][0].as_object().unwrap().len(), 2);
    assert_eq!(meta.exit("verify", &[]), 1);
}

/// S21, S25: a bad line of completions.jsonl is named on stderr, the rest merges, and the exit code is 1.
#[test]
fn a_bad_completion_is_named() {
    let meta = Meta::complete();
    meta.write("completions.jsonl", "{\"globalIdChunkId\":1,\"poseFiles\":[\"a.json\"]}\nnonsense\n");
    let merged = meta.run("merge", &[]);
    assert_eq!(merged.status.code(), Some(1));
    assert!(told(&merged).contains("refused: completions.jsonl: line 2: "), "{merged:?}");
    assert_eq!(meta.manifest()["ranges"][0]["poseFiles"], json!(["a.json"]));
}

/// S25: a bad fragment is named on stderr and in the log, the others merge, and the exit code is 1.
#[test]
fn a_bad_fragment_is_named() {
    let meta = Meta::complete();
    meta.write("manifest_fragment_C_7.json", r#"{"frameRange":[0,10],"globalIdChunkId":8}"#);
    for arguments in [&[][..], &["--json"]] {
        let merged = meta.run("merge", arguments);
        assert_eq!(merged.status.code(), Some(1));
        assert!(told(&merged).contains("refused: manifest_fragment_C_7.json: "), "{merged:?}");
    }
    assert_eq!(meta.manifest()["ranges"].as_array().unwrap().len(), 2);
    assert!(
        fs::read_to_string(meta.path("manifest_merge.log")).unwrap().contains("manifest_fragment_C_7.json")
    );
    assert_eq!(meta.exit("verify", &[]), 1);
}

/// S24: whatever was touched afterwards, a verification finds it and says which.
#[test]
fn a_changed_fragment_is_found() {
    let meta = Meta::complete();
    assert_eq!(meta.exit("verify", &[]), 1, "there is no manifest yet");
    assert_eq!(meta.exit("merge", &[]), 0);
    let before = fs::read(meta.path("manifest.json")).unwrap();
    let text = fs::read_to_string(meta.path("manifest_fragment_B_2.json")).unwrap();
    meta.write("manifest_fragment_B_2.json", &text.replace("\"persons\":2", "\"persons\":3"));
    let verified = meta.run("verify", &[]);
    assert_eq!(verified.status.code(), Some(1));
    assert!(told(&verified).contains("manifest_fragment_B_2.json"), "{verified:?}");
    assert_eq!(fs::read(meta.path("manifest.json")).unwrap(), before, "a verification writes nothing");
    meta.write("manifest_fragment_B_2.json", &text);
    assert_eq!(meta.exit("verify", &[]), 0);
}

/// I4, S24: `--json` is one document; a pipe gets neither colour nor a strip.
#[test]
fn json_is_one_document() {
    let meta = Meta::complete();
    for (action, key) in [("merge", "coveredFrames"), ("verify", "differences")] {
        let output = meta.run(action, &["--json"]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(document["complete"], true);
        assert!(document.get(key).is_some() && output.stderr.is_empty(), "{output:?}");
        let plain = meta.run(action, &[]);
        assert!(!told(&plain).contains(['\u{1b}', '█', '\r']) && plain.stdout.is_empty(), "{plain:?}");
    }
}

/// I4: a wrong command line and a directory that is not there end with 2, an empty one with 1 and as empty as before.
#[test]
fn wrong_arguments_are_usage() {
    let meta = Meta::complete();
    for wrong in [
        &["merge"][..],
        &["verify"],
        &["merge", "/nonexistent"],
        &["verify", "/nonexistent"],
        &["dance", "."],
    ] {
        assert_eq!(manifest(wrong).status.code(), Some(2), "{wrong:?}");
    }
    for frames in ["0", "-1", "many", "1.5"] {
        assert_eq!(meta.exit("merge", &["--total-frames", frames]), 2, "{frames}");
    }
    assert!(!meta.path("manifest.json").exists());
    let empty = Meta::new();
    assert_eq!(empty.exit("merge", &[]), 1);
    assert_eq!(fs::read_dir(empty.0.path()).unwrap().count(), 0);
}

/// S25: a merge that is killed leaves the old manifest or the new one, never a part of one.
#[test]
fn a_killed_merge_leaves_a_whole_manifest() {
    let mut dice = Dice::announced();
    let meta = Meta::new();
    (1..=2000).for_each(|chunk| meta.fragment("A", [chunk * 10 - 10, chunk * 10], chunk));
    assert_eq!(meta.exit("merge", &[]), 0);
    let mut whole = vec![fs::read(meta.path("manifest.json")).unwrap()];
    for round in 1..=20 {
        meta.write(
            "session.json",
            &json!({"sessionId": format!("s{round}"), "totalFrames": 20_000}).to_string(),
        );
        let mut merge = muster_command()
            .args(["manifest", "merge"])
            .arg(meta.0.path())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        thread::sleep(dice.millis(0, 60));
        merge.kill().unwrap();
        merge.wait().unwrap();
        let found = fs::read(meta.path("manifest.json")).unwrap();
        let new = named(&found, round);
        assert!(new || whole.contains(&found), "round {round}: {} bytes of neither", found.len());
        whole.push(found);
    }
    assert_eq!(meta.exit("merge", &[]), 0);
    assert_eq!(meta.exit("verify", &[]), 0);
}

/// Whether a manifest is whole and of the round.
fn named(manifest: &[u8], round: u32) -> bool {
    let manifest: Value = serde_json::from_slice(manifest).expect("a whole manifest");
    assert_eq!(manifest["ranges"].as_array().unwrap().len(), 2000);
    manifest["sessionId"] == format!("s{round}")
}
