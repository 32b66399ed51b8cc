//! The pool: jobs handed in by clients, leased to workers whose owners we need not trust, results with signatures.

mod command;
mod demand;
mod event;
mod explanation;
mod id;
mod record;
mod reply;
mod settings;

pub use command::{PoolCommand, PoolJobDraft, PoolRegistration, PoolResult, PoolSubmission, PoolWork};
pub use demand::{Demand, Quality, Scale, Specs};
pub use event::{PoolEvent, PoolGrant};
pub use explanation::{MemberCause, PoolCause};
pub use id::{AssignmentId, PoolJobId, PoolWorkerId};
pub use record::{
    AssignmentRecord, AssignmentState, PoolChange, PoolCounters, PoolEndRecord, PoolJobRecord, PoolJobStatus,
    PoolKeyRecord, PoolWorkerRecord, PoolWorkerStatus,
};
pub use reply::{
    PoolCancelReply, PoolHandout, PoolRejection, PoolReply, PoolSubmissionReply, PoolTaken, PoolWorkReply,
};
pub use settings::{PoolSettings, PoolStatus};
