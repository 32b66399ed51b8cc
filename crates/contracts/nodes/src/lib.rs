//! Contract N on the wire: every message between device nodes and the coordinator, from both sides.
//!
//! The coordinator reads requests into commands and writes replies; a node writes requests and reads replies. The two
//! sides of a message stand in one file. No IO happens here, and nothing is decided: whether a report counts, is stale or
//! is refused is the engine's word.

mod artifact;
mod callback;
mod callbacks;
mod envelope;
mod event;
mod nodes;
mod pull;
mod pull_answer;
mod refusal;
mod report;

pub use artifact::{
    Allowed, ArtifactLink, ArtifactOrder, ArtifactRequest, PLACEHOLDERS, UploadOffer, Uploaded, UploadedPart,
    essence, read_artifact,
};
pub use callback::{Callback, CallbackAnswer, answer_report};
pub use callbacks::{
    BatchedEvent, CallbackResult, Callbacks, CallbacksAnswer, EVENTS_MAX, NotAnAnswer, answer_callbacks,
    read_callbacks, read_callbacks_answer, write_callbacks,
};
pub use envelope::{Message, claimed_node};
pub use event::{
    Artifact, Attempt, Event, EventKind, Heartbeat, NotACallback, Outcome, TIMEOUT, read_event, write_event,
    write_heartbeat,
};
pub use nodes::{LastHeartbeat, NodeList, NodeState};
pub use pull::{
    Attached, DeviceEntry, NodeName, PullOrder, PullRequest, WHOLE_MAX, order_one, read_pull, write_pull,
};
pub use pull_answer::{
    AnnouncedRun, CALLBACKS, Job, JobOffer, LeaseOffer, PullAnswer, PulledWork, RunOffer, RunPayload,
    StopOffer, answer_pull, read_pull_answer,
};
pub use refusal::phrase;
pub use report::{NodeMessage, read_report};

/// A text that many records share.
pub type Text = std::sync::Arc<str>;

/// Reads past a value that no node looks at, whatever its type.
fn not_needed<'de, D: serde::Deserializer<'de>>(from: D) -> Result<i64, D::Error> {
    serde::de::Deserialize::deserialize(from).map(|_: serde::de::IgnoredAny| 0)
}
