//! Asks the backend for an address.

use super::{Local, Trouble, Uploads};
use crate::execute::Upload;
use muster_worker_kit::http::Manner;
use serde::Deserialize;
use serde_json::json;
use std::time::Duration;

/// Where to upload, and where the file is found afterwards.
#[derive(Deserialize)]
pub(super) struct Offer {
    /// Carries its own proof.
    pub(super) upload_url: String,
    pub(super) storage_path: String,
    pub(super) public_url: String,
}

impl Uploads {
    /// Asks for an address. A backend that has handed one out for the same attempt and kind gives the same path.
    pub(super) async fn ask(&self, upload: &Upload<'_>, local: &Local<'_>) -> Result<Offer, Trouble> {
        let Upload { job, kind, name, storage_path, .. } = upload;
        let mut body = json!({
            "node_id": self.backend.node, "task_id": &*job.task, "attempt": job.attempt, "lease_token": job.token.as_deref(),
            "kind": kind, "content_type": local.content_type, "size": local.size, "sha256": local.sha256,
        });
        for (key, value) in [("name", name), ("storage_path", storage_path)] {
            if let Some(value) = value {
                body[key] = json!(value);
            }
        }
        let manner = Manner::repeatable(PATIENCE);
        let answer = self.backend.post("artifacts", body.to_string().into_bytes(), manner).await;
        let answer = answer
            .map_err(|error| Trouble::Later { words: error.to_string(), after: error.retry_after() })?;
        if !answer.status().is_success() {
            return Err(Trouble::of("the request for an address", answer).await);
        }
        let mut offer: Offer = answer.json().await.map_err(Trouble::unanswered)?;
        let longest = offer.storage_path.len().max(offer.public_url.len());
        if longest > TEXT_BYTES_MAX {
            let words = format!("the address of the file has {longest} bytes, {TEXT_BYTES_MAX} are allowed");
            return Err(Trouble::Refused { words });
        }
        if offer.upload_url.starts_with('/') {
            let server = self.backend.servers.current().as_str().trim_end_matches('/');
            offer.upload_url = format!("{server}{}", offer.upload_url);
        }
        Ok(offer)
    }
}

/// For an answer that takes a look at memory.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);
/// What a report that names the file has room for.
const TEXT_BYTES_MAX: usize = 16 * 1024;
