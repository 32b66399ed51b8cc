//! One file per rule. A rule looks and says; it changes nothing.

pub(crate) mod active_job;
pub(crate) mod contest;
pub(crate) mod dropout;
pub(crate) mod eligible;
pub(crate) mod heartbeat;
pub(crate) mod job_end;
pub(crate) mod liveness;
pub(crate) mod offline_grace;
pub(crate) mod redelivery;
pub(crate) mod retry;
pub(crate) mod slot;
pub(crate) mod timeout;
