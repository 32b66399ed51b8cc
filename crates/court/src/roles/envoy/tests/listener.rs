//! Requests of Slack, and requests of others in its name.

use super::{
    outlets::{AtWork, HOSTILE, appears},
    *,
};
use crate::Clock;
use hmac::{Hmac, KeyInit, Mac};
use reqwest::{Client, RequestBuilder, Response};
use serde_json::{Value, json};
use sha2::Sha256;

/// A client of the listener, with the envoy it calls.
struct Visitor {
    envoy: AtWork,
    client: Client,
    url: String,
    _slack: FakeServer,
}

impl Visitor {
    async fn new() -> Self {
        let slack = slack_server().await;
        let envoy = AtWork::at(&slack, Some("127.0.0.1:0"));
        let listen = envoy.folder.path("state/envoy.listen");
        appears(&listen).await;
        let address = std::fs::read_to_string(listen).unwrap();
        let url = format!("http://{}/slack/events", address.trim());
        let client = muster_worker_kit::http::client_for(&url).no_proxy().build().unwrap();
        Self { envoy, client, url, _slack: slack }
    }

    /// A request with the body's right signature, made so many seconds ago.
    fn signed(&self, body: &str, age_s: i64) -> RequestBuilder {
        let timestamp = Clock.now().as_second() - age_s;
        let mac = Hmac::<Sha256>::new_from_slice(b"secret").unwrap();
        let mac = mac.chain_update(format!("v0:{timestamp}:{body}")).finalize().into_bytes();
        let hex: String = mac.iter().map(|byte| format!("{byte:02x}")).collect();
        let request = self.client.post(&self.url).body(body.to_owned());
        request
            .header("X-Slack-Request-Timestamp", timestamp)
            .header("X-Slack-Signature", format!("v0={hex}"))
    }

    async fn brings(&self, event: Value) -> u16 {
        let body = json!({"type": "event_callback", "event_id": "Ev1", "event": event}).to_string();
        self.signed(&body, 0).send().await.unwrap().status().as_u16()
    }
}

async fn refusal(answer: Response) -> (u16, String) {
    assert_eq!(answer.headers()["content-type"], "application/problem+json");
    let status = answer.status().as_u16();
    let problem: Value = serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap();
    assert_eq!(problem["status"], status);
    (status, problem["detail"].as_str().unwrap().to_owned())
}

fn direct() -> Value {
    json!({"type": "message", "channel_type": "im", "channel": "D1", "user": "U1", "ts": "1700.000200", "text": HOSTILE})
}

/// C18, C23: what is forged, changed, old, unsigned or too large is refused before anything of it is believed.
#[tokio::test]
async fn only_slack_is_believed() {
    let visitor = Visitor::new().await;
    let body = json!({"type": "event_callback", "event": direct()}).to_string();
    let unsigned = || visitor.client.post(&visitor.url).body(body.clone());
    let zeros = format!("v0={}", "0".repeat(64));
    let now = Clock.now().as_second();
    for (request, says) in [
        (unsigned(), "X-Slack-Request-Timestamp"),
        (unsigned().header("X-Slack-Request-Timestamp", now), "X-Slack-Signature"),
        (unsigned().header("X-Slack-Signature", &zeros), "X-Slack-Request-Timestamp"),
        (
            unsigned().header("X-Slack-Request-Timestamp", now).header("X-Slack-Signature", &zeros),
            "not that of",
        ),
        (
            unsigned().header("X-Slack-Request-Timestamp", now).header("X-Slack-Signature", "v0=é"),
            "malformed",
        ),
        (visitor.signed(&body, 0).body(body.replace("U1", "U2")), "not that of"),
        (visitor.signed(&body, 400), "300 s"),
        (visitor.signed(&body, -400), "300 s"),
    ] {
        let (status, detail) = refusal(request.send().await.unwrap()).await;
        assert!(status == 401 && detail.contains(says), "{status} {detail}");
    }
    let (status, _) = refusal(visitor.signed("{", 0).send().await.unwrap()).await;
    assert_eq!(status, 400);
    assert!(visitor.envoy.events().is_empty());
}

/// C23: ten megabytes are not taken, signed or not.
#[tokio::test]
async fn a_large_body_is_refused() {
    let visitor = Visitor::new().await;
    let request = visitor.signed(&"x".repeat(10_000_000), 0).send().await;
    // A server that answers before it has read everything may be gone before its answer is read.
    if let Ok(answer) = request {
        assert_eq!(refusal(answer).await.0, 413);
    }
    let challenge =
        visitor.signed(r#"{"type":"url_verification","challenge":"c1"}"#, 0).send().await.unwrap();
    assert_eq!(challenge.text().await.unwrap(), r#"{"challenge":"c1"}"#);
}

/// C8, C18, C23: a direct message becomes an event, once, however often it is brought; what programs say does not.
#[tokio::test]
async fn a_direct_message_becomes_one_event() {
    let visitor = Visitor::new().await;
    for _ in 0..3 {
        assert_eq!(visitor.brings(direct()).await, 200);
    }
    let with = |key: &str, value: Value| {
        let mut event = direct();
        event["ts"] = "1700.000300".into();
        event[key] = value;
        event
    };
    for event in [
        with("bot_id", "B1".into()),
        with("subtype", "message_changed".into()),
        with("subtype", "file_share".into()),
        with("channel_type", "channel".into()),
        with("type", "reaction_added".into()),
        with("ts", "../../x".into()),
        with("text", json!({"a": 1})),
        json!(null),
        json!([]),
    ] {
        assert_eq!(visitor.brings(event).await, 200);
    }
    assert_eq!(visitor.envoy.events(), ["evt-slack-msg-1700-000200"]);
    let id = Id::parse("evt-slack-msg-1700-000200").unwrap();
    let event = visitor.envoy.folder.read(Place::EventsPending, &id).unwrap();
    assert_eq!(event.text("type").as_deref(), Some("slack.dm.message"));
    let payload = event.object("payload").unwrap();
    let told = ["text", "user", "channel", "ts"].map(|key| payload.text(key).unwrap());
    assert_eq!(told, [HOSTILE, "U1", "D1", "1700.000200"]);
}

/// C8, C14, C18: a reply in the thread of an open question is its answer; elsewhere, or before it, it is nobody's.
#[tokio::test]
async fn a_reply_finds_its_question() {
    let visitor = Visitor::new().await;
    for (task, asked_ts) in [("task-1", "1700.000100"), ("task-2", "1700.000300")] {
        open_question(&visitor.envoy.folder, task);
        let id = Id::parse(task).unwrap();
        let mut question = visitor.envoy.folder.read(Place::QuestionsOpen, &id).unwrap();
        question.set("channel_id", "C1").set("thread_ts", "1700.000100").set("asked_ts", asked_ts);
        visitor.envoy.folder.write(Place::QuestionsOpen, &id, &question).unwrap();
    }
    let reply = |channel: &str, thread: &str, ts: &str| {
        json!({"type": "message", "channel": channel, "channel_type": "channel", "user": "U1", "ts": ts,
            "thread_ts": thread, "text": "the second"})
    };
    for (channel, thread, ts) in [
        ("C2", "1700.000100", "1700.000400"),
        ("C1", "1700.000999", "1700.000400"),
        ("C1", "1700.000100", "1700.000050"),
    ] {
        assert_eq!(visitor.brings(reply(channel, thread, ts)).await, 200);
    }
    assert!(visitor.envoy.events().is_empty());
    for _ in 0..2 {
        assert_eq!(visitor.brings(reply("C1", "1700.000100", "1700.000200")).await, 200);
        assert_eq!(visitor.brings(reply("C1", "1700.000100", "1700.000400")).await, 200);
    }
    let events = ["evt-slack-reply-1700-000100-1700-000200", "evt-slack-reply-1700-000100-1700-000400"];
    assert_eq!(visitor.envoy.events(), events);
    for (event, task) in events.into_iter().zip(["task-1", "task-2"]) {
        let event = visitor.envoy.folder.read(Place::EventsPending, &Id::parse(event).unwrap()).unwrap();
        let context = event.object("payload").unwrap().object("reply_context").unwrap();
        assert_eq!(context.text("task_id").as_deref(), Some(task));
    }
}
