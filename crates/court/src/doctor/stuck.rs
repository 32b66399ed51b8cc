//! Everything that does not go on by itself, each with a reason and what to do (C21).

mod events;
mod leftovers;
mod messages;
mod tasks;

pub(super) use events::is_begun;
pub(super) use tasks::running;

use super::{sentence, stamped, written};
use crate::{
    Document, Fault, Folder, Id, Kind, Place, RoleLock,
    config::Court,
    roles::chamberlain::{self, Colour},
};
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use std::collections::BTreeSet;

/// Something that does not go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stuck {
    /// `event`, `task`, `message` or `file`.
    pub what: &'static str,
    /// Its id, or its name where it has none.
    pub id: String,
    /// The directory it lies in, from the court's home.
    pub place: &'static str,
    /// Since when nothing has happened to it.
    #[serde(serialize_with = "stamped")]
    pub since: Option<Timestamp>,
    /// Why, in one sentence.
    pub why: String,
    /// What to do about it.
    pub next: String,
}

/// What a visit found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Findings {
    /// What needs somebody.
    pub stuck: Vec<Stuck>,
    /// What is worth knowing.
    pub notes: Vec<String>,
}

/// Looks everywhere for what is stuck. Of what is over only names are looked at, however much there is.
pub fn stuck(folder: &Folder, court: &Court, now: Timestamp) -> Result<Findings, Fault> {
    let visit = Visit::new(folder, court, now);
    let mut findings = Findings::default();
    visit.events(&mut findings)?;
    visit.tasks(&mut findings)?;
    visit.messages(&mut findings)?;
    visit.leftovers(&mut findings)?;
    Ok(findings)
}

/// What is known before anything is looked at.
pub(super) struct Visit<'a> {
    pub(super) folder: &'a Folder,
    pub(super) court: &'a Court,
    now: Timestamp,
    /// The colour that the king goes by (C19).
    pub(super) colour: Colour,
    /// Roles that somebody has.
    running: BTreeSet<String>,
}

/// A file that may be stuck.
struct Suspect<'a> {
    what: &'static str,
    place: Place,
    id: &'a Id,
    since: Option<Timestamp>,
}

impl<'a> Visit<'a> {
    pub(super) fn new(folder: &'a Folder, court: &'a Court, now: Timestamp) -> Self {
        let generals = court.generals.keys().map(|name| general_role(name));
        let roles = generals.chain(["king".to_owned(), "envoy".to_owned(), "chamberlain".to_owned()]);
        let running = roles.filter(|role| RoleLock::is_held(folder, role)).collect();
        let colour = chamberlain::obeyed_health(folder, &court.settings.king, now);
        Self { folder, court, now, colour, running }
    }

    /// The files of a place that have lain there longer than `patience`.
    fn suspects(
        &self,
        place: Place,
        patience: SignedDuration,
    ) -> Result<Vec<(Id, Option<Timestamp>)>, Fault> {
        let ids = self.folder.listed(place)?.into_iter();
        let dated = ids.map(|id| (written(&self.folder.file(place, &id)), id));
        // A file that is gone has moved on; one that has no time is as old as can be.
        let dated = dated.filter(|(_, id)| self.folder.has(place, id));
        let mut late: Vec<_> = dated
            .filter(|(since, _)| self.is_late(*since, patience))
            .map(|(since, id)| (id, since))
            .collect();
        late.sort();
        Ok(late)
    }

    fn is_late(&self, since: Option<Timestamp>, patience: SignedDuration) -> bool {
        since.is_none_or(|since| self.now.duration_since(since) > patience)
    }

    pub(super) fn is_running(&self, role: &str) -> bool {
        self.running.contains(role)
    }

    /// Reads a suspect; one that has gone meanwhile is none. What cannot be read is stuck for that reason alone.
    fn read(&self, suspect: &Suspect<'_>, findings: &mut Findings) -> Option<Document> {
        match self.folder.read(suspect.place, suspect.id) {
            Ok(document) => Some(document),
            Err(Fault::Gone(_)) => None,
            Err(error) => {
                let why = format!("it cannot be read: {}", sentence(&error.to_string()));
                findings.stuck.push(suspect.stuck(why, UNREADABLE));
                None
            }
        }
    }

    /// What is wrong with where a file lies, or with what it says about that.
    fn misplaced(&self, suspect: &Suspect<'_>, document: &Document) -> Option<Stuck> {
        let Suspect { place, id, .. } = *suspect;
        let others = place.kind().places().iter().filter(|other| **other != place);
        if let Some(other) = others.copied().find(|other| self.folder.has(*other, id)) {
            // It may have moved on between the two looks.
            let why = format!("it lies in {} as well", other.path());
            return self.folder.has(place, id).then(|| suspect.stuck(why, TWO_PLACES));
        }
        let status = document.text("status").unwrap_or_default();
        let is_right = place.statuses().is_empty() || place.statuses().contains(&status.as_str());
        let is_on_its_way = ["dispatch", "outcome", "closing"].iter().any(|key| document.has(key));
        let why = format!("its status is {}, which is none of its directory", sentence(&status));
        (!is_right && !is_on_its_way).then(|| suspect.stuck(why, MENDED))
    }
}

impl Suspect<'_> {
    fn stuck(&self, why: impl Into<String>, next: impl Into<String>) -> Stuck {
        Stuck {
            what: self.what,
            id: self.id.to_string(),
            place: self.place.path(),
            since: self.since,
            why: why.into(),
            next: next.into(),
        }
    }
}

pub(super) fn general_role(name: &str) -> String {
    format!("general-{name}")
}

const fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Event => "event",
        Kind::Task => "task",
        Kind::Message => "message",
        Kind::Result | Kind::Record => "file",
    }
}

/// Three polls of the king or a general.
const PATIENCE: SignedDuration = SignedDuration::from_secs(30);
const NO_KING: &str = "no king is running";
const START_KING: &str = "start `muster court king`, or `muster court run`";
const UNREADABLE: &str =
    "its consumer sets it apart in rejected/ when it runs; mend it and put it back from there";
const TWO_PLACES: &str =
    "remove the one in the earlier directory, unless it is another matter of the same name";
const MENDED: &str = "it is mended when the role that consumes it starts again";

#[cfg(test)]
mod tests;
