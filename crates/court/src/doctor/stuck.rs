//! Everything that does not go on by itself, each with a reason and what to do (C21).

use super::{sentence, stamped, written};
use crate::{
    Document, Fault, Folder, Id, Kind, Place, RoleLock,
    config::{Court, General, seconds},
    file::{Priority, instant},
    folder::{TEMPORARY, TEMPORARY_AGE_MAX},
    layout::{ATTEMPTS, OTHERS, REJECTED},
    roles::chamberlain::{self, Colour},
};
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    fs,
    path::Path,
};

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
    /// The reason, in one sentence.
    pub why: String,
    /// The advice: what to do about it.
    pub next: String,
}

/// The findings of one visit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Findings {
    /// Everything that needs a person.
    pub stuck: Vec<Stuck>,
    /// Remarks that need no action.
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

/// The state of the court at the start of a visit.
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
#[derive(Clone)]
struct Suspect {
    place: Place,
    id: Id,
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
    fn suspects(&self, place: Place, patience: SignedDuration) -> Result<Vec<Suspect>, Fault> {
        let ids = self.folder.listed(place)?.into_iter();
        let suspects = ids.map(|id| Suspect { place, since: written(&self.folder.file(place, &id)), id });
        // A file that is gone has moved on; one that has no time is as old as can be.
        let there = suspects.filter(|suspect| self.folder.has(place, &suspect.id));
        let mut late: Vec<_> = there.filter(|suspect| self.is_late(suspect.since, patience)).collect();
        late.sort_by(|one, other| one.id.cmp(&other.id));
        Ok(late)
    }

    fn is_late(&self, since: Option<Timestamp>, patience: SignedDuration) -> bool {
        since.is_none_or(|since| self.now.duration_since(since) > patience)
    }

    pub(super) fn is_running(&self, role: &str) -> bool {
        self.running.contains(role)
    }

    /// Reads a suspect; one that has gone meanwhile is none. What cannot be read is stuck for that reason alone.
    fn read(&self, suspect: &Suspect, findings: &mut Findings) -> Option<Document> {
        match self.folder.read(suspect.place, &suspect.id) {
            Ok(document) => Some(document),
            Err(Fault::Gone(_)) => None,
            Err(error) => {
                let why = format!("it cannot be read: {}", sentence(&error.to_string()));
                findings.stuck.push(suspect.stuck(why, UNREADABLE));
                None
            }
        }
    }

    /// Finds a file that lies in two directories, or whose status does not fit its directory.
    fn misplaced(&self, suspect: &Suspect, document: &Document) -> Option<Stuck> {
        let Suspect { place, id, .. } = suspect;
        let others = place.kind().places().iter().filter(|other| *other != place);
        if let Some(other) = others.copied().find(|other| self.folder.has(*other, id)) {
            // It may have moved on between the two looks.
            let why = format!("it lies in {} as well", other.path());
            return self.folder.has(*place, id).then(|| suspect.stuck(why, TWO_PLACES));
        }
        let status = document.text("status").unwrap_or_default();
        let is_right = place.statuses().is_empty() || place.statuses().contains(&status.as_str());
        let is_on_its_way = ["dispatch", "outcome", "closing"].iter().any(|key| document.has(key));
        let why = format!("its status is {}, which is none of its directory", sentence(&status));
        (!is_right && !is_on_its_way).then(|| suspect.stuck(why, MENDED))
    }
}

impl Suspect {
    fn stuck(&self, why: impl Into<String>, next: impl Into<String>) -> Stuck {
        Stuck {
            what: word(self.place.kind()),
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

impl Visit<'_> {
    fn events(&self, findings: &mut Findings) -> Result<(), Fault> {
        for place in [Place::EventsPending, Place::EventsDispatched] {
            for suspect in self.suspects(place, PATIENCE)? {
                let Some(event) = self.read(&suspect, findings) else { continue };
                let misplaced = self.misplaced(&suspect, &event);
                let lost = || match place {
                    Place::EventsPending => Some(self.waiting(&suspect, &event)),
                    _ => self.unfinished(&suspect, &event),
                };
                findings.stuck.extend(misplaced.or_else(lost));
            }
        }
        findings.notes.extend(self.held_back()?);
        Ok(())
    }

    /// Counts the events that only the host's health holds back; people who just submitted one want to know at once.
    fn held_back(&self) -> Result<Option<String>, Fault> {
        if self.colour == Colour::Green {
            return Ok(None);
        }
        let pending = self.folder.listed(Place::EventsPending)?.into_iter();
        let events = pending.filter_map(|id| self.folder.read(Place::EventsPending, &id).ok());
        let waiting = events.filter(|event| !is_begun(event) && !self.colour.accepts(Priority::of(event)));
        let count = waiting.count();
        Ok((count > 0).then(|| {
            let word = self.colour.as_str();
            format!("{count} events wait because the host's health is {word}; {LIMITS}")
        }))
    }

    /// Explains why an event still waits for the king.
    fn waiting(&self, suspect: &Suspect, event: &Document) -> Stuck {
        let priority = Priority::of(event);
        if !self.is_running("king") {
            return suspect.stuck(NO_KING, START_KING);
        }
        if is_begun(event) || self.colour.accepts(priority) {
            return suspect
                .stuck("the king has not taken it up", "look into the king's log, and start it again");
        }
        if !self.is_running("chamberlain") && self.colour == Colour::Orange {
            let why = "nobody has looked at the host for two minutes, so nothing is taken up";
            return suspect.stuck(why, "start `muster court chamberlain`, or `muster court run`");
        }
        let why = format!(
            "the host's health is {}, so events of {} priority wait",
            self.colour.as_str(),
            priority.as_str()
        );
        suspect.stuck(why, format!("see state/resources.json for what is scarce; {LIMITS}"))
    }

    /// Explains why a dispatched event can never be completed, if so. A slow task is reported as a task.
    fn unfinished(&self, suspect: &Suspect, event: &Document) -> Option<Stuck> {
        let restart =
            if self.is_running("king") { "start the king again: it finishes this first" } else { START_KING };
        if event.has("outcome") {
            return Some(suspect.stuck("it is over, but was not moved to completed", restart));
        }
        let task = event.object("dispatch").and_then(|plan| plan.text("task_id"));
        let Some(task) = task.and_then(|task| Id::parse(&task).ok()) else {
            return Some(suspect.stuck("it names no task", BACK_TO_PENDING));
        };
        match self.folder.find(Kind::Task, &task) {
            None => Some(suspect.stuck(format!("its task {task} is nowhere"), BACK_TO_PENDING)),
            Some(Place::TasksCompleted) if self.folder.has(Place::EventsDispatched, &suspect.id) => {
                Some(suspect.stuck(format!("its task {task} is over, but the event is not"), restart))
            }
            Some(_) => None,
        }
    }
}

/// True for events that the host's health never holds back: those already begun, and replies of people.
pub(super) fn is_begun(event: &Document) -> bool {
    let is_reply = event.text("type").as_deref() == Some("slack.thread.reply");
    event.has("dispatch") || event.has("outcome") || is_reply
}

impl Visit<'_> {
    fn messages(&self, findings: &mut Findings) -> Result<(), Fault> {
        for suspect in self.suspects(Place::MessagesPending, ENVOYS_PATIENCE)? {
            let Some(message) = self.read(&suspect, findings) else { continue };
            let waiting = || match self.is_running("envoy") {
                true => suspect.stuck(
                    "the envoy has not posted it",
                    "look into the envoy's log: the other side may be away, or ask for patience",
                ),
                false => {
                    suspect.stuck("no envoy is running", "start `muster court envoy`, or `muster court run`")
                }
            };
            findings.stuck.push(self.misplaced(&suspect, &message).unwrap_or_else(waiting));
        }
        self.failed(findings)
    }

    /// Messages that were given up. Only the latest are read: of a dead outlet there may be thousands.
    fn failed(&self, findings: &mut Findings) -> Result<(), Fault> {
        let mut failed = self.suspects(Place::MessagesFailed, SignedDuration::MIN)?;
        failed.sort_by_key(|suspect| std::cmp::Reverse(suspect.since));
        for suspect in failed.iter().take(READ_MAX) {
            let error =
                self.folder.read(suspect.place, &suspect.id).ok().and_then(|message| message.text("error"));
            let why = match error {
                Some(error) => format!("it could not be posted: {}", sentence(&error)),
                None => "it could not be posted".to_owned(),
            };
            findings.stuck.push(suspect.stuck(why, FAILED));
        }
        if failed.len() > READ_MAX {
            let more = failed.len() - READ_MAX;
            findings.notes.push(format!(
                "{more} more messages could not be posted, in {}",
                Place::MessagesFailed.path()
            ));
        }
        Ok(())
    }
}

impl Visit<'_> {
    fn leftovers(&self, findings: &mut Findings) -> Result<(), Fault> {
        for place in Place::all() {
            self.strays(place, findings)?;
        }
        for path in OTHERS.into_iter().chain(["state", "."]) {
            self.temporaries(path, findings);
        }
        findings.stuck.extend(self.homeless_results()?);
        findings.notes.extend(self.rejected());
        let questions = self.folder.listed(Place::QuestionsOpen)?.len();
        if questions > 0 {
            findings.notes.push(format!("{questions} questions wait for people: see `muster court inbox`"));
        }
        let health = chamberlain::health(self.folder, self.now);
        if health != Colour::Green {
            findings.notes.push(format!("the host's health counts as {}", health.as_str()));
        }
        Ok(())
    }

    fn strays(&self, place: Place, findings: &mut Findings) -> Result<(), Fault> {
        self.temporaries(place.path(), findings);
        for name in self.folder.names(place)?.iter().filter(|name| Id::of_file(name).is_none()) {
            let since = written(&self.folder.directory(place).join(name));
            if since.is_some() && self.is_late(since, PATIENCE) {
                findings.stuck.push(misnamed(place, name, since));
            }
        }
        Ok(())
    }

    fn temporaries(&self, path: &'static str, findings: &mut Findings) {
        let entries = fs::read_dir(self.folder.path(path)).into_iter().flatten().flatten();
        for entry in entries.filter(|entry| is_temporary(&entry.file_name())) {
            let since = written(&entry.path());
            if since.is_some() && self.is_late(since, TEMPORARY_AGE_MAX) {
                findings.stuck.push(unfinished(path, &entry.file_name(), since));
            }
        }
    }

    /// Results of the last day that belong to no task; older ones may have outlived theirs.
    fn homeless_results(&self) -> Result<Vec<Stuck>, Fault> {
        let late = self.suspects(Place::Results, PATIENCE)?.into_iter();
        let kept_days = self.court.settings.retention.tasks_days.clamp(0.0, 1.0);
        let kept = A_DAY.min(SignedDuration::from_secs_f64(kept_days * A_DAY.as_secs_f64()));
        let recent = late.filter(|suspect| !self.is_late(suspect.since, kept));
        let homeless = recent.filter(|suspect| self.folder.find(Kind::Task, &suspect.id).is_none());
        Ok(homeless.map(|suspect| suspect.stuck(NO_TASK, HOMELESS)).collect())
    }

    /// The files that were rejected within a day, with the reasons.
    fn rejected(&self) -> Option<String> {
        let entries = fs::read_dir(self.folder.path(REJECTED)).ok()?.flatten();
        let reasons = entries
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|end| end == "reason"));
        let dated = reasons.map(|path| (written(&path), path));
        let mut late: Vec<_> = dated.filter(|(since, _)| !self.is_late(*since, A_DAY)).collect();
        late.sort();
        let shown: Vec<String> =
            late.iter().rev().take(SHOWN_MAX).map(|(_, path)| self.refusal(path)).collect();
        let count = late.len();
        (count > 0)
            .then(|| format!("{count} files were refused within a day, the latest: {}", shown.join("; ")))
    }

    fn refusal(&self, reason: &Path) -> String {
        let name = reason.file_stem().unwrap_or_default().to_string_lossy();
        let text = self.folder.bytes(reason).unwrap_or_default();
        format!("{} ({})", sentence(&name), sentence(String::from_utf8_lossy(&text).trim()))
    }
}

fn is_temporary(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(TEMPORARY.as_bytes())
}

fn unfinished(place: &'static str, name: &OsStr, since: Option<Timestamp>) -> Stuck {
    let (id, why) = (sentence(&name.to_string_lossy()), "a writer died before it had finished".to_owned());
    Stuck { what: "file", id, place, since, why, next: "it is swept when a role starts".to_owned() }
}

fn misnamed(place: Place, name: &OsStr, since: Option<Timestamp>) -> Stuck {
    let (id, why) = (sentence(&name.to_string_lossy()), "its name is not {id}.json".to_owned());
    let next = "its consumer sets it apart in rejected/ when it runs".to_owned();
    Stuck { what: word(place.kind()), id, place: place.path(), since, why, next }
}

/// Number of running tasks by general.
pub(super) type Busy = BTreeMap<String, usize>;

impl Visit<'_> {
    fn tasks(&self, findings: &mut Findings) -> Result<(), Fault> {
        let busy = self.in_progress(findings)?;
        self.pending(&busy, findings)
    }

    fn pending(&self, busy: &Busy, findings: &mut Findings) -> Result<(), Fault> {
        let mut in_line: Busy = Busy::new();
        for suspect in self.suspects(Place::TasksPending, PATIENCE)? {
            let Some(task) = self.read(&suspect, findings) else { continue };
            let misplaced = self.misplaced(&suspect, &task);
            if let Some(stuck) = misplaced.or_else(|| self.without_general(&suspect, &task)) {
                findings.stuck.push(stuck);
                continue;
            }
            let name = task.text("target_general").unwrap_or_default();
            if self.has_free_soldier(&name, busy) {
                let why = format!("the general {name} has a soldier free and has not taken it");
                findings.stuck.push(suspect.stuck(why, "look into the general's log, and start it again"));
            } else {
                *in_line.entry(name).or_default() += 1;
            }
        }
        let note = |(name, count): (String, usize)| {
            format!("{count} tasks wait until the general {name} has a soldier free")
        };
        findings.notes.extend(in_line.into_iter().map(note));
        Ok(())
    }

    pub(super) fn in_progress(&self, findings: &mut Findings) -> Result<Busy, Fault> {
        let (mut busy, mut resting) = (Busy::new(), Vec::new());
        for suspect in self.suspects(Place::TasksInProgress, SignedDuration::MIN)? {
            let Some(task) = self.read(&suspect, findings) else { continue };
            findings.stuck.extend(self.overdue(&suspect, &task));
            let name = task.text("target_general").unwrap_or_default();
            if self.folder.has(Place::Results, &suspect.id) {
                findings.stuck.extend(self.unclosed(&suspect));
            } else if running(&task).is_some() {
                *busy.entry(name).or_default() += 1;
            } else {
                resting.push((suspect, task));
            }
        }
        for (suspect, task) in resting {
            findings.stuck.extend(self.not_taken_up(&suspect, &task, &busy));
        }
        Ok(busy)
    }

    /// A task that ended, and that the king has not heard of.
    fn unclosed(&self, suspect: &Suspect) -> Option<Stuck> {
        let since = written(&self.folder.file(Place::Results, &suspect.id));
        if !self.is_late(since, PATIENCE) || !self.folder.has(Place::TasksInProgress, &suspect.id) {
            return None;
        }
        let suspect = Suspect { since, ..suspect.clone() };
        Some(if self.is_running("king") {
            suspect.stuck(
                "its result is there, and the king has not closed it",
                "look into the king's log, and start it again",
            )
        } else {
            suspect.stuck(format!("its result is there, and {NO_KING}"), START_KING)
        })
    }

    /// A task under way that has no general any more, or has shown no sign of life for longer than it may.
    fn overdue(&self, suspect: &Suspect, task: &Document) -> Option<Stuck> {
        if self.folder.has(Place::Results, &suspect.id) || !self.is_late(suspect.since, PATIENCE) {
            return None;
        }
        let faulty = self.misplaced(suspect, task).or_else(|| self.without_general(suspect, task));
        faulty.or_else(|| {
            let general = self.court.generals.get(&task.text("target_general")?)?;
            let sign = self.silent_since(&suspect.id, &running(task)?, general)?;
            let why =
                format!("its soldier has shown no sign of life for longer than {} s", general.limit_s());
            let suspect = Suspect { since: Some(sign), ..suspect.clone() };
            Some(suspect.stuck(why, "start its general again: the task is then taken up anew"))
        })
    }

    /// Since when the soldier of an attempt has been silent, if that is longer than it may be.
    pub(super) fn silent_since(&self, id: &Id, attempt: &Document, general: &General) -> Option<Timestamp> {
        let sign = self.sign_of_life(id, attempt)?;
        let limit = span(general.limit_s()).saturating_add(PATIENCE);
        self.is_late(Some(sign), limit).then_some(sign)
    }

    /// A task between two attempts whose time for the next has come.
    fn not_taken_up(&self, suspect: &Suspect, task: &Document, busy: &Busy) -> Option<Stuck> {
        let name = task.text("target_general")?;
        let general = self.court.generals.get(&name)?;
        let since = task
            .objects("attempts")
            .last()
            .and_then(|last| instant(&last.text("ended_at")?))
            .or(suspect.since);
        let is_late = self.is_late(since, longest_pause(general, task).saturating_add(PATIENCE));
        if !is_late || !self.is_running(&general_role(&name)) || !self.has_free_soldier(&name, busy) {
            return None;
        }
        let why = "its next attempt is due, and its general has not begun it";
        Some(
            Suspect { since, ..suspect.clone() }
                .stuck(why, "look into the general's log, and start it again"),
        )
    }

    fn without_general(&self, suspect: &Suspect, task: &Document) -> Option<Stuck> {
        let name = task.text("target_general").unwrap_or_default();
        if !self.court.generals.contains_key(&name) {
            let next = format!(
                "write generals/{name}.toml and start the general; or remove the file, if nobody wants it done"
            );
            return Some(suspect.stuck(format!("this court has no general {name}"), next));
        }
        let next = format!("start `muster court general {name}`, or `muster court run`");
        let is_running = self.is_running(&general_role(&name));
        (!is_running).then(|| suspect.stuck(format!("the general {name} is not running"), next))
    }

    pub(super) fn has_free_soldier(&self, general: &str, busy: &Busy) -> bool {
        let soldiers = self.court.generals.get(general).map_or(0, |general| general.max_soldiers);
        busy.get(general).copied().unwrap_or(0) < soldiers
    }

    /// Time of the soldier's last sign of life; its start counts.
    fn sign_of_life(&self, id: &Id, attempt: &Document) -> Option<Timestamp> {
        let number = attempt.number("attempt").unwrap_or_default().to_string();
        let directory = self.folder.path(ATTEMPTS).join(id.as_str()).join(number);
        let begun = attempt.text("started_at").and_then(|text| instant(&text));
        let taken = written(&self.folder.file(Place::TasksInProgress, id));
        begun.max(written(&directory.join("heartbeat"))).max(taken)
    }
}

pub(super) fn running(task: &Document) -> Option<Document> {
    task.objects("attempts").pop().filter(|last| last.text("status").as_deref() == Some("running"))
}

/// Longer than any pause before a next attempt can be: it doubles with each.
fn longest_pause(general: &General, task: &Document) -> SignedDuration {
    let attempts = i32::try_from(task.objects("attempts").len()).unwrap_or(i32::MAX);
    span(general.retry_after_s * 2f64.powi(attempts))
}

fn span(length_s: f64) -> SignedDuration {
    SignedDuration::try_from(seconds(length_s)).unwrap_or(SignedDuration::MAX)
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
const LIMITS: &str =
    "the limits are in [chamberlain] of court.toml, and without obey_health in [king] no event waits";
const BACK_TO_PENDING: &str = "move the file back to queue/events/pending: the king then makes its task";
/// Three polls of the envoy.
const ENVOYS_PATIENCE: SignedDuration = SignedDuration::from_secs(15);
const READ_MAX: usize = 20;
const FAILED: &str = "mend the cause and move it back to queue/messages/pending; or remove it";
const A_DAY: SignedDuration = SignedDuration::from_hours(24);
const NO_TASK: &str = "there is no such task";
const HOMELESS: &str = "a result is named after its task: rename the file, or remove it";
const SHOWN_MAX: usize = 5;
