//! What must hold when a story is over, however often it was interrupted.

use crate::world::World;
use muster_court::{Document, Folder, Id, Kind, Place};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

/// What a court holds at the end.
#[derive(Debug)]
pub(crate) struct Findings {
    /// What was made, without the numbers: events with their outcome, tasks, results, messages.
    pub(crate) made: BTreeMap<String, usize>,
    /// What must never be.
    pub(crate) faults: Vec<String>,
    /// Posts beyond one per message.
    pub(crate) repeated_posts: usize,
}

impl Findings {
    pub(crate) fn of(world: &World) -> Self {
        let folder = Folder::open(world.home()).unwrap();
        // Whoever wrote is this very process, and alive: only age tells that nobody writes any more.
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

const DAY: &str = "20260207-";
