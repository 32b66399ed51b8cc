//! Everything about one task.

use crate::{
    desk::Look,
    wire::{Station, Story},
};
use muster_court::{
    Document, Folder, Id, Kind, Place,
    doctor::{Entry, timeline},
};
use serde_json::value::RawValue;
use std::{collections::BTreeMap, time::UNIX_EPOCH};

/// Tells the story of a task, or of an event; nothing where no file knows the id.
pub(crate) fn story(look: &Look, id: &Id) -> Option<Story> {
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

/// What has no time of its own stands as things are: since its file was written.
fn station(look: &Look, entry: Entry) -> Station {
    let written = || {
        let data = look.folder.path(&entry.file).symlink_metadata().ok()?;
        let at = data.modified().ok()?.duration_since(UNIX_EPOCH).ok()?.as_millis();
        i64::try_from(at).ok()
    };
    let at = entry.at.map(jiff::Timestamp::as_millisecond).or_else(written);
    let place = entry.file.rsplit_once('/').map(|(place, _)| place.to_owned()).unwrap_or_default();
    Station { at: at.unwrap_or_else(|| look.now.as_millisecond()), place, what: entry.what, file: entry.file }
}

/// Attempts are bounded by retries; this is for whoever writes files by hand.
const STATIONS_MAX: usize = 1000;
