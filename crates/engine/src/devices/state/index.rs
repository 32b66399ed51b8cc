//! Keeps every index in step with the lanes.

use super::{Lane, LaneIx, Share, State, WorkerIx};
use crate::devices::rule::eligible::{Standing, standing};

impl State {
    /// Changes what a lane is doing or whether it can be reached, with the shares taken down before and put up after.
    pub(crate) fn change_lane(&mut self, ix: LaneIx, change: impl FnOnce(&mut Lane)) {
        let active = self.active_seqs();
        self.tally(ix, &active, Sign::Minus);
        change(&mut self.lanes[ix]);
        self.tally(ix, &active, Sign::Plus);
    }

    /// Changes what a lane is: where it is attached, its labels, whether it is in service.
    pub(crate) fn remake_lane(&mut self, ix: LaneIx, change: impl FnOnce(&mut Lane)) {
        let active = self.active_seqs();
        self.tally(ix, &active, Sign::Minus);
        self.tally_service(ix, Sign::Minus);
        change(&mut self.lanes[ix]);
        self.tally_service(ix, Sign::Plus);
        self.tally(ix, &active, Sign::Plus);
    }

    /// Puts a lane that is new to the directory into all indexes.
    pub(crate) fn add_to_indexes(&mut self, ix: LaneIx) {
        self.tally_service(ix, Sign::Plus);
        self.tally(ix, &self.active_seqs(), Sign::Plus);
    }

    /// A worker's share of an active job, drawn up from its lanes.
    pub(crate) fn draw_up_share(&self, worker: WorkerIx, seq: u64) -> Share {
        let job = &self.jobs[&seq];
        let mut share = Share::new(job.id);
        for ix in &self.workers[worker].lanes {
            share.count(standing(self, job, *ix), *ix, Sign::Plus);
        }
        share
    }

    /// Has the share of a worker in a job kept from now on.
    pub(crate) fn keep_share(&mut self, worker: WorkerIx, seq: u64) -> &mut Share {
        if !self.workers[worker].shares.contains(seq) {
            let share = self.draw_up_share(worker, seq);
            self.workers[worker].shares.insert(seq, share);
            if let Some(job) = self.jobs.get_mut(&seq) {
                job.shared_by.insert(worker);
            }
        }
        self.workers[worker].shares.get_mut(seq).expect("it was put there just now")
    }

    fn active_seqs(&self) -> smallest::Seqs {
        self.queues.values().filter_map(|queue| queue.active).collect()
    }

    fn tally(&mut self, ix: LaneIx, active: &smallest::Seqs, sign: Sign) {
        for seq in active.iter() {
            self.tally_active(ix, seq, sign);
        }
        self.tally_ended_jobs(ix, sign);
    }

    fn tally_active(&mut self, ix: LaneIx, seq: u64, sign: Sign) {
        let standing = standing(self, &self.jobs[&seq], ix);
        let worker = self.lanes[ix].worker;
        if standing.lacking {
            let job = self.jobs.get_mut(&seq).expect("an active job is in memory");
            sign.add(&mut job.lacking);
            self.dirty.check_jobs.insert(seq);
            if self.long_away.contains(&ix) {
                // It may have come into the scope only now, by a move, a label or a return to service.
                self.dirty.check_skips.insert(ix);
            }
        }
        if standing.waiting.is_some() {
            self.dirty.woken.insert(worker);
        }
        if let Some(share) = self.workers[worker].shares.get_mut(seq) {
            share.count(standing, ix, sign);
        }
    }

    /// A job that was cancelled may still have a row running here.
    fn tally_ended_jobs(&mut self, ix: LaneIx, sign: Sign) {
        let lane = &self.lanes[ix];
        let worker = &mut self.workers[lane.worker];
        for row in lane.rows.iter().filter(|row| row.state == super::RowState::Running) {
            let ended = self.jobs.get(&row.job).is_some_and(|job| job.status.is_ended());
            if let Some(share) = worker.shares.get_mut(row.job).filter(|_| ended) {
                sign.add(&mut share.open_rows);
            }
        }
    }

    fn tally_service(&mut self, ix: LaneIx, sign: Sign) {
        let lane = &self.lanes[ix];
        let worker = &mut self.workers[lane.worker];
        if !lane.failed {
            sign.add(&mut self.healthy);
            sign.add(&mut worker.healthy);
        }
        match sign {
            Sign::Plus => worker.lanes.insert(ix),
            Sign::Minus => worker.lanes.remove(&ix),
        };
        for (key, value) in lane.labels.iter().flat_map(|labels| labels.iter()) {
            let lanes = self.labelled.entry((key.clone(), value.clone())).or_default();
            match sign {
                Sign::Plus => lanes.insert(ix),
                Sign::Minus => lanes.remove(&ix),
            };
        }
    }
}

impl Share {
    fn count(&mut self, standing: Standing, ix: LaneIx, sign: Sign) {
        if standing.lacking {
            sign.add(&mut self.lacking);
        }
        if standing.open {
            sign.add(&mut self.open_rows);
        }
        if let Some(order) = standing.waiting {
            match sign {
                Sign::Plus => self.waiting.insert(order, ix),
                Sign::Minus => self.waiting.remove(order, ix),
            }
        }
    }
}

#[derive(Clone, Copy)]
enum Sign {
    Plus,
    Minus,
}

impl Sign {
    fn add(self, count: &mut u32) {
        *count = match self {
            Self::Plus => *count + 1,
            Self::Minus => count.checked_sub(1).expect("what is taken down was put up before"),
        };
    }
}

/// Active jobs are few: their numbers fit on the stack.
mod smallest {
    use alloc::vec::Vec;

    #[derive(Default)]
    pub(super) struct Seqs {
        few: [u64; 4],
        len: usize,
        more: Vec<u64>,
    }

    impl Seqs {
        pub(super) fn iter(&self) -> impl Iterator<Item = u64> {
            self.few[..self.len].iter().copied().chain(self.more.iter().copied())
        }
    }

    impl FromIterator<u64> for Seqs {
        fn from_iter<I: IntoIterator<Item = u64>>(seqs: I) -> Self {
            let mut these = Self::default();
            for seq in seqs {
                if these.len < these.few.len() {
                    these.few[these.len] = seq;
                    these.len += 1;
                } else {
                    these.more.push(seq);
                }
            }
            these
        }
    }
}
