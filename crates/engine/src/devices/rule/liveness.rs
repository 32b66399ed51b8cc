//! N15, N15b, N16: silence makes a worker offline; only its leases' end, not its silence, ends its work.

use crate::{
    Mutant,
    devices::{
        rule::{
            heartbeat,
            retry::{Ending, end_attempt},
        },
        state::{State, Task, WorkerIx},
    },
};
use alloc::{vec, vec::Vec};
use muster_model::{Event, LeaseKind, Name, Outcome, Timestamp};

/// Events that a worker's silence, or its signs of life, cause now.
pub(crate) fn judge(state: &State, ix: WorkerIx, now: Timestamp) -> Vec<Event> {
    let mut events = Vec::new();
    let worker = &state.workers[ix];
    if worker.online && now >= worker.last_seen + state.settings.offline_after {
        events.push(Event::WorkerOffline { worker: worker.name.clone(), at: now });
    }
    if worker.paused_until.is_some_and(|until| until <= now) {
        events.push(Event::SupplyResumed { worker: worker.name.clone(), at: now });
    }
    events.extend(ended_leases(state, ix, now));
    let prolonged = worker.last_seen + state.settings.lease;
    let due = prolonged > worker.lease_until && now >= renewal_at(state, ix) && prolonged > now;
    if due && holds_presence_leases(state, ix) {
        events.push(Event::LeasesExtended { worker: worker.name.clone(), until: prolonged });
    }
    events
}

/// Time when a worker must next be judged.
pub(crate) fn next_judgement(state: &State, ix: WorkerIx) -> Option<Timestamp> {
    let worker = &state.workers[ix];
    let silence = worker.online.then_some(worker.last_seen + state.settings.offline_after);
    let heartbeat = heartbeat::due(worker);
    let leases = holds_presence_leases(state, ix).then(|| {
        let prolonged = worker.last_seen + state.settings.lease;
        if prolonged > worker.lease_until { renewal_at(state, ix) } else { prolonged }
    });
    [silence, heartbeat, leases, worker.lease_due, worker.paused_until].into_iter().flatten().min()
}

/// Leases are written anew when half their time is over: often enough to be true, seldom enough to
/// be cheap.
fn renewal_at(state: &State, ix: WorkerIx) -> Timestamp {
    state.workers[ix].lease_until - muster_model::Millis(state.settings.lease.0 / 2)
}

/// True if any live lease of the worker hangs on its signs of life.
pub(crate) fn holds_presence_leases(state: &State, ix: WorkerIx) -> bool {
    state.workers[ix].presence > 0
}

/// Time when a lease must end by itself, whatever is heard of its worker: a claim also by its own term.
pub(crate) fn due(task: &Task) -> Option<Timestamp> {
    let lease = task.lease?;
    Some(if task.kind == LeaseKind::Claim { lease.timeout_at.min(lease.until) } else { lease.timeout_at })
}

/// The earliest of them over all leases of a worker.
pub(crate) fn earliest_due(state: &State, ix: WorkerIx) -> Option<Timestamp> {
    state.workers[ix].live.iter().filter_map(|task| due(&state.tasks[task])).min()
}

/// The leases of a worker that end now: too long under way (Q9), a claim not renewed (Q14), or nothing heard (N15b).
fn ended_leases(state: &State, ix: WorkerIx, now: Timestamp) -> impl Iterator<Item = Event> {
    let worker = &state.workers[ix];
    let silent =
        worker.last_seen + state.settings.lease <= now && !state.has_bug(Mutant::LeaseOutlivesSilence);
    let ended = move |task: &Task| {
        let lease = task.lease?;
        match task.kind {
            _ if lease.timeout_at <= now => Some(Outcome::TimedOut),
            LeaseKind::Claim if lease.until <= now => Some(Outcome::LeaseLost),
            LeaseKind::Presence if silent => Some(Outcome::LeaseLost),
            _ => None,
        }
    };
    worker
        .live
        .iter()
        .filter_map(move |at| {
            let task = &state.tasks[at];
            let outcome = ended(task)?;
            Some(end_attempt(
                state,
                task,
                Ending { task: state.task_id(*at), outcome, result: None, at: now },
            ))
        })
        .flatten()
}

/// The events that a sign of life causes: a worker never heard of is enrolled, a silent one is back (N1b, N15).
pub(crate) fn appear(state: &State, worker: &Name, known: Option<WorkerIx>, at: Timestamp) -> Vec<Event> {
    match known {
        None => vec![Event::WorkerEnrolled { worker: worker.clone(), at }],
        Some(ix) if !state.workers[ix].online => vec![Event::WorkerOnline { worker: worker.clone(), at }],
        Some(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use crate::devices::script::check;

    /// N15: thirty seconds of silence make a node offline; any pull or report is a sign of life; N16: its work stays its own.
    #[test]
    fn silence_is_offline_not_failure() {
        check(
            "
            0s   pull PC-01 max=0 devices=d1
            1s   submit r1
            2s   pull PC-01                   -> granted r1/d1#1
            31s  tick                         -> nothing
            32s  tick                         -> offline PC-01
            33s  explain device d1            => awaiting_redelivery
            200s finished PC-01 r1/d1 ok      -> online PC-01; confirmed r1/d1; ended r1/d1#1 ok; closed r1/d1 Completed; over r1 Success
            ",
        );
    }

    /// N15: after a start of the server silence counts from that start.
    #[test]
    fn silence_counts_from_the_start() {
        check(
            "
            0s   pull PC-01 max=0 devices=d1
            5s   restart
            34s  tick                         -> nothing
            35s  tick                         -> offline PC-01
            ",
        );
    }

    /// N15b: the end of a lease costs a retry like a timeout; a late success counts while the row waits.
    #[test]
    fn a_lease_ends_with_silence_and_a_late_success_counts() {
        check(
            "
            0s   pull PC-01 max=0 devices=d1
            1s   submit r1
            2s   pull PC-01                   -> granted r1/d1#1
            3s   started PC-01 r1/d1
            302s tick                         -> offline PC-01; extended PC-01 303s
            303s tick                         -> ended r1/d1#1 timeout; queued r1/d1
            304s pull PC-01 max=0             => stop=r1/d1
            305s finished PC-01 r1/d1 ok attempt=1 -> ended r1/d1#1 ok; closed r1/d1 Completed; over r1 Success
            306s pull PC-01 max=0             => finished=r1
            ",
        );
    }

    /// N15b: signs of life carry the leases on, and that is written down.
    #[test]
    fn signs_of_life_prolong_the_leases() {
        check(
            "
            0s   pull PC-01 max=0 devices=d1
            1s   submit r1
            2s   pull PC-01                   -> granted r1/d1#1
            3s   started PC-01 r1/d1
            29s  heartbeat PC-01
            55s  heartbeat PC-01
            81s  heartbeat PC-01
            107s heartbeat PC-01
            133s heartbeat PC-01
            151s heartbeat PC-01
            152s tick                         -> extended PC-01 451s
            180s heartbeat PC-01
            410s tick                         -> offline PC-01; extended PC-01 480s
            479s tick                         -> nothing
            480s tick                         -> ended r1/d1#1 timeout; queued r1/d1
            530s tick                         -> closed r1/d1 Cancelled (skipped: device offline); over r1 Failed (no task completed)
            ",
        );
    }
}
