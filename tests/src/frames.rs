//! Checks on the files and the tables of completed sessions.

use crate::{Database, muster_command, run};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// Holds a complete session of so many frames to its manifest and files: each frame stands once, and no other.
pub fn check_session(output: &Path, session: &str, frames: u64) {
    let directory = output.join(format!("session_{session}"));
    manifest_verifies(&directory.join("meta"));
    every_frame_stands_once(&directory, frames);
}

/// Says that no entry of the quarantine waits for its files.
#[must_use]
pub fn all_is_set_apart(database: &Database) -> bool {
    database.count("SELECT count(*) FROM sim_quarantine WHERE moved = 0") == 0
}

/// Holds the tables to the end of all sessions, and counts the losses, each of which the manifest of its session names.
#[must_use]
pub fn check_losses(output: &Path, database: &Database) -> usize {
    nothing_is_held(database);
    every_loss_is_a_replay(output, database)
}

/// Says what happened to the assignments of all sessions.
#[must_use]
pub fn summary(database: &Database) -> String {
    let count = |sql: &str| database.count(sql);
    format!(
        "{} assignments, {} retired ({} by lost workers, {} by new terms), {} quarantined files, {} states changed",
        count("SELECT count(*) FROM sim_chunks"),
        count("SELECT count(*) FROM sim_chunks WHERE state = 'retired'"),
        count("SELECT count(*) FROM sim_chunks WHERE reason = 'worker_lost'"),
        count("SELECT count(*) FROM sim_chunks WHERE reason = 'new_term'"),
        count("SELECT coalesce(sum(files), 0) FROM sim_quarantine"),
        count("SELECT count(*) FROM sim_transitions"),
    )
}

/// Holds the manifest of a session to its files.
pub fn manifest_verifies(meta: &Path) {
    run(muster_command().args(["manifest", "verify"]).arg(meta)).done();
}

/// The surviving chunks hold each frame's picture once, whole, and no other.
fn every_frame_stands_once(session: &Path, frames: u64) {
    let manifest = read_manifest(session);
    let mut seen = BTreeSet::new();
    for range in manifest["ranges"].as_array().unwrap() {
        let chunk = range["globalIdChunkId"].as_u64().unwrap();
        let directory = session.join(format!("chunks/{chunk}/frames"));
        let (start, end) =
            (range["frameRange"][0].as_u64().unwrap(), range["frameRange"][1].as_u64().unwrap());
        let pictures = files_below(&directory);
        assert_eq!(pictures.len() as u64, end - start, "{}", directory.display());
        for picture in pictures {
            let frame: u64 = picture.file_stem().unwrap().to_str().unwrap().parse().unwrap();
            assert!((start..end).contains(&frame), "{} is not of [{start}, {end})", picture.display());
            assert!(seen.insert(frame), "frame {frame} stands twice");
            let bytes = fs::read(&picture).unwrap();
            assert!(
                bytes.starts_with(b"\x89PNG\r\n\x1a\n") && bytes.ends_with(b"IEND\xaeB`\x82"),
                "a whole picture"
            );
        }
    }
    assert_eq!(seen.len() as u64, frames);
}

/// Holds all label files there ever were to one use of each id: those of survivors, of retired chunks, and what zombies
/// wrote after they had lost.
pub fn no_id_is_used_twice(output: &Path) {
    let labels = files_below(output);
    let labels = labels.iter().filter(|path| path.parent().is_some_and(|parent| parent.ends_with("labels")));
    let mut used: BTreeMap<u64, PathBuf> = BTreeMap::new();
    for path in labels.filter(|path| path.extension().is_some_and(|extension| extension == "json")) {
        let label: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
        for person in label["persons"].as_array().unwrap() {
            let id = person["id"].as_u64().unwrap();
            if let Some(other) = used.insert(id, path.clone()) {
                panic!("id {id} stands in {} and in {}", other.display(), path.display());
            }
        }
    }
    assert!(!used.is_empty());
}

/// Each retired chunk of an attempt is named in `replay[]`, with the one that took its place.
fn every_loss_is_a_replay(output: &Path, database: &Database) -> usize {
    let mut named: BTreeMap<String, BTreeSet<_>> = BTreeMap::new();
    let rows = database.rows("SELECT session_id, retired_chunk_id, new_chunk_id FROM sim_replays");
    for row in &rows {
        let expected = (row[1].parse().ok(), row[2].parse().ok());
        let named = named
            .entry(row[0].clone())
            .or_insert_with(|| replays_of(&read_manifest(&output.join(format!("session_{}", row[0])))));
        assert!(named.contains(&expected), "{expected:?} is missing in the manifest of {}", row[0]);
    }
    let lost = "SELECT chunk_id FROM sim_chunks WHERE state = 'retired' AND chunk_id NOT IN
        (SELECT retired_chunk_id FROM sim_replays) AND NOT EXISTS
        (SELECT 1 FROM sim_chunks AS main WHERE main.session_id = sim_chunks.session_id
         AND main.start_frame = sim_chunks.start_frame AND main.attempt = sim_chunks.attempt
         AND main.chunk_id < sim_chunks.chunk_id)";
    assert_eq!(database.column(lost), Vec::<String>::new(), "losses without a replay");
    rows.len()
}

fn replays_of(manifest: &Value) -> BTreeSet<(Option<u64>, Option<u64>)> {
    let replays = manifest["distributed"]["replay"].as_array().unwrap();
    replays.iter().map(|replay| (replay["retiredChunkId"].as_u64(), replay["newChunkId"].as_u64())).collect()
}

fn nothing_is_held(database: &Database) {
    assert_eq!(database.count("SELECT count(*) FROM sim_tasks WHERE status <> 'completed'"), 0);
    assert_eq!(database.count("SELECT count(*) FROM sim_chunks WHERE state = 'live'"), 0);
}

fn read_manifest(session: &Path) -> Value {
    serde_json::from_slice(&fs::read(session.join("meta/manifest.json")).unwrap()).unwrap()
}

/// Every file below a directory.
#[must_use]
pub fn files_below(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display())) {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files_below(&path)),
            false => found.push(path),
        }
    }
    found
}
