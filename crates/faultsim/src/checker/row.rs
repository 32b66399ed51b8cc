//! What a row of `task_devices` may say, and how it may change.

use super::{Verdict, ensure};
use muster_model::{Settings, TaskRecord, TaskStatus};

pub(super) fn check(row: &TaskRecord, before: Option<&TaskRecord>, settings: &Settings) -> Verdict {
    ensure(row.attempt <= row.max_attempts, "attempts_unbounded", || {
        format!("{} is at attempt {} of {}", row.id, row.attempt, row.max_attempts)
    })?;
    ensure(
        row.status != TaskStatus::Failed || row.attempt >= row.max_attempts,
        "failed_with_attempts_left",
        || format!("{row:?}"),
    )?;
    check_clock(row, settings)?;
    before.map_or(Ok(()), |before| check_change(row, before))
}

/// Q9: the clock of an attempt begins with its grant, whatever is shown again or renewed later.
fn check_clock(row: &TaskRecord, settings: &Settings) -> Verdict {
    let (Some(started), Some(timeout)) = (row.started_at, row.timeout_at) else {
        return ensure(row.status != TaskStatus::Running, "runs_without_a_clock", || format!("{row:?}"));
    };
    ensure(timeout == started + settings.attempt_timeout, "attempt_clock", || {
        format!("{} began at {started:?} and times out at {timeout:?}", row.id)
    })
}

fn check_change(row: &TaskRecord, before: &TaskRecord) -> Verdict {
    let same_device = row.lane == before.lane && row.created_at == before.created_at;
    ensure(same_device, "row_changes_device", || format!("{before:?} became {row:?}"))?;
    ensure(!before.status.is_ended() || row == before, "ended_row_changes", || {
        format!("{before:?} became {row:?}")
    })?;
    ensure(row.attempt >= before.attempt, "attempt_goes_back", || {
        format!("{} from {} to {}", row.id, before.attempt, row.attempt)
    })?;
    let same_attempt = row.attempt == before.attempt;
    ensure(
        !same_attempt || (row.fence == before.fence && row.worker == before.worker),
        "fence_changes_within_attempt",
        || format!("{} attempt {}", row.id, row.attempt),
    )?;
    ensure(!same_attempt || row.started_at == before.started_at, "attempt_begins_twice", || {
        format!("{} attempt {}", row.id, row.attempt)
    })?;
    ensure(same_attempt || row.fence != before.fence, "fence_used_twice", || {
        format!("{} attempt {}", row.id, row.attempt)
    })
}
