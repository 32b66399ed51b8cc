//! What must happen outside once a decision is durable: pushes, moves and manifests.

use crate::output::OutputRoot;
use futures_util::future::BoxFuture;
use muster_coordinator::{Coordinator, Refusal};
use muster_model::FrameHandout;
use serde_json::Value;
use std::sync::Arc;

/// Says what a worker is told of a task (S3).
pub type Describe = Arc<dyn Fn(FrameHandout) -> BoxFuture<'static, Result<Value, Refusal>> + Send + Sync>;

/// Carries out what is due, until it is dropped.
pub async fn run_effects(coordinator: Coordinator, root: OutputRoot, describe: Describe) {
    let _ = (coordinator, root, describe);
}
