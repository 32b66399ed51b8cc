//! Files that rows left behind (N21).

use serde::Serialize;
use utoipa::ToSchema;

/// Files of a run, oldest row first; of a device, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub struct ArtifactList {
    /// This page.
    pub artifacts: Vec<Artifact>,
    /// Give it as `after` to see the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// One file, as the result of its row tells of it.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Artifact {
    /// The row that left it.
    pub task_device_id: String,
    /// The row's device.
    pub device_id: String,
    /// The attempt that left it.
    pub attempt: u16,
    /// What it shows.
    pub kind: String,
    /// Its `storage_path`.
    pub path: String,
    /// Where this server answers it; absent where the path is none of this server's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Its type, where its node told it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// Its length in bytes, where its node told it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// When its row ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<i64>,
}
