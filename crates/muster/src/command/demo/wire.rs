//! How a node of the demo speaks to the server: over a socket, as any node would.

use super::tally::Tally;
use reqwest::StatusCode;
use serde::Deserialize;
use serde_json::Value;
use std::{sync::Arc, time::Duration};

/// One node's connection and secret.
#[derive(Clone)]
pub(super) struct Wire {
    http: reqwest::Client,
    server: String,
    secret: String,
    tally: Arc<Tally>,
}

/// The answer to a pull (N1).
#[derive(Debug, Deserialize)]
pub(super) struct PullAnswer {
    pub(super) runs: Vec<RunOffer>,
    pub(super) jobs: Vec<Job>,
    pub(super) finished_runs: Vec<String>,
    pub(super) stop: Vec<String>,
}

/// A run new to this node.
#[derive(Debug, Deserialize)]
pub(super) struct RunOffer {
    pub(super) run_id: String,
    pub(super) target_devices_count: u64,
    pub(super) max_concurrency: u64,
}

/// A job for one device.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Job {
    pub(super) task_id: String,
    pub(super) run_id: String,
    pub(super) device_id: String,
    pub(super) runtime_handle: String,
    pub(super) workflow_id: String,
    pub(super) params: Params,
    #[serde(rename = "timeoutMs")]
    pub(super) timeout_ms: u64,
    pub(super) attempt: u16,
    pub(super) lease: Lease,
}

/// What the demo's runs carry.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct Params {
    pub(super) demo_run: usize,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Lease {
    pub(super) token: String,
}

#[derive(Debug, Default, Deserialize)]
struct Taken {
    #[serde(default)]
    duplicate: bool,
    #[serde(default)]
    stale: bool,
}

impl Wire {
    pub(super) fn new(server: &str, secret: &str, tally: Arc<Tally>) -> Self {
        let http = reqwest::Client::builder().no_proxy().timeout(ANSWER_MAX).build();
        let http = http.expect("nothing in it can fail without TLS");
        Self { http, server: server.to_owned(), secret: secret.to_owned(), tally }
    }

    /// Asks for work; nothing where the server could not answer.
    pub(super) async fn pull(&self, body: &Value) -> Option<PullAnswer> {
        let (status, bytes) = match self.post("/api/nodes/pull", body).await {
            Ok(answer) => answer,
            Err(error) => {
                tracing::debug!(%error, "a pull failed");
                tokio::time::sleep(BETWEEN_TRIES).await;
                return None;
            }
        };
        match serde_json::from_slice(&bytes) {
            Ok(answer) if status.is_success() => Some(answer),
            _ => {
                self.tally
                    .fault(format!("a pull was answered {status}: {}", String::from_utf8_lossy(&bytes)));
                tokio::time::sleep(BETWEEN_TRIES).await;
                None
            }
        }
    }

    /// Sends a report until it is acknowledged. With `lose` the first answer counts as lost, so the report goes out
    /// twice, as it would after a cut connection.
    pub(super) async fn tell(&self, body: &Value, lose: bool) {
        if lose && self.deliver(body).await.is_some() {
            self.tally.lost_answers.add(1);
        }
        let Some(taken) = self.deliver(body).await else { return };
        self.tally.duplicates.add(usize::from(taken.duplicate));
        self.tally.stale.add(usize::from(taken.stale));
        self.tally.reports.add(1);
    }

    /// Sends a sign of life; a lost one is worth nothing, so it is not sent again.
    pub(super) async fn beat(&self, body: &Value) {
        if self.post("/api/nodes/callback", body).await.is_ok_and(|(status, _)| status.is_success()) {
            self.tally.heartbeats.add(1);
        }
    }

    async fn deliver(&self, body: &Value) -> Option<Taken> {
        for _ in 0..TRIES {
            match self.post("/api/nodes/callback", body).await {
                Ok((status, bytes)) if status.is_success() => {
                    return Some(serde_json::from_slice(&bytes).unwrap_or_default());
                }
                Ok((status, bytes)) if !may_pass(status) => {
                    let text = String::from_utf8_lossy(&bytes).into_owned();
                    self.tally.fault(format!("a report was answered {status}: {text}"));
                    return None;
                }
                Ok((status, _)) => tracing::debug!(%status, "a report must wait"),
                Err(error) => tracing::debug!(%error, "a report must wait"),
            }
            tokio::time::sleep(BETWEEN_TRIES).await;
        }
        self.tally.fault(format!("a report was not taken in {TRIES} tries"));
        None
    }

    async fn post(&self, path: &str, body: &Value) -> reqwest::Result<(StatusCode, Vec<u8>)> {
        let request = self.http.post(format!("{}{path}", self.server)).bearer_auth(&self.secret).json(body);
        let response = request.send().await?;
        let status = response.status();
        Ok((status, response.bytes().await?.to_vec()))
    }
}

/// Whether the same request may work later (N19).
fn may_pass(status: StatusCode) -> bool {
    matches!(status.as_u16(), 401 | 408 | 429 | 500..=599)
}

/// More than a waiting pull lasts.
const ANSWER_MAX: Duration = Duration::from_secs(40);
const BETWEEN_TRIES: Duration = Duration::from_millis(200);
const TRIES: usize = 50;
