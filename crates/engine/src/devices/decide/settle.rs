//! What follows from what was applied: lanes skipped, jobs ended, the next ones active, dropouts noticed.

use super::Context;
use crate::{
    Mutant,
    devices::{
        rule::{
            active_job, contest, dropout, job_end,
            offline_grace::{self, Candidate},
        },
        state::State,
    },
};
use alloc::vec::Vec;
use muster_model::Event;

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
    let jobs = core::mem::take(&mut state.dirty.check_jobs);
    let over = jobs.iter().filter_map(|seq| state.jobs.get(seq));
    events.extend(over.filter_map(|job| job_end::verdict(state, job, context.now)));
    if core::mem::take(&mut state.dirty.check_queues) {
        events.extend(active_job::activations(state, context.now));
    }
    events
}
