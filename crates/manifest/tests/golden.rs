//! The source document's section on merging, example by example, and every field of the manifest.
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
  "reordered": [],
  "cameras": [],
  "statistics": {"persons":12,"seconds":1.75},
  "validationSummary": {
    "totals": {},
    "fragments": [
      {"workerId":"workerA","globalIdChunkId":1,"validationSummary":{}},
      {"workerId":"workerB","globalIdChunkId":2,"validationSummary":{}}
    ]
  },
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

/// S26b, S24: frames that the server gave up are skipped with its reason and are no gap, unless a fragment has them.
#[test]
fn given_up_frames_are_skipped() {
    let session = json!({"sessionId": "s1", "totalFrames": 30, "givenUp": [
        {"frameRange": [25, 26], "reason": "failed 5 times"},
        {"frameRange": [5, 15], "reason": "the renderer crashed\n"},
    ]});
    let meta = Meta::with(&[
        ("session.json", session),
        ("manifest_fragment_A_1.json", fragment([0, 10], 1, &json!({}))),
        ("manifest_fragment_A_2.json", fragment([10, 12], 2, &json!({}))),
        ("manifest_fragment_A_3.json", fragment([15, 24], 3, &json!({}))),
    ]);
    let (report, manifest) = meta.merge();
    assert_eq!(
        manifest["skipped"],
        json!([
            {"frameRange": [12, 15], "reason": "the renderer crashed\n"},
            {"frameRange": [25, 26], "reason": "failed 5 times"},
        ])
    );
    assert_eq!(manifest["gaps"], json!([[24, 25], [26, 30]]));
    assert_eq!(manifest["complete"], false);
    assert!(!report.is_fine() && report.skipped.iter().all(|skipped| skipped.chunk_id.is_none()));
    let log = meta.text("manifest_merge.log");
    assert!(
        log.contains("skipped [12, 15): the renderer crashed\\n\nskipped [25, 26): failed 5 times\n"),
        "{log}"
    );
}

/// S21, S22: nested statistics are summed member by member and shown nested again; a part counts what its frames say.
#[test]
fn nested_statistics_are_summed() {
    let mut older =
        fragment([0, 4], 1, &json!({"persons": {"seated": 4, "standing": {"still": 8}}, "seconds": 2.0}));
    let frame = |id: u64| json!({"frame_id": id, "statistics": {"persons": {"seated": 1, "new": id}}});
    older["frames"] = (0..4).map(frame).collect();
    let newer =
        fragment([3, 7], 2, &json!({"persons": {"seated": 10, "standing": {"still": 1, "moving": 0.5}}}));
    let meta = Meta::with(&[("manifest_fragment_A_1.json", older), ("manifest_fragment_B_2.json", newer)]);
    let (report, manifest) = meta.merge();
    assert!(report.is_fine() && report.warnings.is_empty(), "{report:?}");
    assert_eq!(
        manifest["statistics"],
        json!({
            "persons": {"new": 3, "seated": 13, "standing": {"moving": 0.5, "still": 7}}, "seconds": 1.5, "estimated": true,
        })
    );
    assert!(meta.text("manifest.json").contains(r#""statistics": {"persons":{"new":3,"seated":13,"#));
}

/// S21: a member that is a number in one fragment and an object in another is left out, with a warning that names it.
#[test]
fn a_mixed_statistic_is_left_out() {
    let meta = Meta::with(&[
        ("manifest_fragment_A_1.json", fragment([0, 1], 1, &json!({"a": 1, "b": {"c": 1, "d": 1}, "e": 1}))),
        (
            "manifest_fragment_B_2.json",
            fragment([1, 2], 2, &json!({"a": {"x": 1}, "b": {"c": {"": 1}, "d": 1}, "e": {}})),
        ),
    ]);
    let (report, manifest) = meta.merge();
    assert_eq!(manifest["statistics"], json!({"b": {"d": 2}, "e": 1}));
    let warnings: Vec<&str> = report.warnings.iter().map(|warning| warning.warning.as_str()).collect();
    let because = "is a number in one place and an object in another; it was left out of the totals";
    assert_eq!(
        warnings,
        [format!("statistics: \"a\" {because}"), format!("statistics: \"b\".\"c\" {because}")]
    );
    assert!(report.is_fine());
}

/// S21: the manifest has each camera of the surviving fragments once, in the words of its first appearance.
#[test]
fn cameras_are_listed_once() {
    let meta = Meta::with(&[]);
    let write = |chunk: u64, range: [u64; 2], cameras: &str| {
        let text = format!(r#"{{"frameRange":{range:?},"globalIdChunkId":{chunk},"cameras":{cameras}}}"#);
        fs::write(meta.0.path().join(format!("manifest_fragment_A_{chunk}.json")), text).unwrap();
    };
    write(4, [0, 10], r#"[{"id": "cam0", "fov": 60.0}, {"id": "cam1"}]"#);
    write(3, [10, 20], r#"[{"id": "lost"}]"#);
    write(2, [20, 30], "{\"id\": \"cam2\",\n \"pose\": [1, 2]}");
    write(1, [30, 40], r#"[{"fov": 60.0, "id": "cam0"}, {"id": "cam3"}, {"id": "cam1"}]"#);
    write(5, [10, 20], "null");
    let (report, _) = meta.merge();
    assert!(report.is_fine(), "{report:?}");
    let expected = r#"
  "cameras": [
    {"id":"cam0","fov":60.0},
    {"id":"cam1"},
    {"id":"cam2","pose":[1,2]},
    {"id":"cam3"}
  ],
"#;
    assert!(meta.text("manifest.json").contains(expected), "{}", meta.text("manifest.json"));
}

/// S21: numbers of validation summaries are summed over the survivors, and each summary is listed as submitted.
#[test]
fn validation_summaries_are_summed() {
    let with = |range: [u64; 2], chunk: u64, summary: Value| {
        let mut fragment = fragment(range, chunk, &json!({}));
        fragment["validationSummary"] = summary;
        (format!("manifest_fragment_A_{chunk}.json"), fragment)
    };
    let fragments = [
        with([0, 10], 1, json!({"checked": 10, "errors": {"pose": 1, "list": [1]}, "ok": true, "mixed": 1})),
        // Survives in part and counts whole.
        with([10, 20], 2, json!({"checked": 10, "errors": {"pose": 2, "depth": 0.5}, "mixed": {"a": 1}})),
        with([15, 20], 3, json!("fine")),
        with([20, 30], 4, json!({"checked": 1000})),
        with([20, 30], 5, json!(null)),
    ];
    let meta = Meta::with(&fragments.each_ref().map(|(name, fragment)| (name.as_str(), fragment.clone())));
    let (report, manifest) = meta.merge();
    assert_eq!(
        manifest["validationSummary"],
        json!({
            "totals": {"checked": 20, "errors": {"depth": 0.5, "pose": 3}},
            "fragments": [
                {"workerId": "A", "globalIdChunkId": 1, "validationSummary": fragments[0].1["validationSummary"]},
                {"workerId": "A", "globalIdChunkId": 2, "validationSummary": fragments[1].1["validationSummary"]},
                {"workerId": "A", "globalIdChunkId": 3, "validationSummary": "fine"},
            ],
        })
    );
    assert_eq!(report.warnings.len(), 1);
    assert!(
        report.warnings[0].warning.starts_with(r#"validationSummary: "mixed" is a number"#),
        "{report:?}"
    );
    let least = json!({"frameRange": [0, 1], "globalIdChunkId": 1});
    let without = Meta::with(&[("manifest_fragment_A_1.json", least)]);
    assert_eq!(without.merge().1["validationSummary"], json!({"totals": {}, "fragments": []}));
}

/// S21: each range has the pose files and metrics of its completion, as submitted; a divided one has them once.
#[test]
fn ranges_have_what_was_submitted() {
    let meta = Meta::with(&[
        ("manifest_fragment_A_1.json", fragment([0, 30], 1, &json!({}))),
        ("manifest_fragment_B_2.json", fragment([10, 20], 2, &json!({}))),
        ("manifest_fragment_B_3.json", fragment([30, 40], 3, &json!({}))),
    ]);
    let lines = [
        r#"{"globalIdChunkId":2,"poseFiles":[],"metricsSnapshot":null}"#,
        r#"{"globalIdChunkId":1,"poseFiles":["b.json","a.json"],"metricsSnapshot":{"fps":30.0,"big":123456789012345678901}}"#,
        r#"{"globalIdChunkId":99,"poseFiles":["nobody.json"]}"#,
    ];
    fs::write(meta.0.path().join("completions.jsonl"), lines.join("\n")).unwrap();
    let (report, _) = meta.merge();
    assert!(report.is_fine(), "{report:?}");
    let expected = r#"
  "ranges": [
    {"frameRange":[0,10],"globalIdChunkId":1,"workerId":"A","poseFiles":["b.json","a.json"],"metricsSnapshot":{"fps":30.0,"big":123456789012345678901}},
    {"frameRange":[10,20],"globalIdChunkId":2,"workerId":"B","poseFiles":[]},
    {"frameRange":[20,30],"globalIdChunkId":1,"workerId":"A"},
    {"frameRange":[30,40],"globalIdChunkId":3,"workerId":"B"}
  ],
"#;
    assert!(meta.text("manifest.json").contains(expected), "{}", meta.text("manifest.json"));
}

/// S21, S25: bad lines of `completions.jsonl` are refused by number; the other lines count.
#[test]
fn bad_completions_are_refused() {
    let meta = Meta::with(&[
        ("manifest_fragment_A_1.json", fragment([0, 10], 1, &json!({}))),
        ("manifest_fragment_B_2.json", fragment([10, 20], 2, &json!({}))),
    ]);
    let lines = "{\"globalIdChunkId\":1,\"poseFiles\":[\"first\"]}\nnonsense\n\n{\"globalIdChunkId\":1,\"poseFiles\":[\"second\"]}\n{\"globalIdChunkId\":2,\"metricsSnapshot\":{}}\n{\"globalId";
    fs::write(meta.0.path().join("completions.jsonl"), lines).unwrap();
    let (report, manifest) = meta.merge();
    let refused: Vec<String> =
        report.refusals.iter().map(|refused| format!("{}: {}", refused.file, refused.reason)).collect();
    assert_eq!(refused.len(), 4, "{refused:?}");
    for (refused, beginning) in
        refused.iter().zip(["line 2: not a", "line 3: not a", "line 4: chunk 1 has", "line 6: not a"])
    {
        assert!(refused.starts_with(&format!("completions.jsonl: {beginning}")), "{refused}");
    }
    assert!(report.complete && !report.is_fine());
    assert_eq!(manifest["ranges"][0]["poseFiles"], json!(["first"]));
    assert_eq!(manifest["ranges"][1]["metricsSnapshot"], json!({}));
    assert!(meta.text("manifest_merge.log").contains("refused completions.jsonl: line 2: not a completion"));
}

/// S21, S25: values of a fragment may nest as deep as a fragment may; the manifest around them can still be verified.
#[test]
fn deep_values_can_be_verified() {
    let deep = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let meta = Meta::with(&[]);
    let write = |name: &str, text: String| fs::write(meta.0.path().join(name), text).unwrap();
    write(
        "manifest_fragment_A_1.json",
        format!(
            r#"{{"frameRange":[0,1],"globalIdChunkId":1,"cameras":{0},"validationSummary":{0}}}"#,
            deep(127)
        ),
    );
    write("completions.jsonl", format!(r#"{{"globalIdChunkId":1,"metricsSnapshot":{}}}"#, deep(127)));
    let report = merge_directory(meta.0.path(), &MergeOptions::default()).unwrap();
    assert!(report.is_fine() && report.covered_frames == 1, "{report:?}");
    assert!(verify_directory(meta.0.path(), None).unwrap().is_fine());
}
