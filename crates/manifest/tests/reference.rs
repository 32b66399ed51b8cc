//! The merge compared with a deliberately naive one, on random fragments.
//!
//! A failure is shrunk, printed, and kept in `tests/reference.regressions`, where the next run starts.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod naive;

use muster_manifest::{Memory, MergeOptions, MergeReport, Session, merge};
use naive::{Around, Expected, Made, MadeFrame, MadeReplay, Run, Sums};
use proptest::{
    collection::vec,
    option,
    prelude::*,
    sample::{select, subsequence},
    test_runner::{Config, FileFailurePersistence},
};
use serde_json::{Map, Value, json};

proptest! {
    #![proptest_config(Config {
        cases: 2000,
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        ..Config::default()
    })]

    /// S21, S22, S23, S24, S25: the merge follows the rules, frame by frame.
    #[test]
    fn the_merge_is_the_naive_one((made, around) in fragments()) {
        let expected = naive::merge(&made, &around);
        let Output { manifest, report, .. } = merged(&made, &around);
        let mut manifest: Value = serde_json::from_slice(&manifest).unwrap();
        let statistics = take(&mut manifest, "/statistics");
        let validation = take(&mut manifest, "/validationSummary/totals");
        let hashes = take(&mut manifest, "/distributed/fragmentHashes");
        for skipped in manifest["skipped"].as_array_mut().unwrap() {
            if skipped["reason"].as_str().unwrap().starts_with("the timestamps of chunk ") {
                skipped.as_object_mut().unwrap().remove("reason");
            }
        }
        assert_eq!(manifest, expected.manifest);
        let refused = made.iter().filter(|one| around.total_frames.is_some_and(|total| one.end > total));
        assert_eq!(hashes.as_array().unwrap().len(), made.len() - refused.count());
        same_statistics(statistics, &expected);
        same_sums(&validation, &expected.validation, false);
        same_warnings(&report, &expected);
        every_frame_is_somewhere(&manifest, &report);
    }

    /// S24: any order of the fragments gives the same bytes, also of the log.
    #[test]
    fn the_order_does_not_matter(
        ((made, around), other) in fragments().prop_flat_map(|(made, around)| {
            let other = Just(made.clone()).prop_shuffle();
            (Just((made, around)), other)
        })
    ) {
        assert_eq!(merged(&made, &around), merged(&other, &around));
    }
}

/// Files that a merge writes, and its report.
#[derive(Debug, PartialEq)]
struct Output {
    manifest: Vec<u8>,
    log: String,
    report: MergeReport,
}

fn merged(made: &[Made], around: &Around) -> Output {
    let mut source: Memory = made.iter().map(Made::file).chain([around.completions()]).collect();
    let session = Session::parse(&around.session()).unwrap();
    let merged = merge(&mut source, session, &MergeOptions::default()).unwrap();
    let (mut manifest, mut log) = (Vec::new(), Vec::new());
    merged.write_manifest(&mut manifest).unwrap();
    merged.write_log(&mut log).unwrap();
    Output { manifest, log: String::from_utf8(log).unwrap(), report: merged.into_report() }
}

fn take(manifest: &mut Value, pointer: &str) -> Value {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    manifest.pointer_mut(parent).unwrap().as_object_mut().unwrap().remove(key).unwrap()
}

fn same_statistics(mut statistics: Value, expected: &Expected) {
    let estimated = statistics.as_object_mut().unwrap().remove("estimated");
    assert_eq!(estimated, expected.is_estimated.then_some(Value::Bool(true)));
    same_sums(&statistics, &expected.statistics, expected.is_estimated);
}

#[allow(clippy::float_cmp, reason = "whole numbers are exact")]
fn same_sums(found: &Value, expected: &Sums, is_estimated: bool) {
    let leaves = naive::leaves(found);
    assert!(leaves.iter().map(|(path, _)| path).eq(expected.numbers.keys()), "{found} {expected:?}");
    let ends: usize = found.as_object().unwrap().values().map(ends).sum();
    assert_eq!(ends, leaves.len(), "{found}");
    for (path, number) in leaves {
        let expected = expected.numbers[&path];
        let (name, text) = (path.last().unwrap(), found.pointer(&pointer(&path)).unwrap().to_string());
        if name.starts_with('f') || is_estimated {
            assert!((number - expected).abs() < 1e-6, "{path:?}: {number} and not {expected}");
        } else {
            assert_eq!(number, expected, "{path:?}");
            assert!(!text.contains('.'), "{path:?}: {text} is no whole number");
        }
    }
}

fn pointer(path: &[String]) -> String {
    path.iter().map(|key| format!("/{}", key.replace('~', "~0").replace('/', "~1"))).collect()
}

/// Counts the values that contain nothing: numbers, and also empty objects, which a manifest does not show.
fn ends(value: &Value) -> usize {
    match value {
        Value::Object(members) if !members.is_empty() => members.values().map(ends).sum(),
        _ => 1,
    }
}

fn same_warnings(report: &MergeReport, expected: &Expected) {
    let warnings: Vec<&str> = report.warnings.iter().map(|warning| warning.warning.as_str()).collect();
    let is_backwards = warnings.iter().any(|warning| warning.starts_with("timestamps go backwards between"));
    assert_eq!(is_backwards, expected.is_backwards, "{warnings:?}");
    for (field, sums) in [("statistics", &expected.statistics), ("validationSummary", &expected.validation)] {
        let name = |path: &Vec<String>| {
            let keys: Vec<String> = path.iter().map(|key| format!("{key:?}")).collect();
            format!("{field}: {} is a number in one place and an object in another", keys.join("."))
        };
        let begin = format!("{field}: ");
        assert_eq!(warnings.iter().filter(|warning| warning.starts_with(&begin)).count(), sums.mixed.len());
        for name in sums.mixed.iter().map(name) {
            assert!(warnings.iter().any(|warning| warning.starts_with(&name)), "{name} {warnings:?}");
        }
    }
}

/// S24: each frame is in exactly one of `ranges[]`, `gaps[]` and `skipped[]`, also where ranges moved.
fn every_frame_is_somewhere(manifest: &Value, report: &MergeReport) {
    let of = |list: &str, key: &str| -> Vec<[u64; 2]> {
        let items = manifest[list].as_array().unwrap().iter();
        items.map(|item| serde_json::from_value(item.pointer(key).unwrap().clone()).unwrap()).collect()
    };
    let parts = [of("ranges", "/frameRange"), of("gaps", ""), of("skipped", "/frameRange")].concat();
    let mut frames: Vec<u64> = parts.into_iter().flat_map(|[start, end]| start..end).collect();
    frames.sort_unstable();
    assert!(frames.into_iter().eq(0..report.total_frames), "{manifest}");
    assert_eq!(report.reordered.len(), manifest["reordered"].as_array().unwrap().len());
    assert!(report.reordered.len() != 1, "one range alone cannot change its place");
}

const FRAMES: u64 = 40;

/// Fragments with different chunks, and the other files.
fn fragments() -> impl Strategy<Value = (Vec<Made>, Around)> {
    let made = vec(fragment(), 0..10).prop_flat_map(|made| {
        let chunks: Vec<u64> = (1..=made.len() as u64).collect();
        (Just(made), Just(chunks).prop_shuffle()).prop_map(|(mut made, chunks)| {
            made.iter_mut().zip(chunks).for_each(|(made, chunk)| made.chunk = chunk);
            made
        })
    });
    (made, around())
}

fn around() -> impl Strategy<Value = Around> {
    let replay = (range(), 1..12_u64, 1..20_u64).prop_map(|((start, end), retired, new)| Run {
        start,
        end,
        of: MadeReplay { retired, new },
    });
    let total = prop_oneof![3 => Just(None), 3 => Just(Some(FRAMES)), 1 => (1..FRAMES).prop_map(Some)];
    let replays = prop_oneof![2 => Just(Vec::new()), 1 => vec(replay, 0..3)];
    let part = (range(), select(vec!["bad frame", "lost"])).prop_map(|((start, end), reason)| Run {
        start,
        end,
        of: reason.to_owned(),
    });
    let given_up = prop_oneof![1 => Just(Vec::new()), 1 => vec(part, 0..4)];
    (total, replays, given_up, completions()).prop_map(|(total_frames, replays, given_up, completions)| {
        Around { total_frames, replays, given_up, completions }
    })
}

/// Lines for some chunks, at most one for each.
fn completions() -> impl Strategy<Value = Vec<Value>> {
    let pose_files = option::of(select(vec![json!([]), json!(["a.json", "b.json"])]));
    let metrics = option::of(select(vec![json!({"fps": 29.5, "gpu": {"a": [1]}}), json!(7)]));
    let line = (pose_files, metrics)
        .prop_map(|(files, metrics)| json!({"poseFiles": files, "metricsSnapshot": metrics}));
    (subsequence((1..12_u64).collect::<Vec<_>>(), 0..6), vec(line, 6)).prop_map(|(chunks, mut lines)| {
        lines.iter_mut().zip(&chunks).for_each(|(line, chunk)| line["globalIdChunkId"] = json!(chunk));
        lines.truncate(chunks.len());
        lines
    })
}

fn fragment() -> impl Strategy<Value = Made> {
    let of_worker = (select(vec!["w1", "w2", "w_3"]), any::<bool>(), clock(), prop::bool::weighted(0.2));
    (range(), of_worker, statistics(), cameras(), validation()).prop_flat_map(
        |((start, end), (worker, replay, clock, has_instants), statistics, cameras, validation)| {
            let made = Made {
                start,
                end,
                chunk: 0,
                worker: worker.into(),
                replay,
                statistics,
                cameras,
                validation,
                has_instants,
                frames: Vec::new(),
            };
            (Just(made), frames(start, end, clock)).prop_map(|(made, frames)| Made { frames, ..made })
        },
    )
}

/// The error of a worker's clock: none at all, by a little, or by more than a session lasts.
fn clock() -> impl Strategy<Value = i64> {
    prop_oneof![6 => Just(0), 2 => (-6..6_i64).prop_map(|tens| tens * 10), 2 => select(vec![-3600_i64, 3600])]
}

fn range() -> impl Strategy<Value = (u64, u64)> {
    (0..FRAMES, 1..15_u64).prop_map(|(start, length)| (start, (start + length).min(FRAMES)))
}

fn whole() -> impl Strategy<Value = Value> {
    (0..1000_i32).prop_map(|value| json!(value))
}

fn fraction() -> impl Strategy<Value = Value> {
    (0..1000_i32).prop_map(|value| json!(f64::from(value) / 10.0))
}

fn object(members: [(&str, Option<Value>); 3]) -> Value {
    let members = members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Value::Object(members.collect::<Map<_, _>>())
}

/// Numbers, nested ones, and now and then a name that is a number here and an object there.
fn statistics() -> impl Strategy<Value = Value> {
    let deep = (option::of(whole()), option::of(fraction()))
        .prop_map(|(whole, fraction)| object([("a/b", whole), ("f", fraction), ("", None)]));
    let nested = (option::of(whole()), option::of(deep), option::weighted(0.1, whole()))
        .prop_map(|(whole, deep, mixed)| object([("persons", whole), ("deep", deep.or(mixed)), ("", None)]));
    let mixed = prop_oneof![9 => whole(), 1 => whole().prop_map(|value| json!({"": value}))];
    let flat = (option::of(whole()), option::of(fraction()), option::weighted(0.2, mixed));
    (flat, option::of(nested)).prop_map(|((whole, fraction, mixed), nested)| {
        let mut all = object([("persons", whole), ("fscore", fraction), ("mixed", mixed)]);
        nested.into_iter().for_each(|nested| all["nested"] = nested);
        all
    })
}

fn cameras() -> impl Strategy<Value = Value> {
    let camera =
        select(vec![json!({"id": "a", "fov": 1.5}), json!({"id": "b"}), json!("c"), json!(null), json!(1)]);
    prop_oneof![1 => Just(json!(null)), 1 => Just(json!({"id": "b"})), 6 => vec(camera, 0..4).prop_map(Value::Array)]
}

/// Anything; only its numbers count.
fn validation() -> impl Strategy<Value = Value> {
    let other = select(vec![json!(null), json!("fine"), json!(5), json!([1, 2]), json!({})]);
    let summary = (statistics(), any::<bool>(), option::of(whole())).prop_map(|(numbers, is_ok, errors)| {
        let mut summary = json!({"ok": is_ok, "notes": ["a", 7], "numbers": numbers});
        errors.into_iter().for_each(|errors| summary["errors"] = errors);
        summary
    });
    prop_oneof![2 => other, 3 => summary]
}

/// None, some or all of a fragment's frames, mostly in time, listed in any order.
fn frames(start: u64, end: u64, clock: i64) -> impl Strategy<Value = Vec<MadeFrame>> {
    let ids: Vec<u64> = (start..end).collect();
    let some = subsequence(ids.clone(), 0..=ids.len());
    let listed = prop_oneof![2 => Just(Vec::new()), 1 => Just(ids), 1 => some, ].prop_shuffle();
    listed.prop_flat_map(move |ids| ids.into_iter().map(|id| frame(id, clock)).collect::<Vec<_>>())
}

fn frame(id: u64, clock: i64) -> impl Strategy<Value = MadeFrame> {
    // Two frames have the same time, so that ranges often touch.
    let usual = i64::try_from(id / 2).unwrap() * 10 + clock;
    let timestamp = prop_oneof![
        2 => Just(None), 20 => Just(Some(usual)), 1 => (usual - 30..usual + 30).prop_map(Some)
    ];
    (timestamp, statistics()).prop_map(move |(timestamp, statistics)| MadeFrame { id, timestamp, statistics })
}
