//! What a court that has been at work for years has behind it.

use serde_json::{Value, json};
use std::{fs, path::Path};

/// A file of some kind, by its number.
type Make = fn(usize) -> Value;

/// Puts so many files into each directory of what is over.
pub(crate) fn fill(home: &Path, count: usize) {
    let kinds: [(&str, Make); 4] = [
        ("queue/events/completed", event),
        ("queue/tasks/completed", task),
        ("queue/messages/sent", message),
        ("state/results", result),
    ];
    for (directory, document) in kinds {
        let directory = home.join(directory);
        for number in 0..count {
            let document = document(number);
            let id = document.get("id").or_else(|| document.get("task_id")).and_then(Value::as_str);
            let path = directory.join(format!("{}.json", id.expect("each has one")));
            fs::write(path, document.to_string()).expect("room on the disk");
        }
    }
    // What the kernel still has to write would be part of the measurement.
    rustix::fs::sync();
}

fn event(number: usize) -> Value {
    json!({
        "id": event_id(number), "type": "bench.begin", "source": "bench", "repo": null, "payload": {"n": number},
        "priority": "normal", "created_at": LONG_AGO, "status": "completed",
        "dispatch": {"task_id": task_id(number)},
    })
}

fn task(number: usize) -> Value {
    json!({
        "id": task_id(number), "event_id": event_id(number), "target_general": "bench", "type": "bench.begin",
        "payload": {"n": number}, "priority": "normal", "created_at": LONG_AGO, "status": "completed",
    })
}

fn message(number: usize) -> Value {
    json!({
        "id": format!("msg-20250101-{number:06}"), "type": "notification", "channel": "general",
        "urgency": "normal", "content": "done", "context": {"task_id": task_id(number)},
        "created_at": LONG_AGO, "status": "sent",
    })
}

fn result(number: usize) -> Value {
    json!({"task_id": task_id(number), "status": "success", "summary": "done"})
}

fn event_id(number: usize) -> String {
    format!("evt-bench-long-ago-{number}")
}

fn task_id(number: usize) -> String {
    format!("task-20250101-{number:06}")
}

const LONG_AGO: &str = "2025-01-01T10:00:00Z";
