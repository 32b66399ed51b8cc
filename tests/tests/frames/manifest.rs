//! `muster manifest merge` and `muster manifest verify`, as scripts and people meet them: S21–S25, I3, I4.

use muster_tests::{Dice, Ended, muster_command, run};
use serde_json::{Value, json};
use std::{fs, path::PathBuf, process::Stdio, thread};
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

    fn run(&self, action: &str, arguments: &[&str]) -> Ended {
        manifest(&[&[action, self.0.path().to_str().unwrap()], arguments].concat())
    }

    fn exit(&self, action: &str, arguments: &[&str]) -> i32 {
        self.run(action, arguments).code
    }
}

fn manifest(arguments: &[&str]) -> Ended {
    run(muster_command().arg("manifest").args(arguments))
}

/// A directory, how it is merged, and what a merge and a verification then say.
struct Case {
    meta: Meta,
    arguments: &'static [&'static str],
    code: i32,
    told: &'static [&'static str],
    /// Expected entry of the manifest, as JSON pointer and value.
    says: (&'static str, Value),
}

/// S21, S22, S23, S24, S25: a complete session is merged and verified with 0, and so is one whose ranges are reordered by time. What
/// is missing, skipped or refused is named, in the manifest and on stderr; the rest is merged, and both end with 1.
#[test]
fn what_is_wrong_is_named_and_ends_with_1() {
    for Case { meta, arguments, code, told, says: (pointer, value) } in
        in_order().into_iter().chain(refused())
    {
        let merged = meta.run("merge", arguments);
        assert_eq!((merged.code, &*merged.stdout), (code, ""), "{merged:?}");
        told.iter().for_each(|words| merged.refused(code, words));
        assert_eq!(meta.manifest().pointer(pointer), Some(&value), "{}", meta.manifest());
        assert!(meta.path("manifest_merge.log").exists());
        assert_eq!(meta.exit("verify", &[]), code, "{told:?}");
    }
}

/// Sessions that are complete, have gaps, or are ordered otherwise by their times.
fn in_order() -> Vec<Case> {
    let timed = |one: [f64; 2], two: [f64; 2]| {
        let meta = Meta::new();
        meta.timed(1, one);
        meta.timed(2, two);
        meta
    };
    let session = r#"{"sessionId":"s","totalFrames":30,"replays":[]}"#;
    let unfinished = Meta::complete();
    unfinished.write("session.json", session);
    let case = |meta, arguments, code, told, says| Case { meta, arguments, code, told, says };
    vec![
        case(
            Meta::complete(),
            &[][..],
            0,
            &["complete: 20 of 20 frames"][..],
            ("/statistics/persons", json!(4)),
        ),
        case(
            Meta::complete(),
            &["--total-frames", "20"],
            0,
            &[],
            ("/distributed/workers", json!(["A", "B"])),
        ),
        case(
            Meta::complete(),
            &["--total-frames", "25"],
            1,
            &["missing: frames [20, 25)"],
            ("/gaps", json!([[20, 25]])),
        ),
        case(unfinished, &[], 1, &[], ("/gaps", json!([[20, 30]]))),
        case(
            timed([5.0, 6.0], [3.0, 4.0]),
            &[],
            0,
            &[
                "warning: timestamps go backwards between ranges",
                "reordered: frames [2, 4) of chunk 2",
                "complete: 4 of 4 frames, 2 fragments merged, 2 ranges reordered by time",
            ],
            ("/reordered/0", json!({"frameRange": [2, 4], "chunkId": 2})),
        ),
        case(
            timed([5.0, 7.0], [6.0, 8.0]),
            &[],
            1,
            &["skipped: frames [2, 4): the timestamps of chunk 2", ", 2 frames skipped"],
            ("/skipped/0/frameRange", json!([2, 4])),
        ),
    ]
}

/// Sessions with a line or a fragment that is refused.
fn refused() -> Vec<Case> {
    let changed = |file: &str, text: &str| {
        let meta = Meta::complete();
        meta.write(file, text);
        meta
    };
    let completions = "{\"globalIdChunkId\":1,\"poseFiles\":[\"a.json\"]}\nnonsense\n";
    let foreign = r#"{"frameRange":[0,10],"globalIdChunkId":8}"#;
    let case = |meta, arguments, code, told, says| Case { meta, arguments, code, told, says };
    vec![
        case(
            changed("completions.jsonl", completions),
            &[],
            1,
            &["refused: completions.jsonl: line 2: "],
            ("/ranges/0/poseFiles", json!(["a.json"])),
        ),
        case(
            changed("manifest_fragment_C_7.json", foreign),
            &[],
            1,
            &["refused: manifest_fragment_C_7.json: "],
            ("/ranges/1/workerId", json!("B")),
        ),
    ]
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
    meta.run("verify", &[]).refused(1, "manifest_fragment_B_2.json");
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
        assert!(output.stderr.is_empty(), "{output:?}");
        let document = output.json();
        assert!(document["complete"] == true && document.get(key).is_some(), "{document}");
        let plain = meta.run(action, &[]);
        assert!(!plain.stderr.contains(['\u{1b}', '█', '\r']) && plain.stdout.is_empty(), "{plain:?}");
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
        assert_eq!(manifest(wrong).code, 2, "{wrong:?}");
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

/// True if a manifest is whole and of the round.
fn named(manifest: &[u8], round: u32) -> bool {
    let manifest: Value = serde_json::from_slice(manifest).expect("a whole manifest");
    assert_eq!(manifest["ranges"].as_array().unwrap().len(), 2000);
    manifest["sessionId"] == format!("s{round}")
}
