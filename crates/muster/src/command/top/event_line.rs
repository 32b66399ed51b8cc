//! What happened, in one line, and whom it is about.

use crate::client::Entry;
use serde_json::Value;

/// One event of the feed as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EventLine {
    pub(super) kind: String,
    /// The time of day (UTC), then what it says, without its time.
    pub(super) time: String,
    pub(super) detail: String,
    /// Whom `explain` can be asked about.
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

    /// Whether somebody should look.
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
    use super::*;
    use serde_json::json;

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
