//! Q2, Q3, Q4: how many tasks a worker may take now, and which.

use crate::{
    Mutant,
    state::{LaneIx, Share, State, WorkerIx},
};
use alloc::{borrow::Cow, collections::BTreeSet, vec::Vec};
use muster_model::Timestamp;

/// A lane chosen for a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) job: u64,
    pub(crate) lane: LaneIx,
}

/// Live leases a worker may hold.
pub(crate) fn cap(state: &State, worker: WorkerIx) -> u32 {
    let cap = state.workers[worker].cap.unwrap_or(state.settings.slots);
    if state.has_bug(Mutant::SlotFreedTwice) {
        cap + 1
    } else {
        cap
    }
}

/// Whether a worker may be given new work at all.
pub(crate) fn is_supplied(state: &State, worker: WorkerIx, now: Timestamp) -> bool {
    let worker = &state.workers[worker];
    !worker.draining && worker.paused_until.is_none_or(|until| until <= now)
}

/// The lanes that start now: one per free slot, the queues taking turns (Q2), fresh lanes before
/// retries (Q10).
pub(crate) fn choose(state: &State, ix: WorkerIx, max: u32, now: Timestamp) -> Vec<Choice> {
    let worker = &state.workers[ix];
    let live = u32::try_from(worker.live.len()).unwrap_or(u32::MAX);
    let free = cap(state, ix).saturating_sub(live).min(max);
    if free == 0 || !is_supplied(state, ix, now) {
        return Vec::new();
    }
    let shares = shares_in_turn(state, ix);
    let mut lines: Vec<_> = shares
        .iter()
        .map(|(job, share)| (*job, share.waiting.iter()))
        .collect();
    let mut taken = BTreeSet::new();
    let mut chosen = Vec::new();
    let mut turn = 0;
    while chosen.len() < free as usize && !lines.is_empty() {
        let place = turn % lines.len();
        let (job, line) = &mut lines[place];
        match line.find(|(_, lane)| !taken.contains(lane)) {
            Some((_, lane)) => {
                taken.insert(*lane);
                chosen.push(Choice {
                    job: *job,
                    lane: *lane,
                });
                turn = place + 1;
            }
            None => {
                drop(lines.remove(place));
                turn = place;
            }
        }
    }
    chosen
}

/// The worker's shares of the active jobs, beginning after the queue it was last served from.
fn shares_in_turn(state: &State, ix: WorkerIx) -> Vec<(u64, Cow<'_, ShareView>)> {
    let worker = &state.workers[ix];
    let mut jobs: Vec<_> = state
        .queues
        .iter()
        .filter_map(|(name, queue)| Some((name, queue.active?)))
        .collect();
    if let Some(last) = &worker.turn {
        let after = jobs.partition_point(|(name, _)| *name <= last);
        jobs.rotate_left(after);
    }
    let view = |job: u64| match worker.shares.get(&job) {
        Some(share) => Cow::Borrowed(share),
        None => Cow::Owned(state.draw_up_share(ix, job)),
    };
    jobs.into_iter().map(|(_, job)| (job, view(job))).collect()
}

type ShareView = Share;
