//! The words of contract N, as JSON and as OpenAPI schemas.

mod answer;
mod artifact;
mod callback;
mod pull;
mod value;

pub use answer::{
    CallbackAnswer, JobOffer, LeaseOffer, NodeHeartbeat, NodeList, PullAnswer, RunOffer, StopOffer,
};
pub use artifact::{ArtifactRequest, UploadOffer, Uploaded, UploadedPart};
pub use callback::Callback;
pub use pull::{DeviceEntry, NodeName, PullRequest};
