//! The words of contract N, as JSON and as OpenAPI schemas.

mod answer;
mod artifact;
mod callback;
mod pull;
mod value;

pub use answer::{
    CallbackAnswer, JobOffer, LeaseOffer, NodeList, NodeState, PullAnswer, RunOffer, StopOffer,
};
pub use artifact::{ArtifactLink, ArtifactRequest, UploadOffer, Uploaded, UploadedPart};
pub use callback::Callback;
pub use pull::{DeviceEntry, NodeName, PullRequest};
