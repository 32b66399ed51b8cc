//! Whose turn it is: the order of messages within a task, and who waits for another try (C18).

use crate::{Document, Id, roles::pause::Pause};
use jiff::{SignedDuration, Timestamp};
use std::collections::{BTreeMap, BTreeSet};

/// The messages that are to be posted, by their turn.
///
/// Only what decides about turns is kept: thousands of long messages may wait.
#[derive(Debug, Default)]
pub(super) struct Queue {
    /// The line that a message stands in, by its turn.
    lines: BTreeMap<Turn, String>,
    /// The lines in which nobody moves for now.
    setbacks: BTreeMap<String, Setback>,
}

/// By day and number; the id tells apart what should not have the same.
type Turn = (u32, u64, Id);

#[derive(Debug)]
struct Setback {
    id: Id,
    tries: usize,
    pause: Pause,
}

impl Queue {
    pub(super) fn has(&self, id: &Id) -> bool {
        self.lines.contains_key(&turn(id))
    }

    pub(super) fn insert(&mut self, id: &Id, document: &Document) {
        self.lines.insert(turn(id), line(id, document));
    }

    /// Forgets a message, and that it failed.
    pub(super) fn remove(&mut self, id: &Id) {
        if let Some(line) = self.lines.remove(&turn(id)) {
            self.setbacks.remove(&line);
        }
    }

    /// Forgets all others.
    pub(super) fn keep(&mut self, ids: &BTreeSet<Id>) {
        let gone: Vec<Id> =
            self.lines.keys().map(|turn| &turn.2).filter(|id| !ids.contains(id)).cloned().collect();
        gone.iter().for_each(|id| self.remove(id));
    }

    /// Whose turn it is. Within a line nobody overtakes; a line that waits holds up no other.
    pub(super) fn head(&self, now: Timestamp) -> Option<Id> {
        let may_go = |line: &String| self.setbacks.get(line).is_none_or(|setback| setback.pause.is_over(now));
        self.lines.iter().find(|(_, line)| may_go(line)).map(|(turn, _)| turn.2.clone())
    }

    /// Notes a try that failed; says whether there is another one, which must wait.
    pub(super) fn set_back(&mut self, id: &Id, now: Timestamp) -> bool {
        let Some(line) = self.lines.get(&turn(id)) else { return false };
        let before =
            self.setbacks.get(line).filter(|setback| setback.id == *id).map_or(0, |setback| setback.tries);
        let Some(wait) = WAITS.get(before) else { return false };
        let pause = Pause::of(*wait, now);
        self.setbacks.insert(line.clone(), Setback { id: id.clone(), tries: before + 1, pause });
        true
    }

    /// Lets a line wait without counting a try: it was not the message's fault.
    pub(super) fn rest(&mut self, id: &Id, now: Timestamp) {
        let Some(line) = self.lines.get(&turn(id)) else { return };
        let pause = Pause::of(REST, now);
        let setback =
            self.setbacks.entry(line.clone()).or_insert(Setback { id: id.clone(), tries: 0, pause });
        setback.pause = pause;
    }

    /// When the next line may move again.
    pub(super) fn next_deadline(&self, now: Timestamp) -> Option<Timestamp> {
        let pauses = self.setbacks.values().map(|setback| setback.pause);
        pauses.filter(|pause| !pause.is_over(now)).map(Pause::until).min()
    }
}

/// Messages of one task follow each other; one that belongs to no task stands alone.
fn line(id: &Id, document: &Document) -> String {
    let task = document.object("context").and_then(|context| context.text("task_id"));
    task.unwrap_or_else(|| id.to_string())
}

fn turn(id: &Id) -> Turn {
    let mut parts = id.as_str().rsplitn(3, '-');
    let number = parts.next().and_then(|number| number.parse().ok()).unwrap_or(u64::MAX);
    let day = parts.next().and_then(|day| day.parse().ok()).unwrap_or(u32::MAX);
    (day, number, id.clone())
}

/// How long to wait after each try that failed; after one more it is over.
const WAITS: [SignedDuration; 2] = [SignedDuration::from_secs(1), SignedDuration::from_secs(5)];
/// Long enough that others get their turn when one file cannot be dealt with.
const REST: SignedDuration = SignedDuration::from_secs(30);
