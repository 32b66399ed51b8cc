//! Jobs as clients see them (P13, P17, P18).

use super::{JsonText, Moment};
use serde::Serialize;
use utoipa::ToSchema;

/// A job and what came of it (P13).
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PoolJob)]
pub struct Job {
    /// Its id.
    pub id: u64,
    /// `queued`, `running`, `completed`, `failed` or `cancelled`.
    #[schema(example = "queued")]
    pub status: &'static str,
    /// As it was handed in.
    pub payload: JsonText,
    /// 0 to 100; more comes first.
    pub priority: u8,
    /// Only workers of this region do it.
    pub region: Option<Box<str>>,
    /// What its worker handed in.
    #[schema(value_type = JsonText)]
    pub output: Option<JsonText>,
    /// What its worker signed for.
    pub output_hash: Option<Box<str>>,
    /// Why it failed.
    pub error_message: Option<Box<str>>,
    /// Any text; nobody here ever looks at what it leads to.
    pub artifact_uri: Option<Box<str>>,
    /// What its worker measured.
    #[schema(value_type = JsonText)]
    pub metrics_json: Option<JsonText>,
    /// When it was handed in.
    pub created_at: Moment,
    /// When it ended.
    pub finished_at: Option<Moment>,
    /// While it has not ended: what it waits for, and what to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explanation: Option<String>,
}

/// Jobs, newest first (P13).
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PoolJobList)]
pub struct JobList {
    /// This page; it may be short, or empty, and still have a next.
    pub jobs: Vec<Job>,
    /// Give it as `after` to see the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Jobs that were taken together (P18).
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PoolBatch)]
pub struct BatchAnswer {
    /// One for each, in their order.
    pub jobs: Vec<BatchItem>,
}

/// One job of a batch (P18).
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PoolBatchItem)]
pub struct BatchItem {
    /// Its id.
    pub id: u64,
    /// Where it stood when it was taken.
    #[schema(example = "queued")]
    pub status: &'static str,
}

/// Why a job is not done yet.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PoolJobExplained)]
pub struct Explained {
    /// Which job.
    pub job_id: u64,
    /// The cause in one word.
    #[schema(example = "no_workers")]
    pub cause: &'static str,
    /// The same as `GET /api/explain` has it.
    #[schema(example = "no_workers")]
    pub code: &'static str,
    /// The rule that says so.
    #[schema(example = "P3")]
    pub rule: &'static str,
    /// The cause in one sentence, and what to do.
    pub explanation: String,
}

/// What proves a result (P17).
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PoolReceipt)]
pub struct Receipt {
    /// Which assignment.
    pub assignment_id: u64,
    /// Of which job.
    pub job_id: u64,
    /// Who did it.
    pub worker_id: u64,
    /// The key that verified it.
    pub public_key: Box<str>,
    /// What was signed, in base64url.
    pub signed_bytes: String,
    /// The signature, in base64url.
    pub signature: Box<str>,
    /// The hash that was handed in.
    pub output_hash: Option<Box<str>>,
    /// When the result was taken.
    pub finished_at: Moment,
}
