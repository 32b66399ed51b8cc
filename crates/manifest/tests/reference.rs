//! The merge beside a deliberately naive one, on random fragments.
//!
//! A failure is shrunk, printed, and kept in `tests/reference.regressions`, from where the next run begins with it.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod naive;

use muster_manifest::{Memory, MergeOptions, Session, merge};
use naive::{Around, Made, MadeFrame};
use proptest::{
    collection::vec,
    option,
    prelude::*,
    sample::subsequence,
    test_runner::{Config, FileFailurePersistence},
};
use serde_json::Value;

proptest! {
    #![proptest_config(Config {
        cases: 2000,
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        ..Config::default()
    })]

    /// S22, S23, S24, S25: what is merged is what the rules say, frame by frame.
    #[test]
    fn the_merge_is_the_naive_one((made, around) in fragments()) {
        let (expected, statistics, is_estimated) = naive::merge(&made, &around);
        let mut manifest: Value = serde_json::from_slice(&merged(&made, &around)).unwrap();
        let said = manifest.as_object_mut().unwrap().remove("statistics").unwrap();
        let hashes = manifest["distributed"].as_object_mut().unwrap().remove("fragmentHashes").unwrap();
        for skipped in manifest["skipped"].as_array_mut().unwrap() {
            assert!(skipped.as_object_mut().unwrap().remove("reason").is_some());
        }
        assert_eq!(manifest, expected);
        let refused = made.iter().filter(|one| around.total_frames.is_some_and(|total| one.end > total));
        assert_eq!(hashes.as_array().unwrap().len(), made.len() - refused.count());
        same_statistics(&said, &statistics, is_estimated);
    }

    /// S24: any order gives the same bytes.
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

fn merged(made: &[Made], around: &Around) -> Vec<u8> {
    let mut source: Memory = made.iter().map(Made::file).collect();
    let session = Session::parse(&around.json()).unwrap();
    let mut bytes = Vec::new();
    merge(&mut source, session, &MergeOptions::default()).unwrap().write_manifest(&mut bytes).unwrap();
    bytes
}

#[allow(clippy::float_cmp, reason = "whole numbers are exact")]
fn same_statistics(said: &Value, expected: &std::collections::BTreeMap<String, f64>, is_estimated: bool) {
    let mut said = said.as_object().unwrap().clone();
    assert_eq!(said.remove("estimated"), is_estimated.then_some(Value::Bool(true)));
    let names: Vec<&String> = said.keys().collect();
    assert_eq!(names, expected.keys().collect::<Vec<_>>());
    for (name, value) in &said {
        let expected = expected[name];
        if name.starts_with('f') || is_estimated {
            assert!((value.as_f64().unwrap() - expected).abs() < 1e-6, "{name}: {value} and not {expected}");
        } else {
            assert_eq!(value.as_i64().unwrap() as f64, expected, "{name}");
            assert!(!value.to_string().contains('.'), "{name}: {value} is no whole number");
        }
    }
}

const FRAMES: u64 = 40;

/// Fragments with different chunks, and what is known beside them.
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
    let replay =
        (range(), 1..12_u64, 1..20_u64).prop_map(|((start, end), retired, new)| (start, end, retired, new));
    let total = prop_oneof![3 => Just(None), 3 => Just(Some(FRAMES)), 1 => (1..FRAMES).prop_map(Some)];
    let replays = prop_oneof![2 => Just(Vec::new()), 1 => vec(replay, 0..3)];
    (total, replays).prop_map(|(total_frames, replays)| Around { total_frames, replays })
}

fn fragment() -> impl Strategy<Value = Made> {
    let worker = prop::sample::select(vec!["w1", "w2", "w_3"]);
    (range(), worker, any::<bool>(), statistics()).prop_flat_map(
        |((start, end), worker, replay, statistics)| {
            let made =
                Made { start, end, chunk: 0, worker: worker.into(), replay, statistics, frames: Vec::new() };
            (Just(made), frames(start, end)).prop_map(|(made, frames)| Made { frames, ..made })
        },
    )
}

fn range() -> impl Strategy<Value = (u64, u64)> {
    (0..FRAMES, 1..15_u64).prop_map(|(start, length)| (start, (start + length).min(FRAMES)))
}

fn statistics() -> impl Strategy<Value = Vec<(String, f64)>> {
    let value = (0..1000_i32).prop_map(f64::from);
    let all = ("persons", "detections", "fscore");
    (option::of(value.clone()), option::of(value.clone()), option::of(value)).prop_map(move |values| {
        let named = [(all.0, values.0), (all.1, values.1), (all.2, values.2.map(|value| value / 10.0))];
        named.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    })
}

/// None, some or all of a fragment's frames, mostly in time, listed in any order.
fn frames(start: u64, end: u64) -> impl Strategy<Value = Vec<MadeFrame>> {
    let ids: Vec<u64> = (start..end).collect();
    let some = subsequence(ids.clone(), 0..=ids.len());
    let listed = prop_oneof![2 => Just(Vec::new()), 1 => Just(ids), 1 => some, ].prop_shuffle();
    listed.prop_flat_map(|ids| ids.into_iter().map(frame).collect::<Vec<_>>())
}

fn frame(id: u64) -> impl Strategy<Value = MadeFrame> {
    let usual = i64::try_from(id).unwrap() * 10;
    let timestamp = prop_oneof![
        2 => Just(None), 10 => Just(Some(usual)), 1 => (usual - 30..usual + 30).prop_map(Some)
    ];
    (timestamp, statistics()).prop_map(move |(timestamp, statistics)| MadeFrame { id, timestamp, statistics })
}
