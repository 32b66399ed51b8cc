//! What was decided and may not be committed yet: remembered until the store can be asked.

use crate::kernel::Map;
use alloc::boxed::Box;
use muster_model::{JobId, JobStatus, KeyRecord, ReportId, ReportSubject, SubmissionKey, TaskId, TaskRecord};

/// Facts that a look-up in the store might still miss.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recent {
    pub(crate) reports: Map<ReportId, ReportSubject>,
    pub(crate) keys: Map<SubmissionKey, KeyRecord>,
    pub(crate) tasks: Map<TaskId, Box<TaskRecord>>,
    pub(crate) jobs: Map<JobId, JobStatus>,
}
