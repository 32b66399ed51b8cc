//! The source document's section on merging, example by example.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use muster_manifest::{MergeOptions, MergeReport, merge_directory, verify_directory};
use serde_json::{Value, json};
use std::fs;
use tempfile::TempDir;

/// A directory `meta/` with fragments in it.
struct Meta(TempDir);

impl Meta {
    fn with(files: &[(&str, Value)]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        for (name, content) in files {
            fs::write(directory.path().join(name), content.to_string()).unwrap();
        }
        Self(directory)
    }

    fn merge(&self) -> (MergeReport, Value) {
        let report = merge_directory(self.0.path(), &MergeOptions::default()).unwrap();
        let verified = verify_directory(self.0.path(), None).unwrap();
        assert_eq!((verified.is_fine(), verified.differences), (report.is_fine(), Vec::new()));
        (report, serde_json::from_str(&self.text("manifest.json")).unwrap())
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.0.path().join(name)).unwrap()
    }
}

fn fragment(range: [u64; 2], chunk: u64, statistics: &Value) -> Value {
    json!({"frameRange": range, "globalIdChunkId": chunk, "cameras": [{"id": "cam0"}], "statistics": statistics,
        "validationSummary": {"ok": true}})
}

/// S21, S24: 7.1 and 7.4, the files of two workers and the whole manifest, byte for byte.
#[test]
fn two_workers_make_a_manifest() {
    let meta = Meta::with(&[]);
    fs::write(meta.0.path().join("manifest_fragment_workerA.json"), WORKER_A).unwrap();
    fs::write(meta.0.path().join("manifest_fragment_workerB.json"), WORKER_B).unwrap();
    let (report, _) = meta.merge();
    assert!(report.is_fine(), "{report:?}");
    assert_eq!(meta.text("manifest.json"), TWO_WORKERS);
    assert_eq!(
        meta.text("manifest_merge.log"),
        "merged 2 fragments, refused 0\ncomplete: 200 frames in 2 ranges\n"
    );
}

const WORKER_A: &str = r#"{"frameRange":[0,100],"globalIdChunkId":1,"cameras":[],"statistics":{"persons":7,"seconds":1.5},"validationSummary":{}}"#;
const WORKER_B: &str = r#"{"frameRange":[100,200],"globalIdChunkId":2,"cameras":[],"statistics":{"persons":5,"seconds":0.25},"validationSummary":{}}"#;
/// The hashes are those of `sha256sum`.
const TWO_WORKERS: &str = r#"{
  "sessionId": null,
  "totalFrames": null,
  "complete": true,
  "ranges": [
    {"frameRange":[0,100],"globalIdChunkId":1,"workerId":"workerA"},
    {"frameRange":[100,200],"globalIdChunkId":2,"workerId":"workerB"}
  ],
  "gaps": [],
  "overlaps": [],
  "replayDrops": [],
  "skipped": [],
  "statistics": {"persons":12,"seconds":1.75},
  "distributed": {
    "workers": [
      "workerA",
      "workerB"
    ],
    "replay": [],
    "fragmentHashes": [
      {"file":"manifest_fragment_workerA.json","sha256":"e80d6e0ea53ff869b80b60c8aa44471b7932899c641c74bd611aca6a7d068a2e"},
      {"file":"manifest_fragment_workerB.json","sha256":"c6b5aca6f5c2b0073964fa58da7976a0c4071a193e3518e462d674d07b9c1e1b"}
    ]
  }
}
"#;

/// S22: 7.2, where ranges overlap the one made anew wins, then the larger chunk; what lost is in `replay[]`.
#[test]
fn the_newer_fragment_wins() {
    let mut anew = fragment([50, 100], 2, &json!({"persons": 4}));
    anew["replay"] = json!(true);
    let meta = Meta::with(&[
        ("manifest_fragment_A_1.json", fragment([0, 100], 1, &json!({"persons": 10}))),
        ("manifest_fragment_B_2.json", anew),
        ("manifest_fragment_A_3.json", fragment([90, 200], 3, &json!({"persons": 11}))),
        ("manifest_fragment_B_4.json", fragment([150, 200], 4, &json!({"persons": 5}))),
    ]);
    let (report, manifest) = meta.merge();
    assert!(report.is_fine(), "{report:?}");
    assert_eq!(
        manifest["ranges"],
        json!([
            {"frameRange": [0, 50], "globalIdChunkId": 1, "workerId": "A"},
            {"frameRange": [50, 100], "globalIdChunkId": 2, "workerId": "B"},
            {"frameRange": [100, 150], "globalIdChunkId": 3, "workerId": "A"},
            {"frameRange": [150, 200], "globalIdChunkId": 4, "workerId": "B"},
        ])
    );
    let drops = json!([
        {"frameRange": [50, 100], "retiredChunkId": 1},
        {"frameRange": [90, 100], "retiredChunkId": 3},
        {"frameRange": [150, 200], "retiredChunkId": 3},
    ]);
    assert_eq!(manifest["replayDrops"], drops);
    assert_eq!(manifest["distributed"]["replay"], drops);
    assert_eq!(
        manifest["overlaps"],
        json!([
            {"frameRange": [50, 90], "chunkIds": [1, 2]},
            {"frameRange": [90, 100], "chunkIds": [1, 2, 3]},
            {"frameRange": [150, 200], "chunkIds": [3, 4]},
        ])
    );
    assert_eq!(manifest["statistics"], json!({"persons": 19, "estimated": true}));
}

/// S22: 7.3, the same frame in two fragments: the newer is kept, the older one's record is in `replayDrops[]`.
#[test]
fn a_frame_in_two_fragments_is_kept_once() {
    let frames = |ids: [u64; 4], persons: u64| {
        let frame = |id: &u64| json!({"frameId": id, "statistics": {"persons": persons}});
        ids.iter().map(frame).collect::<Vec<_>>()
    };
    let mut older = fragment([0, 4], 1, &json!({"persons": 4}));
    older["frames"] = json!(frames([0, 1, 2, 3], 1));
    let mut newer = fragment([3, 7], 2, &json!({"persons": 40}));
    newer["frames"] = json!(frames([3, 4, 5, 6], 10));
    let meta = Meta::with(&[("manifest_fragment_A_1.json", older), ("manifest_fragment_B_2.json", newer)]);
    let (report, manifest) = meta.merge();
    assert!(report.is_fine(), "{report:?}");
    assert_eq!(manifest["replayDrops"], json!([{"frameRange": [3, 4], "retiredChunkId": 1}]));
    assert_eq!(manifest["statistics"], json!({"persons": 43}));
}

/// S23: 7.3, timestamps that fall: sorted and warned of within a fragment, skipped between two.
#[test]
fn time_that_goes_backwards_is_skipped() {
    let with_times = |range: [u64; 2], chunk: u64, times: &[Value]| {
        let mut fragment = fragment(range, chunk, &json!({"persons": 1}));
        let frames = (range[0]..).zip(times).map(|(id, time)| json!({"frameId": id, "timestamp": time}));
        fragment["frames"] = frames.collect();
        fragment
    };
    let meta = Meta::with(&[
        ("manifest_fragment_A_1.json", with_times([0, 3], 1, &[json!(0), json!(2.5), json!(1)])),
        ("manifest_fragment_B_2.json", with_times([3, 6], 2, &[json!(2), json!(3), json!(4)])),
        ("manifest_fragment_A_3.json", with_times([6, 9], 3, &[json!(2.5), json!(5), json!(6)])),
    ]);
    let (report, manifest) = meta.merge();
    assert!(!report.is_fine() && !report.complete && report.gaps.is_empty(), "{report:?}");
    let reason = "the timestamps of chunk 2 begin at 2, before those of chunk 1 ended at 2.5";
    assert_eq!(manifest["skipped"], json!([{"frameRange": [3, 6], "reason": reason}]));
    assert_eq!(manifest["ranges"].as_array().unwrap().len(), 2);
    assert_eq!(manifest["statistics"], json!({"persons": 2}));
    assert_eq!(report.warnings.len(), 1);
    assert_eq!(report.warnings[0].file.as_deref(), Some("manifest_fragment_A_1.json"));
    assert!(
        meta.text("manifest_merge.log")
            .contains("warning manifest_fragment_A_1.json: its timestamps go backwards")
    );
    let instants = [json!("2026-01-01T00:00:01Z"), json!("2026-01-01T00:00:00.5Z")];
    let meta = Meta::with(&[
        ("manifest_fragment_A_1.json", with_times([0, 1], 1, &instants[..1])),
        ("manifest_fragment_B_2.json", with_times([1, 2], 2, &instants[1..])),
    ]);
    assert_eq!(meta.merge().1["skipped"][0]["frameRange"], json!([1, 2]));
}

/// S22: 7.3, statistics are not added blindly: what of a fragment was superseded does not count.
#[test]
fn statistics_are_counted_anew() {
    let meta = Meta::with(&[
        ("manifest_fragment_A_1.json", fragment([0, 100], 1, &json!({"detections": 100, "seconds": 10.0}))),
        ("manifest_fragment_B_2.json", fragment([0, 100], 2, &json!({"detections": 90, "seconds": 8.5}))),
    ]);
    assert_eq!(meta.merge().1["statistics"], json!({"detections": 90, "seconds": 8.5}));
}

/// S16, S22, S24: 5.3, what the master gave out again is in `replay[]` with its new chunk, and not twice.
#[test]
fn what_the_master_knows_is_in_the_manifest() {
    let session = json!({"sessionId": "s1", "totalFrames": 30, "replays": [
        {"frameRange": [10, 20], "retiredChunkId": 2, "newChunkId": 3},
        {"frameRange": [20, 30], "retiredChunkId": 9, "newChunkId": 4},
    ]});
    let meta = Meta::with(&[
        ("session.json", session),
        ("manifest_fragment_A_1.json", fragment([0, 10], 1, &json!({}))),
        ("manifest_fragment_A_2.json", fragment([10, 20], 2, &json!({}))),
        ("manifest_fragment_B_3.json", fragment([10, 20], 3, &json!({}))),
        ("manifest_fragment_C_9.json", fragment([20, 30], 9, &json!({}))),
    ]);
    let (report, manifest) = meta.merge();
    assert_eq!(manifest["sessionId"], "s1");
    assert_eq!(
        manifest["distributed"]["replay"],
        json!([
            {"frameRange": [10, 20], "retiredChunkId": 2, "newChunkId": 3},
            {"frameRange": [20, 30], "retiredChunkId": 9, "newChunkId": 4},
        ])
    );
    assert_eq!(manifest["replayDrops"].as_array().unwrap().len(), 2);
    // A retired chunk covers nothing, also while nobody has its frames yet.
    assert_eq!(manifest["gaps"], json!([[20, 30]]));
    assert!(!report.is_fine());
}
