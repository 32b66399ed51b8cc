//! The page in plain text, and events as lines.

use super::snapshot::{DeviceState, Item, Node, Overview, Snapshot};
use crate::client::Entry;
use serde_json::Value;

/// The whole page.
pub(super) fn page(snapshot: &Snapshot) -> String {
    let mut lines = summary(&snapshot.overview);
    lines.push(String::new());
    lines.extend(snapshot.nodes.iter().map(node));
    lines.extend(snapshot.queue.iter().map(item));
    lines.join("\n").trim_end().replace(|char: char| char.is_control() && char != '\n', "\u{fffd}")
}

/// The server, the fleet and the work in a few lines.
pub(super) fn summary(overview: &Overview) -> Vec<String> {
    let Overview { version, leader, nodes, devices, slots, runs, sessions, pool, .. } = overview;
    let address = leader.address.as_deref().unwrap_or("this server");
    vec![
        format!("version {version}, leader {address}, epoch {}, store {}", leader.epoch, leader.store),
        format!(
            "nodes {} online, {} offline, {} draining; devices {} running, {} idle, {} error, {} offline; slots {}/{}",
            nodes.online,
            nodes.offline,
            nodes.draining,
            devices.running,
            devices.idle,
            devices.error,
            devices.offline,
            slots.used,
            slots.target
        ),
        format!(
            "runs {} running, {} waiting; sessions {} running, {} waiting, {} paused; pool jobs {} running, {} waiting; oldest waiting {}",
            runs.running,
            runs.pending,
            sessions.running,
            sessions.pending,
            sessions.paused,
            pool.jobs_running,
            pool.jobs_waiting,
            oldest(overview)
        ),
    ]
}

/// The work that waits longest, and for how long.
pub(super) fn oldest(overview: &Overview) -> String {
    let Some(waiting) = &overview.oldest_waiting else { return "nothing".to_owned() };
    let id = waiting.id.as_str().map_or_else(|| waiting.id.to_string(), str::to_owned);
    format!("{} {id} for {}", waiting.kind, span(overview.at - waiting.since))
}

/// A stretch of time in at most two units.
fn span(ms: i64) -> String {
    let seconds = ms.max(0) / 1000;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

fn node(node: &Node) -> String {
    let counts = DeviceState::ALL.iter().zip(node.counts());
    let counts: Vec<String> = counts.map(|(state, count)| format!("{count} {}", state.word())).collect();
    format!("node {} {}: {}", node.node_id, node.condition(), counts.join(", "))
}

fn item(item: &Item) -> String {
    let progress = item.progress.map_or_else(String::new, |(done, total)| format!(" {done}/{total}"));
    format!("{} {} {}{progress} {}", item.kind.word(), item.id, item.status, item.note).trim_end().to_owned()
}

/// One event of the feed as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EventLine {
    pub(super) kind: String,
    /// The time of day (UTC), then what it says, without its time.
    pub(super) time: String,
    pub(super) detail: String,
    /// Subject for `explain`.
    pub(super) subject: Option<Subject>,
}

/// Something that can be explained: its kind and its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Subject {
    pub(super) kind: &'static str,
    pub(super) id: String,
}

impl Subject {
    pub(super) fn new(kind: &'static str, id: impl Into<String>) -> Self {
        Self { kind, id: id.into() }
    }
}

impl EventLine {
    pub(super) fn read(entry: &Entry) -> Self {
        let members = entry.body.as_object().into_iter().flatten();
        let told = members.filter(|(name, _)| *name != "at");
        let detail =
            told.map(|(name, value)| format!("{name}={}", plain(value))).collect::<Vec<_>>().join(" ");
        let time = entry.body["at"].as_i64().map_or_else(String::new, time_of_day);
        Self { kind: entry.kind.clone(), time, detail, subject: subject(entry) }
    }

    /// Everything in one line, which filters look at.
    pub(super) fn line(&self) -> String {
        format!("{} {}", self.kind, self.detail)
    }

    /// True if the event needs attention.
    pub(super) fn is_trouble(&self) -> bool {
        let of_kind = ["alert_raised", "device_error", "worker_offline", "pool_worker_dissented"];
        of_kind.contains(&self.kind.as_str()) || self.detail.contains("status=failed")
    }
}

/// The most particular thing that an event names.
fn subject(entry: &Entry) -> Option<Subject> {
    let kind = entry.kind.as_str();
    let named = |name: &str| match entry.body.get(name)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    let of_frames = ["range_", "chunk_", "session_", "sim_"].iter().any(|prefix| kind.starts_with(prefix));
    let worker = if of_frames || kind.starts_with("pool_") { "worker" } else { "node" };
    let task = if of_frames { "range" } else { "task_device" };
    let candidates = [
        ("task", task),
        ("device", "device"),
        ("session", "session"),
        ("schedule", "schedule"),
        ("job", "run"),
        ("worker", worker),
    ];
    candidates.into_iter().find_map(|(name, kind)| Some(Subject::new(kind, named(name)?)))
}

/// A value without quotes; nothing in it can steer a terminal.
fn plain(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    text.replace(char::is_control, "\u{fffd}")
}

/// Hours, minutes and seconds of a moment, in UTC.
pub(super) fn time_of_day(at_ms: i64) -> String {
    let seconds = at_ms.div_euclid(1000).rem_euclid(86_400);
    format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::{super::state::tests::document, *};
    use serde_json::json;

    /// I4: without a terminal, plain text.
    #[test]
    fn a_page_says_it_all() {
        let expected = "\
version 0.1.0, leader http://a:1, epoch 3, store sqlite
nodes 1 online, 1 offline, 1 draining; devices 1 running, 1 idle, 1 error, 1 offline; slots 1/2
runs 1 running, 1 waiting; sessions 1 running, 0 waiting, 0 paused; pool jobs 2 running, 5 waiting; oldest waiting run r2 for 1 min 5 s

node PC-01 online: 1 running, 1 idle, 1 error, 0 offline
node PC-02 offline: 0 running, 0 idle, 0 error, 1 offline
run r1 running 2/4 warm up
run r2 pending 0/0 nightly
session s1 running 25/100 frames
pool jobs 2 running 5 waiting, 1/2 workers online";
        assert_eq!(page(&Snapshot::read(&document())), expected);
    }

    fn read(kind: &str, body: Value) -> EventLine {
        EventLine::read(&Entry { seq: Some(1), kind: kind.to_owned(), body })
    }

    #[test]
    fn an_event_is_one_line_that_steers_no_terminal() {
        let line = read("worker_online", json!({"at": 86_399_000, "worker": "PC\u{1b}[2J"}));
        assert_eq!(line.time, "23:59:59");
        assert_eq!(line.line(), "worker_online worker=PC\u{fffd}[2J");
    }

    /// Q16: whom an event is about can be explained.
    #[test]
    fn an_event_knows_whom_it_is_about() {
        let cases = [
            ("task_leased", json!({"task": "t1", "device": "d1"}), Some(("task_device", "t1"))),
            ("device_error", json!({"device": "d1"}), Some(("device", "d1"))),
            ("job_submitted", json!({"job": "r1"}), Some(("run", "r1"))),
            ("worker_offline", json!({"worker": "PC-01"}), Some(("node", "PC-01"))),
            ("range_assigned", json!({"session": "s", "task": "s-0"}), Some(("range", "s-0"))),
            ("sim_worker_moved", json!({"worker": "GPU-01"}), Some(("worker", "GPU-01"))),
            ("pool_worker_online", json!({"worker": 4}), Some(("worker", "4"))),
            ("user_added", json!({"user": 4}), None),
        ];
        for (kind, body, expected) in cases {
            let subject = read(kind, body).subject;
            assert_eq!(subject, expected.map(|(kind, id)| Subject::new(kind, id)), "{kind}");
        }
    }
}
