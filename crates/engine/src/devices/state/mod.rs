//! State in memory: everything live, and the indexes that make each question cheap.
//!
//! Lanes and workers are held by number, tasks by job and ordinal. A lane knows its rows in the
//! active jobs; a worker knows, per job, which of its lanes could start now. Every change to a lane
//! goes through [`State::change_lane`] or [`State::remake_lane`], which take it out of the indexes and put it back, so that no
//! index can disagree with the lane.

mod directory;
mod dirty;
mod index;
mod job;
mod lane;
mod report_ids;
mod share;
mod task;
mod worker;

pub(crate) use directory::Directory;
pub(crate) use dirty::Dirty;
pub(crate) use job::{Job, Queue};
pub(crate) use lane::{Lane, LaneIx, LaneRow, RowState, Rows};
pub(crate) use report_ids::ReportIds;
pub(crate) use share::{Share, Shares, WaitingLanes};
pub(crate) use task::{Lease, Task, TaskRef, Tasks};
pub(crate) use worker::{Contest, Worker, WorkerIx};

use crate::kernel::{Map, PlantedBug, Timers};
use alloc::{
    boxed::Box,
    collections::{BTreeMap, BTreeSet},
};
use muster_model::{JobId, JobStatus, KeyRecord, Name, Settings, SubmissionKey, TaskId, TaskRecord};

/// Everything live.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    pub(crate) settings: Settings,
    pub(crate) workers: Directory<Worker>,
    pub(crate) lanes: Directory<Lane>,
    /// Open jobs by age.
    pub(crate) jobs: BTreeMap<u64, Job>,
    pub(crate) job_ids: Map<JobId, u64>,
    pub(crate) job_seq: u64,
    pub(crate) queues: BTreeMap<Name, Queue>,
    pub(crate) tasks: Tasks,
    pub(crate) timers: Timers<Timer>,
    /// Lanes by label, to count a scope without looking at every lane.
    pub(crate) labelled: BTreeMap<(Name, Name), BTreeSet<LaneIx>>,
    /// Lanes away for longer than the grace (Q6).
    pub(crate) long_away: BTreeSet<LaneIx>,
    /// Lanes in service.
    pub(crate) healthy: u32,
    /// Counts queued retries, so that they stand in line.
    pub(crate) order: u64,
    pub(crate) recent: Recent,
    pub(crate) dirty: Dirty,
    /// Sessions of frames.
    pub(crate) farm: crate::frames::Farm,
    /// The pool.
    pub(crate) pool: crate::pool::Pool,
    /// Users, logins and keys.
    pub(crate) accounts: crate::accounts::Accounts,
    /// Jobs that are submitted by the calendar.
    pub(crate) schedules: crate::schedules::Schedules,
    pub(crate) bug: PlantedBug,
}

impl State {
    pub(crate) fn job(&self, id: JobId) -> Option<&Job> {
        self.jobs.get(self.job_ids.get(&id)?)
    }

    pub(crate) fn job_mut(&mut self, id: JobId) -> Option<&mut Job> {
        self.jobs.get_mut(self.job_ids.get(&id)?)
    }

    pub(crate) fn task_ref(&self, id: TaskId) -> Option<TaskRef> {
        Some(TaskRef { job: *self.job_ids.get(&id.job)?, ordinal: id.ordinal })
    }

    pub(crate) fn task(&self, id: TaskId) -> Option<&Task> {
        self.tasks.get(&self.task_ref(id)?)
    }

    pub(crate) fn task_id(&self, task: TaskRef) -> TaskId {
        let job = self.jobs.get(&task.job).expect("a live task's job is in memory");
        TaskId { job: job.id, ordinal: task.ordinal }
    }

    /// The job each queue serves now, in the order of the queues' names.
    pub(crate) fn active_jobs(&self) -> impl Iterator<Item = &Job> {
        self.queues.values().filter_map(|queue| self.jobs.get(&queue.active?))
    }

    /// True if no mark is left that could cause an event.
    pub(crate) fn is_settled(&self) -> bool {
        self.dirty.is_settled() && self.farm.is_settled() && self.pool.dirty.judged.is_empty()
    }

    /// Switches a planted bug on.
    #[cfg(feature = "mutants")]
    pub(crate) fn plant(&mut self, mutant: crate::Mutant) {
        self.bug = PlantedBug(Some(mutant));
        (self.farm.bug, self.pool.bug) = (self.bug, self.bug);
    }

    pub(crate) fn has_bug(&self, mutant: crate::Mutant) -> bool {
        self.bug.is(mutant)
    }
}

/// Timers: each names what to look at when it is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Timer {
    /// Is this worker silent (N15), a lease of it due (Q9, Q14, N15b), its pause over (N17)?
    Worker(WorkerIx),
    /// May this job hand out again to this worker (N2)?
    Redelivery(WorkerIx),
    /// Has this lane been away too long (Q6)?
    Lane(LaneIx),
    /// Has this job waited long enough for a device (Q6)?
    Job(u64),
    /// Must this job skip lanes long away, from this one on (Q6)?
    Skip(u64, LaneIx),
}

/// Facts that a look-up in the store might still miss.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recent {
    pub(crate) reports: ReportIds,
    pub(crate) keys: Map<SubmissionKey, KeyRecord>,
    pub(crate) tasks: Map<TaskId, Box<TaskRecord>>,
    pub(crate) jobs: Map<JobId, JobStatus>,
}
