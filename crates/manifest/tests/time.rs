//! The order of time between ranges (S23).
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use muster_manifest::{
    Difference, FrameRange, Memory, MergeOptions, MergeReport, ReorderedRange, Session, Skipped, merge,
    merge_directory, verify_directory,
};
use serde_json::{Value, json};
use std::fs;

/// The name and text of a fragment of ten frames with two timestamps, or without any. Range `n` has chunk `n + 1`.
fn file(number: u64, times: Option<[Value; 2]>) -> (String, Vec<u8>) {
    let (start, chunk) = (number * 10, number + 1);
    let [first, last] = times.unwrap_or_default();
    let text = json!({
        "frameRange": [start, start + 10], "globalIdChunkId": chunk, "statistics": {"persons": 1},
        "frames": [{"frameId": start, "timestamp": first}, {"frameId": start + 9, "timestamp": last}],
    });
    (format!("manifest_fragment_W_{chunk}.json"), text.to_string().into_bytes())
}

fn merged(spans: &[Option<[Value; 2]>]) -> (MergeReport, Value) {
    let files = (0..).zip(spans).map(|(number, span)| file(number, span.clone()));
    let merged = merge(&mut files.collect::<Memory>(), Session::default(), &MergeOptions::default()).unwrap();
    let mut bytes = Vec::new();
    merged.write_manifest(&mut bytes).unwrap();
    (merged.into_report(), serde_json::from_slice(&bytes).unwrap())
}

/// The chunks of `ranges[]` in their order, of `skipped[]` and of `reordered[]`.
fn chunks(spans: &[[i64; 2]]) -> [Vec<u64>; 3] {
    outcome(&spans.iter().map(|span| Some(span.map(|time| json!(time)))).collect::<Vec<_>>())
}

fn outcome(spans: &[Option<[Value; 2]>]) -> [Vec<u64>; 3] {
    let (report, manifest) = merged(spans);
    let ranges = manifest["ranges"].as_array().unwrap().iter();
    let skipped = report.skipped.iter().map(|skipped| skipped.chunk_id.unwrap());
    let reordered = report.reordered.iter().map(|reordered| reordered.chunk_id);
    assert_eq!(report.complete, report.skipped.is_empty());
    assert_eq!(manifest["statistics"]["persons"], json!(manifest["ranges"].as_array().unwrap().len()));
    [
        ranges.map(|range| range["globalIdChunkId"].as_u64().unwrap()).collect(),
        skipped.collect(),
        reordered.collect(),
    ]
}

/// S23: two workers whose clocks are an hour apart, with alternating ranges, lose no frame.
#[test]
fn clocks_an_hour_apart_lose_nothing() {
    let span = |number: i64| {
        let clock = if number % 2 == 0 { 3600 } else { 0 };
        Some([json!(clock + number * 10), json!(clock + number * 10 + 9)])
    };
    let (report, manifest) = merged(&(0..20).map(span).collect::<Vec<_>>());
    assert!(report.is_fine() && report.complete && report.skipped.is_empty(), "{report:?}");
    assert_eq!((report.covered_frames, report.total_frames), (200, 200));
    assert_eq!(manifest["statistics"], json!({"persons": 20}));
    let ranges = manifest["ranges"].as_array().unwrap();
    let starts: Vec<u64> = ranges.iter().map(|range| range["frameRange"][0].as_u64().unwrap()).collect();
    let expected: Vec<u64> = (0..10).map(|n| n * 20 + 10).chain((0..10).map(|n| n * 20)).collect();
    assert_eq!(starts, expected);
    assert_eq!(report.warnings.len(), 1);
    assert!(report.warnings[0].warning.contains("[10, 20) of chunk 2"), "{:?}", report.warnings);
    assert!(report.warnings[0].warning.ends_with("and 2 more"), "{:?}", report.warnings);
}

/// S23: ranges that follow each other in another order are put in the order of time; everything else stays.
#[test]
fn ranges_are_reordered_by_time() {
    let home = tempfile::tempdir().unwrap();
    for (number, span) in [[30, 39], [10, 19], [20, 29], [40, 49]].into_iter().enumerate() {
        let (name, text) = file(number as u64, Some(span.map(|time| json!(time))));
        fs::write(home.path().join(name), text).unwrap();
    }
    let report = merge_directory(home.path(), &MergeOptions::default()).unwrap();
    assert!(report.is_fine() && report.complete, "{report:?}");
    let range = |start| FrameRange { start, end: start + 10 };
    let reordered = |start, chunk_id| ReorderedRange { frame_range: range(start), chunk_id };
    assert_eq!(report.reordered, [reordered(10, 2), reordered(20, 3), reordered(0, 1)]);
    let text = fs::read_to_string(home.path().join("manifest.json")).unwrap();
    let expected = r#"
  "ranges": [
    {"frameRange":[10,20],"globalIdChunkId":2,"workerId":"W"},
    {"frameRange":[20,30],"globalIdChunkId":3,"workerId":"W"},
    {"frameRange":[0,10],"globalIdChunkId":1,"workerId":"W"},
    {"frameRange":[30,40],"globalIdChunkId":4,"workerId":"W"}
  ],
  "gaps": [],
  "overlaps": [],
  "replayDrops": [],
  "skipped": [],
  "reordered": [
    {"frameRange":[10,20],"chunkId":2},
    {"frameRange":[20,30],"chunkId":3},
    {"frameRange":[0,10],"chunkId":1}
  ],
"#;
    assert!(text.contains(expected) && text.contains("\"complete\": true"), "{text}");
    let log = fs::read_to_string(home.path().join("manifest_merge.log")).unwrap();
    assert_eq!(
        log,
        "merged 4 fragments, refused 0\n\
         warning merge: timestamps go backwards between ranges; these begin before an earlier range ends: \
         [10, 20) of chunk 2, [20, 30) of chunk 3\n\
         reordered [10, 20) of chunk 2\n\
         reordered [20, 30) of chunk 3\n\
         reordered [0, 10) of chunk 1\n\
         complete: 40 frames in 4 ranges\n"
    );
}

/// S23, S24: a reordered manifest is verified; one whose order was changed afterwards is found out.
#[test]
fn a_reordered_manifest_is_verified() {
    let home = tempfile::tempdir().unwrap();
    for (number, span) in [[20, 29], [10, 19], [30, 39]].into_iter().enumerate() {
        let (name, text) = file(number as u64, Some(span.map(|time| json!(time))));
        fs::write(home.path().join(name), text).unwrap();
    }
    fs::write(home.path().join("completions.jsonl"), r#"{"globalIdChunkId":2,"poseFiles":["a"]}"#).unwrap();
    merge_directory(home.path(), &MergeOptions::default()).unwrap();
    let verify = || verify_directory(home.path(), None).unwrap();
    assert!(verify().is_fine(), "{:?}", verify());
    let path = home.path().join("manifest.json");
    let text = fs::read_to_string(&path).unwrap();
    let (later, earlier) = (
        r#"{"frameRange":[10,20],"globalIdChunkId":2,"workerId":"W","poseFiles":["a"]}"#,
        r#"{"frameRange":[0,10],"globalIdChunkId":1,"workerId":"W"}"#,
    );
    let swapped = text.replace(later, "other").replace(earlier, later).replace("other", earlier);
    for edited in [
        swapped,
        text.replace("    {\"frameRange\":[10,20],\"chunkId\":2},\n", ""),
        text.replace("\"chunkId\":2", "\"chunkId\":3"),
    ] {
        assert_ne!(edited, text);
        fs::write(&path, edited).unwrap();
        assert!(matches!(verify().differences[..], [Difference::Bytes(_)]), "{:?}", verify());
    }
    fs::write(&path, text.replacen("[30,40]", "[25,40]", 1).replacen("[20,30]", "[15,30]", 1)).unwrap();
    let shared = Difference::Ranges(FrameRange { start: 10, end: 20 }, FrameRange { start: 15, end: 30 });
    assert!(verify().differences.contains(&shared), "{:?}", verify());
    fs::write(&path, text).unwrap();
    fs::write(home.path().join("completions.jsonl"), r#"{"globalIdChunkId":2,"poseFiles":["b"]}"#).unwrap();
    assert!(matches!(verify().differences[..], [Difference::Bytes(_)]));
}

/// S23: of two ranges whose times interleave the later one is skipped, and the reason names both and their times.
#[test]
fn interleaving_ranges_are_skipped() {
    let span = |first: Value, last: Value| Some([first, last]);
    let (report, manifest) = merged(&[
        span(json!(0), json!(2.5)),
        span(json!(2), json!(4)),
        span(json!(2.5), json!(6)),
        span(json!("2026-01-01T00:00:00Z"), json!("2026-01-01T00:00:02Z")),
        span(json!("2026-01-01T01:00:01+01:00"), json!("2026-01-01T00:00:05Z")),
    ]);
    assert!(!report.is_fine() && !report.complete && report.gaps.is_empty(), "{report:?}");
    let skipped = |start, chunk, reason: &str| Skipped {
        frame_range: FrameRange { start, end: start + 10 },
        reason: reason.to_owned(),
        chunk_id: Some(chunk),
    };
    assert_eq!(
        report.skipped,
        [
            skipped(
                10,
                2,
                "the timestamps of chunk 2 (2 to 4) interleave with those of chunk 1 in frames [0, 10) (0 to 2.5)"
            ),
            skipped(
                40,
                5,
                "the timestamps of chunk 5 (2026-01-01T00:00:01Z to 2026-01-01T00:00:05Z) interleave with those of \
                 chunk 4 in frames [30, 40) (2026-01-01T00:00:00Z to 2026-01-01T00:00:02Z)"
            ),
        ]
    );
    let reason = &report.skipped[0].reason;
    assert_eq!(manifest["skipped"][0], json!({"frameRange": [10, 20], "reason": reason}));
    assert_eq!(manifest["statistics"], json!({"persons": 3}));
    assert_eq!(manifest["reordered"], json!([]));
    assert_eq!(report.warnings.len(), 1, "{:?}", report.warnings);
}

/// S23: a range is compared with every range that is kept, and with none that is skipped.
#[test]
fn every_kept_range_is_compared() {
    // The third interleaves with the first, not with the one before it.
    assert_eq!(chunks(&[[0, 10], [100, 110], [5, 7]]), [vec![1, 2], vec![3], vec![]]);
    assert_eq!(chunks(&[[100, 110], [0, 10], [20, 30], [105, 120]]), [vec![2, 3, 1], vec![4], vec![2, 3, 1]]);
    // It encloses a kept one.
    assert_eq!(chunks(&[[50, 60], [10, 20], [0, 70]]), [vec![2, 1], vec![3], vec![2, 1]]);
    // Two begin at the same time, and the longer one counts.
    assert_eq!(chunks(&[[5, 5], [5, 8], [6, 7]]), [vec![1, 2], vec![3], vec![]]);
    assert_eq!(chunks(&[[5, 8], [5, 5], [6, 7]]), [vec![2, 1], vec![3], vec![2, 1]]);
    // The third interleaves with the second only, which is skipped itself.
    assert_eq!(chunks(&[[0, 10], [5, 20], [15, 30]]), [vec![1, 3], vec![2], vec![]]);
}

/// S23: spans that only touch do not interleave; ties keep the order of frames.
#[test]
fn touching_spans_do_not_interleave() {
    assert_eq!(chunks(&[[0, 10], [10, 20], [20, 20], [20, 30]]), [vec![1, 2, 3, 4], vec![], vec![]]);
    assert_eq!(chunks(&[[10, 20], [0, 10]]), [vec![2, 1], vec![], vec![2, 1]]);
    assert_eq!(chunks(&[[5, 8], [5, 5], [3, 5], [5, 5]]), [vec![3, 2, 4, 1], vec![], vec![3, 4, 1]]);
    assert_eq!(chunks(&[[5, 8], [5, 8]]), [vec![1], vec![2], vec![]]);
    assert_eq!(chunks(&[[5, 8], [6, 6]]), [vec![1], vec![2], vec![]]);
    assert_eq!(chunks(&[[9, 9], [5, 5], [5, 5], [5, 5]]), [vec![2, 3, 4, 1], vec![], vec![2, 3, 4, 1]]);
}

/// S23: numbers and RFC 3339 times keep their own places, and ranges without timestamps stay where they are.
#[test]
fn each_kind_of_time_keeps_its_places() {
    let number = |time: i64| Some([json!(time), json!(time + 5)]);
    let instant = |second: u8| {
        Some([json!(format!("2026-01-01T00:00:0{second}Z")), json!(format!("2026-01-01T00:00:0{second}.5Z"))])
    };
    assert_eq!(
        outcome(&[number(20), None, instant(2), number(10), instant(1), None, number(0), instant(0)]),
        [vec![7, 2, 8, 4, 5, 6, 1, 3], vec![], vec![7, 8, 1, 3]]
    );
}

/// S23: large numbers are compared exactly, also whole numbers with fractions.
#[test]
fn large_timestamps_are_compared_exactly() {
    let span = |first: Value| Some([first.clone(), first]);
    assert_eq!(
        outcome(&[
            span(json!(9_007_199_254_740_993_u64)),
            span(json!(9_007_199_254_740_992.0)),
            span(json!(9_007_199_254_740_992_u64)),
        ]),
        [vec![2, 3, 1], vec![], vec![2, 3, 1]]
    );
}

/// S23: timestamps that go backwards inside a fragment are sorted with a warning, and nothing is reordered or skipped.
#[test]
fn time_inside_a_fragment_is_sorted() {
    let (report, _) = merged(&[Some([json!(5), json!(0)]), Some([json!(6), json!(7)])]);
    assert!(report.is_fine() && report.reordered.is_empty(), "{report:?}");
    assert_eq!(report.warnings.len(), 1);
    assert_eq!(report.warnings[0].file.as_deref(), Some("manifest_fragment_W_1.json"));
    assert!(report.warnings[0].warning.starts_with("its timestamps go backwards"));
}

/// S23: the order of very many ranges is found in n log n steps; comparing each with each would never end.
#[test]
fn many_ranges_are_ordered_quickly() {
    let count = 60_000;
    let span = |number: u64| {
        let time = if number.is_multiple_of(2) { count - number } else { 10 * count + number };
        Some([json!(time), json!(time)])
    };
    let (report, manifest) = merged(&(0..count).map(span).collect::<Vec<_>>());
    assert!(report.is_fine() && manifest["ranges"].as_array().unwrap().len() as u64 == count);
    assert_eq!(manifest["ranges"][0]["frameRange"][0], json!((count - 2) * 10));
}
