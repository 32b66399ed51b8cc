//! Reason why a command was not carried out.

use crate::{
    AccountRejection, FrameRejection, JobStatus, Name, PoolRejection, ScheduleRejection, TaskStatus,
};

/// A refusal; nothing changed. Every dialect has words of its own for each (no wildcard arm).
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
    NotHolder {
        /// Its holder.
        holder: Name,
    },
    /// The task is not leased out (Q14).
    TaskNotRunning {
        /// Its actual status.
        status: TaskStatus,
    },
    /// The job ended before (Q15).
    JobEnded {
        /// Its final status.
        status: JobStatus,
    },
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
