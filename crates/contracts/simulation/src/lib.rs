//! The wire types of contract S: sessions of frames and the workers that render them. One file per message or noun.
//!
//! Both directions stand side by side. The server reads requests into commands and writes replies as responses; a worker
//! writes requests and reads responses. Requests are read strictly and a refusal names the field; responses are read
//! leniently, so that a worker survives a later version of the server. Nothing here does IO.

mod completion;
mod coverage;
mod heartbeat;
pub mod limit;
mod operate;
mod records;
mod registration;
mod rejection;
mod report;
mod response_fields;
mod schema;
mod session;
mod status;
mod task;
mod worker;

pub use completion::{
    AssignedRange, CompleteRequest, CompleteResponse, Manifest, ReceivedCompletion, read_completion,
};
pub use coverage::{Coverage, CoverageMap, CoverageMapBuilder, DroppedFrames};
pub use heartbeat::{
    Backpressure, HeartbeatRequest, HeartbeatResponse, Order, RebindRequest, ReceivedRebind, read_heartbeat,
    read_rebind,
};
pub use muster_problem::JsonText;
pub use operate::{
    AssignRequest, AssignResponse, BroadcastRequest, BroadcastResponse, ConfirmRequest, ReasonRequest,
    RetryRequest, read_assignment, read_broadcast, read_note, read_reason, read_retry,
};
pub use records::{
    Chunk, ChunkList, ChunkStateWord, CompletedRange, Diagnostic, DiagnosticList, EntryList, QuarantineEntry,
    Replay, SessionList, SessionTask, SubmittedResult, TaskList, WorkerList,
};
pub use registration::{RegisterRequest, RegisterResponse, read_registration};
pub use rejection::phrase;
pub use report::{
    Acknowledgement, FailRequest, IdRangeRequest, ProgressRequest, WAIT_MS_MAX, read_fail, read_id_request,
    read_progress, wait_of,
};
pub use response_fields::ResponseError;
pub use session::{
    Session, SessionDetail, SessionRequest, SessionStatusWord, Tick, eta_seconds, frames_a_second,
    read_parts, read_session,
};
pub use status::{Status, Warning, count_workers};
pub use task::{
    IdChunk, PullReply, PushResponse, RemovalNotice, Task, TaskError, TaskPlace, TaskResponse, phrase_pull,
};
pub use worker::{Transition, Worker, WorkerDetail, WorkerState, state_word};

use muster_model::Digest;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

/// A range of frames or ids, half-open: `[start, end]`.
pub type Range = [u64; 2];

/// The bytes of a body.
#[must_use]
pub fn to_bytes(body: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(body).expect("the bodies of this contract have only text keys")
}

/// The digest by which a repeated body is recognised: key order and white space do not matter.
#[must_use]
pub fn digest(body: &serde_json::Value) -> Digest {
    let hash: [u8; 32] = Sha256::digest(body.to_string().as_bytes()).into();
    let mut half = [0; 16];
    half.copy_from_slice(&hash[..16]);
    Digest(u128::from_be_bytes(half))
}
