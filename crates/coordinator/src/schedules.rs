//! Due slots of schedules (Q17). The engine sees to it that a slot has its run once; what a slot is,
//! and whether it was missed, is worked out here, from the engine's state and the time, without a memory of its own.

use muster_cron::Cron;
use muster_engine::Engine;
use muster_model::{Millis, Missed, ScheduleCommand, ScheduleRecord, Timestamp};
use tracing::{error, warn};

/// The command for the first slot that is due by now.
pub(crate) fn due(engine: &Engine, now: Timestamp) -> Option<ScheduleCommand> {
    let (slot, record) = engine.first_schedule().filter(|(slot, _)| *slot <= now)?;
    match Cron::parse(&record.draft.cron, &record.draft.timezone) {
        Ok(cron) => Some(act(record, &cron, slot, now - engine.settings().schedule_grace)),
        Err(fault) => {
            // It was checked when it was made; a zone may be gone from a newer database.
            error!(schedule = %record.id, %fault, "a schedule cannot be read any more, and rests");
            Some(rest(record))
        }
    }
}

/// No slot of this schedule will come.
pub(crate) fn rest(record: &ScheduleRecord) -> ScheduleCommand {
    ScheduleCommand::Skip { schedule: record.id, next_at: None }
}

/// The slot that is due is passed over; the schedule goes on with the next.
pub(crate) fn pass_over(record: &ScheduleRecord, slot: Timestamp) -> ScheduleCommand {
    let cron = Cron::parse(&record.draft.cron, &record.draft.timezone);
    ScheduleCommand::Skip { schedule: record.id, next_at: cron.ok().and_then(|cron| cron.next_after(slot)) }
}

/// Slots before `missed_before` were missed: they are dropped, or the latest of them stands for all.
fn act(record: &ScheduleRecord, cron: &Cron, slot: Timestamp, missed_before: Timestamp) -> ScheduleCommand {
    let schedule = record.id;
    if slot >= missed_before {
        return ScheduleCommand::Fire { schedule, slot, next_at: cron.next_after(slot) };
    }
    let last_missed = missed_before - Millis(1);
    let next_at = cron.next_after(last_missed);
    match record.draft.missed {
        Missed::Skip => {
            warn!(%schedule, from = slot.0, until = missed_before.0, "slots of a schedule were missed and are skipped");
            ScheduleCommand::Skip { schedule, next_at }
        }
        Missed::Once => {
            let latest = cron.latest_between(slot, last_missed).unwrap_or(slot);
            ScheduleCommand::Fire { schedule, slot: latest, next_at }
        }
    }
}
