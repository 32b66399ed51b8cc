//! Workers as their owners see them (P3, P4, P5, P14, P15).

use super::{JsonText, Moment};
use serde::Serialize;
use utoipa::ToSchema;

/// A worker as its registration answers it (P3).
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PoolWorkerRegistered)]
pub struct Registered {
    /// Its id.
    pub id: u64,
    /// Unique over all owners.
    pub name: Box<str>,
    /// Whose it is.
    pub owner_user_id: u64,
    /// `offline`, `online` or `banned`.
    #[schema(example = "offline")]
    pub status: &'static str,
    /// Where it is.
    pub region: Option<Box<str>>,
    /// What it has, as it was registered.
    #[schema(value_type = JsonText)]
    pub specs_json: Option<JsonText>,
    /// What verifies its results.
    pub public_key: Option<Box<str>>,
    /// Its last heartbeat or poll.
    pub last_seen_at: Option<Moment>,
}

/// A worker (P4, P14, P15).
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PoolWorker)]
pub struct Worker {
    /// As its registration answered it, with what has become of it since.
    #[serde(flatten)]
    pub registered: Registered,
    /// How often a majority agreed with it, 0 to 1; the coordinator's own.
    pub reputation: f64,
    /// How often a majority did not.
    pub dissents: u32,
    /// It gets no more work.
    pub draining: bool,
    /// Why it is banned.
    pub ban_reason: Option<Box<str>>,
}

/// The caller's workers, by id (P4).
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PoolWorkerList)]
pub struct WorkerList {
    /// All of them, or, with `limit`, this page.
    pub workers: Vec<Worker>,
    /// Give it as `after` to see the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// The answer to a heartbeat (P5).
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PoolWorkerSeen)]
pub struct Seen {
    /// Who was heard of.
    pub worker_id: u64,
    /// When.
    pub last_seen_at: Moment,
}
