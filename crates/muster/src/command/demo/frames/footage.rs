//! The files of the sessions, read as anybody could who is given the directory.

use muster_manifest::{MANIFEST, Replay, verify_directory};
use serde::Deserialize;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    ops::Range,
    path::{Path, PathBuf},
};

/// Everything below the output root.
#[derive(Debug, Default)]
pub(super) struct Footage {
    /// Number of pictures in quarantine, by chunk.
    pub(super) quarantined: BTreeMap<u64, u64>,
    /// The ids of all persons in all label files, quarantined or not, in order.
    persons: Vec<u64>,
    /// Label files that cannot be read.
    unreadable: Vec<String>,
}

/// A completed session.
#[derive(Debug, Default)]
pub(super) struct Rendered {
    pub(super) id: String,
    /// Fragments that were verified.
    pub(super) fragments: u64,
    replays: Vec<Replay>,
    /// The frames that the surviving chunks have a picture of, in order.
    frames: Vec<u64>,
    /// Reasons why the manifest does not verify, and pictures that are not whole.
    faults: Vec<String>,
}

/// The members of `manifest.json` that are checked.
#[derive(Deserialize)]
struct Manifest {
    ranges: Vec<ManifestRange>,
    distributed: Distributed,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ManifestRange {
    global_id_chunk_id: u64,
}

#[derive(Deserialize)]
struct Distributed {
    replay: Vec<Replay>,
}

#[derive(Deserialize)]
struct Label {
    persons: Vec<Person>,
}

#[derive(Deserialize)]
struct Person {
    id: u64,
}

impl Footage {
    pub(super) fn read(output: &Path) -> io::Result<Self> {
        let mut footage = Self::default();
        footage.read_labels(output)?;
        footage.persons.sort_unstable();
        for chunk in entries(&output.join("quarantine/dropped_chunks"))? {
            if let Some(number) = number_of(&chunk) {
                footage.quarantined.insert(number, count_pictures(&chunk));
            }
        }
        Ok(footage)
    }

    /// S13: no id was ever given to two persons, not even by workers that were killed.
    pub(super) fn ids_used_once(&self) -> Result<String, String> {
        let doubled = self.persons.windows(2).find(|pair| pair[0] == pair[1]);
        match (self.unreadable.first(), doubled) {
            (Some(unreadable), _) => Err(format!("a label file cannot be read: {unreadable}")),
            (None, Some(pair)) => Err(format!("two persons have the id {}", pair[0])),
            (None, None) => Ok(format!(
                "{} persons in all label files, also quarantined ones: no id twice",
                self.persons.len()
            )),
        }
    }

    fn read_labels(&mut self, directory: &Path) -> io::Result<()> {
        let is_of_labels = directory.ends_with("labels");
        for path in entries(directory)? {
            if path.is_dir() {
                self.read_labels(&path)?;
            } else if is_of_labels && path.extension().is_some_and(|extension| extension == "json") {
                match serde_json::from_slice::<Label>(&fs::read(&path)?) {
                    Ok(label) => self.persons.extend(label.persons.iter().map(|person| person.id)),
                    Err(error) => self.unreadable.push(format!("{}: {error}", path.display())),
                }
            }
        }
        Ok(())
    }
}

impl Rendered {
    pub(super) fn read(directory: &Path, id: &str) -> Self {
        let mut session = Self { id: id.to_owned(), ..Self::default() };
        for chunk in session.verify(&directory.join("meta")) {
            for picture in pictures(&directory.join(format!("chunks/{chunk}"))) {
                match (number_of(&picture), fs::read(&picture)) {
                    (Some(frame), Ok(bytes)) if is_whole(&bytes) => session.frames.push(frame),
                    _ => session.faults.push(format!("{} is no whole picture", picture.display())),
                }
            }
        }
        session.frames.sort_unstable();
        session
    }

    /// S14, S24: the reason why this is not one whole picture of each frame with a manifest that verifies.
    pub(super) fn fault(&self, frames: u64) -> Option<String> {
        let id = &self.id;
        if let Some(fault) = self.faults.first() {
            return Some(format!("{id}: {fault}"));
        }
        let missing = (0..frames).find(|frame| self.frames.binary_search(frame).is_err());
        match missing {
            Some(frame) => Some(format!("{id} has no picture of frame {frame}")),
            None if self.frames.len() as u64 != frames => Some(format!("{id} has more pictures than frames")),
            None => None,
        }
    }

    pub(super) fn has_replay(&self, chunk: u64, frames: Range<u64>) -> bool {
        self.replays.iter().any(|replay| {
            replay.retired_chunk_id == chunk && (replay.frame_range.start..replay.frame_range.end) == frames
        })
    }

    /// Verifies the manifest; returns the surviving chunks.
    fn verify(&mut self, meta: &Path) -> BTreeSet<u64> {
        match verify_directory(meta, None) {
            Ok(report) => {
                self.fragments = report.fragments;
                self.faults.extend(report.differences.iter().map(ToString::to_string));
                self.faults.extend((!report.is_fine()).then(|| "the manifest is not complete".to_owned()));
            }
            Err(error) => self.faults.push(error.to_string()),
        }
        let text = fs::read(meta.join(MANIFEST)).unwrap_or_default();
        match serde_json::from_slice::<Manifest>(&text) {
            Ok(manifest) => {
                self.replays = manifest.distributed.replay;
                manifest.ranges.iter().map(|range| range.global_id_chunk_id).collect()
            }
            Err(error) => {
                self.faults.push(error.to_string());
                BTreeSet::new()
            }
        }
    }
}

/// Number of pictures in the directory of a chunk.
pub(super) fn count_pictures(chunk: &Path) -> u64 {
    pictures(chunk).len() as u64
}

fn pictures(chunk: &Path) -> Vec<PathBuf> {
    let mut pictures = entries(&chunk.join("frames")).unwrap_or_default();
    pictures.retain(|path| path.extension().is_some_and(|extension| extension == "png"));
    pictures
}

/// The entries of a directory; none if there is no such directory.
fn entries(directory: &Path) -> io::Result<Vec<PathBuf>> {
    match fs::read_dir(directory) {
        Ok(entries) => entries.map(|entry| entry.map(|entry| entry.path())).collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// The number that a file or a directory is named by.
fn number_of(path: &Path) -> Option<u64> {
    path.file_stem()?.to_str()?.parse().ok()
}

/// True for a PNG file that has its first and its last bytes.
fn is_whole(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\x89PNG\r\n\x1a\n") && bytes.ends_with(b"IEND\xaeB`\x82")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(root: &Path, name: &str, content: &str) {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// S13, S15: ids are gathered from every label file; a half-written one is not a label file yet.
    #[test]
    fn labels_are_found_wherever_they_are() {
        let root = tempfile::tempdir().unwrap();
        put(root.path(), "session_demo-1/chunks/1/labels/0.json", r#"{"persons":[{"id":5},{"id":1}]}"#);
        put(root.path(), "session_demo-1/chunks/1/labels/1.json.part", r#"{"pers"#);
        put(root.path(), "quarantine/dropped_chunks/2/frames/0.png", "");
        let footage = Footage::read(root.path()).unwrap();
        assert_eq!((footage.persons.as_slice(), &footage.quarantined), (&[1, 5][..], &[(2, 1)].into()));
        assert!(footage.ids_used_once().is_ok());
        put(root.path(), "quarantine/dropped_chunks/2/labels/0.json", r#"{"persons":[{"id":5}]}"#);
        let doubled = Footage::read(root.path()).unwrap().ids_used_once();
        assert_eq!(doubled, Err("two persons have the id 5".to_owned()));
        put(root.path(), "quarantine/dropped_chunks/2/labels/1.json", "{}");
        assert!(Footage::read(root.path()).unwrap().ids_used_once().unwrap_err().contains("cannot be read"));
    }

    /// S21, S24: a session without a manifest or with a torn picture is not whole; a missing or doubled frame is found.
    #[test]
    fn a_session_that_is_not_whole_is_found() {
        let root = tempfile::tempdir().unwrap();
        assert!(Rendered::read(root.path(), "demo-1").fault(3).is_some());
        let manifest = r#"{"ranges":[{"frameRange":[0,3],"globalIdChunkId":4,"workerId":"W"}],
            "distributed":{"replay":[{"frameRange":[0,3],"retiredChunkId":1,"newChunkId":4}]}}"#;
        put(root.path(), "meta/manifest.json", manifest);
        put(root.path(), "chunks/4/frames/00000001.png", "\u{89}PNG");
        put(root.path(), "chunks/9/frames/00000002.png", "of no survivor");
        let mut torn = Rendered::read(root.path(), "demo-1");
        assert!(torn.has_replay(1, 0..3) && !torn.has_replay(4, 0..3) && !torn.has_replay(1, 0..2));
        assert!(torn.faults.last().unwrap().ends_with("is no whole picture"));
        torn.faults.clear();
        assert_eq!(torn.fault(3).unwrap(), "demo-1 has no picture of frame 0");
        torn.frames = vec![0, 1, 2];
        assert_eq!(torn.fault(3), None);
        torn.frames.push(2);
        assert_eq!(torn.fault(3).unwrap(), "demo-1 has more pictures than frames");
    }
}
