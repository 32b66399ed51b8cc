//! Devices (Q15).

use serde::Serialize;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// One device.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Device {
    /// The immutable serial.
    pub device_id: String,
    /// The PC it is attached to.
    pub pc_id: String,
    /// `ONLINE`, `OFFLINE` or `ERROR`.
    pub status: &'static str,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Whatever reaches it now.
    pub runtime_handle: String,
    /// What its PC last said: `online`, `offline`, `unauthorized`, `error`, or `absent` where it was not listed.
    pub attachment: &'static str,
    /// Since when it is not usable, epoch milliseconds.
    pub offline_since: Option<i64>,
    /// What was said when it was last returned to service.
    pub note: Option<String>,
    /// When it was first seen, epoch milliseconds.
    pub created_at: i64,
}

/// Devices, by id.
#[derive(Debug, Serialize, ToSchema)]
pub struct DeviceList {
    /// This page.
    pub devices: Vec<Device>,
    /// Give it as `after` to see the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}
