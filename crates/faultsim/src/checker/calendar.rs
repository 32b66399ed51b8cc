//! Q17: a slot has one run, and no run of a schedule is without its slot.

use super::{Verdict, ensure, mirror::Mirror};
use crate::scene::Scene;
use muster_model::{Change, JobId, ScheduleId, ScheduleRecord, Timestamp};
use std::collections::BTreeMap;

/// What is durable of schedules.
#[derive(Default)]
pub(super) struct Calendar {
    pub(super) standing: BTreeMap<ScheduleId, ScheduleRecord>,
    /// The slot of each run.
    slots: BTreeMap<JobId, (ScheduleId, Timestamp)>,
}

impl Calendar {
    /// A row was written.
    pub(super) fn write(&mut self, record: &ScheduleRecord) -> Verdict {
        let before = self.standing.insert(record.id, record.clone());
        let (last_slot, last_job) = before.map_or((None, None), |old| (old.last_slot, old.last_job));
        let waits = record.draft.next_at.is_none_or(|next| record.last_slot < Some(next));
        ensure(waits, "fired_slot_waited_for", || format!("{record:?}"))?;
        if record.last_job == last_job {
            return ensure(record.last_slot == last_slot, "slot_without_run", || format!("{record:?}"));
        }
        let (Some(slot), Some(job)) = (record.last_slot, record.last_job) else {
            return ensure(false, "slot_without_run", || format!("{record:?}"));
        };
        ensure(Some(slot) > last_slot, "slot_fired_twice", || format!("{record:?} after {last_slot:?}"))?;
        let known = self.slots.insert(job, (record.id, slot));
        ensure(known.is_none(), "run_of_two_slots", || format!("{record:?} and {known:?}"))
    }

    /// How many runs were made by the calendar.
    pub(super) fn runs(&self) -> usize {
        self.slots.len()
    }
}

/// Every run of a batch that says whose it is has its slot in the same batch, or an earlier one.
pub(super) fn check(mirror: &Mirror, changes: &[Change], scene: &mut Scene) -> Verdict {
    for change in changes {
        let Change::Job(job) = change else { continue };
        let Some(schedule) = job.payload.as_ref().and_then(|payload| payload.schedule) else { continue };
        scene.count("slot fired");
        let slot = mirror.calendar.slots.get(&job.id);
        let right = slot.is_some_and(|(of, slot)| *of == schedule && *slot <= job.created_at);
        ensure(right, "run_without_slot", || format!("{job:?}: {slot:?}"))?;
    }
    Ok(())
}
