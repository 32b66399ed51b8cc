//! Replies and rejections.
#![allow(missing_docs, reason = "fields whose names say what they hold have no words of their own")]

use crate::{
    AccountRejection, AccountReply, Fence, FrameRejection, FrameReply, JobId, JobStatus, Name, PoolRejection,
    PoolReply, Recorded, ScheduleRecord, ScheduleRejection, TaskId, TaskRecord, TaskStatus, Timestamp,
};
use alloc::{boxed::Box, vec::Vec};

/// The answer to a command that was carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// To `Submit` and `Cancel`, and to the firing of a schedule.
    Job(JobReply),
    /// To `Pull`.
    Pulled(PullReply),
    /// To `Report`.
    Recorded(Recorded),
    /// To `ReportBatch`: one result per message, in order. A heartbeat counts as applied.
    RecordedBatch(Vec<Result<Recorded, Rejection>>),
    /// To `Claim`: the tasks taken.
    Claimed(Vec<TaskRecord>),
    /// To `Renew`: whether the lease was there to be renewed.
    Renewed(bool),
    /// To `Complete` and `FailOrRetry`: the task as it stands now.
    Task(Box<TaskRecord>),
    /// To `Sweep`.
    Swept(SweepReply),
    /// To `Frames`.
    Frames(FrameReply),
    /// To `Pool`.
    Pool(PoolReply),
    /// To `Accounts`.
    Accounts(AccountReply),
    /// To the making of a schedule: as it stands now.
    Schedule(Box<ScheduleRecord>),
    /// To everything else.
    Done,
}

/// A job and its current status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobReply {
    pub job: JobId,
    /// Its status now.
    pub status: JobStatus,
}

/// Counts of what ended in one sweep (Q14).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SweepReply {
    pub jobs: u32,
    /// Attempts that ended.
    pub tasks: u32,
}

/// Reply to a pull (N1).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PullReply {
    /// Jobs of which `handouts` carries the worker's first task.
    pub announced: Vec<JobAnnounced>,
    /// Tasks to run.
    pub handouts: Vec<Handout>,
    /// Jobs that hold nothing more for this worker.
    pub finished: Vec<JobId>,
    /// Tasks to end.
    pub stop: Vec<TaskId>,
    /// Those of `stop` whose lease is live: a worker that never heard of one can report its end all the same.
    pub stopping: Vec<Handout>,
    /// A device of this worker that another one reports as well, and that one (N1b).
    pub contested: Option<(Name, Name)>,
    /// Nothing here the worker has not heard; the request may wait.
    pub nothing_new: bool,
}

/// A job new to a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobAnnounced {
    pub job: JobId,
    /// Its devices at this worker, as far as they are known now.
    pub targets: u32,
    /// Number that may run at once here.
    pub slots: u32,
}

/// One task handed to a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handout {
    pub task: TaskId,
    pub lane: Name,
    /// Whatever reaches the device now.
    pub handle: Name,
    pub attempt: u16,
    pub fence: Fence,
    /// Time when the lease ends if nothing is heard.
    pub until: Timestamp,
}

/// Reason why a command was not carried out; nothing changed. Every dialect has words of its own for each (no wildcard arm).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// The report id was used before, for another content (N5).
    ReportConflict,
    /// The submission key was used before, for another body (Q15).
    KeyConflict,
    /// No such job.
    JobUnknown,
    /// No such task, or not in that job.
    TaskUnknown,
    /// No such device, or not that task's.
    LaneUnknown,
    /// No such worker.
    WorkerUnknown,
    /// The task is another worker's (N6).
    NotHolder { holder: Name },
    /// The task is not leased out (Q14).
    TaskNotRunning { status: TaskStatus },
    /// The job ended before (Q15).
    JobEnded { status: JobStatus },
    /// The device is in service as it is (Q11).
    LaneInService,
    /// About sessions of frames.
    Frames(FrameRejection),
    /// About the pool.
    Pool(PoolRejection),
    /// About accounts.
    Accounts(AccountRejection),
    /// About schedules.
    Schedules(ScheduleRejection),
}
