//! Reason why something is not running (Q16).

use crate::{
    FrameCause, FrameTaskId, JobId, JobOutcome, JobStatus, MemberCause, Missed, Name, PoolCause, PoolJobId,
    PoolWorkerId, ScheduleId, SessionId, TaskId, TaskStatus, Timestamp,
};

/// Subject of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A job.
    Job(JobId),
    /// A task.
    Task(TaskId),
    /// A device.
    Lane(Name),
    /// A worker of devices.
    Worker(Name),
    /// A session of frames.
    Session(SessionId),
    /// A range of a session's frames.
    Range(FrameTaskId),
    /// A worker of sessions.
    Renderer(Name),
    /// A job of the pool.
    PoolJob(PoolJobId),
    /// A worker of the pool.
    Member(PoolWorkerId),
    /// A schedule.
    Schedule(ScheduleId),
}

/// The answer: the one rule that holds the subject back, with the objects it refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// Subject of the question.
    pub subject: Subject,
    /// The reason why it waits, or that nothing holds it back.
    pub cause: Cause,
    /// For an online worker: since when its heartbeat has been late (N8c).
    pub heartbeat_late_since: Option<Timestamp>,
}

/// Reason why something waits.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are named for what they hold")]
pub enum Cause {
    /// Nothing: it runs, with so many live leases.
    Running { leases: u32 },
    /// It ended as a job.
    JobEnded { status: JobStatus, outcome: Option<JobOutcome> },
    /// It ended as a task.
    TaskEnded { status: TaskStatus },
    /// Older jobs of the queue come first.
    QueuedBehind { active: JobId, ahead: u32 },
    /// The next job for it waits behind older ones of its queue.
    WorkQueuedBehind { job: JobId, active: JobId, ahead: u32 },
    /// The worker's slots are all taken.
    NoSlot { worker: Name, running: u32, cap: u32 },
    /// Another task holds the device.
    LaneBusy { lane: Name, task: TaskId },
    /// The device is out of service.
    DeviceError { lane: Name },
    /// The device is not usable.
    DeviceOffline { lane: Name, since: Timestamp },
    /// The worker is silent.
    NodeOffline { worker: Name, since: Timestamp },
    /// The worker gets no more work on request.
    NodeDraining { worker: Name },
    /// The worker gets no work after a mass dropout.
    SupplyPaused { worker: Name, until: Timestamp },
    /// It was handed out, not confirmed, and will be handed out again.
    AwaitingRedelivery { task: TaskId, at: Timestamp },
    /// The job matches no device; it ends unless one appears.
    WaitingForDevices { until: Timestamp },
    /// Its attempt failed; it waits behind the worker's other devices.
    AwaitingRetry { task: TaskId, attempt: u16 },
    /// It waits for the worker to ask for work.
    AwaitingPull { worker: Name },
    /// The job was cancelled; the worker has been told to stop and has not reported the end.
    Stopping { task: TaskId },
    /// The device has been served by the active job.
    AlreadyServed { lane: Name, job: JobId },
    /// Two workers report the device, and take it from each other.
    DeviceContested { lane: Name, worker: Name, other: Name },
    /// No active job is for this device.
    OutOfScope { lane: Name },
    /// There is no work.
    NoWork,
    /// It is about sessions of frames.
    Frames(FrameCause),
    /// It is about a job of the pool.
    Pool(PoolCause),
    /// It is about a worker of the pool.
    Member(MemberCause),
    /// The schedule's next slot is still to come.
    ScheduleWaiting { next_at: Timestamp, missed: Missed, last_job: Option<JobId> },
    /// The schedule's slot is due, and nothing was submitted for it yet.
    ScheduleDue { slot: Timestamp, missed: Missed },
    /// No slot of the schedule will ever come.
    ScheduleOver { last_job: Option<JobId> },
}

impl Cause {
    /// The rule that says so and the code scripts match on.
    #[must_use]
    pub const fn rule_and_code(&self) -> (&'static str, &'static str) {
        match self {
            Self::Running { .. } => ("Q1", "running"),
            Self::JobEnded { .. } => ("Q7", "ended"),
            Self::TaskEnded { .. } => ("Q8", "ended"),
            Self::QueuedBehind { .. } => ("Q2", "queued_behind"),
            Self::WorkQueuedBehind { .. } => ("Q2", "work_queued_behind"),
            Self::NoSlot { .. } => ("Q3", "no_slot"),
            Self::LaneBusy { .. } => ("Q5", "lane_busy"),
            Self::DeviceError { .. } => ("Q11", "device_error"),
            Self::DeviceOffline { .. } => ("Q6", "device_offline"),
            Self::NodeOffline { .. } => ("N15", "node_offline"),
            Self::NodeDraining { .. } => ("Q15", "node_draining"),
            Self::SupplyPaused { .. } => ("N17", "supply_paused"),
            Self::AwaitingRedelivery { .. } => ("N2", "awaiting_redelivery"),
            Self::WaitingForDevices { .. } => ("Q6", "waiting_for_devices"),
            Self::AwaitingRetry { .. } => ("Q10", "awaiting_retry"),
            Self::AwaitingPull { .. } => ("N1", "awaiting_pull"),
            Self::Stopping { .. } => ("Q7", "stopping"),
            Self::AlreadyServed { .. } => ("Q5", "already_served"),
            Self::DeviceContested { .. } => ("N1b", "device_contested"),
            Self::OutOfScope { .. } => ("Q6", "out_of_scope"),
            Self::NoWork => ("Q2", "no_work"),
            Self::Frames(cause) => cause.rule_and_code(),
            Self::Pool(cause) => cause.rule_and_code(),
            Self::Member(cause) => cause.rule_and_code(),
            Self::ScheduleWaiting { .. } => ("Q17", "schedule_waiting"),
            Self::ScheduleDue { .. } => ("Q17", "schedule_due"),
            Self::ScheduleOver { .. } => ("Q17", "schedule_over"),
        }
    }
}
