//! Invariants that hold after every command, each a function with a name.

use crate::{
    Engine,
    devices::{
        rule::{eligible, slot},
        state::{LaneIx, RowState, State, WorkerIx},
    },
};
use alloc::{format, string::String, vec::Vec};
use muster_model::{Change, JobStatus, LeaseKind, TaskStatus, Timestamp};

type Broken = Result<(), String>;

impl Engine {
    /// Checks them all; says which is broken and where.
    ///
    /// # Errors
    /// The first broken one, in a sentence.
    pub fn check_invariants(&self) -> Broken {
        let state = &self.state;
        invariant_one_lease_per_lane(state)?;
        invariant_leases_within_slots(state)?;
        invariant_one_active_job_the_oldest(state)?;
        invariant_attempts_are_bounded(state)?;
        invariant_one_row_per_lane_and_job(state)?;
        invariant_indexes_agree(state)?;
        invariant_failed_lane_waits_for_an_operator(state)?;
        state.farm.check_invariants()?;
        state.schedules.check_invariants()?;
        state.pool.check_invariants()
    }

    /// Checks them all where that is cheap enough to do beside the work.
    ///
    /// # Errors
    /// The first broken one, in a sentence.
    pub fn sample_invariants(&self) -> Broken {
        const LANES_MAX: usize = 20_000;
        if self.state.lanes.len() > LANES_MAX { Ok(()) } else { self.check_invariants() }
    }

    /// True if a worker that asks now would be given work (invariant 13).
    #[must_use]
    pub fn has_supply_for(&self, worker: &muster_model::Name, now: Timestamp) -> bool {
        self.state.workers.ix(worker).is_some_and(|ix| !slot::choose(&self.state, ix, 1, now).is_empty())
    }

    /// True if a simulation worker that asks now would be given a range (invariant 13).
    #[must_use]
    pub fn has_frames_for(&self, worker: &muster_model::Name, now: Timestamp) -> bool {
        self.state.farm.has_supply_for(worker, now)
    }

    /// True if a worker of the pool that asks now would be given something (invariant 13).
    #[must_use]
    pub fn has_pool_supply_for(&self, worker: muster_model::PoolWorkerId) -> bool {
        self.state.pool.has_supply_for(worker)
    }

    /// The rows of everything live, sorted: what a store must hold of it.
    #[must_use]
    pub fn live_rows(&self) -> Vec<Change> {
        let state = &self.state;
        let workers =
            state.workers.iter().map(|(n, _)| Change::Worker(state.worker_record(WorkerIx(n)).into()));
        let lanes = state.lanes.iter().map(|(n, _)| Change::Lane(state.lane_record(LaneIx(n)).into()));
        let jobs = state.jobs.values().map(|job| Change::Job(state.job_record(job).into()));
        let mut tasks: Vec<_> = state.tasks.iter().collect();
        tasks.sort_unstable_by_key(|(at, _)| *at);
        let tasks = tasks
            .into_iter()
            .map(|(at, task)| Change::Task(state.task_record(state.task_id(at), task).into()));
        let beside = state.pool.live_rows().into_iter();
        let beside = beside.chain(state.accounts.live_rows().map(Change::Accounts));
        let beside = beside.chain(state.schedules.live_rows());
        workers.chain(lanes).chain(jobs).chain(tasks).chain(state.farm.live_rows()).chain(beside).collect()
    }
}

/// 1: a lane has at most one live lease, and both sides know it.
fn invariant_one_lease_per_lane(state: &State) -> Broken {
    for (at, task) in state.tasks.iter() {
        let lane = &state.lanes[task.lane];
        if task.lease.is_some() && lane.busy() != Some(at) {
            return Err(format!("{:?} is leased, but its lane {} has {:?}", at, lane.name, lane.busy()));
        }
        if task.lease.is_some() != state.workers[task.worker].live.contains(&at) {
            return Err(format!("{at:?} and the slots of its worker disagree"));
        }
    }
    let miscounted = state.workers.iter().find(|(_, worker)| {
        let presence = worker.live.iter().filter(|task| state.tasks[*task].kind == LeaseKind::Presence);
        presence.count() != worker.presence as usize
    });
    if let Some((_, worker)) = miscounted {
        return Err(format!("{} miscounts its presence leases", worker.name));
    }
    let stray = state.lanes.iter().find(|(_, lane)| {
        lane.busy().is_some_and(|task| state.tasks.get(&task).is_none_or(|task| task.lease.is_none()))
    });
    stray.map_or(Ok(()), |(_, lane)| Err(format!("lane {} is held by a lease that is not live", lane.name)))
}

/// 2: a worker's live leases fit its slots; a cap lowered meanwhile is met as leases end.
fn invariant_leases_within_slots(state: &State) -> Broken {
    let crowded = state.workers.iter().find(|(_, worker)| worker.live.len() > worker.granted_under as usize);
    crowded.map_or(Ok(()), |(_, worker)| Err(format!("{} holds {} leases", worker.name, worker.live.len())))
}

/// 3: at most one active job per queue, the oldest.
fn invariant_one_active_job_the_oldest(state: &State) -> Broken {
    for job in state.jobs.values().filter(|job| job.status == JobStatus::Running) {
        let queue = &state.queues[&job.queue];
        if queue.active != Some(job.seq) {
            return Err(format!("job {} runs, but its queue serves {:?}", job.id, queue.active));
        }
        if queue.waiting.first().is_some_and(|oldest| *oldest < job.seq) {
            return Err(format!("job {} runs before an older one of {}", job.id, job.queue));
        }
    }
    let idle = state.queues.iter().find(|(_, queue)| queue.active.is_none() && !queue.waiting.is_empty());
    idle.map_or(Ok(()), |(name, _)| Err(format!("queue {name} serves nothing while jobs wait")))
}

/// 6: attempt ≤ max; failed for good only when they are used up.
fn invariant_attempts_are_bounded(state: &State) -> Broken {
    let wild = state.tasks.iter().find(|(_, task)| task.attempt > task.max_attempts || task.attempt == 0);
    if let Some((at, task)) = wild {
        return Err(format!("{at:?} is at attempt {} of {}", task.attempt, task.max_attempts));
    }
    let early = state.recent.tasks.values().find(|task| {
        task.status == TaskStatus::Failed && task.attempt < task.max_attempts
            || task.attempt > task.max_attempts
    });
    early.map_or(Ok(()), |task| {
        Err(format!("{} failed at attempt {} of {}", task.id, task.attempt, task.max_attempts))
    })
}

/// Q1: what a lane knows of its rows is what the rows are.
fn invariant_one_row_per_lane_and_job(state: &State) -> Broken {
    for (at, task) in state.tasks.iter() {
        let row = state.lanes[task.lane].row(at.job);
        let expected = if task.lease.is_some() { RowState::Running } else { RowState::Pending };
        if row.is_none_or(|row| row.task() != at || row.state != expected) {
            return Err(format!("{at:?} is {expected:?}, its lane says {row:?}"));
        }
        if state.jobs[&at.job].pending.contains(&at.ordinal) != task.lease.is_none() {
            return Err(format!("{at:?} is {expected:?}, its job believes otherwise"));
        }
    }
    let open: usize = state.jobs.values().map(|job| job.open as usize).sum();
    if open == state.tasks.len() {
        Ok(())
    } else {
        Err(format!("{open} open rows, {} tasks", state.tasks.len()))
    }
}

/// Every index says what a look at all lanes would say.
fn invariant_indexes_agree(state: &State) -> Broken {
    for job in state.active_jobs() {
        let lacking =
            state.lanes.iter().filter(|(n, _)| eligible::standing(state, job, LaneIx(*n)).lacking).count();
        if lacking != job.lacking as usize {
            return Err(format!("job {} believes {} lanes lack a row, {lacking} do", job.id, job.lacking));
        }
        for ix in &job.shared_by {
            let kept = state.workers[*ix].shares.get(job.seq).expect("it shares the job");
            let drawn = state.draw_up_share(*ix, job.seq);
            if (&kept.waiting, kept.lacking, kept.open_rows)
                != (&drawn.waiting, drawn.lacking, drawn.open_rows)
            {
                return Err(format!("the share of {} in {} is out of step", state.workers[*ix].name, job.id));
            }
        }
    }
    Ok(())
}

/// Q11: a lane whose attempts are used up is out of service until an operator returns it.
fn invariant_failed_lane_waits_for_an_operator(state: &State) -> Broken {
    let spent = state.recent.tasks.values().filter(|task| task.status == TaskStatus::Failed);
    let served = spent.filter_map(|task| state.lanes.ix(&task.lane).map(|ix| (task, &state.lanes[ix])));
    let wrong = served
        .into_iter()
        .find(|(task, lane)| !lane.failed && lane.note.is_none() && lane.row_is(task.id.ordinal));
    wrong.map_or(Ok(()), |(_, lane)| {
        Err(format!("lane {} failed for good and is still in service", lane.name))
    })
}
