use super::*;
use crate::{
    document::document,
    scene::{court, exists},
};
use jiff::{SignedDuration, Timestamp};
use std::{
    os::unix::fs::symlink,
    process::{Command, Stdio},
    sync::Mutex,
};

/// C1: a court's directories are made when it is opened, and opening it again changes nothing.
#[test]
fn directories_are_made() {
    let home = tempfile::tempdir().unwrap();
    let court = home.path().join("not/yet/there");
    let folder = Folder::open(&court).unwrap();
    for place in Place::all() {
        assert!(folder.directory(place).is_dir(), "{place:?}");
    }
    assert!(court.join("rejected").is_dir());
    let id = put(&folder, Place::EventsPending, "evt-1");
    assert!(Folder::open(&court).unwrap().has(Place::EventsPending, &id));
}

/// C21: whoever only looks makes nothing and changes nothing; what is not there is empty.
#[test]
fn a_look_changes_nothing() {
    let home = tempfile::tempdir().unwrap();
    let looked = Folder::look(home.path()).unwrap();
    assert_eq!(looked.listed(Place::EventsPending).unwrap(), []);
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
    let id = put(&Folder::open(home.path()).unwrap(), Place::EventsPending, "evt-1");
    assert_eq!(looked.listed(Place::EventsPending).unwrap(), std::slice::from_ref(&id));
    looked.remove(Place::EventsPending, &id).unwrap_err();
    looked.write(Place::EventsPending, &id, &event("evt-1", "other")).unwrap_err();
    assert!(looked.has(Place::EventsPending, &id));
}

/// C3, C4, C6: a file is created once, replaced whole, and moved by one rename that covers nothing.
#[test]
fn nothing_is_covered() {
    let (_home, folder) = court();
    let id = put(&folder, Place::EventsPending, "evt-1");
    let (first, second) = (event("evt-1", "first"), event("evt-1", "second"));
    folder.write(Place::EventsPending, &id, &first).unwrap();
    assert!(!folder.create(Place::EventsPending, &id, &second).unwrap());
    assert_eq!(folder.read(Place::EventsPending, &id).unwrap(), first);
    folder.advance(&id, Place::EventsPending, Place::EventsDispatched).unwrap();
    assert_eq!(folder.find(Kind::Event, &id), Some(Place::EventsDispatched));
    assert!(folder.create(Place::EventsPending, &id, &second).unwrap());
    let refused = folder.advance(&id, Place::EventsPending, Place::EventsDispatched).unwrap_err();
    assert_eq!(refused.to_string(), "evt-1 is in queue/events/dispatched already");
    assert_eq!(folder.read(Place::EventsDispatched, &id).unwrap(), first);
    folder.remove(Place::EventsPending, &id).unwrap();
    folder.remove(Place::EventsPending, &id).unwrap();
    let gone = folder.advance(&id, Place::EventsPending, Place::EventsCompleted);
    assert!(matches!(gone, Err(Fault::Gone(_))));
    assert_eq!(folder.names(Place::EventsPending).unwrap().len(), 0);
}

/// C12: what is not valid is not written.
#[test]
fn invalid_documents_are_not_written() {
    let (_home, folder) = court();
    let id = Id::parse("evt-1").unwrap();
    let mut event = event("evt-1", "first");
    event.set("status", "unheard of");
    for refused in [
        folder.create(Place::EventsPending, &id, &event).map(|_| ()),
        folder.write(Place::EventsPending, &id, &event),
    ] {
        assert!(matches!(&refused, Err(Fault::Invalid(told)) if told.starts_with("status must be one of")));
    }
    assert_eq!(everything(&folder.directory(Place::EventsPending)), 0);
}

/// C4, C12, C23: what is no plain file of its name, too large or not valid is set apart with the reason, and the rest goes on.
#[test]
fn what_is_not_valid_is_set_apart() {
    let (home, folder) = court();
    put(&folder, Place::EventsPending, "evt-good");
    let at = |name: &str| folder.directory(Place::EventsPending).join(name);
    fs::write(home.path().join("secret"), event("evt-link", "x").to_file()).unwrap();
    symlink(home.path().join("secret"), at("evt-link.json")).unwrap();
    symlink("nowhere", at("evt-nowhere.json")).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, at("evt-pipe.json"), rustix::fs::FileType::Fifo, Mode::RWXU, 0)
        .unwrap();
    fs::create_dir(at("evt-directory.json")).unwrap();
    fs::write(at("evt-large.json"), sized("evt-large", FILE_BYTES_MAX + 1)).unwrap();
    fs::write(at("evt-largest.json"), sized("evt-largest", FILE_BYTES_MAX)).unwrap();
    fs::write(at("evt-other.json"), event("evt-another", "x").to_file()).unwrap();
    fs::write(at("evt-half.json"), "{\"id\": \"evt-half\", ").unwrap();
    fs::write(at("notes.txt"), "x").unwrap();
    fs::write(at("-rf.json"), event("-rf", "x").to_file()).unwrap();
    fs::write(at(".hidden"), "x").unwrap();
    let mut read: Vec<String> = Vec::new();
    for id in folder.ids(Place::EventsPending).unwrap() {
        read.extend(folder.read_or_reject(Place::EventsPending, &id).unwrap().map(|_| id.to_string()));
    }
    read.sort();
    assert_eq!(read, ["evt-good", "evt-largest"]);
    for (name, reason) in [
        ("evt-link.json", "it is not a plain file"),
        ("evt-nowhere.json", "it is not a plain file"),
        ("evt-pipe.json", "it is not a plain file"),
        ("evt-directory.json", "it is not a plain file"),
        ("evt-large.json", "it is larger than 1048576 bytes"),
        ("evt-other.json", "the id inside is not evt-other, the name of the file"),
        ("evt-half.json", "it is not valid JSON: the document ends too early at byte 19"),
        ("notes.txt", "its name is not {id}.json"),
        ("-rf.json", "its name is not {id}.json"),
    ] {
        assert!(!exists(&at(name)) && exists(&folder.path("rejected").join(name)), "{name}");
        assert_eq!(reason_of(&folder, name), format!("{reason}\n"), "{name}");
    }
    assert!(exists(&at(".hidden")) && exists(&home.path().join("secret")));
}

/// C1, C12: a taken name in `rejected/` gets a number; neither the file before nor its reason is lost.
#[test]
fn a_taken_name_gets_a_number() {
    let (_home, folder) = court();
    for (round, name) in ["evt-1.json", "evt-1.json.1", "evt-1.json.2"].into_iter().enumerate() {
        fs::write(folder.directory(Place::EventsPending).join("evt-1.json"), round.to_string()).unwrap();
        folder.reject(Place::EventsPending, "evt-1.json".as_ref(), &format!("round {round}\nend")).unwrap();
        assert_eq!(fs::read_to_string(folder.path("rejected").join(name)).unwrap(), round.to_string());
        assert_eq!(reason_of(&folder, name), format!("round {round} end\n"));
    }
    folder.reject(Place::EventsPending, "evt-1.json".as_ref(), "it was taken back").unwrap();
    assert_eq!(everything(&folder.path("rejected")), 6);
    let longest = format!("{}.json", "n".repeat(250));
    fs::write(folder.directory(Place::EventsPending).join(&longest), "x").unwrap();
    assert_eq!(folder.ids(Place::EventsPending).unwrap(), []);
    assert_eq!(everything(&folder.path("rejected")), 8);
}

/// C6, C12: setting apart that was cut short anywhere is finished by the next look: one file, one reason.
#[test]
fn a_crash_does_not_reject_twice() {
    for operations in 0.. {
        let (home, folder) = court();
        fs::write(folder.directory(Place::EventsPending).join("notes.txt"), "x").unwrap();
        let witness = Arc::new(Witness::until(operations));
        let cut = Folder::with_fuse(home.path(), witness.clone()).unwrap();
        assert_eq!(cut.ids(Place::EventsPending).unwrap(), [], "one that stays holds up nobody");
        assert_eq!(folder.ids(Place::EventsPending).unwrap(), []);
        let mut names: Vec<_> = fs::read_dir(folder.path("rejected")).unwrap().flatten().collect();
        names.retain(|entry| !entry.file_name().as_encoded_bytes().starts_with(b"."));
        assert_eq!(names.len(), 2, "cut before operation {operations}");
        if witness.operations.lock().unwrap().len() < operations {
            break;
        }
    }
}

/// C1, C12: a reason of other words is not written over: it may itself be a file that was set apart.
#[test]
fn a_taken_reason_is_a_taken_name() {
    let (_home, folder) = court();
    let reject = |name: &str, reason: &str| {
        fs::write(folder.directory(Place::EventsPending).join(name), name).unwrap();
        folder.reject(Place::EventsPending, name.as_ref(), reason).unwrap();
    };
    reject("evt-1.json.reason", "a strange name");
    reject("evt-1.json", "not valid");
    let kept = |name: &str| fs::read_to_string(folder.path("rejected").join(name)).unwrap();
    assert_eq!(kept("evt-1.json.reason"), "evt-1.json.reason");
    assert_eq!(
        (kept("evt-1.json.1"), reason_of(&folder, "evt-1.json.1")),
        ("evt-1.json".into(), "not valid\n".into())
    );
}

/// C4: what could not be written leaves nothing behind.
#[test]
fn a_failed_write_leaves_no_temporary_file() {
    let (home, folder) = court();
    let id = put(&folder, Place::EventsPending, "evt-1");
    let refusing = Folder::with_fuse(home.path(), Arc::new(NoRename)).unwrap();
    refusing.write(Place::EventsPending, &id, &event("evt-1", "second")).unwrap_err();
    refusing.create(Place::EventsPending, &Id::parse("evt-2").unwrap(), &event("evt-2", "x")).unwrap_err();
    assert_eq!(everything(&folder.directory(Place::EventsPending)), 1);
}

/// C12: roles that look at the same queue set the same files apart at once, and others files of the same names; each
/// file keeps a reason, and no reason is left without one.
#[test]
fn all_that_is_set_apart_at_once_keeps_its_reason() {
    let (home, folder) = court();
    let queues = [Place::EventsPending, Place::TasksPending, Place::MessagesPending];
    let names: Vec<String> = (0..20).map(|number| format!("notes {number}")).collect();
    for (place, name) in queues.iter().flat_map(|place| names.iter().map(move |name| (place, name))) {
        fs::write(folder.directory(*place).join(name), "x").unwrap();
    }
    std::thread::scope(|scope| {
        for place in queues.iter().chain(&queues) {
            let role = Folder::open(home.path()).unwrap();
            scope.spawn(move || assert_eq!(role.ids(*place).unwrap(), []));
        }
    });
    for name in names.iter().flat_map(|name| [name.clone(), format!("{name}.1"), format!("{name}.2")]) {
        assert!(exists(&folder.path("rejected").join(&name)), "{name}");
        assert_eq!(reason_of(&folder, &name), "its name is not {id}.json\n");
    }
    assert_eq!(everything(&folder.path("rejected")), 120);
}

/// C4: temporary files go when their writer is dead or a minute has passed; a live writer's stay.
#[test]
fn temporary_files_are_swept() {
    let (_home, folder) = court();
    let dead = dead_process();
    let alive = std::process::id();
    let places = ["queue/events/pending", "state/results", "rejected", "state", "."];
    let put = |pid: &str| {
        for place in places {
            fs::write(folder.path(place).join(format!("{TEMPORARY}{pid}-1-0")), "x").unwrap();
        }
    };
    let left =
        |pid: &str| places.map(|place| exists(&folder.path(place).join(format!("{TEMPORARY}{pid}-1-0"))));
    let (dead, alive) = (dead.to_string(), alive.to_string());
    [dead.as_str(), alive.as_str(), "nobody"].into_iter().for_each(put);
    let directory = folder.path("rejected").join(format!("{TEMPORARY}{dead}-2-0"));
    fs::create_dir(&directory).unwrap();
    let kept = self::put(&folder, Place::EventsPending, "evt-1");
    let written =
        folder.path(".").join(format!("{TEMPORARY}{alive}-1-0")).metadata().unwrap().modified().unwrap();
    let written = Timestamp::try_from(written).unwrap();
    assert_eq!(folder.names(Place::EventsPending).unwrap(), ["evt-1.json"]);
    folder.sweep(written).unwrap();
    assert_eq!((left(&dead), left(&alive), left("nobody")), ([false; 5], [true; 5], [false; 5]));
    folder.sweep(written + SignedDuration::from_secs(59)).unwrap();
    assert_eq!(left(&alive), [true; 5]);
    folder.sweep(written + SignedDuration::from_secs(61)).unwrap();
    assert_eq!(left(&alive), [false; 5]);
    assert!(folder.has(Place::EventsPending, &kept) && directory.is_dir(), "what is no file stays");
}

/// C4: what a file holds is durable before it gets its name, and each name before anything else is done.
#[test]
fn every_rename_is_synced() {
    let (home, _folder) = court();
    let witness = Arc::new(Witness::until(usize::MAX));
    let folder = Folder::with_fuse(home.path(), witness.clone()).unwrap();
    let id = put(&folder, Place::EventsPending, "evt-1");
    folder.write(Place::EventsPending, &id, &event("evt-1", "second")).unwrap();
    folder.advance(&id, Place::EventsPending, Place::EventsDispatched).unwrap();
    folder.reject(Place::EventsDispatched, "evt-1.json".as_ref(), "why not").unwrap();
    put(&folder, Place::EventsPending, "evt-2");
    folder.remove(Place::EventsPending, &Id::parse("evt-2").unwrap()).unwrap();
    let operations = witness.operations.lock().unwrap();
    for (index, operation) in operations.iter().enumerate() {
        let after = |count: usize| operations.get(index + count);
        match operation {
            Operation::Create(path) => {
                assert_eq!(after(1), Some(&Operation::Write(path.clone())));
                assert_eq!(after(2), Some(&Operation::SyncFile(path.clone())));
                assert!(matches!(after(3), Some(Operation::Rename(from, _)) if from == path));
            }
            Operation::Rename(from, to) => {
                let (from, to) = (from.parent().unwrap(), to.parent().unwrap());
                assert_eq!(after(1), Some(&Operation::SyncDirectory(to.into())));
                assert!(from == to || after(2) == Some(&Operation::SyncDirectory(from.into())));
            }
            Operation::Remove(path) => {
                assert_eq!(after(1), Some(&Operation::SyncDirectory(path.parent().unwrap().into())));
            }
            _ => {}
        }
    }
    let renames = operations.iter().filter(|operation| matches!(operation, Operation::Rename(..))).count();
    assert_eq!(renames, 6, "two new files, a rewritten one, a move, a reason and its file");
}

/// C4: at no moment is there half a file for a reader to see.
#[test]
fn readers_see_whole_files() {
    let (home, _folder) = court();
    let mut witness = Witness::until(usize::MAX);
    witness.looks_at = Some(home.path().join(Place::EventsPending.path()));
    let witness = Arc::new(witness);
    let folder = Folder::with_fuse(home.path(), witness.clone()).unwrap();
    let id = put(&folder, Place::EventsPending, "evt-1");
    for round in 0..3 {
        folder.write(Place::EventsPending, &id, &event("evt-1", &"x".repeat(100_000 * round + 1))).unwrap();
    }
    assert!(witness.operations.lock().unwrap().len() >= 20);
}

/// Remembers what was done, lets only so much be done, and looks at files in between as a reader would.
struct Witness {
    operations: Mutex<Vec<Operation>>,
    operations_max: usize,
    looks_at: Option<PathBuf>,
}

impl Witness {
    fn until(operations_max: usize) -> Self {
        Self { operations: Mutex::default(), operations_max, looks_at: None }
    }
}

impl Fuse for Witness {
    fn before(&self, operation: &Operation) -> io::Result<()> {
        for entry in self.looks_at.iter().flat_map(|directory| fs::read_dir(directory).unwrap().flatten()) {
            let is_visible = Id::of_file(&entry.file_name()).is_some();
            assert!(!is_visible || validated(Kind::Event, &fs::read(entry.path()).unwrap()).is_ok());
        }
        let mut operations = self.operations.lock().unwrap();
        if operations.len() >= self.operations_max {
            return Err(io::Error::other("the world has ended"));
        }
        operations.push(operation.clone());
        Ok(())
    }
}

/// A disk on which nothing gets its name.
struct NoRename;

impl Fuse for NoRename {
    fn before(&self, operation: &Operation) -> io::Result<()> {
        if matches!(operation, Operation::Rename(..)) { Err(io::Error::other("no room")) } else { Ok(()) }
    }
}

fn event(id: &str, text: &str) -> Document {
    document! {
        "id": id, "type": "test.event", "source": "test", "payload": document! {"text": text},
        "priority": "normal", "created_at": "2026-02-07T10:00:00Z", "status": "pending",
    }
}

/// A valid event of just so many bytes.
fn sized(id: &str, bytes: usize) -> String {
    let empty = event(id, "").to_file().len();
    event(id, &"x".repeat(bytes - empty)).to_file()
}

fn put(folder: &Folder, place: Place, id: &str) -> Id {
    let id = Id::parse(id).unwrap();
    assert!(folder.create(place, &id, &event(id.as_str(), "x")).unwrap());
    id
}

fn everything(directory: &Path) -> usize {
    fs::read_dir(directory).unwrap().count()
}

fn reason_of(folder: &Folder, name: &str) -> String {
    fs::read_to_string(folder.path("rejected").join(format!("{name}.reason"))).unwrap()
}

/// The number of a process that was.
fn dead_process() -> u32 {
    let mut child = Command::new("true").stdout(Stdio::null()).spawn().unwrap();
    child.wait().unwrap();
    child.id()
}
