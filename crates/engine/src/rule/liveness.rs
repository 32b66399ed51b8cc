//! N15, N15b, N16: silence makes a worker offline; only its leases' end, not its silence, ends its work.

use crate::{
    Mutant,
    rule::retry::{Ending, end_attempt},
    state::{State, WorkerIx},
};
use alloc::vec::Vec;
use muster_model::{Event, LeaseKind, Outcome, Timestamp};

/// What a worker's silence, or its signs of life, make true now.
pub(crate) fn judge(state: &State, ix: WorkerIx, now: Timestamp) -> Vec<Event> {
    let mut events = Vec::new();
    let worker = &state.workers[ix];
    if worker.online && now >= worker.last_seen + state.settings.offline_after {
        events.push(Event::WorkerOffline {
            worker: worker.name.clone(),
            at: now,
        });
    }
    if worker.paused_until.is_some_and(|until| until <= now) {
        events.push(Event::SupplyResumed {
            worker: worker.name.clone(),
            at: now,
        });
    }
    if !holds_presence_leases(state, ix) {
        return events;
    }
    let prolonged = worker.last_seen + state.settings.lease;
    if prolonged <= now {
        if !state.has_bug(Mutant::LeaseOutlivesSilence) {
            events.extend(lost_leases(state, ix, now));
        }
    } else if prolonged > worker.lease_until && now >= renewal_at(state, ix) {
        events.push(Event::LeasesExtended {
            worker: worker.name.clone(),
            until: prolonged,
        });
    }
    events
}

/// When a worker must next be judged.
pub(crate) fn next_judgement(state: &State, ix: WorkerIx) -> Option<Timestamp> {
    let worker = &state.workers[ix];
    let silence = worker
        .online
        .then_some(worker.last_seen + state.settings.offline_after);
    let leases = holds_presence_leases(state, ix).then(|| {
        let prolonged = worker.last_seen + state.settings.lease;
        if prolonged > worker.lease_until {
            renewal_at(state, ix)
        } else {
            prolonged
        }
    });
    [silence, leases, worker.paused_until].into_iter().flatten().min()
}

/// Leases are written anew when half their time is over: often enough to be true, seldom enough to
/// be cheap.
fn renewal_at(state: &State, ix: WorkerIx) -> Timestamp {
    state.workers[ix].lease_until - muster_model::Millis(state.settings.lease.0 / 2)
}

/// Whether any live lease of the worker hangs on its signs of life.
pub(crate) fn holds_presence_leases(state: &State, ix: WorkerIx) -> bool {
    state.workers[ix]
        .live
        .iter()
        .any(|task| state.tasks[task].kind == LeaseKind::Presence)
}

fn lost_leases(state: &State, ix: WorkerIx, now: Timestamp) -> impl Iterator<Item = Event> {
    let presence = move |task: &&crate::state::TaskRef| state.tasks[*task].kind == LeaseKind::Presence;
    state.workers[ix]
        .live
        .iter()
        .filter(presence)
        .flat_map(move |task| {
            let ending = Ending {
                task: state.task_id(*task),
                outcome: Outcome::LeaseLost,
                result: None,
                at: now,
            };
            end_attempt(state, &state.tasks[task], ending)
        })
}
