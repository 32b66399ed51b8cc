//! Q6, Q9, N2, N15, N15b, N17: the events of due timers, and what follows from events: lanes skipped, jobs ended, the
//! next ones active, dropouts noticed.

use super::Context;
use crate::{
    Mutant,
    devices::{
        rule::{
            active_job, contest, dropout, heartbeat, job_end, liveness,
            offline_grace::{self, Candidate},
            redelivery,
        },
        state::{Job, LaneIx, State, Timer, WorkerIx},
    },
};
use alloc::vec::Vec;
use muster_model::{Event, Timestamp};

/// Lanes looked at in one step of a job's search for lanes long away.
const SKIPS_PER_STEP: usize = 256;

/// Takes the next due timer, and leaves the marks that it stands for.
pub(crate) fn take_due(state: &mut State, now: Timestamp) -> Option<Timer> {
    let timer = state.timers.take_due(now)?;
    match timer {
        Timer::Worker(ix) => {
            state.workers[ix].armed = None;
            if state.workers[ix].waiting > 0 {
                // An open request is a sign of life for as long as it is open (N15).
                state.workers[ix].last_seen = now;
            }
            state.workers[ix].lease_due = liveness::earliest_due(state, ix);
            state.dirty.rearm.insert(ix);
        }
        Timer::Redelivery(ix) => redeliver(state, ix, now),
        Timer::Job(seq) => _ = state.dirty.check_jobs.insert(seq),
        Timer::Skip(seq, from) => {
            let is_active = state.jobs.get(&seq).is_some_and(Job::is_active);
            let next = state.long_away.range(from..).nth(SKIPS_PER_STEP).filter(|_| is_active);
            if let Some(next) = next.copied() {
                state.timers.set(now, Timer::Skip(seq, next));
            }
        }
        Timer::Lane(_) => {}
    }
    Some(timer)
}

/// Decides the events of a timer that was due.
pub(crate) fn decide(state: &State, timer: Timer, context: &Context<'_>) -> Vec<Event> {
    match timer {
        Timer::Worker(ix) => {
            let mut events = liveness::judge(state, ix, context.now);
            events.extend(heartbeat::judge(state, ix, context));
            events
        }
        Timer::Lane(ix) => grace_over(state, ix, context.now),
        Timer::Skip(seq, from) => skip_step(state, seq, from, context.now),
        Timer::Redelivery(_) | Timer::Job(_) => Vec::new(),
    }
}

fn redeliver(state: &mut State, ix: WorkerIx, now: Timestamp) {
    if redelivery::next_due(state, ix).is_some_and(|due| due <= now) {
        state.dirty.woken.insert(ix);
    }
    // Sets a timer for later redeliveries too, because no request may be waiting for those due now.
    if let Some(due) = redelivery::next_due_after(state, ix, now) {
        state.timers.set(due, Timer::Redelivery(ix));
    }
}

fn grace_over(state: &State, ix: LaneIx, now: Timestamp) -> Vec<Event> {
    let lane = &state.lanes[ix];
    let away = lane.offline_since.get().is_some_and(|since| since + state.settings.offline_grace <= now);
    if !away || state.has_bug(Mutant::GraceForgotten) {
        return Vec::new();
    }
    Vec::from([Event::LaneGraceOver { lane: lane.name.clone() }])
}

/// Skips some of the lanes that were away long before the job became active; the rest follows in steps
/// of their own, so that no command waits for all of them.
fn skip_step(state: &State, seq: u64, from: LaneIx, now: Timestamp) -> Vec<Event> {
    let Some(job) = state.jobs.get(&seq).filter(|job| job.is_active()) else {
        return Vec::new();
    };
    let mut events = Vec::new();
    let mut ordinal = job.tasks;
    for ix in state.long_away.range(from..).take(SKIPS_PER_STEP) {
        let candidate = Candidate { lane: *ix, ordinal: ordinal + 1 };
        let Some(event) = offline_grace::skip(state, job, &candidate, now) else {
            continue;
        };
        ordinal += u32::from(matches!(event, Event::TaskSkipped { .. }));
        events.push(event);
    }
    events
}

/// The consequences due now; none when everything is settled. Takes down the marks it has followed.
pub(crate) fn consequences(state: &mut State, context: &Context<'_>) -> Vec<Event> {
    let skips = core::mem::take(&mut state.dirty.check_skips);
    let drops = core::mem::take(&mut state.dirty.check_drops);
    let mut events = Vec::new();
    if !state.has_bug(Mutant::GraceForgotten) {
        for (n, lane) in skips.iter().enumerate() {
            let active = state.active_jobs();
            events.extend(active.filter_map(|job| {
                let candidate = Candidate { lane: *lane, ordinal: job.tasks + 1 };
                offline_grace::skip(state, job, &candidate, context.now)
            }));
            if !events.is_empty() {
                // A skip may take an ordinal: the rest is decided on what this one made true.
                state.dirty.check_skips = skips.iter().skip(n).copied().collect();
                state.dirty.check_drops = drops;
                return events;
            }
        }
    }
    for (n, worker) in (1u64..).zip(drops) {
        events.extend(dropout::judge(state, worker, context.number(u64::MAX - n), context.now));
    }
    let contests = core::mem::take(&mut state.dirty.check_contests);
    for (n, worker) in (1u64..).zip(contests) {
        events.extend(contest::judge(state, worker, context.number(u64::MAX / 2 - n), context.now));
    }
    let jobs = state.dirty.check_jobs.iter().filter_map(|seq| state.jobs.get(seq));
    events.extend(jobs.filter_map(|job| job_end::verdict(state, job, context.now)));
    state.dirty.check_jobs.clear();
    if core::mem::take(&mut state.dirty.check_queues) {
        events.extend(active_job::activations(state, context.now));
    }
    events
}
