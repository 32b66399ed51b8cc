//! The rules of the files, each by its id.

mod crashes;
mod fragments;
mod quarantine;
mod sessions;

use super::{OutputRoot, TaskFiles};
use muster_model::{EntryId, Name, QuarantineRecord, SessionId, Timestamp};
use sha2::{Digest, Sha256};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};
use tempfile::TempDir;

/// An output root in a directory of its own; beside it there is room for what must not be reached.
struct World {
    place: TempDir,
    root: OutputRoot,
}

impl World {
    /// In memory where the system has such a place: there are thousands of worlds.
    fn new() -> Self {
        let memory = Path::new("/dev/shm");
        let place = if memory.is_dir() { TempDir::new_in(memory) } else { TempDir::new() }.unwrap();
        let root = OutputRoot::open(&place.path().join("out")).unwrap();
        Self { place, root }
    }

    fn path(&self, below_root: &str) -> PathBuf {
        self.root.path().join(below_root)
    }

    fn write(&self, below_root: &str, content: &str) {
        let path = self.path(below_root);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn read(&self, below_root: &str) -> String {
        fs::read_to_string(self.path(below_root)).unwrap()
    }

    fn has(&self, below_root: &str) -> bool {
        self.path(below_root).symlink_metadata().is_ok()
    }

    /// A file outside of the root that nobody may read or touch.
    fn outside(&self) -> PathBuf {
        let path = self.place.path().join("outside");
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("secret.json"), "secret").unwrap();
        path
    }

    /// All files below the root but those of ours, path and content.
    fn files(&self) -> BTreeMap<String, String> {
        let mut files = BTreeMap::new();
        gather(self.root.path(), self.root.path(), &mut files);
        files.retain(|path, _| !path.ends_with("audit.jsonl") && !path.starts_with(".parts"));
        files
    }

    /// The last line about each path of an audit.
    fn audit(&self, below_root: &str) -> BTreeMap<String, serde_json::Value> {
        let lines = self.read(below_root);
        assert!(lines.ends_with('\n'), "torn: {lines:?}");
        let parse = |line| serde_json::from_str::<serde_json::Value>(line).unwrap();
        lines.lines().map(parse).map(|line| (line["path"].as_str().unwrap().to_owned(), line)).collect()
    }

    /// Checks that an audit tells of exactly the files beside and below it, as they are.
    fn check_audit(&self, directory: &str) {
        let home = self.path(directory);
        let mut files = BTreeMap::new();
        gather(&home, &home, &mut files);
        files.remove("audit.jsonl");
        let audit = self.audit(&format!("{directory}/audit.jsonl"));
        let told: BTreeMap<String, (u64, String)> = audit
            .into_iter()
            .map(|(path, line)| {
                (path, (line["size"].as_u64().unwrap(), line["sha256"].as_str().unwrap().into()))
            })
            .collect();
        let found: BTreeMap<String, (u64, String)> = files
            .into_iter()
            .map(|(path, content)| (path, (content.len() as u64, sha256(content.as_bytes()))))
            .collect();
        assert_eq!(told, found);
    }
}

fn gather(root: &Path, directory: &Path, into: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            gather(root, &path, into);
        } else {
            let content = if entry.file_type().unwrap().is_symlink() {
                fs::read_link(&path).unwrap().to_string_lossy().into_owned()
            } else {
                fs::read_to_string(&path).unwrap()
            };
            into.insert(path.strip_prefix(root).unwrap().to_string_lossy().into_owned(), content);
        }
    }
}

fn sha256(bytes: &[u8]) -> String {
    super::hex(&Sha256::digest(bytes))
}

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

fn session(text: &str) -> SessionId {
    SessionId::new(text).unwrap()
}

fn task(chunk: u64) -> TaskFiles<'static> {
    TaskFiles { output: "session_s1", chunk }
}

fn record(id: EntryId) -> QuarantineRecord {
    QuarantineRecord {
        id,
        session: session("s1"),
        output: "session_s1".into(),
        worker: name("W1"),
        moved: false,
        files: 0,
        confirmed: None,
        at: Timestamp(0),
    }
}

fn chunk(number: u64) -> QuarantineRecord {
    record(EntryId::Chunk(number))
}

fn worker() -> QuarantineRecord {
    record(EntryId::Worker(name("W1"), session("s1")))
}
