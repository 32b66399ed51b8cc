//! Q2, Q3, Q4: how many tasks a worker may take now, and which.

use crate::{
    Mutant,
    devices::state::{LaneIx, Share, State, WorkerIx},
};
use alloc::{borrow::Cow, collections::BTreeSet, vec::Vec};
use muster_model::{Timestamp, WorkerSupply};

/// A lane chosen for a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) job: u64,
    pub(crate) lane: LaneIx,
}

/// Live leases a worker may hold.
pub(crate) fn cap(state: &State, worker: WorkerIx) -> u32 {
    let cap = state.workers[worker].cap.unwrap_or(state.settings.slots);
    if state.has_bug(Mutant::SlotFreedTwice) { cap + 1 } else { cap }
}

/// True if a worker may be given new work at all.
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
    let mut lines: Vec<_> = shares.iter().map(|(job, share)| (*job, share.waiting.iter())).collect();
    // A single job never offers a lane twice.
    let has_rivals = lines.len() > 1;
    let mut taken = BTreeSet::new();
    let mut chosen = Vec::new();
    let mut turn = 0;
    while chosen.len() < free as usize && !lines.is_empty() {
        let place = turn % lines.len();
        let (job, line) = &mut lines[place];
        match line.find(|lane| !taken.contains(lane)) {
            Some(lane) => {
                if has_rivals {
                    taken.insert(lane);
                }
                chosen.push(Choice { job: *job, lane });
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

/// The figures of Q3 for a worker. A device that several active jobs could start on counts once.
pub(crate) fn supply(state: &State, ix: WorkerIx) -> WorkerSupply {
    let worker = &state.workers[ix];
    let shares = shares_in_turn(state, ix);
    let eligible = match &shares[..] {
        [(_, share)] => share.waiting.len(),
        shares => {
            let lanes = shares.iter().flat_map(|(_, share)| share.waiting.iter());
            lanes.collect::<BTreeSet<_>>().len()
        }
    };
    let [running, eligible] = [worker.live.len(), eligible].map(|n| u32::try_from(n).unwrap_or(u32::MAX));
    let target = cap(state, ix).min(running.saturating_add(eligible));
    WorkerSupply { worker: worker.name.clone(), running, eligible, target }
}

/// The worker's shares of the active jobs, beginning after the queue it was last served from.
fn shares_in_turn(state: &State, ix: WorkerIx) -> Vec<(u64, Cow<'_, Share>)> {
    let worker = &state.workers[ix];
    let mut jobs: Vec<_> =
        state.queues.iter().filter_map(|(name, queue)| Some((name, queue.active?))).collect();
    if let Some(last) = &worker.turn {
        let after = jobs.partition_point(|(name, _)| *name <= last);
        jobs.rotate_left(after);
    }
    let view = |job: u64| match worker.shares.get(job) {
        Some(share) => Cow::Borrowed(share),
        None => Cow::Owned(state.draw_up_share(ix, job)),
    };
    jobs.into_iter().map(|(_, job)| (job, view(job))).collect()
}

#[cfg(test)]
mod tests {
    use crate::devices::script::check;

    /// Q3, Q4: a PC is filled exactly up to its slots, one row per free slot, and refilled as they free.
    #[test]
    fn a_pc_is_refilled_exactly_up_to_its_slots() {
        check(
            "
            0s  pull PC-01 max=0 devices=d1..d30
            1s  submit r1
            2s  pull PC-01 max=19            => runs=r1:30 jobs=r1/d1#1,r1/d2#1,r1/d3#1,r1/d4#1,r1/d5#1,r1/d6#1,r1/d7#1,r1/d8#1,r1/d9#1,r1/d10#1,r1/d11#1,r1/d12#1,r1/d13#1,r1/d14#1,r1/d15#1,r1/d16#1,r1/d17#1,r1/d18#1,r1/d19#1
            3s  pull PC-01 max=100           => jobs=r1/d20#1
            4s  pull PC-01 max=100           => nothing
            5s  finished PC-01 r1/d7 ok
            5s  finished PC-01 r1/d9 ok
            6s  pull PC-01 max=100           => jobs=r1/d21#1,r1/d22#1
            ",
        );
    }

    /// Q3: the cap is the PC's own where set.
    #[test]
    fn a_pc_may_have_a_cap_of_its_own() {
        check(
            "
            0s  pull PC-01 max=0 devices=d1..d5
            0s  cap PC-01 2
            1s  submit r1
            2s  pull PC-01 max=5             => runs=r1:5 jobs=r1/d1#1,r1/d2#1
            3s  cap PC-01 none
            3s  pull PC-01 max=5             => jobs=r1/d3#1,r1/d4#1,r1/d5#1
            ",
        );
    }

    /// Q4: rows come into being only as slots free.
    #[test]
    fn no_row_exists_before_its_slot() {
        check(
            "
            0s  pull PC-01 max=0 devices=d1..d5
            0s  cap PC-01 1
            1s  submit r1
            2s  pull PC-01                   -> granted r1/d1#1
            3s  explain task r1/d1           => awaiting_redelivery
            4s  explain device d2            => no_slot
            ",
        );
    }

    /// Q21: running, eligible and target of a PC; without an active run nothing is eligible.
    #[test]
    fn the_figures_of_a_pc() {
        check(
            "
            0s  pull PC-01 max=0 devices=d1..d30
            0s  supply PC-01                  => running=0 eligible=0 target=0
            1s  submit r1
            1s  supply PC-01                  => running=0 eligible=30 target=20
            2s  pull PC-01 max=19
            2s  supply PC-01                  => running=19 eligible=11 target=20
            3s  finished PC-01 r1/d1 ok
            3s  supply PC-01                  => running=18 eligible=11 target=20
            4s  cap PC-01 5
            4s  supply PC-01                  => running=18 eligible=11 target=5
            5s  cap PC-01 none
            6s  submit s1 queue=other devices=d1,d30
            6s  supply PC-01                  => running=18 eligible=12 target=20
            7s  cancel r1
            7s  supply PC-01                  => running=18 eligible=2 target=20
            8s  cancel s1
            8s  supply PC-01                  => running=18 eligible=0 target=18
            ",
        );
    }

    /// Q15: a draining PC gets nothing new and keeps what it has.
    #[test]
    fn a_draining_pc_gets_nothing_new() {
        check(
            "
            0s  pull PC-01 max=0 devices=d1,d2
            1s  submit r1
            2s  pull PC-01 max=1             => runs=r1:2 jobs=r1/d1#1
            3s  drain PC-01
            4s  pull PC-01                   => nothing
            5s  finished PC-01 r1/d1 ok      => Applied
            6s  resume PC-01
            7s  pull PC-01                   => jobs=r1/d2#1
            ",
        );
    }

    /// Q3: leases granted under a larger cap outlast it; nothing new is granted until they have ended.
    #[test]
    fn a_lowered_cap_is_met_as_leases_end() {
        check(
            "
            0s  pull PC-01 max=0 devices=d1..d30
            0s  cap PC-01 22
            1s  submit r1
            2s  claim PC-01 max=22
            3s  cap PC-01 none
            4s  complete r1/d1
            4s  complete r1/d2
            5s  pull PC-01 max=5             => nothing
            6s  complete r1/d3
            7s  pull PC-01 max=5             => runs=r1:27 jobs=r1/d23#1
            ",
        );
    }
}
