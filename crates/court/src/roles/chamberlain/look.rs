//! The chamberlain's mind: what a reading means, and whom to tell.

use super::{
    Sample,
    colour::{Colour, RESOURCES},
};
use crate::{
    Document, Fault, Folder, Id, Series, config, emit,
    file::{MessageKind, NewMessage, Urgency, stamp},
};
use jiff::Timestamp;

/// Judges readings and writes them down.
#[derive(Clone, Debug)]
pub struct Chamberlain {
    limits: config::Chamberlain,
    channel: String,
}

impl Chamberlain {
    /// A chamberlain that tells this channel of changes.
    #[must_use]
    pub const fn new(limits: config::Chamberlain, channel: String) -> Self {
        Self { limits, channel }
    }

    /// Writes down how the host is, and tells people when its colour has changed.
    ///
    /// An alert that is due stands in the file, with its message's id, until the message is written: a crash on the way
    /// neither loses nor doubles it.
    pub fn look(&self, folder: &Folder, sample: &Sample, now: Timestamp) -> Result<Colour, Fault> {
        let before = last(folder);
        if let Some(before) = &before {
            self.tell(folder, before, now)?;
        }
        let before = before.and_then(|before| Colour::of(&before.text("health")?));
        let colour = Colour::at(sample.highest(), &self.limits);
        let calm = told(folder, sample, colour, now);
        if before.unwrap_or(Colour::Green) == colour {
            write(folder, &calm)?;
            return Ok(colour);
        }
        let mut alarmed = calm.clone();
        alarmed.set_object("alert", &alert(&folder.next_id(Series::Message, now)?, before));
        write(folder, &alarmed)?;
        self.tell(folder, &alarmed, now)?;
        write(folder, &calm)?;
        Ok(colour)
    }

    /// Writes the message of an alert that stands in the file.
    fn tell(&self, folder: &Folder, resources: &Document, now: Timestamp) -> Result<(), Fault> {
        let Some(alert) = resources.object("alert") else { return Ok(()) };
        let Some(id) = alert.text("message").and_then(|id| Id::parse(&id).ok()) else { return Ok(()) };
        emit::say(folder, &id, &self.message(resources, &alert), now)
    }

    /// What people read; made of the file alone, so that it is the same after a restart.
    fn message(&self, resources: &Document, alert: &Document) -> NewMessage {
        let health = resources.text("health").unwrap_or_default();
        let before = alert.text("from").map(|from| format!(" (was {from})")).unwrap_or_default();
        let system = resources.object("system").unwrap_or_default();
        let percent = |key: &str| system.raw(key).unwrap_or("?").to_owned();
        let meaning = Colour::of(&health).map_or("", meaning);
        let content = format!(
            "Host health is {health}{before}: CPU {} %, memory {} %, disk {} %. {meaning}",
            percent("cpu_percent"),
            percent("memory_percent"),
            percent("disk_percent"),
        );
        let mut context = Document::new();
        context.set_text("health", &health);
        let (channel, urgency) = (self.channel.clone(), Urgency::High);
        NewMessage { kind: MessageKind::Report, channel, urgency, content, context }
    }
}

/// What was written last; a file that cannot be understood says nothing.
fn last(folder: &Folder) -> Option<Document> {
    Document::parse(&folder.bytes(&folder.path(RESOURCES)).ok()?).ok()
}

fn write(folder: &Folder, resources: &Document) -> Result<(), Fault> {
    folder.replace(&folder.path(RESOURCES), resources.to_file().as_bytes())
}

fn told(folder: &Folder, sample: &Sample, colour: Colour, now: Timestamp) -> Document {
    let mut system = sample.document();
    system.set_object("roles", &roles(folder, now));
    let mut document = Document::new();
    document
        .set_text("timestamp", &stamp(now))
        .set_text("health", colour.word())
        .set_object("system", &system);
    document
}

fn roles(folder: &Folder, now: Timestamp) -> Document {
    let mut roles = Document::new();
    for (name, beat) in folder.heartbeats() {
        let mut role = Document::new();
        role.set_number("pid", beat.pid)
            .set_text("at", &stamp(beat.at))
            .set_number("age_s", beat.age(now).as_secs().unsigned_abs())
            .set_raw("alive", beat.is_alive(now).to_string());
        roles.set_object(&name, &role);
    }
    roles
}

fn alert(message: &Id, from: Option<Colour>) -> Document {
    let mut alert = Document::new();
    alert.set_text("message", message.as_str());
    if let Some(from) = from {
        alert.set_text("from", from.word());
    }
    alert
}

const fn meaning(colour: Colour) -> &'static str {
    match colour {
        Colour::Green => "Everything is taken up again.",
        Colour::Yellow => "Only events of high priority are taken up.",
        Colour::Orange | Colour::Red => "No new events are taken up until this changes.",
    }
}
