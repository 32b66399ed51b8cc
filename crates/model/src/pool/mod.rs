//! The pool: jobs handed in by clients, leased to workers whose owners we need not trust, results with signatures.

mod command;
mod demand;
mod event;
mod record;

pub use command::{
    BatchPlace, PoolCancelReply, PoolCommand, PoolHandout, PoolJobDraft, PoolRegistration, PoolRejection,
    PoolReply, PoolResult, PoolStatus, PoolSubmission, PoolSubmissionReply, PoolTaken, PoolWork,
    PoolWorkReply,
};
pub use demand::{Demand, Quality, Scale, Specs};
pub use event::{PoolEvent, PoolGrant};
pub use record::{
    AssignmentRecord, AssignmentState, PoolChange, PoolCounters, PoolEndRecord, PoolJobRecord, PoolJobStatus,
    PoolKeyRecord, PoolWorkerRecord, PoolWorkerStatus,
};
