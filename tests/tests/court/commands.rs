//! What commands say and how they end, for scripts (I4, C12, C16b, C18, C21).

use crate::said;
use muster_tests::{Court, until};
use serde_json::{Value, json};
use std::{
    fs::{self, File},
    path::Path,
    time::{Duration, SystemTime},
};

/// C8, C18, I4: `emit` prints the id; a repeat is dropped with 0 wherever the first one is, and what is refused ends
/// with 4 and leaves nothing behind.
#[test]
fn emit_takes_drops_and_refuses() {
    let mut court = Court::as_shipped();
    let event = json!({"id": "evt-1", "type": "greet.hello", "source": "me", "payload": {"name": "Ada"}});
    let emit = |court: &Court, event: &Value| {
        let output = court.output_with(&["emit"], event.to_string().as_bytes());
        (output.status.code().unwrap(), said(&output.stdout), said(&output.stderr))
    };
    assert_eq!(emit(&court, &event), (0, "evt-1\n".to_owned(), String::new()));
    let (code, id, reason) = emit(&court, &event);
    assert_eq!((code, id.as_str()), (0, "evt-1\n"));
    assert!(reason.contains("handed in before"), "{reason}");
    court.start(&["run"]);
    assert_eq!(court.result(&court.finished("evt-1"))["summary"], "Hello, Ada!");
    assert_eq!(emit(&court, &event).0, 0, "over, and still known");
    for (member, wrong) in [
        ("id", json!("../x")),
        ("type", json!("")),
        ("payload", json!([])),
        ("priority", json!("urgent")),
        ("created_at", json!("2026-02-30T10:00:00Z")),
        ("status", json!("new")),
    ] {
        let mut refused = event.clone();
        refused["id"] = json!("evt-2");
        refused[member] = wrong;
        let (code, id, reason) = emit(&court, &refused);
        assert_eq!((code, id.as_str()), (4, ""), "{member}");
        assert!(reason.contains(member), "{reason}");
    }
    until("nothing is under way", || (court.count("queue/events/pending") == 0).then_some(()));
    assert_eq!(court.names("queue/events/completed"), ["evt-1.json"]);
    assert_eq!(court.names("rejected"), Vec::<String>::new());
}

/// C10, C16b, I4: `send` writes any message, from its argument or standard input, and refuses what is none.
#[test]
fn send_writes_messages() {
    let court = Court::with("[king]\ndefault_channel = \"news\"\n");
    let plain = court.output(&["send", "Hear!"]);
    let id = said(&plain.stdout).trim_end().to_owned();
    let message = court.file("queue/messages/pending", &id).unwrap();
    assert_eq!(
        (&message["type"], &message["channel"], &message["urgency"], &message["content"]),
        (&json!("report"), &json!("news"), &json!("normal"), &json!("Hear!"))
    );
    let args =
        ["send", "--type", "thread_update", "--channel", "c", "--urgency", "urgent", "--task", "task-1", "-"];
    let sent = court.output_with(&args, b"two\nlines");
    let message = court.file("queue/messages/pending", said(&sent.stdout).trim_end()).unwrap();
    assert_eq!(
        (&message["type"], &message["urgency"], &message["content"], &message["context"]["task_id"]),
        (&json!("thread_update"), &json!("urgent"), &json!("two\nlines"), &json!("task-1"))
    );
    assert_eq!(court.output(&["send", "--channel", "", "x"]).status.code(), Some(4));
    assert_eq!(court.output(&["send", "--task", "../x", "x"]).status.code(), Some(2));
    assert_eq!(court.output(&["send", "--type", "shout", "x"]).status.code(), Some(2));
}

/// C21, I4: `doctor` tells the story of a task, by its own id and its event's; 5 for what nobody knows; 1 where
/// something is stuck, with what to do; 0 where nothing is.
#[test]
fn doctor_finds_and_tells() {
    let mut court = Court::as_shipped();
    let stuck = json!({"id": "evt-1", "type": "greet.hello", "source": "me", "payload": {}});
    let _ = court.emit(&stuck);
    age(&court.path("queue/events/pending/evt-1.json"), 120);
    let look = |court: &Court| {
        let output = court.output(&["doctor", "--json"]);
        let found: Value = serde_json::from_slice(&output.stdout).unwrap();
        (output.status.code().unwrap(), found)
    };
    let (code, found) = look(&court);
    assert_eq!((code, &found["stuck"][0]["id"]), (1, &json!("evt-1")), "{found:#}");
    assert!(said(&court.output(&["doctor"]).stdout).contains("evt-1"));
    court.start(&["run"]);
    let task = court.finished("evt-1");
    until("all is told", || (court.count("queue/messages/pending") == 0).then_some(()));
    assert_eq!(look(&court).0, 0);
    assert!(said(&court.output(&["doctor"]).stdout).starts_with("nothing is stuck"));
    for id in ["evt-1", task["id"].as_str().unwrap()] {
        let story = court.output(&["doctor", id, "--json"]);
        let story: Value = serde_json::from_slice(&story.stdout).unwrap();
        assert_eq!((&story["task_id"], &story["event_id"]), (&task["id"], &json!("evt-1")));
        assert!(story["entries"].as_array().unwrap().len() >= 5, "{story:#}");
        assert_eq!(court.output(&["doctor", id]).status.code(), Some(0));
    }
    for unknown in ["task-20260101-001", "../x"] {
        assert_eq!(court.output(&["doctor", unknown]).status.code(), Some(5), "{unknown}");
    }
}

/// C21, I4: `prune --dry-run` removes nothing; `prune` removes what is over and old, and nothing that is open.
#[test]
fn prune_removes_what_is_old() {
    let mut court = Court::as_shipped();
    court.start(&["run"]);
    let event = json!({"id": "evt-1", "type": "greet.hello", "source": "me", "payload": {}});
    let task = court.finished(&court.emit(&event));
    let asking = json!({"id": "evt-2", "type": "greet.hello", "source": "me", "payload": {"ask": true}});
    let open = court.finished(&court.emit(&asking));
    until("all is told", || (court.count("queue/messages/pending") == 0).then_some(()));
    for place in [
        "queue/events/completed",
        "queue/tasks/completed",
        "queue/messages/sent",
        "state/results",
        "state/questions/open",
    ] {
        for name in court.names(place) {
            age(&court.path(place).join(name), 40 * 86_400);
        }
    }
    let prune = |args: &[&str]| {
        let output = court.output(args);
        assert_eq!(output.status.code(), Some(0), "{}", said(&output.stderr));
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    let planned = prune(&["prune", "--dry-run", "--json"]);
    assert_eq!(planned["dry_run"], true);
    let result = format!("{}.json", task["id"].as_str().unwrap());
    assert!(court.names("state/results").contains(&result), "a dry run removes nothing");
    let removed = prune(&["prune", "--json"]);
    assert_eq!(removed["removed"], planned["removed"]);
    assert!(!court.names("state/results").contains(&result));
    let kept = open["id"].as_str().unwrap();
    assert!(
        court.file("state/results", kept).is_some() && court.file("state/questions/open", kept).is_some()
    );
    assert_eq!(prune(&["prune", "--json"])["files"], json!([]));
}

/// C12, I4: the schemas are printed as JSON; other words are not understood.
#[test]
fn schemas_are_printed() {
    let court = Court::nowhere();
    for kind in ["event", "task", "message", "result"] {
        let output = court.output(&["schema", kind]);
        let schema: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
        assert_eq!(output.status.code(), Some(0));
    }
    assert_eq!(court.output(&["schema", "king"]).status.code(), Some(2));
    assert_eq!(court.output(&["doctor"]).status.code(), Some(2), "there is no court");
}

/// Makes a file look as if it had been written so long ago.
#[allow(clippy::disallowed_methods, reason = "the age of a file is told by the clock of the machine")]
fn age(path: &Path, seconds: u64) {
    let file = File::options().append(true).open(path).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).unwrap();
    assert!(fs::metadata(path).unwrap().is_file());
}
