//! Reads for people. A method fails when the database does, and only then.

use crate::{
    Backlog, ChunkFilter, CountedJob, Cursor, DiagnosticFilter, FeedPage, FleetView, JobCounts, JobFilter,
    LaneFilter, Page, PoolJobFilter, PoolJobView, StoreError, TaskFilter, WorkerSummary,
};
use muster_model::{
    AlertRecord, ApiKeyRecord, AssignmentRecord, AuditRecord, ChunkRecord, DiagnosticRecord, EntryId,
    FarmRecord, FrameTaskId, FrameTaskRecord, JobId, JobRecord, LaneRecord, LogRecord, Name, PoolJobId,
    PoolWorkerId, PoolWorkerRecord, QuarantineRecord, RendererRecord, ReplayRecord, ScheduleId,
    ScheduleRecord, Scope, SessionId, SessionRecord, SessionStatus, TaskId, TaskRecord, Timestamp,
    TransitionRecord, UserId, UserRecord, WorkerLogRecord, WorkerRecord,
};
use std::sync::Arc;

/// Reads for people. Every list is paged; every call sees one consistent state.
pub trait Reader: FrameReader + PoolReader + AccountReader + ScheduleReader + OverviewReader {
    /// Jobs, newest first.
    fn jobs(&self, filter: &JobFilter, page: &Cursor) -> Result<Page<JobRecord>, StoreError>;

    /// Jobs, newest first, with how far each is. A job that is closed changes no more: where it is `known`, it is not
    /// counted again.
    fn counted_jobs(
        &self,
        filter: &JobFilter,
        page: &Cursor,
        known: &dyn Fn(JobId) -> bool,
    ) -> Result<Page<CountedJob>, StoreError>;

    /// Number of devices that a scope is for; `None` where counting would be expensive.
    fn targets(&self, scope: &Scope) -> Result<Option<u64>, StoreError>;

    /// One job, its payload included.
    fn job(&self, id: JobId) -> Result<Option<JobRecord>, StoreError>;

    /// Counts of a job's tasks by worker and status, and of those that ended since a moment.
    fn job_counts(&self, id: JobId, rate_since: Timestamp) -> Result<JobCounts, StoreError>;

    /// The tasks of a job, oldest first.
    fn tasks(&self, job: JobId, filter: &TaskFilter, page: &Cursor) -> Result<Page<TaskRecord>, StoreError>;

    /// One task.
    fn task(&self, id: TaskId) -> Result<Option<TaskRecord>, StoreError>;

    /// The stations of a task, oldest first.
    fn task_log(&self, id: TaskId) -> Result<Vec<LogRecord>, StoreError>;

    /// The stations of all tasks from one to another of its job, both included: task by task, oldest first.
    fn task_logs(&self, from: TaskId, to: TaskId) -> Result<Vec<LogRecord>, StoreError>;

    /// Devices, by name.
    fn lanes(&self, filter: &LaneFilter, page: &Cursor) -> Result<Page<LaneRecord>, StoreError>;

    /// One device.
    fn lane(&self, id: &Name) -> Result<Option<LaneRecord>, StoreError>;

    /// Workers with the counts of view `pc_device_summary`, by name (Q13).
    fn workers(&self, page: &Cursor) -> Result<Page<WorkerSummary>, StoreError>;

    /// One worker.
    fn worker(&self, id: &Name) -> Result<Option<WorkerSummary>, StoreError>;

    /// A worker's life, newest first, at most `limit` entries.
    fn worker_log(&self, id: &Name, limit: u32) -> Result<Vec<WorkerLogRecord>, StoreError>;

    /// Alerts, newest first.
    fn alerts(&self, page: &Cursor) -> Result<Page<AlertRecord>, StoreError>;

    /// Entries of the feed after a number, oldest first, at most about `limit`.
    fn feed(&self, after: u64, limit: u32) -> Result<FeedPage, StoreError>;

    /// The records of all workers, by name.
    fn worker_records(&self) -> Result<Vec<WorkerRecord>, StoreError>;

    /// The record of a worker alone.
    fn worker_record(&self, id: &Name) -> Result<Option<WorkerRecord>, StoreError> {
        Ok(self.worker(id)?.map(|summary| summary.worker))
    }
}

/// Reads about sessions. Every list is paged; every call sees one consistent state.
pub trait FrameReader: Send + Sync {
    /// Sessions, newest first, without their bodies.
    fn sessions(
        &self,
        status: Option<SessionStatus>,
        page: &Cursor,
    ) -> Result<Page<SessionRecord>, StoreError>;

    /// One session, its body included.
    fn session(&self, id: &SessionId) -> Result<Option<SessionRecord>, StoreError>;

    /// The ranges of a session that were cut, by first frame, without their results.
    fn frame_tasks(&self, session: &SessionId, page: &Cursor) -> Result<Page<FrameTaskRecord>, StoreError>;

    /// The same ranges, their results included.
    fn frame_results(&self, session: &SessionId, page: &Cursor) -> Result<Page<FrameTaskRecord>, StoreError>;

    /// One range, its result included.
    fn frame_task(&self, id: &FrameTaskId) -> Result<Option<FrameTaskRecord>, StoreError>;

    /// The ranges of a session that were given out anew, by the number of their new chunk.
    fn replays(&self, session: &SessionId, page: &Cursor) -> Result<Page<ReplayRecord>, StoreError>;

    /// Granted ids, by number.
    fn chunks(&self, filter: &ChunkFilter, page: &Cursor) -> Result<Page<ChunkRecord>, StoreError>;

    /// One grant of ids.
    fn chunk(&self, chunk: u64) -> Result<Option<ChunkRecord>, StoreError>;

    /// Workers by name, their descriptions included.
    fn renderers(&self, page: &Cursor) -> Result<Page<RendererRecord>, StoreError>;

    /// One worker, its description included.
    fn renderer(&self, id: &Name) -> Result<Option<RendererRecord>, StoreError>;

    /// A worker's changes of state, oldest first, the last `limit` of them.
    fn transitions(&self, id: &Name, limit: u32) -> Result<Vec<TransitionRecord>, StoreError>;

    /// Entries of the quarantine, newest first.
    fn quarantine(&self, page: &Cursor) -> Result<Page<QuarantineRecord>, StoreError>;

    /// One entry of the quarantine.
    fn quarantined(&self, id: &EntryId) -> Result<Option<QuarantineRecord>, StoreError>;

    /// Lines of the diagnostics log, newest first.
    fn diagnostics(
        &self,
        filter: &DiagnosticFilter,
        page: &Cursor,
    ) -> Result<Page<DiagnosticRecord>, StoreError>;

    /// Figures of all sessions together.
    fn farm(&self) -> Result<FarmRecord, StoreError>;
}

/// Reads about the pool. Every list is paged; every call sees one consistent state.
pub trait PoolReader: Send + Sync {
    /// Jobs, newest first. A page may be short, or empty, and still have a next: one call looks at a bounded number
    /// of rows.
    fn pool_jobs(&self, filter: &PoolJobFilter, page: &Cursor) -> Result<Page<PoolJobView>, StoreError>;

    /// One job.
    fn pool_job(&self, id: PoolJobId) -> Result<Option<PoolJobView>, StoreError>;

    /// The payloads of these jobs, in the order asked for; those that do not exist are left out.
    fn pool_payloads(&self, ids: &[PoolJobId]) -> Result<Vec<(PoolJobId, Arc<str>)>, StoreError>;

    /// All assignments of a job, oldest first, with their results.
    fn assignments(&self, job: PoolJobId) -> Result<Vec<AssignmentRecord>, StoreError>;

    /// Workers by id, of one owner or of all.
    fn pool_workers(
        &self,
        owner: Option<UserId>,
        page: &Cursor,
    ) -> Result<Page<PoolWorkerRecord>, StoreError>;

    /// One worker.
    fn pool_worker(&self, id: PoolWorkerId) -> Result<Option<PoolWorkerRecord>, StoreError>;
}

/// Reads about accounts. Every list is paged; every call sees one consistent state.
pub trait AccountReader: Send + Sync {
    /// Users by id.
    fn users(&self, page: &Cursor) -> Result<Page<UserRecord>, StoreError>;

    /// Keys by id, those taken back included; of one user or of all.
    fn api_keys(&self, user: Option<UserId>, page: &Cursor) -> Result<Page<ApiKeyRecord>, StoreError>;

    /// Privileged acts, newest first.
    fn audit(&self, page: &Cursor) -> Result<Page<AuditRecord>, StoreError>;
}

/// Reads about schedules. Every list is paged; every call sees one consistent state.
pub trait ScheduleReader: Send + Sync {
    /// Schedules by id, so the oldest first.
    fn schedules(&self, page: &Cursor) -> Result<Page<ScheduleRecord>, StoreError>;

    /// One schedule.
    fn schedule(&self, id: ScheduleId) -> Result<Option<ScheduleRecord>, StoreError>;
}

/// Reads about everything at once. Every call sees one consistent state.
pub trait OverviewReader: Send + Sync {
    /// The whole fleet.
    fn fleet(&self) -> Result<FleetView, StoreError>;

    /// Counts of everything that has not ended.
    fn backlog(&self) -> Result<Backlog, StoreError>;
}
