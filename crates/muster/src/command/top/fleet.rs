//! Nodes and their devices, as `GET /api/fleet` tells them.

use serde::{Deserialize, de::IgnoredAny};

/// A node with all its devices.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Node {
    pub(super) node_id: String,
    pub(super) status: String,
    pub(super) draining: bool,
    pub(super) max_devices: Option<u64>,
    pub(super) devices: Vec<Device>,
}

/// A device: its name, what it does, and the task that it does it for. Whether it is attached is not looked at.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Device(
    pub(super) String,
    pub(super) DeviceState,
    pub(super) Option<String>,
    #[serde(default)]
    #[allow(dead_code, reason = "a place in the row")]
    pub(super) IgnoredAny,
);

/// What a device does; the order is that of bars.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(super) enum DeviceState {
    Running,
    Idle,
    Error,
    /// Also what a later server may say that this does not know.
    #[default]
    #[serde(other)]
    Offline,
}

impl DeviceState {
    pub(super) const ALL: [Self; 4] = [Self::Running, Self::Idle, Self::Error, Self::Offline];

    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Idle => "idle",
            Self::Error => "error",
            Self::Offline => "offline",
        }
    }
}

impl Node {
    pub(super) fn is_online(&self) -> bool {
        self.status == "online"
    }

    /// One word for people.
    pub(super) fn condition(&self) -> &'static str {
        match (self.is_online(), self.draining) {
            (true, false) => "online",
            (true, true) => "draining",
            (false, _) => "offline",
        }
    }

    /// How many devices are in each state, in the order of [`DeviceState::ALL`].
    pub(super) fn counts(&self) -> [usize; 4] {
        DeviceState::ALL.map(|state| self.devices.iter().filter(|device| device.1 == state).count())
    }
}

/// Shares `width` cells out among counts: every count that is not nothing has one, all have `width` together.
pub(super) fn cells(counts: [usize; 4], width: usize) -> [usize; 4] {
    let total: usize = counts.iter().sum();
    let kinds = counts.iter().filter(|count| **count > 0).count();
    if total == 0 || width < kinds {
        return [0; 4];
    }
    let mut cells = counts.map(|count| if count == 0 { 0 } else { (count * width / total).max(1) });
    while cells.iter().sum::<usize>() < width {
        // Whoever has the least of what is due to it gets one more.
        let due = |index: &usize| (counts[*index] * width).saturating_sub(cells[*index] * total);
        let poorest = (0..cells.len()).rev().max_by_key(due).unwrap_or(0);
        cells[poorest] += 1;
    }
    while cells.iter().sum::<usize>() > width {
        let richest = (0..cells.len()).max_by_key(|index| cells[*index]).unwrap_or(0);
        cells[richest] -= 1;
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_node_is_read_with_its_devices() {
        let devices = json!([["d1", "running", "t1", true], ["d2", "idle", null], ["d3", "molten", null]]);
        let node = json!({"node_id": "PC-01", "status": "online", "draining": true, "devices": devices});
        let node: Node = serde_json::from_value(node).unwrap();
        assert_eq!((node.condition(), node.counts()), ("draining", [1, 1, 0, 1]));
        assert_eq!(node.devices[0].2.as_deref(), Some("t1"));
    }

    #[test]
    fn a_bar_is_full_and_shows_every_kind() {
        assert_eq!(cells([0, 100, 0, 0], 10), [0, 10, 0, 0]);
        assert_eq!(cells([1, 998, 1, 0], 10), [1, 8, 1, 0]);
        assert_eq!(cells([33, 33, 33, 1], 10), [3, 3, 3, 1]);
        assert_eq!(cells([1, 1, 1, 0], 5), [2, 2, 1, 0]);
        assert_eq!(cells([1, 1, 1, 1], 3), [0; 4]);
        assert_eq!(cells([0; 4], 10), [0; 4]);
    }
}
