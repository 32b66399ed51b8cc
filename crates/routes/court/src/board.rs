//! The files of a court, bounded: the newest of each directory, within a budget of bytes.

use crate::{
    desk::OpenedCourt,
    wire::{Board, Card, Column, Station, Story},
};
use muster_court::{
    Document, Folder, Id, Kind, Place,
    doctor::{Entry, timeline},
};
use muster_http::Problem;
use serde_json::value::RawValue;
use std::{
    collections::{BTreeMap, BTreeSet},
    time::UNIX_EPOCH,
};

/// Draws up the board.
pub(crate) fn board(look: &OpenedCourt) -> Result<Board, Problem> {
    let mut drawing = Drawing { folder: &look.folder, bytes_left: BYTES_MAX };
    let mut places = Vec::new();
    for (name, title, place) in BEFORE {
        places.push(drawing.column(Heading { place: name, title }, place)?);
    }
    places.extend(drawing.ended()?);
    for (name, title, place) in MESSAGES {
        places.push(drawing.column(Heading { place: name, title }, place)?);
    }
    Ok(Board { places })
}

struct Drawing<'a> {
    folder: &'a Folder,
    /// Bytes that may still be read for this response.
    bytes_left: u64,
}

/// The name and the title of a column.
struct Heading {
    place: &'static str,
    title: &'static str,
}

/// A file of a directory.
struct ListedFile {
    id: Id,
    at: i64,
    bytes: u64,
}

impl Drawing<'_> {
    fn column(&mut self, heading: Heading, from: Place) -> Result<Column, Problem> {
        let (count, found) = self.newest(from, ITEMS_MAX)?;
        let items = found.into_iter().map(|found| self.card(from, found)).collect();
        Ok(heading.column(count, items))
    }

    /// Tasks that are over lie in one directory; people look for those that wait for them, and those that failed.
    fn ended(&mut self) -> Result<[Column; 3], Problem> {
        let (asking, open) = self.asking()?;
        let (count, found) = self.newest(Place::TasksCompleted, ENDED_LOOKED_AT)?;
        let over = found.into_iter().filter(|found| !open.contains(&found.id));
        let cards: Vec<Card> = over.map(|found| self.card(Place::TasksCompleted, found)).collect();
        let (failed, done): (Vec<Card>, Vec<Card>) =
            cards.into_iter().partition(|card| card.status.as_deref() == Some("failed"));
        let done_count = count.saturating_sub(open.len()).saturating_sub(failed.len());
        Ok([
            asking,
            Heading { place: "tasks/completed", title: "Tasks: done" }.column(done_count, done),
            Heading { place: "tasks/failed", title: "Tasks: failed" }.column(failed.len(), failed),
        ])
    }

    /// The tasks whose questions are open, however long they have been over.
    fn asking(&mut self) -> Result<(Column, BTreeSet<Id>), Problem> {
        let open = self.folder.listed(Place::QuestionsOpen).map_err(|fault| Problem::internal(&fault))?;
        let (count, questions) = self.newest(Place::QuestionsOpen, ITEMS_MAX)?;
        let items = questions.into_iter().map(|question| self.asker(question)).collect();
        let heading = Heading { place: "tasks/needs_human", title: "Tasks: wait for an answer" };
        let column = heading.column(count, items);
        Ok((column, open.into_iter().collect()))
    }

    /// The task of a question, since when it asks.
    fn asker(&mut self, ListedFile { id, at, .. }: ListedFile) -> Card {
        let place = self.folder.find(Kind::Task, &id).unwrap_or(Place::TasksCompleted);
        let bytes = self.find(place, id.clone()).map_or(0, |task| task.bytes);
        self.card(place, ListedFile { id, at, bytes })
    }

    /// The number of files in a directory, and the newest of them. Of very many only the last names are looked at.
    fn newest(&self, place: Place, max: usize) -> Result<(usize, Vec<ListedFile>), Problem> {
        let mut ids = self.folder.listed(place).map_err(|fault| Problem::internal(&fault))?;
        let count = ids.len();
        if count > NAMES_LOOKED_AT {
            ids.sort_unstable();
            ids.drain(..count - NAMES_LOOKED_AT);
        }
        let mut found: Vec<ListedFile> = ids.into_iter().filter_map(|id| self.find(place, id)).collect();
        found.sort_unstable_by(|a, b| (b.at, &b.id).cmp(&(a.at, &a.id)));
        found.truncate(max);
        Ok((count, found))
    }

    fn find(&self, place: Place, id: Id) -> Option<ListedFile> {
        let data = self.folder.file(place, &id).symlink_metadata().ok()?;
        let at = data.modified().ok()?.duration_since(UNIX_EPOCH).ok()?.as_millis();
        Some(ListedFile { id, at: i64::try_from(at).unwrap_or(i64::MAX), bytes: data.len() })
    }

    /// A file in a few words; of one that cannot be read, or is beyond the budget, its name and time alone.
    fn card(&mut self, place: Place, found: ListedFile) -> Card {
        let document = match self.bytes_left.checked_sub(found.bytes) {
            Some(left) => {
                self.bytes_left = left;
                self.folder.read(place, &found.id).ok()
            }
            None => None,
        };
        let text = |key: &str| document.as_ref().and_then(|document| document.text(key)).map(short);
        Card {
            id: found.id.to_string(),
            kind: word(place.kind()),
            title: document.as_ref().and_then(|document| title(place.kind(), document)).map(short),
            general: text("target_general"),
            priority: text("priority"),
            status: text("status"),
            at: found.at,
        }
    }
}

fn title(kind: Kind, document: &Document) -> Option<String> {
    let of_payload = || {
        let payload = document.object("payload")?;
        ["title", "subject", "summary"].iter().find_map(|key| payload.text(key))
    };
    match kind {
        Kind::Message => document.text("content"),
        _ => of_payload().or_else(|| document.text("type")),
    }
}

impl Heading {
    fn column(self, count: usize, mut items: Vec<Card>) -> Column {
        items.truncate(ITEMS_MAX);
        Column { place: self.place, title: self.title, count, shown: items.len(), items }
    }
}

const fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Event => "event",
        Kind::Message => "message",
        Kind::Task | Kind::Result | Kind::Record => "task",
    }
}

/// A title is one line; where others ended is still seen.
fn short(text: String) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines.join(" · ").chars().filter(|char| !char.is_control()).take(TITLE_CHARS_MAX).collect()
}

/// Tells the story of a task, or of an event; nothing where no file knows the id.
pub(crate) fn story(look: &OpenedCourt, id: &Id) -> Option<Story> {
    let told = timeline(&look.folder, id)?;
    let event = told.event_id.as_deref().and_then(|event| Id::parse(event).ok());
    let task = told.task_id.as_deref().and_then(|task| Id::parse(task).ok());
    let mut documents = BTreeMap::new();
    if let Some(task) = &task {
        add(&mut documents, "task", find(&look.folder, Kind::Task, task));
        add(&mut documents, "result", find(&look.folder, Kind::Result, task));
        let asked = [Place::QuestionsOpen, Place::QuestionsAnswered];
        let question = asked.iter().find_map(|place| look.folder.read(*place, task).ok());
        add(&mut documents, "question", question);
    }
    add(&mut documents, "event", event.and_then(|event| find(&look.folder, Kind::Event, &event)));
    let mut stations: Vec<Station> =
        told.entries.into_iter().take(STATIONS_MAX).map(|entry| station(look, entry)).collect();
    // Those without a time of their own got one only now.
    stations.sort_by_key(|station| station.at);
    Some(Story {
        task_id: told.task_id.unwrap_or_else(|| id.to_string()),
        state: told.status.unwrap_or_default(),
        timeline: stations,
        documents,
    })
}

fn find(folder: &Folder, kind: Kind, id: &Id) -> Option<Document> {
    folder.find(kind, id).and_then(|place| folder.read(place, id).ok())
}

fn add(
    documents: &mut BTreeMap<&'static str, Box<RawValue>>,
    name: &'static str,
    document: Option<Document>,
) {
    let raw = document.and_then(|document| RawValue::from_string(document.to_json()).ok());
    documents.extend(raw.map(|raw| (name, raw)));
}

/// An entry without a time of its own gets the time at which its file was written.
fn station(look: &OpenedCourt, entry: Entry) -> Station {
    let written = || {
        let data = look.folder.path(&entry.file).symlink_metadata().ok()?;
        let at = data.modified().ok()?.duration_since(UNIX_EPOCH).ok()?.as_millis();
        i64::try_from(at).ok()
    };
    let at = entry.at.map(jiff::Timestamp::as_millisecond).or_else(written);
    let place = entry.file.rsplit_once('/').map(|(place, _)| place.to_owned()).unwrap_or_default();
    Station { at: at.unwrap_or_else(|| look.now.as_millisecond()), place, what: entry.what, file: entry.file }
}

const BEFORE: [(&str, &str, Place); 5] = [
    ("events/pending", "Events: pending", Place::EventsPending),
    ("events/dispatched", "Events: dispatched", Place::EventsDispatched),
    ("events/completed", "Events: over", Place::EventsCompleted),
    ("tasks/pending", "Tasks: pending", Place::TasksPending),
    ("tasks/in_progress", "Tasks: in progress", Place::TasksInProgress),
];
const MESSAGES: [(&str, &str, Place); 3] = [
    ("messages/pending", "Messages: to be sent", Place::MessagesPending),
    ("messages/sent", "Messages: sent", Place::MessagesSent),
    ("messages/failed", "Messages: failed", Place::MessagesFailed),
];
const ITEMS_MAX: usize = 100;
const ENDED_LOOKED_AT: usize = 1000;
const NAMES_LOOKED_AT: usize = 10_000;
const BYTES_MAX: u64 = 16 * 1024 * 1024;
const TITLE_CHARS_MAX: usize = 200;
/// Attempts are bounded by retries; this is for whoever writes files by hand.
const STATIONS_MAX: usize = 1000;

#[cfg(test)]
mod tests {
    use super::*;

    /// C10: several lines of a message are one title, and do not run into each other.
    #[test]
    fn a_title_is_one_line() {
        assert_eq!(
            short("task-1\n\n  I do not know.\r\nWhom?\u{7}".into()),
            "task-1 · I do not know. · Whom?"
        );
        assert_eq!(short("é".repeat(300)), "é".repeat(200));
    }
}
