//! Questions and answers of people: on the command line, over Slack and over HTTP.

use crate::seen_by_slack;
use hmac::{Hmac, KeyInit, Mac};
use muster_tests::{Answer, Client, Court, Request, SLACK_TOKEN, Server, Slack, now_ms, until, wait_until};
use serde_json::{Value, json};
use sha2::Sha256;
use std::{fmt::Write as _, fs};

/// C0, C14, C21, I4: the court as it ships runs; what it asks stands in the inbox, an answer goes on with the work, and
/// all of it is told on standard output.
#[test]
fn a_question_is_answered_without_slack() {
    let mut court = Court::as_shipped();
    assert_eq!(court.output(&["init"]).code, 4, "nothing is overwritten");
    court.start(&["run"]);
    let event = court.emit(&json!({"type": "greet.hello", "source": "me", "payload": {"ask": true}}));
    let task = court.finished(&event);
    assert_eq!(task["status"], "needs_human");
    let id = task["id"].as_str().unwrap();
    let inbox: Value = serde_json::from_str(&court.output(&["inbox", "--json"]).stdout).unwrap();
    assert_eq!(inbox["questions"].as_array().unwrap().len(), 1);
    assert_eq!(inbox["questions"][0]["task_id"], id);
    assert_eq!(inbox["questions"][0]["question"], "Whom shall I greet?");
    assert!(court.output(&["inbox"]).stdout.contains(id));
    let answered = court.output(&["reply", id, "Ada"]);
    assert_eq!(answered.code, 0);
    let resumed = court.finished(answered.stdout.trim_end());
    assert_eq!((&resumed["type"], &resumed["target_general"]), (&json!("resume"), &json!("greet")));
    assert_eq!(court.result(&resumed)["summary"], "Hello, Ada, and thank you for the answer.");
    assert_eq!(court.output(&["reply", id, "Bob"]).code, 4, "it was answered before");
    assert_eq!(court.output(&["reply", "task-20260101-001", "Bob"]).code, 5);
    assert_eq!(court.output(&["reply", "../x", "Bob"]).code, 2);
    wait_until("all is told", || court.count("queue/messages/pending") == 0);
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

fn shown(court: &Court) -> Server {
    Server::with(&[("MUSTER_COURT__DIRECTORY", court.home().to_str().unwrap())])
}

fn column(client: &Client, place: &str) -> Value {
    let board = client.get("/api/court").expect(200);
    let places = board["places"].as_array().unwrap();
    places.iter().find(|column| column["place"] == place).unwrap().clone()
}

/// C14, C21, I7: a question stands in the inbox; a VIEWER reads it, an OPERATOR answers; the work goes on, the timeline tells
/// all stations in order, and who answered is written down.
#[test]
fn a_question_is_answered_over_http() {
    let mut court = Court::as_shipped();
    let server = shown(&court);
    let (vera, otto) = (server.user("vera", &["VIEWER"]), server.user("otto", &["OPERATOR"]));
    court.start(&["run"]);
    let event = court.emit(&json!({"type": "greet.hello", "source": "me", "payload": {"ask": true}}));
    let task = court.finished(&event);
    let id = task["id"].as_str().unwrap();
    let question = vera.get("/api/court/inbox").expect(200)["questions"][0].clone();
    assert_eq!((&question["task_id"], &question["general"]), (&task["id"], &json!("greet")));
    assert!(question["asked_at"].as_i64().unwrap() > 0);
    let waiting = column(&vera, "tasks/needs_human");
    assert_eq!((&waiting["count"], &waiting["items"][0]["id"]), (&json!(1), &task["id"]));
    assert_eq!(waiting["items"][0]["kind"], "task");
    let path = format!("/api/court/tasks/{id}/reply");
    let answer = json!({"text": "Ada"});
    assert_eq!(vera.post(&path, &answer).status, 403);
    assert_eq!(otto.post(&path, &json!({"text": " "})).problem(422)["field"], "text");
    let taken = otto.post(&path, &answer).expect(202);
    let resumed = court.finished(taken["event_id"].as_str().unwrap());
    assert_eq!(court.result(&resumed)["summary"], "Hello, Ada, and thank you for the answer.");
    assert_eq!(otto.post(&path, &answer).status, 409);
    let story = vera.get(&format!("/api/court/tasks/{id}")).expect(200);
    stations_stand_in_order(&story, &event, id);
    assert_eq!(story["documents"]["task"]["id"], *id);
    assert_eq!(story["documents"]["question"]["question"], "Whom shall I greet?");
    let acts = server.admin().get("/audit?limit=5").expect(200)["acts"].clone();
    assert_eq!((&acts[0]["username"], &acts[0]["action"]), (&json!("otto"), &json!("reply_to_court")));
    wait_until("the board follows", || {
        column(&vera, "tasks/needs_human")["count"] == 0 && column(&vera, "tasks/completed")["count"] == 2
    });
}

fn stations_stand_in_order(story: &Value, event: &str, task: &str) {
    let stations = story["timeline"].as_array().unwrap();
    let times: Vec<i64> = stations.iter().map(|station| station["at"].as_i64().unwrap()).collect();
    assert!(times.is_sorted(), "{story}");
    let told: Vec<&str> = stations.iter().map(|station| station["what"].as_str().unwrap()).collect();
    let place_of = |part: &str| {
        told.iter().position(|what| what.contains(part)).unwrap_or_else(|| panic!("{part}: {told:?}"))
    };
    let first = format!("event {event}");
    let made = format!("task {task}");
    let parts =
        [first.as_str(), made.as_str(), "attempt 1 began", "it asked", "the answer", "goes on with it"];
    let places: Vec<usize> = parts.iter().map(|part| place_of(part)).collect();
    assert!(places.is_sorted(), "{told:?}");
    assert!(stations.iter().all(|station| station["file"].as_str().unwrap().contains('/')));
}

/// C23, I9: without a court there is a hint; what is no task, or leads elsewhere, is not there; files that nobody can read
/// are listed by their names; a place shows its newest hundred.
#[test]
fn what_is_shown_is_bounded() {
    let bare = Server::start();
    for path in ["/api/court", "/api/court/inbox", "/api/court/tasks/t", "/api/explain/court_task/t"] {
        let hint = bare.admin().get(path).problem(404)["detail"].as_str().unwrap().to_owned();
        assert!(hint.contains("--court"), "{hint}");
    }
    let court = Court::as_shipped();
    let server = shown(&court);
    for id in ["..%2F..%2Fcourt.toml", "%2Fetc%2Fpasswd", "task-20200101-001", "%00", "a%2Fb"] {
        for path in [format!("/api/court/tasks/{id}"), format!("/api/explain/court_task/{id}")] {
            assert_eq!(server.admin().get(&path).status, 404, "{path}");
        }
        let reply = server.admin().post(&format!("/api/court/tasks/{id}/reply"), &json!({"text": "t"}));
        assert_eq!(reply.status, 404, "{id}");
    }
    for n in 0..120 {
        court.write(&format!("queue/events/pending/evt-{n}.json"), "no JSON");
    }
    let pending = column(&server.admin(), "events/pending");
    assert_eq!((pending["count"].as_u64(), pending["items"].as_array().unwrap().len()), (Some(120), 100));
    assert_eq!(pending["items"][0].get("title"), None);
    let why = server.admin().get("/api/explain/court_task/evt-7").expect(200);
    assert_eq!(why["code"], "court_file_unreadable");
}
