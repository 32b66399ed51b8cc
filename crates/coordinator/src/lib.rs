//! The one writer: drives the engine, commits in groups, answers only what is durable.

mod coordinator;
mod feed;

pub use coordinator::{Coordinator, Refusal};
pub use feed::{Feed, FeedError};
