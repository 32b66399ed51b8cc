//! The merge of manifest fragments as their number grows, beside the same merge in Python.

use crate::stopwatch::{busy, now, peak_bytes, resident_bytes};
use muster_manifest::{MANIFEST, Memory, MergeOptions, Session, merge, merge_directory};
use serde_json::Value;
use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

const SIZES: [u64; 3] = [1_000, 10_000, 100_000];
const FRAMES: u64 = 100;
/// One fragment in so many is made anew, from the middle of the one before it on.
const ANEW: u64 = 20;
const PASSES: usize = 5;

/// Measures every size; a directory in a process of its own, so that its memory is its own.
pub(crate) fn measure(one: Option<&Path>) {
    match one {
        Some(directory) => one_directory(directory),
        None => table(),
    }
}

fn table() {
    println!(
        "merge: fragments of {FRAMES} frames, 1 in {ANEW} made anew from the middle of another on; in memory: one core, best of {PASSES}; from a directory, in the page cache, to a manifest synced and renamed: from start to end of a process, best of {PASSES}, beside merge_reference.py in python3 on the same files (best of {})",
        PASSES / 2
    );
    println!(
        "{:>9} {:>9} {:>13} {:>15} {:>7} {:>13} {:>11} {:>13} {:>9} {:>8}",
        "fragments",
        "input MB",
        "in memory ms",
        "ns / (n log2 n)",
        "vs 1k",
        "directory ms",
        "python3 ms",
        "python3/this",
        "peak MB",
        "of input"
    );
    let mut reference = None;
    for count in SIZES {
        let row = Row::measure(count);
        let each = row.in_memory.as_nanos() as f64 / (count as f64 * (count as f64).log2());
        println!(
            "{count:>9} {:>9.1} {:>13.1} {each:>15.1} {:>7.2} {:>13.1} {:>11.1} {:>13.1} {:>9.1} {:>8.2}",
            row.input as f64 / 1e6,
            millis(row.in_memory),
            each / *reference.get_or_insert(each),
            millis(row.directory),
            millis(row.python),
            row.python.as_secs_f64() / row.directory.as_secs_f64(),
            row.peak as f64 / 1e6,
            row.peak as f64 / row.input as f64
        );
    }
}

/// Measurement for one number of fragments.
struct Row {
    input: u64,
    in_memory: Duration,
    directory: Duration,
    python: Duration,
    peak: u64,
}

impl Row {
    fn measure(count: u64) -> Self {
        let home = tempfile::tempdir().expect("a temporary directory");
        let (meta, out) = (home.path().join("meta"), home.path().join("python.json"));
        fs::create_dir(&meta).expect("a directory");
        let input = (0..count).map(|number| write(&meta, number)).sum();
        let in_memory = in_memory(count);
        let runs: Vec<(Duration, u64)> = (0..PASSES).map(|_| in_a_process_of_its_own(&meta)).collect();
        let python = (0..PASSES / 2).map(|_| python(&meta, &out)).min().unwrap_or_default();
        compare(&meta.join(MANIFEST), &out);
        let (directory, peak) = runs.into_iter().min().unwrap_or_default();
        Self { input, in_memory, directory, python, peak }
    }
}

/// The name and the text of a fragment.
fn fragment(number: u64) -> (String, String) {
    let (chunk, worker) = (number + 1, number * 7919 % 500);
    let is_anew = number % ANEW == ANEW - 1;
    let start = if is_anew { (number - 1) * FRAMES + FRAMES / 2 } else { number * FRAMES };
    let (end, replay) = (number * FRAMES + FRAMES, if is_anew { r#""replay":true,"# } else { "" });
    let (persons, seconds) = (number % 13, (number % 1000) as f64 / 10.0);
    let text = format!(
        r#"{{"frameRange":[{start},{end}],"globalIdChunkId":{chunk},{replay}"statistics":{{"persons":{persons},"seconds":{seconds}}}}}"#
    );
    (format!("manifest_fragment_W{worker}_{chunk}.json"), text)
}

fn write(meta: &Path, number: u64) -> u64 {
    let (name, text) = fragment(number);
    fs::write(meta.join(name), &text).expect("a file");
    text.len() as u64
}

/// The merge alone: no disk, no output. Small ones are repeated until the scheduler's clock can tell.
fn in_memory(count: u64) -> Duration {
    let files = (0..count).map(|number| fragment(number * 7919 % count));
    let mut source: Memory = files.map(|(name, text)| (name, text.into_bytes())).collect();
    let repeats = u32::try_from(SIZES[SIZES.len() - 1] / count).expect("a small number");
    let mut once = || merge(&mut source, Session::default(), &MergeOptions::default()).expect("a merge");
    let mut pass = || busy(|| (0..repeats).for_each(|_| drop(once()))).0 / repeats;
    (0..PASSES).map(|_| pass()).min().unwrap_or_default()
}

/// From the start to the end of a process that merges a directory, and the memory that took.
fn in_a_process_of_its_own(meta: &Path) -> (Duration, u64) {
    let this = std::env::current_exe().expect("this program has a path");
    let begun = now();
    // Without huge pages, as `muster manifest` runs.
    let mut command = Command::new(this);
    command.args(["merge", "--one"]).arg(meta).env("MIMALLOC_ALLOW_THP", "0");
    let output = command.output().expect("it runs again");
    let took = begun.elapsed();
    let peak = String::from_utf8_lossy(&output.stdout).trim().parse();
    (took, peak.expect("it says how much memory it needed"))
}

fn one_directory(meta: &Path) {
    let before = resident_bytes();
    merge_directory(meta, &MergeOptions::default()).expect("a merge");
    println!("{}", peak_bytes().saturating_sub(before));
}

fn python(meta: &Path, out: &Path) -> Duration {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/merge_reference.py");
    let begun = now();
    let status = Command::new("python3").arg(script).args([meta, out]).stdin(Stdio::null()).status();
    assert!(status.expect("python3 is there").success(), "merge_reference.py failed");
    begun.elapsed()
}

/// Two merges are compared only if they say the same.
fn compare(manifest: &Path, out: &Path) {
    let read = |path: &Path| -> Value {
        serde_json::from_slice(&fs::read(path).expect("a result")).expect("a JSON document")
    };
    let (ours, theirs) = (read(manifest), read(out));
    for section in ["ranges", "gaps", "overlaps", "replayDrops"] {
        assert_eq!(ours[section], theirs[section], "{section} differ");
    }
    assert_eq!(ours["distributed"]["fragmentHashes"], theirs["fragmentHashes"], "hashes differ");
    let (ours, theirs) = (&ours["statistics"], &theirs["statistics"]);
    assert_eq!(ours["persons"].as_f64(), theirs["persons"].as_f64(), "whole numbers differ");
    assert_eq!(ours["estimated"], theirs["estimated"]);
    let seconds = |of: &Value| of["seconds"].as_f64().expect("a sum");
    assert!((seconds(ours) / seconds(theirs) - 1.0).abs() < 1e-12, "fractions differ: {ours} {theirs}");
}

fn millis(span: Duration) -> f64 {
    span.as_secs_f64() * 1e3
}
