//! What subscribers read about schedules (Q17).

use super::{Body, Entry};
use muster_model::{ScheduleEvent, ScheduleId, Timestamp};

/// The entry for an event.
pub(super) fn phrase(event: &ScheduleEvent) -> Entry {
    match event {
        ScheduleEvent::Created(record) => {
            let body = about(record.id, record.created_at).text("cron", &record.draft.cron);
            ("schedule_created", next(body.text("timezone", &record.draft.timezone), record.draft.next_at))
        }
        ScheduleEvent::Fired { schedule, slot, next_at, job, at } => {
            let body = about(*schedule, *at).raw("slot", slot.0).text("job", job);
            ("schedule_fired", next(body, *next_at))
        }
        ScheduleEvent::Skipped { schedule, next_at, at } => {
            ("schedule_skipped", next(about(*schedule, *at), *next_at))
        }
        ScheduleEvent::Deleted { schedule, at } => ("schedule_deleted", about(*schedule, *at)),
    }
}

fn about(schedule: ScheduleId, at: Timestamp) -> Body {
    Body::at(at).text("schedule", schedule)
}

fn next(body: Body, next_at: Option<Timestamp>) -> Body {
    next_at.iter().fold(body, |body, next| body.raw("next_at", next.0))
}
