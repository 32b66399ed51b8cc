//! The process dies before every single file operation of a story, one after the other; a restart repairs each.
//!
//! Nothing is sampled: a story is told once to count its operations, and then once for each of them, ending there. The
//! minds are the real ones, on a real directory; soldiers, people and the outlet are played. Whatever was to happen must
//! have happened exactly once at the end, whenever the death came.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod world;

use muster_court::{Document, Folder, Fuse, Id, Kind, Operation, Place};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};
use world::{FAILURE, QUESTION, REFUSED, SLOT, Story, TWO_ENDS, World};

/// C2, C3, C4, C6, C13, C14, C15, C16, C16b: tasks that end well, with all the messages there are.
#[test]
fn ends() {
    every_crash_is_repaired(&TWO_ENDS);
}

/// C6, C16, C16b: a task that fails, is tried again, and fails.
#[test]
fn failures() {
    every_crash_is_repaired(&FAILURE);
}

/// C6, C14: a question, two answers, one resumption.
#[test]
fn questions() {
    every_crash_is_repaired(&QUESTION);
}

/// C6, C22: a slot of a schedule.
#[test]
fn slots() {
    every_crash_is_repaired(&SLOT);
}

/// C3, C6, C8, C12, C13: what is refused, what nobody wants, and a word that disagrees with its directory.
#[test]
fn refusals() {
    every_crash_is_repaired(&REFUSED);
}

/// Lets the process die before each operation of a story, and once more before some operations of the repair.
fn every_crash_is_repaired(story: &'static Story) {
    let whole = World::new(story);
    whole.live(None);
    let expected = Findings::of(&whole);
    let operations = count(story);
    for crash in 0..operations {
        let world = World::new(story);
        let fuse = Dying::before(crash);
        world.live(Some(fuse.clone()));
        assert!(fuse.is_dead(), "{}: operation {crash} of {operations} never came", story.name);
        if crash % STRIDE == 0 {
            repair_in_pieces(story, crash, &expected);
        }
        world.live(None);
        compare(story, &[crash], &expected, &Findings::of(&world));
    }
    println!("{}: {operations} crashes, all repaired", story.name);
}

/// Lets the second life die as well.
fn repair_in_pieces(story: &'static Story, crash: usize, expected: &Findings) {
    for again in (crash % STRIDE..MOST_IN_A_REPAIR).step_by(STRIDE) {
        let world = World::new(story);
        world.live(Some(Dying::before(crash)));
        world.live(Some(Dying::before(again)));
        world.live(None);
        compare(story, &[crash, again], expected, &Findings::of(&world));
    }
}

fn compare(story: &Story, crashes: &[usize], expected: &Findings, found: &Findings) {
    assert_eq!(found.faults, Vec::<String>::new(), "{}: crashes {crashes:?}", story.name);
    assert_eq!(found.made, expected.made, "{}: crashes {crashes:?}", story.name);
    // Each life may have died right after a post.
    assert!(found.repeated_posts <= crashes.len(), "{}: crashes {crashes:?}: {found:?}", story.name);
}

fn count(story: &'static Story) -> usize {
    let fuse = Dying::before(usize::MAX);
    World::new(story).live(Some(fuse.clone()));
    fuse.burnt()
}

/// A process that dies before its nth operation.
pub(crate) struct Dying {
    burnt: AtomicUsize,
    last: usize,
}

impl Dying {
    pub(crate) fn before(last: usize) -> Arc<Self> {
        Arc::new(Self { burnt: AtomicUsize::new(0), last })
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.burnt() > self.last
    }

    /// Number of operations that were asked for.
    pub(crate) fn burnt(&self) -> usize {
        self.burnt.load(Ordering::SeqCst)
    }
}

impl Fuse for Dying {
    fn before(&self, _operation: &Operation) -> io::Result<()> {
        if self.burnt.fetch_add(1, Ordering::SeqCst) < self.last {
            return Ok(());
        }
        Err(io::Error::other("the process is dead"))
    }
}

/// The contents of a court at the end.
#[derive(Debug)]
pub(crate) struct Findings {
    /// The files that were made, without the numbers: events with their outcome, tasks, results, messages.
    pub(crate) made: BTreeMap<String, usize>,
    /// Findings that must never be.
    pub(crate) faults: Vec<String>,
    /// Posts beyond one per message.
    pub(crate) repeated_posts: usize,
}

impl Findings {
    pub(crate) fn of(world: &World) -> Self {
        let folder = Folder::open(world.home()).unwrap();
        // The writer is this very process, which is alive: only age tells that a temporary file is abandoned.
        folder.sweep("2200-01-01T00:00:00Z".parse().unwrap()).unwrap();
        let mut findings = Self { made: BTreeMap::new(), faults: Vec::new(), repeated_posts: 0 };
        findings.look_at_states(&folder);
        findings.look_at_rejected(&folder);
        findings.look_at_posts(world, &folder);
        findings.look_at_temporaries(&folder);
        findings
    }

    fn look_at_states(&mut self, folder: &Folder) {
        let mut places: BTreeMap<(Kind, Id), Place> = BTreeMap::new();
        for place in Place::all() {
            for id in folder.ids(place).unwrap() {
                let document = folder.read(place, &id).unwrap_or_else(|fault| panic!("{id}: {fault}"));
                self.look_at(folder, place, &document);
                let is_state = place.kind() != Kind::Record;
                if let Some(other) = places.insert((place.kind(), id.clone()), place).filter(|_| is_state) {
                    self.faults.push(format!("{id} is in {} and in {}", other.path(), place.path()));
                }
            }
        }
    }

    fn look_at(&mut self, folder: &Folder, place: Place, document: &Document) {
        let text = |key: &str| document.text(key).unwrap_or_default();
        let status = text("status");
        if !place.statuses().is_empty() && !place.statuses().contains(&status.as_str()) {
            self.faults.push(format!("{} in {} is {status}", text("id"), place.path()));
        }
        let line = match place.kind() {
            Kind::Event => format!("event {} {status} {}", unnumbered(&text("id")), text("outcome")),
            Kind::Task => {
                let (event, payload) = (text("event_id"), document.raw("payload").unwrap_or_default());
                format!("task of {} {} {status} {}", unnumbered(&event), text("type"), unnumbered(payload))
            }
            Kind::Message => {
                let context = document.object("context").unwrap();
                let task = context.text("task_id").unwrap_or_default();
                let (prefix, task) = task.split_once("task-").unwrap_or(("", &task));
                let event = event_of(folder, &format!("task-{task}"));
                format!("message {} {} of {prefix}{event}", text("type"), text("channel"))
            }
            Kind::Result => {
                let attempts = document.objects("attempts");
                let is_own = |attempt: &&Document| {
                    !attempt.text("error").unwrap_or_default().contains("general ended")
                };
                let words = attempts.iter().filter(is_own).filter_map(|attempt| attempt.text("status"));
                let words: Vec<String> = words.collect();
                format!("result of {} {status} {words:?}", event_of(folder, &text("task_id")))
            }
            Kind::Record => place.path().to_owned(),
        };
        *self.made.entry(format!("{} {line}", place.path())).or_default() += 1;
    }

    fn look_at_rejected(&mut self, folder: &Folder) {
        for entry in fs::read_dir(folder.path("rejected")).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            *self.made.entry(format!("rejected {name}")).or_default() += 1;
        }
    }

    fn look_at_posts(&mut self, world: &World, folder: &Folder) {
        let posts = world.posts.borrow();
        let posted: BTreeSet<&String> = posts.iter().collect();
        self.repeated_posts = posts.len() - posted.len();
        for id in folder.ids(Place::MessagesSent).unwrap() {
            if !posted.contains(&id.to_string()) {
                self.faults.push(format!("{id} counts as sent and was never posted"));
            }
        }
    }

    fn look_at_temporaries(&mut self, folder: &Folder) {
        let mut left = vec![folder.home().to_owned()];
        while let Some(directory) = left.pop() {
            for entry in fs::read_dir(directory).unwrap().flatten() {
                if entry.file_type().unwrap().is_dir() {
                    left.push(entry.path());
                } else if entry.file_name().to_string_lossy().starts_with(".tmp-") {
                    self.faults.push(format!("{} is left", entry.path().display()));
                }
            }
        }
    }
}

/// The event or schedule that a task is of, which has the same name whatever number the task got.
fn event_of(folder: &Folder, task: &str) -> String {
    let id = Id::parse(task).unwrap();
    let Some(place) = folder.find(Kind::Task, &id) else { return format!("no task {task}") };
    unnumbered(&folder.read(place, &id).unwrap().text("event_id").unwrap())
}

/// A text without the numbers of tasks: a crash may leave a hole in them.
fn unnumbered(text: &str) -> String {
    let mut parts = text.split("task-");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest =
            part.get(DAY.len()..).unwrap_or_default().trim_start_matches(|char: char| char.is_ascii_digit());
        plain = format!("{plain}task{rest}");
    }
    plain
}

/// A prime, so that it falls on operations of every kind.
const STRIDE: usize = 17;
const MOST_IN_A_REPAIR: usize = 100;
const DAY: &str = "20260207-";
