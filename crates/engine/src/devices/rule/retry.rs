//! Q10, Q11, N17: what follows when an attempt ends.

use crate::{
    Mutant,
    devices::{
        rule::timeout,
        state::{State, Task},
    },
};
use alloc::{boxed::Box, format, vec::Vec};
use muster_model::{Event, LeaseKind, Outcome, TaskId, TaskStatus, Timestamp};

/// An attempt that ends.
pub(crate) struct Ending {
    pub(crate) task: TaskId,
    pub(crate) outcome: Outcome,
    /// JSON text its worker left.
    pub(crate) result: Option<Box<str>>,
    pub(crate) at: Timestamp,
}

/// The end of an attempt and what follows: done, once more, or failed for good with its lane taken
/// out of service.
pub(crate) fn end_attempt(state: &State, task: &Task, ending: Ending) -> Vec<Event> {
    let Ending { task: id, outcome, result, at } = ending;
    let error = error_text(state, task.kind, &outcome);
    let succeeded = outcome == Outcome::Succeeded;
    let mut events = Vec::with_capacity(ENDING_EVENTS);
    events.push(Event::AttemptEnded { task: id, attempt: task.attempt, outcome, at });
    let ended = |status, error| Event::TaskEnded { task: id, status, error, result, at };
    let stopping = state.job(id.job).is_some_and(|job| job.status.is_ended());
    if stopping {
        events.push(ended(TaskStatus::Cancelled, error));
    } else if succeeded {
        events.push(ended(TaskStatus::Completed, None));
    } else if is_forgiven(state, task, at) {
        events.push(Event::TaskForgiven { task: id });
        events.push(Event::TaskQueued { task: id, at });
    } else if task.attempt < task.max_attempts || state.has_bug(Mutant::RetriesForEver) {
        events.push(Event::TaskQueued { task: id, at });
    } else {
        events.push(ended(TaskStatus::Failed, error));
        events.push(Event::LaneFailed { lane: state.lanes[task.lane].name.clone(), at });
    }
    events
}

/// The text of `task_devices.error` after an outcome.
pub(crate) fn error_text(state: &State, kind: LeaseKind, outcome: &Outcome) -> Option<Box<str>> {
    match outcome {
        Outcome::Succeeded => None,
        Outcome::TimedOut => Some(timeout::error_text(state.settings.attempt_timeout)),
        Outcome::LeaseLost => Some(timeout::lease_text(kind, state.settings.lease)),
        Outcome::Failed { reason: None, error } => Some(error.clone().unwrap_or_else(|| "unknown".into())),
        Outcome::Failed { reason: Some(reason), error: None } => Some(reason.as_str().into()),
        Outcome::Failed { reason: Some(reason), error: Some(error) } => {
            Some(format!("{}: {error}", reason.as_str()).into())
        }
    }
}

/// A lane that is away while its worker's supply rests after a mass dropout costs no attempt (N17).
fn is_forgiven(state: &State, task: &Task, now: Timestamp) -> bool {
    let resting = state.workers[task.worker].paused_until.is_some_and(|until| now < until);
    resting && !state.lanes[task.lane].is_online() && !state.has_bug(Mutant::DropoutBurnsAttempt)
}

/// Most events that the end of one attempt causes.
const ENDING_EVENTS: usize = 3;

#[cfg(test)]
mod tests {
    use crate::devices::script::check;

    /// Q10: three attempts in all, a retry waits behind the PC's other devices; Q11: then the device is taken out of service.
    #[test]
    fn three_attempts_then_out_of_service() {
        check(
            "
            0s  pull PC-01 max=0 devices=d1,d2
            1s  submit r1
            2s  pull PC-01 max=1             => runs=r1:2 jobs=r1/d1#1
            3s  finished PC-01 r1/d1 failed  -> confirmed r1/d1; ended r1/d1#1 failed; queued r1/d1
            4s  pull PC-01 max=1             => jobs=r1/d2#1
            5s  pull PC-01 max=1             => jobs=r1/d1#2
            6s  finished PC-01 r1/d1 failed  -> confirmed r1/d1; ended r1/d1#2 failed; queued r1/d1
            7s  pull PC-01                   => jobs=r1/d1#3
            8s  finished PC-01 r1/d1 failed  -> confirmed r1/d1; ended r1/d1#3 failed; closed r1/d1 Failed (adb_offline); error d1
            9s  finished PC-01 r1/d2 ok      -> confirmed r1/d2; ended r1/d2#1 ok; closed r1/d2 Completed; over r1 Success
            10s submit r2 devices=d1
            11s explain device d1            => device_error
            12s pull PC-01                   => finished=r1
            13s return d1                    -> returned d1
            13s return d1                    => ! LaneInService
            14s pull PC-01                   => runs=r2:1 jobs=r2/d1#1 finished=r1
            ",
        );
    }

    /// Q11: the device stays out of service over a restart, until returned.
    #[test]
    fn out_of_service_survives_a_restart() {
        check(
            "
            0s  pull PC-01 max=0 devices=d1
            1s  submit r1 attempts=1
            2s  pull PC-01
            3s  finished PC-01 r1/d1 failed
            4s  restart
            5s  submit r2
            6s  pull PC-01                   => finished=r1
            7s  return d1
            8s  pull PC-01                   => runs=r2:1 jobs=r2/d1#1 finished=r1
            ",
        );
    }
}
