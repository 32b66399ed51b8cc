//! N17: many lanes of one living worker gone at once is a fault of the worker's site, not of the lanes.

use crate::devices::state::{RowState, State, WorkerIx};
use alloc::{format, vec::Vec};
use muster_model::{AlertKind, AlertRecord, Event, Timestamp};

/// The smallest number of lanes that makes a share of them a mass.
const LANES_MIN: usize = 3;

/// The alert, the pause, and the attempts that do not count, if this is a mass dropout.
pub(crate) fn judge(state: &State, ix: WorkerIx, alert: u128, now: Timestamp) -> Vec<Event> {
    let worker = &state.workers[ix];
    let since = now - state.settings.dropout_window;
    let gone = worker.drops.iter().filter(|(at, _)| *at >= since).count();
    let resting = worker.paused_until.is_some_and(|until| now < until);
    if !worker.online || resting || !is_mass(state, gone, worker.lanes.len()) {
        return Vec::new();
    }
    let message = format!("{gone} of {} devices of {} vanished at once", worker.lanes.len(), worker.name);
    let until = now + state.settings.dropout_pause;
    let mut events = Vec::from([
        Event::AlertRaised(AlertRecord {
            id: alert,
            kind: AlertKind::MassDropout,
            worker: worker.name.clone(),
            job: None,
            message: message.into(),
            at: now,
        }),
        Event::SupplyPaused { worker: worker.name.clone(), until, at: now },
    ]);
    if !state.has_bug(crate::Mutant::DropoutBurnsAttempt) {
        events.extend(burnt(state, ix, since));
    }
    events
}

fn is_mass(state: &State, gone: usize, lanes: usize) -> bool {
    let settings = &state.settings;
    gone >= settings.dropout_devices as usize
        || (gone >= LANES_MIN && gone * 100 >= lanes * settings.dropout_percent as usize)
}

/// Attempts on the vanished lanes that failed just before the dropout was noticed: the worker often
/// reports the failures first and the missing devices after.
fn burnt(state: &State, ix: WorkerIx, since: Timestamp) -> impl Iterator<Item = Event> {
    let lanes = state.workers[ix].drops.iter().map(|(_, lane)| &state.lanes[*lane]);
    let rows = lanes.flat_map(|lane| lane.rows.iter()).filter(|row| row.state == RowState::Pending);
    let failed_since = move |task: &crate::devices::state::TaskRef| {
        state.tasks[task].ended_at.get().is_some_and(|at| at >= since)
    };
    rows.map(|row| row.task())
        .filter(failed_since)
        .map(|task| Event::TaskForgiven { task: state.task_id(task) })
}

#[cfg(test)]
mod tests {
    use crate::devices::script::check;

    /// N17: ten devices gone within the window raise one alert, pause the node's supply, and burn no attempt.
    #[test]
    fn a_mass_dropout_pauses_and_burns_nothing() {
        check(
            "
            0s   pull PC-01 max=0 devices=d1..d12
            1s   submit r1 attempts=1
            2s   pull PC-01 max=11
            3s   finished PC-01 r1/d11 ok
            4s   pull PC-01 max=20 devices=d11,d12  -> alert mass_dropout; paused PC-01
            5s   finished PC-01 r1/d1 failed  -> confirmed r1/d1; ended r1/d1#1 failed; forgiven r1/d1; queued r1/d1
            6s   pull PC-01 devices=d1..d12   => nothing
            7s   explain node PC-01           => supply_paused
            30s  heartbeat PC-01
            55s  heartbeat PC-01
            80s  heartbeat PC-01
            105s heartbeat PC-01
            123s tick                         -> nothing
            124s tick                         -> supplied PC-01
            125s pull PC-01 max=2             => jobs=r1/d2#1,r1/d3#1
            ",
        );
    }

    /// N17: ten devices gone are a mass, though a small share of a hundred; nine are not.
    #[test]
    fn the_number_alone_makes_a_mass() {
        check(
            "
            0s   pull PC-01 max=0 devices=d1..d100
            1s   pull PC-01 max=0 devices=d1..d91   -> nothing
            33s  pull PC-01 max=0 devices=d1..d100
            40s  pull PC-01 max=0 devices=d1..d90   -> alert mass_dropout; paused PC-01
            ",
        );
    }

    /// N17: a fifth of the devices and at least three; failures reported just before count as part of it.
    #[test]
    fn failures_just_before_the_dropout_are_forgiven() {
        check(
            "
            0s   pull PC-01 max=0 devices=d1..d4
            1s   submit r1 attempts=1
            1s   submit r2
            2s   pull PC-01
            3s   pull PC-01 max=0 devices=d1..d2    -> nothing
            33s  pull PC-01 max=0 devices=d1..d4
            40s  pull PC-01 max=0 devices=d1        -> alert mass_dropout; paused PC-01
            ",
        );
    }
}
