//! Questions and answers: without Slack, and through its signed events (C14, C18).

use crate::{said, seen_by_slack};
use hmac::{Hmac, KeyInit, Mac};
use muster_tests::{Answer, Client, Court, Request, SLACK_TOKEN, Slack, now_ms, until};
use serde_json::{Value, json};
use sha2::Sha256;
use std::{fmt::Write as _, fs};

/// C0, C14, C21, I4: the court as it ships runs; what it asks stands in the inbox, an answer goes on with the work, and
/// all of it is told on standard output.
#[test]
fn a_question_is_answered_without_slack() {
    let mut court = Court::as_shipped();
    assert_eq!(court.output(&["init"]).status.code(), Some(4), "nothing is overwritten");
    court.start(&["run"]);
    let event = court.emit(&json!({"type": "greet.hello", "source": "me", "payload": {"ask": true}}));
    let task = court.finished(&event);
    assert_eq!(task["status"], "needs_human");
    let id = task["id"].as_str().unwrap();
    let inbox: Value = serde_json::from_slice(&court.output(&["inbox", "--json"]).stdout).unwrap();
    assert_eq!(inbox["questions"].as_array().unwrap().len(), 1);
    assert_eq!(inbox["questions"][0]["task_id"], id);
    assert_eq!(inbox["questions"][0]["question"], "Whom shall I greet?");
    assert!(said(&court.output(&["inbox"]).stdout).contains(id));
    let answered = court.output(&["reply", id, "Ada"]);
    assert_eq!(answered.status.code(), Some(0));
    let resumed = court.finished(said(&answered.stdout).trim_end());
    assert_eq!((&resumed["type"], &resumed["target_general"]), (&json!("resume"), &json!("greet")));
    assert_eq!(court.result(&resumed)["summary"], "Hello, Ada, and thank you for the answer.");
    assert_eq!(court.output(&["reply", id, "Bob"]).status.code(), Some(4), "it was answered before");
    assert_eq!(court.output(&["reply", "task-20260101-001", "Bob"]).status.code(), Some(5));
    assert_eq!(court.output(&["reply", "../x", "Bob"]).status.code(), Some(2));
    until("all is told", || (court.count("queue/messages/pending") == 0).then_some(()));
    let told = court.stdout(&["run"]);
    for line in ["❓", "📋", "✅"] {
        assert!(told.contains(line), "{told}");
    }
}

/// C8, C14, C18: a reply that Slack brings, signed, goes on with the work in the same thread, once however often it is
/// brought; a forged, an old and an unsigned one do nothing; a direct message is an event.
#[test]
fn only_signed_replies_count() {
    let slack = Slack::start();
    let settings = format!(
        "to = \"slack\"\nbase_url = \"{}\"\nlisten = \"127.0.0.1:0\"\nreplies_poll_s = 3600\n",
        slack.url()
    );
    let mut court =
        Court::as_shipped().env("SLACK_BOT_TOKEN", SLACK_TOKEN).env("SLACK_SIGNING_SECRET", SECRET);
    let path = court.path("court.toml");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(path, text.replacen("to = \"stdout\"\n", &settings, 1)).unwrap();
    court.start(&["run"]);
    let event = court.emit(&json!({"type": "greet.hello", "source": "me", "payload": {"ask": true}}));
    let task = court.finished(&event);
    let asked = seen_by_slack(&slack, &task, "❓");
    let thread = asked.thread_ts.clone().unwrap();
    until("the question knows where it was asked", || {
        let question = court.file("state/questions/open", task["id"].as_str().unwrap())?;
        (question["thread_ts"] == thread).then_some(())
    });
    let door = door(&court);
    let reply = |text: &str, ts: &str| {
        json!({"type": "event_callback", "event": {"type": "message", "channel": "C1", "channel_type": "channel",
            "user": "U1", "text": text, "ts": ts, "thread_ts": thread}}).to_string()
    };
    let (now, body) = (now_ms() / 1000, reply("Ada", "1790000000.000100"));
    for (age, signature) in [(0, sign("another secret", now, &body)), (400, sign(SECRET, now - 400, &body))] {
        assert_eq!(bring(&door, &body, now - age, &signature).status, 401);
    }
    assert_eq!(door.send(Request::new("POST", EVENTS).bytes(body.clone().into_bytes())).status, 401);
    let changed = body.replace("Ada", "Eve");
    assert_eq!(bring(&door, &changed, now, &sign(SECRET, now, &body)).status, 401);
    for _ in 0..2 {
        assert_eq!(bring(&door, &body, now, &sign(SECRET, now, &body)).status, 200);
    }
    let resumed = court.finished(&format!("evt-slack-reply-{thread}-1790000000.000100").replace('.', "-"));
    assert_eq!(court.result(&resumed)["summary"], "Hello, Ada, and thank you for the answer.");
    assert_eq!(seen_by_slack(&slack, &resumed, "✅").thread_ts, Some(thread.clone()), "where it was asked");
    let direct =
        json!({"type": "event_callback", "event": {"type": "message", "channel": "D1", "channel_type": "im",
        "user": "U1", "text": "hello", "ts": "1790000001.000100"}})
        .to_string();
    assert_eq!(bring(&door, &direct, now, &sign(SECRET, now, &direct)).status, 200);
    let event = until("the direct message is an event", || {
        court.file("queue/events/completed", "evt-slack-msg-1790000001-000100")
    });
    assert_eq!(event["type"], "slack.dm.message");
    assert_eq!(event["outcome"], "discarded", "nobody subscribes to it here");
    assert_eq!(court.count("queue/tasks/completed"), 2);
}

fn door(court: &Court) -> Client {
    let address = fs::read_to_string(court.path("state/envoy.listen")).unwrap();
    Client::at(address.trim().parse().unwrap())
}

fn bring(door: &Client, body: &str, timestamp: i64, signature: &str) -> Answer {
    let request = Request::new("POST", EVENTS).bytes(body.as_bytes().to_vec());
    let request = request.header("x-slack-request-timestamp", &timestamp.to_string());
    door.send(request.header("x-slack-signature", signature))
}

fn sign(secret: &str, timestamp: i64, body: &str) -> String {
    let mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    let mac = mac.chain_update(format!("v0:{timestamp}:{body}")).finalize().into_bytes();
    mac.iter().fold("v0=".to_owned(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

const EVENTS: &str = "/slack/events";
const SECRET: &str = "signing-secret-of-tests";
