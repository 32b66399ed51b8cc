//! What must be true of the files and the tables at the end.

use crate::farm::Farm;
use muster_tests::muster_command;
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

pub(crate) fn all(farm: &Farm, frames: u64) {
    let meta = farm.output().join("session_night/meta");
    manifest_verifies(&meta);
    let manifest: Value = serde_json::from_slice(&fs::read(meta.join("manifest.json")).unwrap()).unwrap();
    every_frame_stands_once(farm, &manifest, frames);
    no_id_is_used_twice(farm);
    every_loss_is_a_replay(farm, &manifest);
    nothing_is_held(farm);
}

pub(crate) fn summary(farm: &Farm) -> String {
    let database = farm.server.database();
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

fn manifest_verifies(meta: &Path) {
    let verified = muster_command().args(["manifest", "verify"]).arg(meta).output().unwrap();
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));
}

/// The surviving chunks hold each frame's picture once, whole, and no other.
fn every_frame_stands_once(farm: &Farm, manifest: &Value, frames: u64) {
    let session = farm.server.session("night");
    assert_eq!((&session["completedFrames"], &session["totalFrames"]), (&frames.into(), &frames.into()));
    let mut seen = BTreeSet::new();
    for range in manifest["ranges"].as_array().unwrap() {
        let chunk = range["globalIdChunkId"].as_u64().unwrap();
        let directory = farm.output().join(format!("session_night/chunks/{chunk}/frames"));
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

/// Over all label files there ever were: survivors, retired chunks, and what zombies wrote after they had lost.
fn no_id_is_used_twice(farm: &Farm) {
    let labels = files_below(&farm.output());
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
fn every_loss_is_a_replay(farm: &Farm, manifest: &Value) {
    let replays = manifest["distributed"]["replay"].as_array().unwrap();
    let pair = |replay: &Value| (replay["retiredChunkId"].as_u64(), replay["newChunkId"].as_u64());
    let named: BTreeSet<_> = replays.iter().map(pair).collect();
    let rows = farm.server.database().rows("SELECT retired_chunk_id, new_chunk_id FROM sim_replays");
    for row in &rows {
        let expected = (row[0].parse().ok(), row[1].parse().ok());
        assert!(named.contains(&expected), "{expected:?} is missing in the manifest");
    }
    let lost = "SELECT chunk_id FROM sim_chunks WHERE state = 'retired' AND chunk_id NOT IN
        (SELECT retired_chunk_id FROM sim_replays) AND NOT EXISTS
        (SELECT 1 FROM sim_chunks AS main WHERE main.session_id = sim_chunks.session_id
         AND main.start_frame = sim_chunks.start_frame AND main.attempt = sim_chunks.attempt
         AND main.chunk_id < sim_chunks.chunk_id)";
    assert_eq!(farm.server.database().column(lost), Vec::<String>::new(), "losses without a replay");
    assert!(!rows.is_empty(), "nothing was lost at all");
}

fn nothing_is_held(farm: &Farm) {
    let database = farm.server.database();
    assert_eq!(database.count("SELECT count(*) FROM sim_tasks WHERE status <> 'completed'"), 0);
    assert_eq!(database.count("SELECT count(*) FROM sim_chunks WHERE state = 'live'"), 0);
}

fn files_below(directory: &Path) -> Vec<PathBuf> {
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
