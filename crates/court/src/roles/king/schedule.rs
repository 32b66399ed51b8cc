//! Tasks by the clock: each slot once (C22).
//!
//! The record of a schedule says how far it is. A slot that is due is written there with the ids of what is to come,
//! before any of it is made; when it is made, the plan is taken out. A record with a plan is a slot that is to be
//! finished, whoever finds it.

use super::{
    King, close,
    dispatch::{make_task, thread_start},
};
use crate::{
    Document, Fault, Folder, Id, Place, Series,
    config::{ConfigError, Court, Missed, Schedule},
    document::document,
    file::{NewTask, Priority, instant, stamp},
    roles::Step,
    roles::chamberlain::Colour,
};
use jiff::{SignedDuration, Timestamp};
use muster_cron::Cron;

/// All schedules of a court.
pub(super) struct Timetable {
    entries: Vec<Entry>,
}

struct Entry {
    general: String,
    /// The channel in which people read of its tasks.
    channel: String,
    schedule: Schedule,
    cron: Cron,
    record: Id,
    /// The next occurrence, once the record was read.
    next: Option<Timestamp>,
    /// A slot came while the host was busy: it waits, and is not missed.
    is_held: bool,
    looked_at: Option<Timestamp>,
}

/// A slot whose time has come, with the schedule's record.
struct DueSlot {
    record: Document,
    slot: Timestamp,
}

impl Timetable {
    /// Reads the schedules of all generals; a wrong one is an error before anything begins.
    pub(super) fn read(court: &Court, channel: &str) -> Result<Self, ConfigError> {
        let mut entries = Vec::new();
        for general in court.generals.values() {
            for schedule in &general.schedules {
                entries.push(Entry::new(&general.name, schedule.clone(), channel)?);
            }
        }
        Ok(Self { entries })
    }

    /// The next occurrence of any schedule.
    pub(super) fn next(&self) -> Option<Timestamp> {
        self.entries.iter().filter(|entry| !entry.is_held).filter_map(|entry| entry.next).min()
    }
}

impl King {
    /// Makes the tasks whose time has come.
    pub(super) fn keep_timetable(
        &mut self,
        folder: &Folder,
        colour: Colour,
        now: Timestamp,
    ) -> Result<(), Fault> {
        let step = Step { folder, now };
        let kept = self.timetable.entries.iter_mut().map(|entry| entry.keep(step, colour));
        // An entry that fails now does not hold up the others.
        kept.fold(Ok(()), Result::and)
    }
}

impl Entry {
    fn new(general: &str, schedule: Schedule, channel: &str) -> Result<Self, ConfigError> {
        let wrong = |reason: String| ConfigError::Wrong {
            path: format!("generals/{general}.toml").into(),
            reason: format!("schedule {}: {reason}", schedule.name),
        };
        let cron =
            Cron::parse(&schedule.cron, &schedule.timezone).map_err(|error| wrong(error.to_string()))?;
        // The calendar repeats itself, so what never comes from one moment on never comes at all.
        if cron.next_after(model(Timestamp::UNIX_EPOCH)).is_none() {
            return Err(wrong(format!("cron {:?}: no day of the calendar is ever due", schedule.cron)));
        }
        let record = Id::parse(&schedule.name).map_err(|error| wrong(error.to_string()))?;
        let (general, channel) = (general.to_owned(), channel.to_owned());
        Ok(Self { general, channel, schedule, cron, record, next: None, is_held: false, looked_at: None })
    }

    fn keep(&mut self, step: Step<'_>, colour: Colour) -> Result<(), Fault> {
        let Step { folder, now } = step;
        // A clock that was set back may have been far ahead when the next slot was looked for.
        let went_back = self.looked_at.replace(now).is_some_and(|before| now < before);
        if self.next.is_some_and(|next| now < next) && !went_back {
            return Ok(());
        }
        let mut record = self.record(folder, now)?;
        if record.has("plan") {
            self.carry_out(step, &mut record)?;
        }
        let Some(slot) = self.slot(&mut record, step)? else { return Ok(()) };
        if now >= slot {
            return self.pass(step, DueSlot { record, slot }, colour);
        }
        self.next = Some(slot);
        Ok(())
    }

    /// Deals with a slot whose time has come, and with those after it that have passed as well.
    fn pass(&mut self, step: Step<'_>, due: DueSlot, colour: Colour) -> Result<(), Fault> {
        let Step { folder, now } = step;
        let DueSlot { mut record, slot } = due;
        let latest = self.latest(slot, now);
        // A slot that was held until the host calmed down was not missed.
        let is_missed = !record.has(HELD) && now.duration_since(latest) > GRACE;
        let is_made = !is_missed || self.schedule.missed == Missed::Once;
        self.is_held = is_made && colour != Colour::Green;
        if self.is_held {
            return if record.has(HELD) { Ok(()) } else { self.hold(folder, record) };
        }
        let next = self.after(now);
        set_slot(&mut record, next);
        record.remove(HELD);
        if is_made {
            let plan = document! {
                "slot": stamp(latest), "task_id": folder.next_id(Series::Task, now)?,
                "thread_start": folder.next_id(Series::Message, now)?,
            };
            record.set("plan", &plan);
        }
        folder.write(Place::Schedules, &self.record, &record)?;
        if is_made {
            self.carry_out(step, &mut record)?;
        }
        self.next = next;
        Ok(())
    }

    /// Writes down that a slot waits: another king must not take it for a missed one.
    fn hold(&self, folder: &Folder, mut record: Document) -> Result<(), Fault> {
        record.set_raw(HELD, "true");
        folder.write(Place::Schedules, &self.record, &record)
    }

    /// The next slot: the one that was written down, unless that was done by a clock that was ahead.
    fn slot(&self, record: &mut Document, step: Step<'_>) -> Result<Option<Timestamp>, Fault> {
        let Step { folder, now } = step;
        let moment = |key: &str| record.text(key).and_then(|text| instant(&text));
        let last = moment("last_slot").filter(|last| last.duration_since(now) < SET_BACK);
        let due = self.after(last.map_or(now, |last| last.max(now)));
        let Some((written, due)) = moment("next_slot").zip(due) else { return Ok(None) };
        if due < written {
            set_slot(record, Some(due));
            folder.write(Place::Schedules, &self.record, record)?;
        }
        Ok(Some(written.min(due)))
    }

    fn carry_out(&self, step: Step<'_>, record: &mut Document) -> Result<(), Fault> {
        let plan = record.object("plan").unwrap_or_default();
        let task = self.task();
        let id = make_task(step, &plan, &task, |id| {
            thread_start(&self.channel, &task, id, close::begun_by_schedule(&task, id))
        })?;
        record.remove("plan");
        record.set("last_slot", &plan.text("slot").unwrap_or_default()).set("last_task", &id);
        step.folder.write(Place::Schedules, &self.record, record)
    }

    fn task(&self) -> NewTask {
        let payload = json(&toml::Value::Table(self.schedule.payload.clone())).to_string();
        NewTask {
            event_id: format!("schedule-{}", self.schedule.name),
            general: self.general.clone(),
            kind: self.schedule.task_type.clone(),
            payload,
            priority: Priority::Low,
        }
    }

    /// The schedule's record. A new or changed schedule begins with its next occurrence.
    fn record(&self, folder: &Folder, now: Timestamp) -> Result<Document, Fault> {
        let known = folder.read_or_reject(Place::Schedules, &self.record)?;
        let is_same = |record: &Document| {
            record.text("cron").as_ref() == Some(&self.schedule.cron)
                && record.text("timezone").as_ref() == Some(&self.schedule.timezone)
        };
        if let Some(record) = known.as_ref().filter(|record| is_same(record) || record.has("plan")) {
            return Ok(record.clone());
        }
        let mut record = known.unwrap_or_default();
        record.set("cron", &self.schedule.cron).set("timezone", &self.schedule.timezone);
        set_slot(&mut record, self.after(now));
        folder.write(Place::Schedules, &self.record, &record)?;
        Ok(record)
    }

    /// The last slot that has come, counted from one that has.
    fn latest(&self, first: Timestamp, now: Timestamp) -> Timestamp {
        let latest = self.cron.latest_between(model(first), model(now));
        latest.and_then(|latest| Timestamp::from_millisecond(latest.0).ok()).unwrap_or(first)
    }

    fn after(&self, instant: Timestamp) -> Option<Timestamp> {
        let next = self.cron.next_after(model(instant))?;
        Timestamp::from_millisecond(next.0).ok()
    }
}

fn model(instant: Timestamp) -> muster_model::Timestamp {
    muster_model::Timestamp(instant.as_millisecond())
}

/// A table of TOML as JSON; dates become text, and what JSON has no number for becomes null.
fn json(value: &toml::Value) -> serde_json::Value {
    match value {
        toml::Value::String(text) => text.as_str().into(),
        toml::Value::Integer(number) => (*number).into(),
        toml::Value::Float(number) => (*number).into(),
        toml::Value::Boolean(truth) => (*truth).into(),
        toml::Value::Datetime(moment) => moment.to_string().into(),
        toml::Value::Array(elements) => elements.iter().map(json).collect(),
        toml::Value::Table(members) => {
            members.iter().map(|(key, value)| (key.clone(), json(value))).collect()
        }
    }
}

fn set_slot(record: &mut Document, next: Option<Timestamp>) {
    record.set("next_slot", &next.map(stamp));
}

/// A slot that comes this late is still taken: restarts take a moment, and slots are a minute apart at least.
const GRACE: SignedDuration = SignedDuration::from_secs(60);
/// A slot further ahead than this was served by a clock that was wrong.
const SET_BACK: SignedDuration = SignedDuration::from_hours(1);
const HELD: &str = "held";
