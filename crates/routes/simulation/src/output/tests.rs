//! The rules of the files, each by its id; paths from outside, and fragments that are accepted (S5, S21, S26).

mod quarantine;
mod sessions;

use super::{OutputError, OutputRoot, PathFault, TaskFiles, directory::crash};
use muster_model::{EntryId, Name, QuarantineRecord, SessionId, Timestamp};
use sha2::{Digest, Sha256};
use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::symlink,
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

    /// The names in a directory, sorted.
    fn names(&self, below_root: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(below_root)).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort_unstable();
        names
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

/// S26: a session's directory is relative and stays in the root, by its text and by what is on the disk; a very deep one
/// is accepted or refused, and is no fault of the server.
#[test]
fn a_session_stays_in_the_root() {
    let world = World::new();
    let outside = world.outside();
    symlink(&outside, world.path("away")).unwrap();
    world.write("file", "");
    for bad in
        ["..", "../x", "/tmp/x", "a/../../x", "quarantine", "quarantine/x", "away", "away/x", "file/x", ""]
    {
        let error = world.root.check_directory(bad).unwrap_err();
        assert!(error.is_callers(), "{bad}: {error}");
        assert!(error.to_string().contains(&format!("{bad:?}")), "{error}");
        assert!(world.root.make_task_directory(TaskFiles { output: bad, chunk: 1 }).is_err(), "{bad}");
    }
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1, "nothing was made outside");
    let deep = ["d"; 400].join("/");
    match world.root.check_directory(&deep) {
        Ok(()) => assert!(world.root.make_task_directory(TaskFiles { output: &deep, chunk: 1 }).is_ok()),
        Err(error) => assert!(error.is_callers(), "{error}"),
    }
    world.root.check_directory("2026/night run").unwrap();
    world.root.check_directory("session_s1").unwrap();
}

/// S3, S26: a task's directory is absolute, its own, and there.
#[test]
fn a_task_has_a_directory_of_its_own() {
    let world = World::new();
    let made = world.root.make_task_directory(task(7)).unwrap();
    assert_eq!(made, world.path("session_s1/chunks/7"));
    assert!(made.is_absolute() && made.is_dir());
    assert_eq!(made, world.root.task_directory(task(7)));
    assert_eq!(made, world.root.make_task_directory(task(7)).unwrap(), "told again");
    assert_ne!(made, world.root.make_task_directory(task(8)).unwrap());
}

/// S5: manifestFragmentPath is read from the task's directory and from nowhere else.
#[test]
fn a_fragment_by_path_is_the_tasks_own() {
    let world = World::new();
    let outside = world.outside();
    world.write("session_s1/chunks/7/meta/f.json", "{}");
    world.write("session_s1/chunks/8/f.json", "another's");
    symlink(outside.join("secret.json"), world.path("session_s1/chunks/7/link.json")).unwrap();
    symlink(&outside, world.path("session_s1/chunks/7/links")).unwrap();
    symlink("meta/f.json", world.path("session_s1/chunks/7/inner.json")).unwrap();
    assert_eq!(world.root.read_fragment(task(7), "meta/f.json", 10).unwrap(), b"{}");

    let absolute = world.path("session_s1/chunks/7/meta/f.json");
    for bad in [
        "../8/f.json",
        "meta/../../8/f.json",
        absolute.to_str().unwrap(),
        "link.json",
        "links/secret.json",
        "inner.json",
        "meta",
        "meta/f.json/x",
        "meta/\u{202e}f.json",
        "",
    ] {
        let error = world.root.read_fragment(task(7), bad, 10).unwrap_err();
        assert!(matches!(error, OutputError::Path { .. }), "{bad}: {error:?}");
        assert!(world.root.check_file(task(7), bad).is_err(), "{bad}");
    }
}

/// S5: a link is told from what is simply wrong.
#[test]
fn an_error_says_what_is_wrong() {
    let world = World::new();
    world.write("session_s1/chunks/7/f.json", "12345");
    symlink("/etc", world.path("session_s1/chunks/7/etc")).unwrap();
    let fault = |path| match world.root.read_fragment(task(7), path, 5) {
        Err(OutputError::Path { fault, .. }) => fault,
        other => panic!("{other:?}"),
    };
    assert_eq!(fault("etc/passwd"), PathFault::Link("etc".into()));
    assert_eq!(fault(".."), PathFault::Leaves);
    assert_eq!(fault("f.json/x"), PathFault::NotPlain("f.json".into()));
    let missing = world.root.read_fragment(task(7), "g.json", 5).unwrap_err();
    assert!(matches!(&missing, OutputError::Missing { path } if path == "g.json"));
    assert!(matches!(world.root.read_fragment(task(9), "f.json", 5), Err(OutputError::Missing { .. })));
    assert_eq!(world.root.read_fragment(task(7), "f.json", 5).unwrap(), b"12345");
    let large = world.root.read_fragment(task(7), "f.json", 4).unwrap_err();
    assert!(matches!(large, OutputError::TooLarge { limit: 4, .. }) && large.is_callers());
}

/// S5: a pipe in place of a file keeps nobody waiting.
#[test]
fn a_pipe_is_no_fragment() {
    let world = World::new();
    world.root.make_task_directory(task(7)).unwrap();
    let pipe = world.path("session_s1/chunks/7/pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0)
        .unwrap();
    assert!(world.root.read_fragment(task(7), "pipe", 5).is_err_and(|error| error.is_callers()));
    assert!(world.root.check_file(task(7), "pipe").is_err());
}

/// S5: poseFiles may not leave the directory; they need not be there.
#[test]
fn pose_files_stay_in_the_tasks_directory() {
    let world = World::new();
    for path in ["poses/p.json", "포즈.json", "a b.json", ".hidden"] {
        world.root.check_file(task(7), path).unwrap();
    }
    world.write("session_s1/chunks/7/poses/p.json", "{}");
    world.root.check_file(task(7), "poses/p.json").unwrap();
    world.root.check_file(task(7), "poses/q.json").unwrap();
    assert!(world.root.check_file(task(7), "../p.json").is_err());
}

/// S21: an accepted fragment is kept byte for byte, by worker and chunk.
#[test]
fn a_fragment_is_kept_as_it_came() {
    let world = World::new();
    let bytes = b"{ \"frameRange\": [0,\t10]}\r\n\xff";
    world.root.place_fragment(task(7), &name("gpu.01_a"), bytes).unwrap();
    let path = world.path("session_s1/meta/manifest_fragment_gpu.01_a_7.json");
    assert_eq!(fs::read(path).unwrap(), bytes);
    assert!(world.root.place_fragment(task(7), &name("über"), b"{}").is_err(), "no worker of contract S");
    assert!(world.root.place_fragment(task(0), &name("W1"), b"{}").is_err(), "no chunk");
}

/// S21, S25: whenever the server dies, the fragment is the old one, the new one, or not there: never a part of it.
#[test]
fn a_fragment_is_whole_or_not_there() {
    for before in [None, Some("old")] {
        for changes in 0.. {
            let world = World::new();
            let file = "session_s1/meta/manifest_fragment_W1_7.json";
            if let Some(text) = before {
                world.write(file, text);
            }
            let place = || world.root.place_fragment(task(7), &name("W1"), b"new");
            let (placed, died) = crash::after(changes, place);
            let found = world.has(file).then(|| world.read(file));
            assert!(found.as_deref() == before || found.as_deref() == Some("new"), "{changes}: {found:?}");
            if !died {
                placed.unwrap();
                assert_eq!(found.as_deref(), Some("new"));
                assert_eq!(fs::read_dir(world.path(".parts")).unwrap().count(), 0);
                break;
            }
            placed.unwrap_err();
            place().unwrap();
            assert_eq!(world.read(file), "new");
        }
    }
}

/// S21: what is in the way of a fragment is neither replaced nor followed.
#[test]
fn a_foreign_directory_is_named() {
    let world = World::new();
    world.write("session_s1/meta/manifest_fragment_W1_7.json/x", "somebody's");
    let error = world.root.place_fragment(task(7), &name("W1"), b"{}").unwrap_err();
    assert!(matches!(error, OutputError::InTheWay { found: "a directory", .. }), "{error:?}");
    assert!(error.to_string().contains("manifest_fragment_W1_7.json") && !error.is_callers());

    let (world, elsewhere) = (World::new(), TempDir::new().unwrap());
    world.write("session_s1/x", "");
    symlink(elsewhere.path(), world.path("session_s1/meta")).unwrap();
    let error = world.root.place_fragment(task(7), &name("W1"), b"{}").unwrap_err();
    assert!(matches!(error, OutputError::InTheWay { found: "a symbolic link", .. }), "{error:?}");
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
}

/// Parts that a crash left long ago are removed; parts that may be another server's stay.
#[test]
fn old_parts_are_swept() {
    let world = World::new();
    world.write(".parts/old", "");
    world.write(".parts/young", "");
    let long_ago = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    fs::File::options().write(true).open(world.path(".parts/old")).unwrap().set_modified(long_ago).unwrap();
    OutputRoot::open(world.root.path()).unwrap();
    assert!(!world.has(".parts/old") && world.has(".parts/young"));
    assert_eq!(fs::read_dir(world.path(".parts")).unwrap().count(), 1);
}
