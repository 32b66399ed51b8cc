//! Tasks, messages, and things that are no files of a court at all.

use super::{Target, holds, raws, text, words};
use muster_tests::until;
use serde_json::json;
use std::{
    ffi::OsStr,
    fs,
    os::unix::{ffi::OsStrExt, fs::symlink},
    path::Path,
    process::Command,
};

/// C12, C16, C23: each member of a task that somebody else wrote; what is taken reaches the soldier to the byte.
#[test]
fn tasks() {
    let mut target = Target::open();
    let members = ["id", "event_id", "target_general", "type", "payload", "priority", "created_at", "status"];
    let mut carried = Vec::new();
    for (number, raw) in raws().iter().enumerate() {
        for (nth, member) in members.iter().enumerate() {
            let id = format!("task-20260207-{}", 1000 * (nth + 1) + number);
            let raw = if *member == "payload" { &format!("{{\"text\": {raw}}}") } else { raw };
            target.hand_in("queue/tasks/pending", &id, &words::with(&words::task(&id), member, raw));
            if number < words::TEXTS.len() && ["type", "payload"].contains(member) {
                carried.push((id, raw.clone()));
            }
        }
    }
    target.settle();
    for (id, raw) in carried {
        let seen = fs::read(target.court.path("seen").join(&id)).unwrap();
        assert!(holds(&seen, raw.as_bytes()), "{id}");
    }
    target.is_unharmed();
}

/// C12, C18, C23: each member of a message; what is taken is posted as text, to the channel that it names.
#[test]
fn messages() {
    let mut target = Target::open();
    let members = ["id", "type", "channel", "urgency", "content", "context", "created_at", "status"];
    let mut posted = Vec::new();
    for (number, raw) in raws().iter().enumerate() {
        for (nth, member) in members.iter().enumerate() {
            let id = format!("msg-20260207-{}", 1000 * (nth + 1) + number);
            let raw = if *member == "context" { &format!("{{\"task_id\": {raw}}}") } else { raw };
            target.hand_in("queue/messages/pending", &id, &words::with(&words::message(&id), member, raw));
            if number < words::TEXTS.len() && ["channel", "content"].contains(member) {
                posted.push(id);
            }
        }
    }
    target.settle();
    for id in posted {
        assert!(target.court.file("queue/messages/sent", &id).is_some(), "{id}");
    }
    let sent = target.court.output(&["send", "--type", "notification", "--", words::TEXTS[11]]);
    assert!(sent.status.success());
    target.is_unharmed();
}

/// C4, C12, C23: things with names that are none, links, pipes, directories, and files that are no documents, in every
/// queue: they are set apart, nothing is followed, and nobody waits for them.
#[test]
fn things() {
    let mut target = Target::open();
    for place in ["queue/events/pending", "queue/tasks/pending", "queue/messages/pending"] {
        let directory = target.court.path(place);
        for name in names() {
            fs::write(directory.join(OsStr::from_bytes(&name)), "{}").unwrap();
        }
        for (number, bytes) in words::wrong_files().iter().enumerate() {
            target.hand_in(place, &format!("{}{number}", prefix(place)), bytes);
        }
        strange(&directory, prefix(place));
    }
    for place in ["state/results", "state/questions/open", "state/threads", "state/heartbeats"] {
        strange(&target.court.path(place), "task-20260207-9");
    }
    target.settle();
    assert!(!fs::read("/etc/passwd").unwrap().is_empty());
    for name in ["link", "dangling"] {
        assert!(target.court.path("rejected").join(format!("evt-{name}.json")).is_symlink(), "{name}");
    }
    // The envoy sets these apart when it next asks Slack for replies. The one that is a document stays: it asks nothing.
    until("the strange questions are set apart", || {
        (target.court.names("state/questions/open") == ["task-20260207-9secret.json"]).then_some(())
    });
    target.is_unharmed();
}

/// C23, C6: files that come in the moment in which they are looked at, half written or swapped, harm nobody.
#[test]
fn files_that_change() {
    let mut target = Target::open();
    let pending = target.court.path("queue/events/pending");
    for round in 0..50 {
        let id = format!("evt-{round}");
        let path = pending.join(format!("evt-changing-{round}.json"));
        fs::write(&path, "{\"id\": \"").unwrap();
        let _ = fs::remove_file(&path);
        let _ = symlink("/etc/passwd", &path);
        let _ = fs::remove_file(&path);
        target.hand_in("queue/events/pending", &id, words::event(&id).to_string().as_bytes());
    }
    for round in 0..50 {
        let event = format!("evt-{round}");
        let task = target.court.finished(&event);
        assert_eq!(text(&task, "event_id"), event);
    }
    until("each event is one task", || (target.court.count("queue/tasks/completed") == 50).then_some(()));
    target.is_unharmed();
}

/// Names that a consumer sees and that are none.
fn names() -> Vec<Vec<u8>> {
    let mut names: Vec<Vec<u8>> = [
        "-rf.json",
        "two\nlines.json",
        "evt 1.json",
        "evt-1",
        "evt-1.json.json~",
        "$(touch canary).json",
        "`touch canary`.json",
        "%s{}.json",
        "\u{1b}[31mred.json",
        "ünï.json",
        ";.json",
        "*.json",
        "a\tb",
        "json",
        "evt-1.JSON",
        "~",
        "a=b",
        "'",
        "\"",
        "\\..\\canary.json",
        "evt-1.json.reason",
    ]
    .map(|name| name.as_bytes().to_vec())
    .into();
    names.push(b"\xff\xfe.json".to_vec());
    names.push([b'x'; 250].to_vec());
    names
}

/// What is no plain file.
fn strange(directory: &Path, prefix: &str) {
    let path = |name: &str| directory.join(format!("{prefix}{name}.json"));
    symlink("/etc/passwd", path("passwd")).unwrap();
    symlink("../../../../precious", path("link")).unwrap();
    symlink("nowhere", path("dangling")).unwrap();
    fs::create_dir_all(path("directory").join("below")).unwrap();
    assert!(Command::new("mkfifo").arg(path("pipe")).status().unwrap().success());
    fs::write(path("secret"), json!({"id": "other"}).to_string()).unwrap();
}

fn prefix(place: &str) -> &'static str {
    match place {
        "queue/events/pending" => "evt-",
        "queue/tasks/pending" => "task-20260207-",
        _ => "msg-20260207-",
    }
}
