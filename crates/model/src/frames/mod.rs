//! Sessions of frames: a session is a job, a range of its frames a task, an assignment a lease whose ids travel with it.

mod command;
mod event;
mod id;
mod record;
mod reply;
mod view;
mod word;

pub use command::{
    ClosedSession, Completion, FrameCommand, Heartbeat, Held, Progress, Registration, RetryRequest,
    SessionSubmission, SkippedRange, Steering,
};
pub use event::{Effect, FrameEvent, RangeGrant, Reopening};
pub use id::{EntryId, FrameRange, FrameTaskId, IdRange, Ratio, SessionId};
pub use record::{
    ChunkRecord, DiagnosticRecord, FarmRecord, FrameChange, FrameTaskRecord, QuarantineRecord,
    RendererRecord, ReplayRecord, SessionRecord, TransitionRecord,
};
pub use reply::{
    Beat, CompletionReply, FrameHandout, FrameRejection, FrameReply, Order, RegistrationReply, SessionReply,
};
pub use view::{FrameQuery, FrameView, LiveTask, RendererView, SessionView, StatusView};
pub use word::{
    ChunkState, DiagnosticKind, FrameTaskStatus, Pressure, QuarantineKind, RangeEnd, Removal, RendererState,
    SessionStatus,
};
