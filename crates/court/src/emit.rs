//! Takes in events and messages from anybody on this host (C16b, C18).

use crate::{
    Document, FILE_BYTES_MAX, Fault, Folder, Id, Kind, Place, Series,
    document::document,
    file::{NewMessage, stamp},
};
use jiff::Timestamp;
use std::sync::atomic::{AtomicU64, Ordering};

/// The result of submitting an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Emitted {
    /// It is in `pending/`.
    New(Id),
    /// It had been there, or is further on: this one is dropped (C8).
    Duplicate(Id),
}

/// Puts an event before the king; fills in what it may lack.
pub fn emit(folder: &Folder, mut event: Document, now: Timestamp) -> Result<Emitted, Fault> {
    if !event.has("id") {
        event.set("id", &unique(&event, now));
    }
    let defaults = document! {
        "repo": (), "priority": "normal", "created_at": stamp(now), "status": "pending",
    };
    for key in defaults.keys() {
        if !event.has(key) {
            event.set_raw(key, defaults.raw(key).unwrap_or_default());
        }
    }
    let id = event.text("id").ok_or_else(|| Fault::Invalid("id must be a string".to_owned()))?;
    let id = Id::parse(&id).map_err(|error| Fault::Invalid(format!("id: {error}")))?;
    check(Kind::Event, &event)?;
    event.set("status", "pending");
    if folder.find(Kind::Event, &id).is_some() || !folder.create(Place::EventsPending, &id, &event)? {
        return Ok(Emitted::Duplicate(id));
    }
    Ok(Emitted::New(id))
}

/// Puts a message before the envoy.
pub fn send(folder: &Folder, message: &NewMessage, now: Timestamp) -> Result<Id, Fault> {
    let id = folder.next_id(Series::Message, now)?;
    check(Kind::Message, &message.document(&id, now))?;
    say(folder, &id, message, now)?;
    Ok(id)
}

/// Puts a message whose number has been reserved before the envoy, unless that was done before: a crash may have come
/// right after it.
pub fn say(folder: &Folder, id: &Id, message: &NewMessage, now: Timestamp) -> Result<(), Fault> {
    if folder.find(Kind::Message, id).is_none() {
        folder.create(Place::MessagesPending, id, &message.document(id, now))?;
    }
    Ok(())
}

/// Holds what somebody hands in against its schema, and against what is taken from anybody (C23).
fn check(kind: Kind, document: &Document) -> Result<(), Fault> {
    let file = document.to_file();
    if file.len() > FILE_BYTES_MAX {
        return Err(Fault::Invalid(format!(
            "it has {} bytes; at most {FILE_BYTES_MAX} are taken",
            file.len()
        )));
    }
    crate::folder::validated(kind, file.as_bytes()).map(|_| ())
}

impl Emitted {
    /// The event's id.
    #[must_use]
    pub const fn id(&self) -> &Id {
        match self {
            Self::New(id) | Self::Duplicate(id) => id,
        }
    }
}

/// An id for an event that has no natural one.
fn unique(event: &Document, now: Timestamp) -> String {
    static EMITTED: AtomicU64 = AtomicU64::new(0);
    let source =
        event.text("source").filter(|source| Id::parse(source).is_ok() && source.len() <= SOURCE_MAX);
    let source = source.unwrap_or_else(|| "unknown".to_owned());
    let number = EMITTED.fetch_add(1, Ordering::Relaxed);
    format!("evt-{source}-{}-{}-{number}", now.as_microsecond(), std::process::id())
}

const SOURCE_MAX: usize = 100;
