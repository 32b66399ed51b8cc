//! The contract's own words.

mod assignment;
mod job;
mod json_text;
mod moment;
mod request;
mod worker;

pub use assignment::{Assignment, Assignments, PollAnswer, Submitted, SubmittedItem, WorkAnswer};
pub use job::{BatchAnswer, BatchItem, Explained, Job, JobList, Receipt};
pub use json_text::JsonText;
pub use moment::Moment;
pub use request::{
    BatchRequest, HeartbeatRequest, JobRequest, KeyRequest, PollRequest, ReasonRequest, RegisterRequest,
    SubmitRequest, WorkRequest,
};
pub use worker::{Registered, Seen, Worker, WorkerList};
