//! Reasons why something is not running (Q16).
#![allow(missing_docs, reason = "the fields of a cause are named for what they hold")]

use crate::{
    FrameTaskId, FrameTaskStatus, JobId, JobOutcome, JobStatus, Missed, Name, PoolJobId, PoolJobStatus,
    PoolWorkerId, ScheduleId, SessionId, SessionStatus, TaskId, TaskStatus, Timestamp,
};
use alloc::boxed::Box;

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

/// Declares the causes of one domain, each with the rule that says so and the code that scripts match on; after a
/// semicolon follow those that are causes of another domain.
macro_rules! causes {
    (
        $(#[$meta:meta])*
        pub enum $type:ident {
            $($(#[$doc:meta])* $variant:ident $({ $($field:ident: $field_type:ty),* })? = $rule:literal $code:literal,)*
            $(; $($(#[$inner_doc:meta])* $inner:ident($inner_type:ty),)*)?
        }
    ) => {
        $(#[$meta])*
        pub enum $type {
            $($(#[$doc])* $variant $({ $($field: $field_type),* })?,)*
            $($($(#[$inner_doc])* $inner($inner_type),)*)?
        }

        impl $type {
            /// The rule that says so and the code scripts match on.
            #[must_use]
            pub const fn rule_and_code(&self) -> (&'static str, &'static str) {
                match self {
                    $(Self::$variant { .. } => ($rule, $code),)*
                    $($(Self::$inner(cause) => cause.rule_and_code(),)*)?
                }
            }
        }
    };
}

causes! {
    /// Reason why something waits.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub enum Cause {
        /// Nothing: it runs, with so many live leases.
        Running { leases: u32 } = "Q1" "running",
        /// It ended as a job.
        JobEnded { status: JobStatus, outcome: Option<JobOutcome> } = "Q7" "ended",
        /// It ended as a task.
        TaskEnded { status: TaskStatus } = "Q8" "ended",
        /// Older jobs of the queue come first.
        QueuedBehind { active: JobId, ahead: u32 } = "Q2" "queued_behind",
        /// The next job for it waits behind older ones of its queue.
        WorkQueuedBehind { job: JobId, active: JobId, ahead: u32 } = "Q2" "work_queued_behind",
        /// The worker's slots are all taken.
        NoSlot { worker: Name, running: u32, cap: u32 } = "Q3" "no_slot",
        /// Another task holds the device.
        LaneBusy { lane: Name, task: TaskId } = "Q5" "lane_busy",
        /// The device is out of service.
        DeviceError { lane: Name } = "Q11" "device_error",
        /// The device is not usable.
        DeviceOffline { lane: Name, since: Timestamp } = "Q6" "device_offline",
        /// The worker is silent.
        NodeOffline { worker: Name, since: Timestamp } = "N15" "node_offline",
        /// The worker gets no more work on request.
        NodeDraining { worker: Name } = "Q15" "node_draining",
        /// The worker gets no work after a mass dropout.
        SupplyPaused { worker: Name, until: Timestamp } = "N17" "supply_paused",
        /// It was handed out, not confirmed, and will be handed out again.
        AwaitingRedelivery { task: TaskId, at: Timestamp } = "N2" "awaiting_redelivery",
        /// The job matches no device; it ends unless one appears.
        WaitingForDevices { until: Timestamp } = "Q6" "waiting_for_devices",
        /// Its attempt failed; it waits behind the worker's other devices.
        AwaitingRetry { task: TaskId, attempt: u16 } = "Q10" "awaiting_retry",
        /// It waits for the worker to ask for work.
        AwaitingPull { worker: Name } = "N1" "awaiting_pull",
        /// The job was cancelled; the worker has been told to stop and has not reported the end.
        Stopping { task: TaskId } = "Q7" "stopping",
        /// The device has been served by the active job.
        AlreadyServed { lane: Name, job: JobId } = "Q5" "already_served",
        /// Two workers report the device, and take it from each other.
        DeviceContested { lane: Name, worker: Name, other: Name } = "N1b" "device_contested",
        /// No active job is for this device.
        OutOfScope { lane: Name } = "Q6" "out_of_scope",
        /// There is no work.
        NoWork = "Q2" "no_work",
        /// The schedule's next slot is still to come.
        ScheduleWaiting { next_at: Timestamp, missed: Missed, last_job: Option<JobId> } = "Q17" "schedule_waiting",
        /// The schedule's slot is due, and nothing was submitted for it yet.
        ScheduleDue { slot: Timestamp, missed: Missed } = "Q17" "schedule_due",
        /// No slot of the schedule will ever come.
        ScheduleOver { last_job: Option<JobId> } = "Q17" "schedule_over",
        ;
        /// It is about sessions of frames.
        Frames(FrameCause),
        /// It is about a job of the pool.
        Pool(PoolCause),
        /// It is about a worker of the pool.
        Member(MemberCause),
    }
}

causes! {
    /// Reason why something of contract S waits.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub enum FrameCause {
        /// Nothing: so many of the session's ranges are at workers.
        SessionRunning { ranges: u32 } = "S3" "session_running",
        /// All frames are done; the manifest is being written.
        SessionMerging = "S22" "session_merging",
        /// The session is over.
        SessionEnded { status: SessionStatus } = "S26" "session_ended",
        /// An operator paused the session.
        SessionPaused { session: SessionId } = "S26" "session_paused",
        /// An operator paused all workers.
        FarmPaused = "S6" "farm_paused",
        /// Older sessions have frames to give out, and come first.
        SessionQueuedBehind { session: SessionId, ahead: u32 } = "S26" "session_queued_behind",
        /// No worker is registered.
        NoRenderers = "S1" "no_sim_workers",
        /// All workers are silent.
        RenderersLost { workers: u32 } = "S8" "sim_workers_lost",
        /// All workers wait for an operator's approval.
        RenderersQuarantined { workers: u32 } = "S9" "sim_workers_quarantined",
        /// Some workers are silent, the others in quarantine.
        NoneCapable { lost: u32, quarantined: u32 } = "S8" "no_capable_worker",
        /// The workers that may work have not sent a good heartbeat yet.
        RenderersUnheard { workers: u32 } = "S8" "sim_workers_unheard",
        /// The workers that may work have their slots full.
        RenderersBusy { workers: u32 } = "S3" "sim_workers_busy",
        /// The workers with a free slot have full queues.
        RenderersPressed { workers: u32 } = "S10" "sim_workers_degraded",
        /// The workers with a free slot could not be reached by push, and are left alone for a while.
        RenderersResting { workers: u32 } = "S3" "sim_workers_unreachable",
        /// Workers could take a range, but none has asked yet.
        AwaitingRenderer { workers: u32 } = "S3" "awaiting_sim_worker",
        /// The range was given out; its worker has not confirmed it.
        RangeUnconfirmed { worker: Name, attempt: u16, since: Timestamp } = "S3" "range_unconfirmed",
        /// The range's worker is at it.
        RangeRunning { worker: Name, attempt: u16, processed: u64, frames: u64 } = "S4" "range_running",
        /// An earlier attempt of the range ended without a result; the next waits for a worker to ask.
        RangeReplay { worker: Name, attempt: u16, is_loss: bool } = "S16" "range_awaiting_replay",
        /// The range failed for its last worker and waits for another one for a while (S26b).
        RangeAvoided { worker: Name, attempt: u16, until: Timestamp } = "S26b" "range_awaiting_another_worker",
        /// The range is over.
        RangeEnded { status: FrameTaskStatus } = "S5" "range_ended",
        /// The worker fell silent.
        RendererLost { since: Timestamp, reason: Option<Box<str>> } = "S8" "sim_worker_lost",
        /// The worker is kept away from work until an operator approves it.
        RendererQuarantined { since: Timestamp, reason: Option<Box<str>> } = "S9" "sim_worker_quarantined",
        /// The worker was taken off the list.
        RendererRemoved { since: Timestamp, reason: Option<Box<str>> } = "S6" "sim_worker_removed",
        /// The worker is unwell and gets little work.
        RendererDegraded { since: Timestamp, reason: Option<Box<str>> } = "S8" "sim_worker_degraded",
        /// The worker has not sent a good heartbeat yet, and gets no work before.
        RendererUnheard { since: Timestamp } = "S8" "sim_worker_unheard",
        /// The worker's queue is full.
        RendererPressed = "S10" "sim_worker_queue_full",
        /// The worker could not be reached by push, and is left alone for a while.
        RendererResting { until: Timestamp } = "S3" "sim_worker_unreachable",
        /// Nothing: the worker is at so many ranges.
        RendererRunning { ranges: u32 } = "S3" "sim_worker_running",
        /// No session has frames to give out.
        NoFrames { sessions: u32 } = "S3" "no_frames",
        /// There are frames for the worker, and it has not asked yet.
        RendererIdle { session: SessionId } = "S3" "sim_worker_idle",
    }
}

causes! {
    /// The one thing a job waits for.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub enum PoolCause {
        /// It is over.
        Ended { status: PoolJobStatus } = "P13" "job_ended",
        /// It is being done: so many have it.
        Running { assignments: u32 } = "P6" "job_running",
        /// The worker that has it fell silent; it goes to another when the lease is over.
        LeaseOut { worker: PoolWorkerId, until: Timestamp } = "P5" "lease_out",
        /// No worker has ever been registered.
        NoWorkers = "P3" "no_workers",
        /// No worker stands in its region.
        NoWorkerInRegion { region: Box<str> } = "P14" "no_worker_in_region",
        /// No worker has what it requires.
        RequirementsUnmet = "P14" "requirements_unmet",
        /// Those who could do it are not there: offline, draining or banned.
        WorkersAway { offline: u32, draining: u32, banned: u32 } = "P14" "workers_away",
        /// Those who could do it have their hands full.
        WorkersBusy { workers: u32 } = "P6" "workers_busy",
        /// It needs workers of more owners than there are (P15).
        TooFewOwners { owners: u32, needed: u32 } = "P15" "too_few_owners",
        /// A job of a higher priority goes first (P14).
        HigherPriorityFirst { job: PoolJobId, priority: u8 } = "P14" "higher_priority_first",
        /// Clients take turns, and another is next (P14).
        ClientsTurn { job: PoolJobId } = "P14" "clients_turn",
        /// An older job of the same client goes first (P14).
        OlderJobFirst { job: PoolJobId } = "P14" "older_job_first",
        /// Workers could do it, but none has polled yet.
        WaitingForPoll { workers: u32 } = "P6" "waiting_for_poll",
    }
}

causes! {
    /// Reason why a worker of the pool does nothing, or what it does.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub enum MemberCause {
        /// It is shut out.
        Banned { reason: Box<str> } = "P15" "pool_worker_banned",
        /// It is silent.
        Offline { since: Timestamp } = "P5" "pool_worker_offline",
        /// It gets no more work on request.
        Draining { running: u32 } = "P14" "pool_worker_draining",
        /// It has as many jobs as it takes.
        Full { running: u32, slots: u32 } = "P6" "pool_worker_full",
        /// Nothing: it is at so many jobs.
        Running { running: u32, slots: u32 } = "P6" "pool_worker_running",
        /// No job waits for anybody.
        NoJobs = "P14" "no_jobs",
        /// Jobs wait, and none of them is for it.
        NoMatchingJob { waiting: u64 } = "P14" "no_matching_job",
        /// A job waits for it, and it has not asked.
        Idle { job: PoolJobId } = "P6" "pool_worker_idle",
    }
}
