//! Reads about the pool and about accounts, for people.

use crate::{Cursor, Page, StoreError};
use muster_model::{
    ApiKeyRecord, AssignmentRecord, AuditRecord, PoolEndRecord, PoolJobId, PoolJobRecord, PoolJobStatus,
    PoolWorkerId, PoolWorkerRecord, UserId, UserRecord,
};
use std::sync::Arc;

/// A job and what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolJobView {
    /// As it was handed in.
    pub job: PoolJobRecord,
    /// True if somebody has it.
    pub running: bool,
    /// Exit of the program.
    pub end: Option<PoolEndRecord>,
    /// The assignment whose result is the job's, with that result.
    pub result: Option<AssignmentRecord>,
}

/// Which jobs.
#[derive(Clone, Copy, Debug, Default)]
pub struct PoolJobFilter {
    /// Only of this client.
    pub client: Option<UserId>,
    /// Only with this status.
    pub status: Option<PoolJobStatus>,
}

/// Reads about the pool. Every list is paged; every call sees one consistent state.
#[allow(clippy::missing_errors_doc, reason = "each fails when the database does, and only then")]
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
#[allow(clippy::missing_errors_doc, reason = "each fails when the database does, and only then")]
pub trait AccountReader: Send + Sync {
    /// Users by id.
    fn users(&self, page: &Cursor) -> Result<Page<UserRecord>, StoreError>;

    /// Keys by id, those taken back included; of one user or of all.
    fn api_keys(&self, user: Option<UserId>, page: &Cursor) -> Result<Page<ApiKeyRecord>, StoreError>;

    /// Privileged acts, newest first.
    fn audit(&self, page: &Cursor) -> Result<Page<AuditRecord>, StoreError>;
}

impl PoolJobView {
    /// Where the job stands.
    #[must_use]
    pub fn status(&self) -> PoolJobStatus {
        match &self.end {
            Some(end) => end.status,
            None if self.running => PoolJobStatus::Running,
            None => PoolJobStatus::Queued,
        }
    }
}
