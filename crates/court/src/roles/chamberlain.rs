//! Watches the host (C19).

mod host;

pub use host::{Sample, SenseError};

use crate::{
    Clock, Document, Fault, Folder, Id, Series, config, emit,
    file::{MessageKind, NewMessage, Priority, Urgency, instant, stamp},
    words::words,
};
use host::Senses;
use jiff::{SignedDuration, Timestamp};
use std::{sync::Arc, time::Duration};
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

/// Looks after the host until it is told to stop; a host that cannot be read at all is an error.
pub async fn run(
    folder: Arc<Folder>,
    settings: config::Chamberlain,
    channel: String,
    stop: CancellationToken,
) -> Result<(), SenseError> {
    folder.beat(ROLE, Clock.now());
    let mut looks = interval(config::seconds(settings.every_s));
    let mut beats = interval(BEAT);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mind = Chamberlain::new(settings, channel);
    let mut senses = Senses::new(folder.home())?;
    // The processors' load is what happens between two readings, so the first look needs a moment to look at.
    tokio::time::sleep(FIRST_READING).await;
    loop {
        tokio::select! {
            () = stop.cancelled() => return Ok(()),
            _ = beats.tick() => folder.beat(ROLE, Clock.now()),
            _ = looks.tick() => look(&folder, &mind, &mut senses),
        }
    }
}

/// One look; what goes wrong is tried again at the next, and until then the king sees the last one grow old.
fn look(folder: &Folder, mind: &Chamberlain, senses: &mut Senses) {
    match senses.sample() {
        Ok(sample) => {
            if let Err(error) = mind.look(folder, &sample, Clock.now()) {
                tracing::warn!(%error, "the host's health was not written");
            }
        }
        Err(error) => tracing::warn!(%error, "the host's health is not known"),
    }
}

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
        let before = before.and_then(|before| Colour::from_word(&before.text("health")?));
        let colour = Colour::at(sample.highest(), &self.limits);
        let calm = report(folder, sample, colour, now);
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

    /// The message; it follows from the file alone, so it is the same after a restart.
    fn message(&self, resources: &Document, alert: &Document) -> NewMessage {
        let health = resources.text("health").unwrap_or_default();
        let before = alert.text("from").map(|from| format!(" (was {from})")).unwrap_or_default();
        let system = resources.object("system").unwrap_or_default();
        let percent = |key: &str| system.raw(key).unwrap_or("?").to_owned();
        let meaning = Colour::from_word(&health).map_or("", meaning);
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

/// The last report; an unreadable file counts as none.
fn last(folder: &Folder) -> Option<Document> {
    Document::parse(&folder.bytes(&folder.path(RESOURCES)).ok()?).ok()
}

fn write(folder: &Folder, resources: &Document) -> Result<(), Fault> {
    folder.replace(&folder.path(RESOURCES), resources.to_file().as_bytes())
}

fn report(folder: &Folder, sample: &Sample, colour: Colour, now: Timestamp) -> Document {
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

words! {
    /// The health of the host.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Colour {
        /// Everything.
        Green = "green",
        /// Only what is urgent.
        Yellow = "yellow",
        /// Nothing more.
        Orange = "orange",
        /// Nothing more, and it is serious.
        Red = "red",
    }
}

/// The host's health by the chamberlain's last report. A report that is missing, empty or stale counts as orange.
#[must_use]
pub fn health(folder: &Folder, now: Timestamp) -> Colour {
    reported(folder, now).unwrap_or(Colour::Orange)
}

/// The colour that the king goes by (C19): the host's health if it is reported to obey it, else green, which holds nothing
/// back.
#[must_use]
pub fn obeyed_health(folder: &Folder, king: &config::King, now: Timestamp) -> Colour {
    if king.obey_health { health(folder, now) } else { Colour::Green }
}

impl Colour {
    /// The colour of a percentage in use.
    #[must_use]
    pub fn at(percent: f64, limits: &config::Chamberlain) -> Self {
        if percent >= limits.red_percent {
            Self::Red
        } else if percent >= limits.orange_percent {
            Self::Orange
        } else if percent >= limits.yellow_percent {
            Self::Yellow
        } else {
            Self::Green
        }
    }

    /// True if the king may begin something of this priority.
    #[must_use]
    pub fn accepts(self, priority: Priority) -> bool {
        match self {
            Self::Green => true,
            Self::Yellow => priority == Priority::High,
            Self::Orange | Self::Red => false,
        }
    }
}

/// The reported colour, unless the report is stale or from the future.
fn reported(folder: &Folder, now: Timestamp) -> Option<Colour> {
    let document = Document::parse(&folder.bytes(&folder.path(RESOURCES)).ok()?).ok()?;
    let at = instant(&document.text("timestamp")?)?;
    let is_fresh = now.duration_since(at).abs() <= AGE_MAX;
    Colour::from_word(&document.text("health")?).filter(|_| is_fresh)
}

const ROLE: &str = "chamberlain";
const BEAT: Duration = Duration::from_secs(10);
const FIRST_READING: Duration = Duration::from_millis(200);
/// The chamberlain's report.
pub(crate) const RESOURCES: &str = "state/resources.json";
const AGE_MAX: SignedDuration = SignedDuration::from_secs(120);

#[cfg(test)]
mod tests;
