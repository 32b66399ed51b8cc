//! Q2, Q6, Q7, Q17: one active run per queue, the oldest; a run ends only when it is over; a slot is fired once.

use super::{
    Checker, Verdict, ensure,
    mirror::{Before, Mirror},
};
use muster_model::{
    Change, JobId, JobRecord, JobStatus, LaneRecord, ScheduleId, ScheduleRecord, Scope, TaskId, TaskRecord,
    TaskStatus, Timestamp,
};
use std::collections::BTreeMap;

impl Checker {
    pub(super) fn check_queue(&self, before: &Before) -> Verdict {
        if before.jobs.is_empty() {
            return Ok(());
        }
        for (id, old) in &before.jobs {
            let job = &self.mirror.jobs[id];
            let ended_before = old.as_ref().is_some_and(|old| old.status.is_ended());
            match old {
                Some(old) if ended_before => check_ended(job, old)?,
                _ if job.status.is_ended() => self.check_end(before, job)?,
                _ => {}
            }
        }
        check_order(&self.mirror)
    }

    fn check_end(&self, before: &Before, job: &JobRecord) -> Verdict {
        let rows = || rows_of(&self.mirror, job.id);
        let completed = rows().any(|row| row.status == TaskStatus::Completed);
        self.seen.count(match job.status {
            JobStatus::Success => "run success",
            JobStatus::Failed => "run failed",
            _ => "run cancelled",
        });
        if job.status == JobStatus::Cancelled {
            let waits = rows().find(|row| row.status == TaskStatus::Pending);
            return ensure(waits.is_none(), "cancelled_run_waits", || format!("{waits:?}"));
        }
        let live = rows().find(|row| !row.status.is_ended());
        ensure(live.is_none(), "run_ends_with_live_rows", || format!("{job:?} with {live:?}"))?;
        ensure(completed == (job.status == JobStatus::Success), "run_ends_wrongly", || format!("{job:?}"))?;
        for row in rows().filter(|row| row.attempt == 0) {
            self.seen.count("row skipped");
            ensure(row.status == TaskStatus::Cancelled, "skipped_row", || format!("{row:?}"))?;
        }
        let steady = self.mirror.lanes.values().filter(|lane| !before.lanes.contains_key(&lane.id));
        let lacking =
            steady.filter(|lane| is_target(job, lane)).find(|lane| rows().all(|row| row.lane != lane.id));
        ensure(lacking.is_none(), "run_ends_before_its_devices", || format!("{job:?} lacks {lacking:?}"))
    }

    /// Every run of a batch that says whose it is has its slot in the same batch, or an earlier one.
    pub(super) fn check_calendar(&self, changes: &[Change]) -> Verdict {
        for change in changes {
            let Change::Job(job) = change else { continue };
            let Some(schedule) = job.payload.as_ref().and_then(|payload| payload.schedule) else { continue };
            self.seen.count("slot fired");
            let slot = self.mirror.calendar.slots.get(&job.id);
            let right = slot.is_some_and(|(of, slot)| *of == schedule && *slot <= job.created_at);
            ensure(right, "run_without_slot", || format!("{job:?}: {slot:?}"))?;
        }
        Ok(())
    }
}

/// Per queue, of the runs that have not ended the oldest is active, and no other.
fn check_order(mirror: &Mirror) -> Verdict {
    let mut open: BTreeMap<_, Vec<&JobRecord>> = BTreeMap::new();
    for job in mirror.jobs.values().filter(|job| !job.status.is_ended()) {
        open.entry(&job.queue).or_default().push(job);
    }
    for jobs in open.values_mut() {
        jobs.sort_by_key(|job| job.seq);
        let right = |(place, job): (usize, &&JobRecord)| (place == 0) == (job.status == JobStatus::Running);
        ensure(jobs.iter().enumerate().all(right), "active_run_not_the_oldest", || format!("{jobs:?}"))?;
    }
    Ok(())
}

/// Checks that an ended run stays as it ended.
fn check_ended(job: &JobRecord, old: &JobRecord) -> Verdict {
    let same = job.status == old.status && job.completed_at == old.completed_at && (old.open || !job.open);
    ensure(same, "ended_run_changes", || format!("{old:?} became {job:?}"))
}

pub(super) fn rows_of(mirror: &Mirror, job: JobId) -> impl Iterator<Item = &TaskRecord> {
    let all = TaskId { job, ordinal: 0 }..=TaskId { job, ordinal: u32::MAX };
    mirror.tasks.range(all).map(|(_, row)| row)
}

fn is_target(job: &JobRecord, lane: &LaneRecord) -> bool {
    let in_scope = match &job.scope {
        Scope::All => true,
        Scope::Workers(workers) => workers.contains(&lane.worker),
        Scope::Devices(devices) => devices.contains(&lane.id),
        Scope::Labels(labels) => labels.iter().all(|(key, value)| lane.labels.get(key) == Some(value)),
    };
    in_scope && !lane.failed
}

/// Durable state of schedules.
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

    /// Number of runs that the calendar created.
    pub(super) fn runs(&self) -> usize {
        self.slots.len()
    }
}
