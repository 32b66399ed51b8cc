//! Events.
#![allow(missing_docs, reason = "the fields of an event are named for what they hold")]

use crate::{
    AccountEvent, AlertRecord, Attachment, DeviceReport, Fence, FrameEvent, JobId, JobOutcome, JobStatus,
    Labels, LeaseKind, Name, Outcome, PoolEvent, ReportId, ReportSubject, ScheduleEvent, Step, Submission,
    TaskId, TaskStatus, Timestamp,
};
use alloc::{boxed::Box, sync::Arc, vec::Vec};

/// A change of state. Applying it cannot fail.
#[derive(Clone, Debug)]
pub enum Event {
    /// A worker spoke for the first time.
    WorkerEnrolled { worker: Name, at: Timestamp },
    /// A worker fell silent (N15).
    WorkerOffline { worker: Name, at: Timestamp },
    /// A silent worker spoke again.
    WorkerOnline { worker: Name, at: Timestamp },
    /// A worker gets no more work (`true`) or work again (`false`).
    WorkerDraining { worker: Name, draining: bool, at: Timestamp },
    /// A worker's own cap was set or lifted.
    WorkerCapped { worker: Name, cap: Option<u32>, at: Timestamp },
    /// A worker has a new secret; the one before dies at `old_until`.
    SecretRotated { worker: Name, hash: [u8; 32], old_until: Timestamp, at: Timestamp },
    /// The heartbeat of an online worker is missing (`late`), or is back (N8c).
    HeartbeatChanged { worker: Name, late: bool, at: Timestamp },
    /// Supply to a worker rests (N17).
    SupplyPaused { worker: Name, until: Timestamp, at: Timestamp },
    /// A pause is over.
    SupplyResumed { worker: Name, at: Timestamp },
    /// All presence leases of a worker were prolonged by its signs of life (N15b).
    LeasesExtended { worker: Name, until: Timestamp },

    /// A device was seen for the first time, or at another worker than before.
    LaneAttached { worker: Name, report: DeviceReport, at: Timestamp },
    /// A device's condition or handle changed at its worker.
    LaneReported { lane: Name, handle: Name, attachment: Attachment, at: Timestamp },
    /// A device has been away longer than the grace (Q6).
    LaneGraceOver { lane: Name },
    /// A device was taken out of service (Q11).
    LaneFailed { lane: Name, at: Timestamp },
    /// A device was put back into service (Q11).
    LaneReturned { lane: Name, note: Option<Box<str>>, at: Timestamp },
    /// A device's labels were replaced.
    LaneLabelled { lane: Name, labels: Labels, at: Timestamp },

    /// A job entered its queue.
    JobSubmitted { job: JobId, submission: Box<Submission>, at: Timestamp },
    /// A job became the one its queue serves (Q2).
    JobActivated { job: JobId, at: Timestamp },
    /// A job ended (Q7).
    JobEnded { job: JobId, status: JobStatus, outcome: JobOutcome, error: Option<Box<str>>, at: Timestamp },
    /// The last running task of an ended job ended: nothing of it is live.
    JobClosed { job: JobId },

    /// A task was leased; with `created`, it came into being for it (Q4).
    LeaseGranted(Grant),
    /// The worker began (N10).
    LeaseConfirmed { task: TaskId, attempt: u16, at: Timestamp },
    /// One claim was prolonged (Q14).
    LeaseRenewed { task: TaskId, until: Timestamp },
    /// The worker told how far it is (N11).
    TaskProgressed { task: TaskId, attempt: u16, step: Step },
    /// An attempt ended. What follows from it is said by the next event on the task.
    AttemptEnded { task: TaskId, attempt: u16, outcome: Outcome, at: Timestamp },
    /// The task waits for another attempt (Q10).
    TaskQueued { task: TaskId, at: Timestamp },
    /// The last attempt of the task does not count: it may have one more (N17).
    TaskForgiven { task: TaskId },
    /// The task is over.
    TaskEnded {
        task: TaskId,
        status: TaskStatus,
        error: Option<Box<str>>,
        result: Option<Box<str>>,
        at: Timestamp,
    },
    /// A task came into being only to be closed: its device is long away (Q6).
    TaskSkipped { task: TaskId, lane: Name, worker: Name, at: Timestamp },

    /// A report was taken, with this effect.
    ReportRecorded {
        id: ReportId,
        subject: ReportSubject,
        worker: Name,
        task: Option<TaskId>,
        effect: Recorded,
        body: Arc<str>,
        at: Timestamp,
    },
    /// A worker reported the end of a task it was told to stop (N1).
    StopEnded { worker: Name, task: TaskId },
    /// A worker ended its share of a job (N14).
    ShareClosed { worker: Name, job: JobId },
    /// A worker was answered: it knows what there is to know, and these tasks were shown to it (volatile).
    PullAnswered { worker: Name, shown: Vec<TaskId>, at: Timestamp },
    /// People should look.
    AlertRaised(AlertRecord),
    /// Something about sessions of frames.
    Frames(FrameEvent),
    /// Something about the pool.
    Pool(PoolEvent),
    /// Something about accounts.
    Accounts(AccountEvent),
    /// Something about schedules.
    Schedules(ScheduleEvent),
}

/// A lease as it was granted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    pub task: TaskId,
    /// True if the task came into being by this.
    pub created: bool,
    pub lane: Name,
    pub worker: Name,
    pub attempt: u16,
    /// Attempts in all.
    pub max_attempts: u16,
    pub fence: Fence,
    pub kind: LeaseKind,
    pub at: Timestamp,
    /// Time when it ends if nothing is heard.
    pub until: Timestamp,
    /// Time when the attempt has taken too long (Q9).
    pub timeout_at: Timestamp,
}

from_contents!(Event: Frames(FrameEvent), Pool(PoolEvent), Accounts(AccountEvent), Schedules(ScheduleEvent));

words! {
    /// Effect of a report.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Recorded {
        /// It was new and took effect.
        Applied = "applied",
        /// It had taken effect before (N5).
        Duplicate = "duplicate",
        /// It was new, and spoke of what is past; kept, without effect (N6b).
        Stale = "stale",
    }
}
