//! Sessions of frames: a session is a job, a range of its frames a task, an assignment a lease whose ids travel with it.

mod command;
mod effect;
mod event;
mod explanation;
mod id;
mod record;
mod reply;
mod settings;
mod view;
mod word;

pub use command::{
    ClosedSession, Completion, FrameCommand, Heartbeat, Held, Progress, Registration, RetryRequest,
    SessionSubmission, SkippedRange, Steering,
};
pub use effect::Effect;
pub use event::{FrameEvent, RangeGrant, Reopening};
pub use explanation::FrameCause;
pub use id::{EntryId, FrameRange, FrameTaskId, IdRange, Ratio, SessionId};
pub use record::{
    ChunkRecord, DiagnosticRecord, FarmRecord, FrameChange, FrameTaskRecord, QuarantineRecord,
    RendererRecord, ReplayRecord, SessionRecord, TransitionRecord,
};
pub use reply::{
    Beat, CompletionReply, FrameHandout, FrameRejection, FrameReply, Order, RegistrationReply, SessionReply,
};
pub use settings::{FrameSettings, Rebind};
pub use view::{FrameQuery, FrameView, LiveTask, RendererView, SessionView, StatusView};
pub use word::{
    ChunkState, DiagnosticKind, FrameTaskStatus, Pressure, QuarantineKind, RangeEnd, Removal, RendererState,
    SessionStatus,
};
