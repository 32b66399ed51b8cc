//! The tables, by domain: their columns, and what writing a record takes beyond filling a row.

pub(crate) mod accounts;
pub(crate) mod feed;
pub(crate) mod fleet;
pub(crate) mod frames;
pub(crate) mod job;
pub(crate) mod json;
pub(crate) mod log;
pub(crate) mod pool;
pub(crate) mod report;
pub(crate) mod sequence;

use crate::{record::TableRecord, shape::TableShape};
use muster_model::{
    AlertRecord, ApiKeyRecord, AssignmentRecord, AuditRecord, ChunkRecord, DiagnosticRecord, FrameTaskRecord,
    JobRecord, KeyRecord, LaneRecord, LoginRecord, PoolEndRecord, PoolJobRecord, PoolKeyRecord,
    PoolWorkerRecord, QuarantineRecord, RendererRecord, ReplayRecord, ReportRecord, ScheduleRecord,
    SessionRecord, ShareRecord, TaskRecord, TransitionRecord, UserRecord, WorkerLogRecord, WorkerRecord,
};

macro_rules! tables {
    ($($record:ty),* $(,)?) => {
        /// All tables, in an order in which they can be copied: what says how far something was numbered stands last.
        pub const TABLES: &[TableShape] = &[$(<$record>::TABLE),*];

        /// Checks that samples of each record are read back as they were written.
        #[cfg(feature = "conformance")]
        pub(crate) const ROUND_TRIPS: &[fn(&mut dyn crate::sql::Whole) -> Result<(), crate::sql::Fault>] =
            &[$(<$record>::round_trip),*];
    };
}

tables![
    WorkerRecord,
    LaneRecord,
    JobRecord,
    TaskRecord,
    ShareRecord,
    job::Stop,
    fleet::Secret,
    WorkerLogRecord,
    ReportRecord,
    report::ReportedId,
    KeyRecord,
    AlertRecord,
    RendererRecord,
    TransitionRecord,
    SessionRecord,
    frames::SessionBody,
    FrameTaskRecord,
    ChunkRecord,
    ReplayRecord,
    QuarantineRecord,
    DiagnosticRecord,
    frames::Farm,
    UserRecord,
    LoginRecord,
    ApiKeyRecord,
    AuditRecord,
    PoolWorkerRecord,
    PoolJobRecord,
    AssignmentRecord,
    PoolEndRecord,
    PoolKeyRecord,
    ScheduleRecord,
    feed::FeedRow,
    sequence::Counter,
];
