//! The words of contract S, as JSON and as OpenAPI schemas.

mod chunk;
mod json_text;
mod request;
mod session;
mod status;
mod task;
mod word;
mod worker;

pub use chunk::{Chunk, ChunkList, EntryList, QuarantineEntry};
pub use json_text::JsonText;
pub use request::{
    AssignRequest, BroadcastRequest, CompleteRequest, ConfirmRequest, FailRequest, HeartbeatRequest,
    IdRangeRequest, ProgressRequest, ReasonRequest, RebindRequest, RegisterRequest, RetryRequest,
    SessionRequest,
};
pub use session::{
    CompletedRange, Coverage, Diagnostic, DiagnosticList, Dropped, Replay, Session, SessionDetail,
    SessionList, SessionTask, TaskList, Tick,
};
pub use status::{Broadcasted, Status, Warning};
pub use task::{Accepted, Assigned, IdChunk, Taken, TaskAnswer, TaskOffer};
pub use word::{ChunkStateWord, SessionStatusWord};
pub use worker::{
    Backpressure, BeatAnswer, Order, Registered, Standing, Transition, Worker, WorkerDetail, WorkerList,
};

use utoipa::openapi::{RefOr, Schema, schema::ArrayBuilder};

/// A range of frames or ids, half-open: `[start, end]`.
pub type Range = [u64; 2];

/// The schema of a [`Range`].
fn range() -> RefOr<Schema> {
    let bound = muster_http::schema::schema(muster_http::schema::between(0, i64::MAX));
    RefOr::T(Schema::Array(ArrayBuilder::new().items(bound).min_items(Some(2)).max_items(Some(2)).build()))
}

/// The schema of a list of [`Range`]s.
fn ranges() -> RefOr<Schema> {
    RefOr::T(Schema::Array(ArrayBuilder::new().items(range()).build()))
}
