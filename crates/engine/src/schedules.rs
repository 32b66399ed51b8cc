//! Q17: jobs that are submitted by the calendar. Whoever has a clock and a calendar says which slot is due; here it
//! is seen to that a slot has its job at most once, and that the job and the slot become durable together.

#[cfg(test)]
mod tests;

use crate::{
    Mutant,
    devices::{decide::job, state::State},
    kernel::{Context, Decided, Decision},
};
use alloc::{
    boxed::Box,
    collections::{BTreeMap, BTreeSet},
    format,
    string::String,
    vec::Vec,
};
use muster_model::{
    Cause, Change, JobId, Rejection, Reply, ScheduleCommand, ScheduleDraft, ScheduleEvent, ScheduleId,
    ScheduleRecord, ScheduleRejection, Submission, SubmissionKey, Timestamp,
};

/// One more is refused.
const SCHEDULES_MAX: usize = 1000;

/// Everything known of schedules; there are never many.
#[derive(Clone, Debug, Default)]
pub(crate) struct Schedules {
    records: BTreeMap<ScheduleId, ScheduleRecord>,
    /// By the slot that is due next.
    due: BTreeSet<(Timestamp, ScheduleId)>,
    /// By the key of the request that made them.
    keys: BTreeMap<SubmissionKey, ScheduleId>,
    changes: Vec<Change>,
}

/// Says what a command about schedules would make true. Changes nothing.
pub(crate) fn decide(state: &State, command: ScheduleCommand, context: &Context<'_>) -> Decided<Reply> {
    let at = context.now;
    match command {
        ScheduleCommand::Create(draft) => create(state, *draft, context),
        ScheduleCommand::Delete { schedule } => {
            known(state, schedule)?;
            Ok(done(ScheduleEvent::Deleted { schedule, at }))
        }
        ScheduleCommand::Fire { schedule, slot, next_at } => {
            let due = Occurrence { slot, next_at };
            fire(state, schedule, &due, context)
        }
        ScheduleCommand::Skip { schedule, next_at } => {
            let due = known(state, schedule)?.draft.next_at;
            if due.is_none() || next_at.is_some_and(|next| Some(next) <= due) {
                return Err(Rejection::Schedules(ScheduleRejection::SlotTaken).into());
            }
            Ok(done(ScheduleEvent::Skipped { schedule, next_at, at }))
        }
    }
}

/// A repeat of the request that made a schedule answers with it, as long as it stands and the key is remembered.
fn create(state: &State, draft: ScheduleDraft, context: &Context<'_>) -> Decided<Reply> {
    let schedules = &state.schedules;
    let earlier = draft.run.key.as_ref().and_then(|key| schedules.records.get(schedules.keys.get(key)?));
    let earlier = earlier.filter(|known| context.now < known.created_at + state.settings.key_retention);
    if let Some(earlier) = earlier {
        let same = earlier.draft.run.digest == draft.run.digest;
        let reply = || Decision::unchanged(Reply::Schedule(Box::new(earlier.clone())));
        return same.then(reply).ok_or(Rejection::KeyConflict.into());
    }
    if schedules.records.len() >= SCHEDULES_MAX {
        return Err(Rejection::Schedules(ScheduleRejection::TooMany { max: SCHEDULES_MAX }).into());
    }
    let JobId(id) = JobId::new(context.now, context.number(0));
    let (id, created_at) = (ScheduleId(id), context.now);
    let record = Box::new(ScheduleRecord { id, draft, last_slot: None, last_job: None, created_at });
    Ok(Decision::new([ScheduleEvent::Created(record.clone())], Reply::Schedule(record)))
}

/// The occurrence to fire, and the one that follows it.
struct Occurrence {
    slot: Timestamp,
    next_at: Option<Timestamp>,
}

/// Submits the job of an occurrence. One before the next was dealt with already, whoever asks again: an earlier term, or
/// a request that was repeated.
fn fire(
    state: &State,
    schedule: ScheduleId,
    occurrence: &Occurrence,
    context: &Context<'_>,
) -> Decided<Reply> {
    let Occurrence { slot, next_at } = *occurrence;
    let record = known(state, schedule)?;
    let fresh = record.draft.next_at.is_some_and(|next| next <= slot);
    let fresh = fresh || state.has_bug(Mutant::SlotFiredAgain);
    let onward = next_at.is_none_or(|next| next > slot);
    if !fresh || !onward || slot > context.now {
        return Err(Rejection::Schedules(ScheduleRejection::SlotTaken).into());
    }
    let mut run = Submission { key: None, ..record.draft.run.clone() };
    run.payload.schedule = Some(schedule);
    let Decision { mut events, reply } = job::submit(state, Box::new(run), context)?;
    let fired = ScheduleEvent::Fired { schedule, slot, next_at, job: reply.job, at: context.now };
    events.insert(0, fired.into());
    Ok(Decision { events, reply: Reply::Job(reply) })
}

fn done(event: ScheduleEvent) -> Decision<Reply> {
    Decision::new([event], Reply::Done)
}

fn known(state: &State, schedule: ScheduleId) -> Result<&ScheduleRecord, Rejection> {
    let record = state.schedules.records.get(&schedule);
    record.ok_or(Rejection::Schedules(ScheduleRejection::Unknown))
}

impl Schedules {
    /// Changes memory by one event.
    pub(crate) fn apply(&mut self, event: &ScheduleEvent) {
        match event {
            ScheduleEvent::Created(record) => self.put((**record).clone()),
            ScheduleEvent::Fired { schedule, slot, next_at, job, .. } => self.change(*schedule, |record| {
                record.draft.next_at = *next_at;
                record.last_slot = Some(*slot);
                record.last_job = Some(*job);
            }),
            ScheduleEvent::Skipped { schedule, next_at, .. } => {
                self.change(*schedule, |record| record.draft.next_at = *next_at);
            }
            ScheduleEvent::Deleted { schedule, .. } => {
                self.take_out(*schedule);
                self.changes.push(Change::ScheduleGone(*schedule));
            }
        }
    }

    /// Takes a record that a store kept.
    pub(crate) fn take_loaded(&mut self, record: ScheduleRecord) {
        self.put(record);
        self.changes.clear();
    }

    /// The rows changed since the last call.
    pub(crate) fn take_changes(&mut self) -> Vec<Change> {
        core::mem::take(&mut self.changes)
    }

    /// The schedule whose slot is due first, and that slot.
    pub(crate) fn first_due(&self) -> Option<(Timestamp, &ScheduleRecord)> {
        let (slot, id) = self.due.first()?;
        Some((*slot, self.records.get(id)?))
    }

    /// Explains what a schedule waits for (Q16).
    pub(crate) fn explain(&self, id: ScheduleId, now: Timestamp) -> Option<Cause> {
        let ScheduleRecord { draft, last_job, .. } = self.records.get(&id)?;
        let (missed, last_job) = (draft.missed, *last_job);
        Some(match draft.next_at {
            Some(slot) if slot <= now => Cause::ScheduleDue { slot, missed },
            Some(next_at) => Cause::ScheduleWaiting { next_at, missed, last_job },
            None => Cause::ScheduleOver { last_job },
        })
    }

    /// The rows of all schedules, sorted: what a store must hold of them.
    pub(crate) fn live_rows(&self) -> impl Iterator<Item = Change> {
        self.records.values().cloned().map(|record| Change::Schedule(record.into()))
    }

    /// 15: a schedule waits for the slot it says, and for none that it fired.
    pub(crate) fn check_invariants(&self) -> Result<(), String> {
        let waiting = self.records.values().filter_map(|record| Some((record.draft.next_at?, record.id)));
        if !waiting.collect::<BTreeSet<_>>().eq(&self.due) {
            return Err("the slots that are waited for are not those of the schedules".into());
        }
        let again = self.records.values().find(|record| {
            record.draft.next_at.is_some_and(|next| record.last_slot.is_some_and(|last| last >= next))
        });
        again.map_or(Ok(()), |record| Err(format!("schedule {} waits for a slot that it fired", record.id)))
    }

    fn change(&mut self, id: ScheduleId, change: impl FnOnce(&mut ScheduleRecord)) {
        if let Some(mut record) = self.take_out(id) {
            change(&mut record);
            self.put(record);
        }
    }

    fn put(&mut self, record: ScheduleRecord) {
        self.due.extend(record.draft.next_at.map(|slot| (slot, record.id)));
        self.keys.extend(record.draft.run.key.clone().map(|key| (key, record.id)));
        self.changes.push(Change::Schedule(record.clone().into()));
        self.records.insert(record.id, record);
    }

    fn take_out(&mut self, id: ScheduleId) -> Option<ScheduleRecord> {
        let record = self.records.remove(&id)?;
        if let Some(slot) = record.draft.next_at {
            self.due.remove(&(slot, id));
        }
        // A key that was forgotten may have made another since.
        if let Some(key) = record.draft.run.key.as_ref().filter(|key| self.keys.get(*key) == Some(&id)) {
            self.keys.remove(key);
        }
        Some(record)
    }
}
