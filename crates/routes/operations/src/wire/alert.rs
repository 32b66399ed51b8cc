//! What people should look at (N17, N8b).

use serde::Serialize;
use utoipa::ToSchema;

/// One alert.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Alert {
    /// Its id.
    pub id: String,
    /// `mass_dropout`, `summary_mismatch`, `chunkIntegrity` or `device_contested`.
    pub kind: &'static str,
    /// The PC it concerns.
    pub pc_id: String,
    /// The run it concerns.
    pub run_id: Option<String>,
    /// What happened.
    pub message: String,
    /// When, epoch milliseconds.
    pub at: i64,
}

/// Alerts, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub struct AlertList {
    /// This page.
    pub alerts: Vec<Alert>,
    /// Give it as `after` to see the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}
