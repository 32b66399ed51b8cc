//! Nodes with their devices, and the work that has not ended.

use super::snapshot::{Overview, Pool, rows};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::Value;

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

/// State of a device; in the order of bars.
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

    /// Number of devices in each state, in the order of [`DeviceState::ALL`].
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

/// One line of the queues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) kind: Kind,
    pub(super) id: String,
    pub(super) status: String,
    /// Progress: done and total, if known.
    pub(super) progress: Option<(u64, u64)>,
    pub(super) note: String,
}

/// Kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Run,
    Session,
    Pool,
}

impl Kind {
    /// As people, and `muster explain`, call it.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Session => "session",
            Self::Pool => "pool",
        }
    }
}

impl Item {
    /// Everything in one line, which filters look at.
    pub(super) fn line(&self) -> String {
        format!("{} {} {} {}", self.kind.word(), self.id, self.status, self.note)
    }
}

/// The lines of a snapshot's document.
pub(super) fn read(document: &Value, overview: &Overview) -> Vec<Item> {
    let runs = rows(&document["runs"]).map(run);
    let sessions = rows(&document["sessions"]).map(session);
    let pool = (overview.pool.workers + overview.pool.jobs_waiting + overview.pool.jobs_running > 0)
        .then(|| pool(overview.pool));
    runs.chain(sessions).chain(pool).collect()
}

fn run(run: &Value) -> Item {
    let count = |name: &str| run["counts"][name].as_u64().unwrap_or(0);
    let ended = count("completed") + count("failed") + count("cancelled");
    let progress = run["counts"].is_object().then(|| (ended, ended + count("running") + count("pending")));
    let mut note = [text(run, "title"), text(run, "workflow_id")].into_iter().find(|text| !text.is_empty());
    if count("failed") > 0 {
        let failed = format!("{} failed", count("failed"));
        note = Some(note.map_or(failed.clone(), |note| format!("{failed}, {note}")));
    }
    Item {
        kind: Kind::Run,
        id: text(run, "run_id"),
        status: text(run, "status"),
        progress,
        note: note.unwrap_or_default(),
    }
}

fn session(session: &Value) -> Item {
    let frames = session["totalFrames"].as_u64().map(|total| {
        let done = session["completedFrames"].as_u64().unwrap_or(0);
        (done, total)
    });
    Item {
        kind: Kind::Session,
        id: text(session, "sessionId"),
        status: text(session, "status"),
        progress: frames,
        note: "frames".to_owned(),
    }
}

fn pool(pool: Pool) -> Item {
    let Pool { jobs_waiting, jobs_running, workers_online, workers } = pool;
    let note = format!("{jobs_waiting} waiting, {workers_online}/{workers} workers online");
    let status = format!("{jobs_running} running");
    Item { kind: Kind::Pool, id: "jobs".to_owned(), status, progress: None, note }
}

fn text(object: &Value, name: &str) -> String {
    object[name].as_str().unwrap_or_default().to_owned()
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

    #[test]
    fn work_says_how_far_it_is() {
        let counts = json!({"pending": 5, "running": 2, "completed": 2, "failed": 1, "cancelled": 0});
        let runs = json!([
            {"run_id": "r1", "status": "running", "title": "warm up", "workflow_id": "w", "counts": counts},
            {"run_id": "r2", "status": "pending", "title": null, "workflow_id": "w"},
        ]);
        let sessions =
            json!([{"sessionId": "s1", "status": "paused", "totalFrames": 100, "completedFrames": 40}]);
        let overview = Overview { pool: Pool { workers: 2, ..Pool::default() }, ..Overview::default() };
        let items = read(&json!({"runs": runs, "sessions": sessions}), &overview);
        let told: Vec<_> = items.iter().map(|item| (item.line(), item.progress)).collect();
        let expected = [
            ("run r1 running 1 failed, warm up".to_owned(), Some((3, 10))),
            ("run r2 pending w".to_owned(), None),
            ("session s1 paused frames".to_owned(), Some((40, 100))),
            ("pool jobs 0 running 0 waiting, 0/2 workers online".to_owned(), None),
        ];
        assert_eq!(told, expected);
    }
}
