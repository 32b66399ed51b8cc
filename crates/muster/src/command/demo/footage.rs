//! What the sessions left on disk, read as anybody could who is given the directory.

use super::session::Session;
use muster_manifest::{MANIFEST, Replay, verify_directory};
use serde::Deserialize;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
};

/// Everything below the output root.
#[derive(Debug, Default)]
pub(super) struct Footage {
    /// Of each completed session, by its id.
    pub(super) reels: BTreeMap<String, Reel>,
    /// How many pictures were set apart, by the chunk that they were made under.
    pub(super) set_apart: BTreeMap<u64, u64>,
    /// The ids of all persons in all label files, set apart or not, in order.
    pub(super) persons: Vec<u64>,
    /// Label files that are none.
    pub(super) unreadable: Vec<String>,
}

/// What a completed session came to.
#[derive(Debug, Default)]
pub(super) struct Reel {
    pub(super) manifest: Manifest,
    /// Fragments that were hashed again.
    pub(super) fragments: u64,
    /// Why the manifest does not stand.
    pub(super) faults: Vec<String>,
    /// The frames that the surviving chunks have a picture of, in order.
    pub(super) frames: Vec<u64>,
    /// Pictures that are not whole.
    pub(super) torn: Vec<String>,
}

/// `manifest.json`, as far as the demo looks at it.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Manifest {
    pub(super) ranges: Vec<Survivor>,
    pub(super) distributed: Distributed,
}

/// A range, and the chunk that it was made under.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Survivor {
    pub(super) global_id_chunk_id: u64,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Distributed {
    pub(super) replay: Vec<Replay>,
}

/// A label file.
#[derive(Deserialize)]
struct Label {
    persons: Vec<Person>,
}

#[derive(Deserialize)]
struct Person {
    id: u64,
}

impl Footage {
    pub(super) fn read(output: &Path, sessions: &[Session]) -> io::Result<Self> {
        let mut footage = Self::default();
        for session in sessions.iter().filter(|session| session.status == "completed") {
            let directory = output.join(format!("session_{}", session.id));
            footage.reels.insert(session.id.clone(), Reel::read(&directory));
        }
        footage.read_labels(output)?;
        footage.persons.sort_unstable();
        for chunk in entries(&output.join("quarantine/dropped_chunks"))? {
            if let Some(number) = number_of(&chunk) {
                footage.set_apart.insert(number, count_pictures(&chunk));
            }
        }
        Ok(footage)
    }

    /// Over everything there is: survivors, and what was set apart.
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

impl Reel {
    fn read(directory: &Path) -> Self {
        let mut reel = Self::default();
        reel.verify(&directory.join("meta"));
        let chunks: BTreeSet<u64> =
            reel.manifest.ranges.iter().map(|range| range.global_id_chunk_id).collect();
        for chunk in chunks {
            for picture in pictures(&directory.join(format!("chunks/{chunk}"))) {
                match (number_of(&picture), fs::read(&picture)) {
                    (Some(frame), Ok(bytes)) if is_whole(&bytes) => reel.frames.push(frame),
                    _ => reel.torn.push(picture.display().to_string()),
                }
            }
        }
        reel.frames.sort_unstable();
        reel
    }

    fn verify(&mut self, meta: &Path) {
        match verify_directory(meta, None) {
            Ok(report) => {
                self.fragments = report.fragments;
                self.faults.extend(report.differences.iter().map(ToString::to_string));
                self.faults.extend((!report.is_fine()).then(|| "it is not complete".to_owned()));
            }
            Err(error) => self.faults.push(error.to_string()),
        }
        let text = fs::read(meta.join(MANIFEST)).unwrap_or_default();
        match serde_json::from_slice(&text) {
            Ok(manifest) => self.manifest = manifest,
            Err(error) => self.faults.push(error.to_string()),
        }
    }
}

/// How many pictures there are in the directory of a chunk.
pub(super) fn count_pictures(chunk: &Path) -> u64 {
    pictures(chunk).len() as u64
}

/// A directory that is not there holds none.
fn pictures(chunk: &Path) -> Vec<PathBuf> {
    let mut pictures = entries(&chunk.join("frames")).unwrap_or_default();
    pictures.retain(|path| path.extension().is_some_and(|extension| extension == "png"));
    pictures
}

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

/// Whether it is a PNG file from its first byte to its last.
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

    fn completed() -> [Session; 1] {
        [Session { status: "completed".to_owned(), ..Session::planned(0) }]
    }

    /// S13, S15: ids are gathered from every label file there is; what is half written is no label file yet.
    #[test]
    fn labels_are_found_wherever_they_lie() {
        let root = tempfile::tempdir().unwrap();
        put(
            root.path(),
            "session_demo-1/chunks/1/labels/00000000.json",
            r#"{"persons":[{"id":5},{"id":1}]}"#,
        );
        put(root.path(), "session_demo-1/chunks/1/labels/00000001.json.part", r#"{"pers"#);
        put(root.path(), "quarantine/dropped_chunks/2/labels/00000000.json", r#"{"persons":[{"id":5}]}"#);
        put(root.path(), "quarantine/dropped_chunks/2/labels/00000001.json", "{}");
        put(root.path(), "quarantine/dropped_chunks/2/frames/00000000.png", "");
        put(root.path(), "session_demo-1/meta/session.json", "{}");
        let footage = Footage::read(root.path(), &[]).unwrap();
        assert_eq!(footage.persons, [1, 5, 5]);
        assert_eq!(footage.unreadable.len(), 1);
        assert_eq!(footage.set_apart, [(2, 1)].into());
    }

    /// S21, S24: a session without a manifest, or with a torn picture, does not pass for a whole one.
    #[test]
    fn what_is_not_whole_is_noticed() {
        let root = tempfile::tempdir().unwrap();
        let reel = |root: &Path| Footage::read(root, &completed()).unwrap().reels.remove("demo-1").unwrap();
        assert!(!reel(root.path()).faults.is_empty());
        let manifest = r#"{"ranges":[{"frameRange":[0,3],"globalIdChunkId":4,"workerId":"W"}],
            "distributed":{"replay":[{"frameRange":[0,3],"retiredChunkId":1,"newChunkId":4}]}}"#;
        put(root.path(), "session_demo-1/meta/manifest.json", manifest);
        put(root.path(), "session_demo-1/chunks/4/frames/00000001.png", "\u{89}PNG");
        put(root.path(), "session_demo-1/chunks/9/frames/00000002.png", "of no survivor");
        let reel = reel(root.path());
        assert_eq!((reel.torn.len(), reel.frames.len()), (1, 0));
        assert_eq!(reel.manifest.distributed.replay[0].new_chunk_id, Some(4));
        assert!(!reel.faults.is_empty(), "it verifies against nothing");
    }
}
