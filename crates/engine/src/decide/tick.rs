//! Q6, Q9, N2, N15, N15b, N17: what is due.

use super::Context;
use crate::{
    Mutant,
    rule::{heartbeat, liveness, offline_grace, redelivery},
    state::{LaneIx, State, Timer, WorkerIx},
};
use alloc::vec::Vec;
use muster_model::{Event, Timestamp};

/// Lanes looked at in one step of a job's search for lanes long away.
const SKIPS_PER_STEP: usize = 256;

/// What the next due timer makes true; `None` when none is due.
pub(crate) fn next_due(state: &mut State, context: &Context<'_>) -> Option<Vec<Event>> {
    let now = context.now;
    let timer = state.timers.pop_due(now)?;
    Some(match timer {
        Timer::Worker(ix) => {
            state.workers[ix].armed = None;
            if state.workers[ix].waiting > 0 {
                // An open request is a sign of life for as long as it is open (N15).
                state.workers[ix].last_seen = now;
            }
            state.workers[ix].lease_due = liveness::earliest_due(state, ix);
            state.dirty.rearm.insert(ix);
            let mut events = liveness::judge(state, ix, now);
            events.extend(heartbeat::judge(state, ix, context));
            events
        }
        Timer::Redelivery(ix) => {
            redeliver(state, ix, now);
            Vec::new()
        }
        Timer::Lane(ix) => grace_over(state, ix, now),
        Timer::Job(seq) => {
            state.dirty.check_jobs.insert(seq);
            Vec::new()
        }
        Timer::Skip(seq, from) => skip_step(state, (seq, from), now),
    })
}

fn redeliver(state: &mut State, ix: WorkerIx, now: Timestamp) {
    if redelivery::next_due(state, ix).is_some_and(|due| due <= now) {
        state.dirty.woken.insert(ix);
    }
    // Nobody may be waiting for what is due now: what becomes due later must ring by itself.
    if let Some(due) = redelivery::next_due_after(state, ix, now) {
        state.timers.set(due, Timer::Redelivery(ix));
    }
}

fn grace_over(state: &State, ix: LaneIx, now: Timestamp) -> Vec<Event> {
    let lane = &state.lanes[ix];
    let away = lane.offline_since.is_some_and(|since| since + state.settings.offline_grace <= now);
    if !away || state.has_bug(Mutant::GraceForgotten) {
        return Vec::new();
    }
    Vec::from([Event::LaneGraceOver { lane: lane.name.clone() }])
}

/// Skips some of the lanes that were away long before the job became active; the rest follows in steps
/// of their own, so that no command waits for all of them.
fn skip_step(state: &mut State, (seq, from): (u64, LaneIx), now: Timestamp) -> Vec<Event> {
    let Some(job) = state.jobs.get(&seq).filter(|job| job.is_active()) else {
        return Vec::new();
    };
    let mut events = Vec::new();
    let mut ordinal = job.tasks;
    let mut looked_at = state.long_away.range(from..).take(SKIPS_PER_STEP + 1);
    for ix in looked_at.by_ref().take(SKIPS_PER_STEP) {
        let Some(event) = offline_grace::skip(state, job, (*ix, ordinal + 1), now) else {
            continue;
        };
        ordinal += u32::from(matches!(event, Event::TaskSkipped { .. }));
        events.push(event);
    }
    if let Some(next) = looked_at.next().copied() {
        state.timers.set(now, Timer::Skip(seq, next));
    }
    events
}
