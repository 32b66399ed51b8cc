//! Slack, a webhook and standard output, and what they answer.

use super::*;
use crate::{
    Wake,
    config::{self, Tokens},
    roles::envoy::{
        EnvoyError, EnvoySetup, check,
        outlet::{Lines, Outlet, Slack, Webhook},
        run,
    },
};
use serde_json::json;
use std::{
    io::Write,
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

/// Text that means something to a shell, a format string, a terminal, a browser and Slack.
pub(super) const HOSTILE: &str =
    "<!channel> <@U1|x> & {} %s $(id) `id` \u{1b}[31m\r\n\u{7}../../x \u{202e} \"';--";

fn post(text: &str) -> Post {
    let stage = Stage::new();
    let content = text.to_owned();
    let document =
        NewMessage { content, ..message(MessageKind::Report, "task-1") }.document(&message_id(1), stage.now);
    Post::of(&stage.folder, &message_id(1), document).unwrap()
}

fn slack(stand_in: &FakeServer) -> Outlet {
    Outlet::Slack(Slack::new(Some(&stand_in.url), Some("xoxb-1")).unwrap())
}

/// C18, C23: a post carries channel, thread, its own id and a text that pings nobody.
#[tokio::test]
async fn slack_is_told_what_and_where() {
    let stand_in = slack_server().await;
    let mut outlet = slack(&stand_in);
    let mut threaded = post(HOSTILE);
    threaded.thread_ts = Some("17.5".to_owned());
    let receipt = Receipt { ts: "1700000000.000100".to_owned(), channel_id: Some("C1".to_owned()) };
    assert_eq!(outlet.post(&threaded).await, Answer::Posted(receipt));
    let asked = stand_in.next().await;
    assert_eq!((asked.method.as_str(), asked.uri.path()), ("POST", "/api/chat.postMessage"));
    assert_eq!(asked.headers["authorization"], "Bearer xoxb-1");
    let escaped = HOSTILE.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    assert_eq!(asked.body["text"], escaped);
    assert_eq!((&asked.body["channel"], &asked.body["thread_ts"]), (&"dev".into(), &"17.5".into()));
    assert_eq!(asked.body["metadata"]["event_payload"]["id"], "msg-20260207-001");
    assert_eq!(asked.body["metadata"]["event_payload"]["task_id"], "task-1");
    // It was opened when messages still went to standard output.
    threaded.thread_ts = Some("msg-20260101-001".to_owned());
    outlet.post(&threaded).await;
    assert!(stand_in.next().await.body["thread_ts"].is_null());
}

/// C18: what is too long for Slack is cut between characters, and says so.
#[tokio::test]
async fn long_texts_are_cut() {
    let stand_in = slack_server().await;
    let mut outlet = slack(&stand_in);
    for (text, is_cut) in
        [("<".repeat(10_000), false), ("<".repeat(10_001), true), ("é".repeat(900_000), true)]
    {
        outlet.post(&post(&text)).await;
        let asked = stand_in.next().await;
        let posted = asked.body["text"].as_str().unwrap();
        assert!((39_900..=40_000).contains(&posted.chars().count()));
        assert_eq!(posted.contains("… (cut; the whole text is in msg-20260207-001)"), is_cut);
        assert_eq!(posted.matches('&').count(), posted.matches("&lt;").count());
    }
}

/// C18: a wait that Slack asks for is told from a failure, in whichever way it asks; nothing is followed elsewhere, and
/// no answer fills the memory.
#[tokio::test]
async fn what_slack_answers_is_understood() {
    let stand_in = slack_server().await;
    let mut outlet = slack(&stand_in);
    let limited = |seconds| Answer::Limited(Duration::from_secs(seconds));
    for (status, after, body, answer) in [
        (429, Some(30), "", limited(30)),
        (429, None, "", limited(10)),
        (200, Some(7), r#"{"ok":false,"error":"ratelimited"}"#, limited(7)),
    ] {
        stand_in.will_answer(http(status, after, body));
        assert_eq!(outlet.post(&post("x")).await, answer, "{body}");
    }
    let long = " ".repeat(10_000_000);
    for (status, body, reason) in [
        (200, r#"{"ok":false,"error":"channel_not_found"}"#, "channel_not_found"),
        (500, r#"{"ok":true,"ts":"1.1"}"#, "500"),
        (503, "<html>", "503"),
        (200, "", "200"),
        (302, "", "302"),
        (200, &long, "longer than"),
    ] {
        stand_in.will_answer(http(status, None, body));
        let Answer::Failed(told) = outlet.post(&post("x")).await else { panic!("{reason}") };
        assert!(told.contains(reason), "{told}");
    }
    stand_in.will_answer(http(200, None, r#"{"ok":true,"ts":{"a":1},"channel":""}"#));
    let receipt = Receipt { ts: "msg-20260207-001".to_owned(), channel_id: None };
    assert_eq!(outlet.post(&post("x")).await, Answer::Posted(receipt));
    for asked in stand_in.asked() {
        assert_eq!(asked.uri.path(), "/api/chat.postMessage");
    }
}

/// C18: a webhook gets the text as it was written, and what it belongs to; any 2xx is a yes.
#[tokio::test]
async fn a_webhook_is_told() {
    let stand_in = slack_server().await;
    let mut outlet = Outlet::Webhook(Webhook::new(&stand_in.url).unwrap());
    stand_in.will_answer(http(204, None, ""));
    let receipt = Receipt { ts: "msg-20260207-001".to_owned(), channel_id: None };
    assert_eq!(outlet.post(&post(HOSTILE)).await, Answer::Posted(receipt));
    let asked = stand_in.next().await;
    let told = serde_json::json!({
        "text": HOSTILE, "id": "msg-20260207-001", "type": "report", "channel": "dev", "urgency": "normal",
        "task_id": "task-1", "thread": null,
    });
    assert_eq!((asked.uri.path(), asked.body), ("/api", told));
    stand_in.will_answer(http(429, Some(3), ""));
    assert_eq!(outlet.post(&post("x")).await, Answer::Limited(Duration::from_secs(3)));
    for status in [302, 404, 500] {
        stand_in.will_answer(http(status, None, "no"));
        let Answer::Failed(told) = outlet.post(&post("x")).await else { panic!("{status}") };
        assert!(told.contains(&status.to_string()), "{told}");
    }
    let nobody = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let mut outlet = Outlet::Webhook(Webhook::new(&format!("http://{nobody}/secret")).unwrap());
    let Answer::Failed(told) = outlet.post(&post("x")).await else { panic!("nobody is there") };
    assert!(!told.contains("secret"), "an address may hold a secret: {told}");
}

/// C18, C23: standard output gets one line per message, in which nothing moves a terminal.
#[tokio::test]
async fn standard_output_gets_lines() {
    #[derive(Clone, Default)]
    struct Sink(Arc<Mutex<Vec<u8>>>);
    impl Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let sink = Sink::default();
    let mut outlet = Outlet::Lines(Lines::new(Box::new(sink.clone())));
    assert!(matches!(outlet.post(&post(HOSTILE)).await, Answer::Posted(_)));
    let text = String::from_utf8(sink.0.lock().unwrap().clone()).unwrap();
    assert!(text.starts_with("msg-20260207-001 normal #dev report task-1: <!channel>"), "{text}");
    assert_eq!(text.chars().filter(|char| char.is_control()).collect::<String>(), "\n");
}

/// C0, C18: what can never work is an error at the start that says what to do.
#[tokio::test]
async fn an_envoy_that_cannot_work_does_not_begin() {
    let with = |to, base_url: Option<&str>, listen: Option<&str>| config::Envoy {
        to,
        base_url: base_url.map(str::to_owned),
        listen: listen.map(str::to_owned),
        ..config::Envoy::default()
    };
    let bot = Tokens { slack_bot: Some("xoxb-1".to_owned()), ..Tokens::default() };
    let all = Tokens { slack_signing: Some("s".to_owned()), ..bot.clone() };
    let broken = Tokens { slack_bot: Some("a\nb".to_owned()), ..Tokens::default() };
    let (slack, webhook, stdout) = (config::Outlet::Slack, config::Outlet::Webhook, config::Outlet::Stdout);
    for (settings, tokens, says) in [
        (with(slack, None, None), &Tokens::default(), "SLACK_BOT_TOKEN"),
        (with(slack, None, None), &broken, "SLACK_BOT_TOKEN"),
        (with(slack, None, Some("127.0.0.1:0")), &bot, "SLACK_SIGNING_SECRET"),
        (with(slack, None, Some("nowhere")), &all, "nowhere"),
        (with(slack, Some("file:///etc"), None), &all, "envoy.base_url"),
        (with(webhook, None, None), &all, "base_url"),
        (with(webhook, Some("hook"), None), &all, "\"hook\""),
        (with(stdout, None, Some("127.0.0.1:0")), &all, "listen"),
    ] {
        let home = tempfile::tempdir().unwrap();
        let folder = Arc::new(Folder::open(home.path()).unwrap());
        let early = check(&settings, tokens).unwrap_err();
        assert!(early.to_string().contains(says), "{early}");
        let errand = EnvoySetup { settings, tokens: tokens.clone(), out: Box::new(std::io::sink()) };
        let error: EnvoyError = run(folder, errand, CancellationToken::new()).await.unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
    }
}

/// An envoy at work, until it is dropped.
pub(super) struct AtWork {
    pub(super) folder: Arc<Folder>,
    stop: DropGuard,
    running: JoinHandle<()>,
    home: tempfile::TempDir,
}

impl AtWork {
    pub(super) fn at(stand_in: &FakeServer, listen: Option<&str>) -> Self {
        let home = tempfile::tempdir().unwrap();
        Self::in_home(home, stand_in, listen)
    }

    fn in_home(home: tempfile::TempDir, stand_in: &FakeServer, listen: Option<&str>) -> Self {
        let folder = Arc::new(Folder::open(home.path()).unwrap());
        let settings = config::Envoy {
            to: config::Outlet::Slack,
            base_url: Some(stand_in.url.clone()),
            replies_poll_s: 0.01,
            listen: listen.map(str::to_owned),
        };
        let tokens = Tokens {
            slack_bot: Some("xoxb-1".to_owned()),
            slack_signing: Some("secret".to_owned()),
            ..Tokens::default()
        };
        let errand = EnvoySetup { settings, tokens, out: Box::new(std::io::sink()) };
        let stop = CancellationToken::new();
        let running = run(Arc::clone(&folder), errand, stop.clone());
        let running = tokio::spawn(async move { running.await.unwrap() });
        Self { folder, stop: stop.drop_guard(), running, home }
    }

    /// Ends this life.
    async fn end(self) -> tempfile::TempDir {
        drop(self.stop);
        self.running.await.unwrap();
        self.home
    }

    pub(super) fn events(&self) -> Vec<String> {
        let ids = self.folder.ids(Place::EventsPending).unwrap();
        let mut ids: Vec<String> = ids.iter().map(Id::to_string).collect();
        ids.sort();
        ids
    }
}

/// Waits for a file.
pub(super) async fn appears(path: &Path) {
    let wake = Wake::on(&[path.parent().unwrap()], Duration::from_millis(100));
    while !path.exists() {
        wake.wait(None).await;
    }
}

/// C8, C14, C18, C23: a question is posted, its thread is asked for page by page, and what a person said after it
/// becomes one event with the question's context; what programs say, or what was said before, does not.
#[tokio::test]
async fn an_answer_becomes_an_event() {
    let stand_in = slack_server().await;
    stand_in.will_answer(http(200, None, r#"{"ok":true,"ts":"1700.000100","channel":"C1"}"#));
    stand_in.will_answer(http(429, Some(0), ""));
    let page = |messages: serde_json::Value, cursor: &str| {
        json!({"ok": true, "messages": messages, "response_metadata": {"next_cursor": cursor}}).to_string()
    };
    let first = json!([
        {"ts": "1700.000100", "user": "U0", "text": "the question itself"},
        {"ts": "1700.000050", "user": "U1", "text": "before"},
        {"ts": "1700.000150", "user": "U0", "bot_id": "B1", "text": "ours"},
        {"ts": "1700.000160", "user": "U1", "subtype": "channel_join", "text": "joined"},
        {"ts": "../../x", "user": "U1", "text": "strange"}, {"ts": 17, "text": 5}, null, [],
    ]);
    let second = json!([{"ts": "1700.000200", "user": "U1", "text": HOSTILE}]);

    let home = tempfile::tempdir().unwrap();
    let folder = Folder::open(home.path()).unwrap();
    open_question(&folder, "task-1");
    stand_in.will_answer(http(200, None, page(first, "more=&x")));
    stand_in.will_answer(http(200, None, page(second.clone(), "")));
    stand_in.will_answer(http(200, None, page(second, "")));
    let id = message_id(1);
    let asks = message(MessageKind::HumanInputRequest, "task-1").document(&id, now());
    folder.create(Place::MessagesPending, &id, &asks).unwrap();

    let envoy = AtWork::in_home(home, &stand_in, None);
    let event = "evt-slack-reply-1700-000100-1700-000200";
    appears(&envoy.folder.file(Place::EventsPending, &Id::parse(event).unwrap())).await;
    assert_eq!(stand_in.next().await.uri.path(), "/api/chat.postMessage");
    // At first Slack asks for patience, and is then asked the same again.
    for query in ["", "", "&cursor=more%3D%26x"] {
        let asked = stand_in.next().await;
        let wanted = format!("channel=C1&ts=1700.000100&oldest=1700.000100&limit=200{query}");
        assert_eq!((asked.method.as_str(), asked.uri.path()), ("GET", "/api/conversations.replies"));
        assert_eq!(asked.headers["authorization"], "Bearer xoxb-1");
        assert_eq!(asked.uri.query(), Some(&*wanted));
    }
    assert_eq!(envoy.events(), [event]);
    let event = envoy.folder.read(Place::EventsPending, &Id::parse(event).unwrap()).unwrap();
    let told = |key: &str| event.text(key).unwrap();
    assert_eq!(
        (told("type"), told("source"), told("priority")),
        ("slack.thread.reply".into(), "slack".into(), "high".into())
    );
    let payload = event.object("payload").unwrap();
    assert_eq!(payload.text("text").as_deref(), Some(HOSTILE));
    assert_eq!(payload.text("channel").as_deref(), Some("dev"));
    assert_eq!(payload.text("thread_ts").as_deref(), Some("1700.000100"));
    let context = payload.object("reply_context").unwrap();
    assert_eq!((context.text("task_id").as_deref(), context.raw("attempt")), (Some("task-1"), Some("1.0")));
}

/// C18, C20: a new file is posted without being waited for, and a new life does not post it again.
#[tokio::test]
async fn each_message_is_posted_once_over_lives() {
    let stand_in = slack_server().await;
    let mut home = tempfile::tempdir().unwrap();
    for number in 1..4 {
        let envoy = AtWork::in_home(home, &stand_in, None);
        let id = message_id(number);
        let told = message(MessageKind::ThreadUpdate, "task-1").document(&id, now());
        envoy.folder.create(Place::MessagesPending, &id, &told).unwrap();
        appears(&envoy.folder.file(Place::MessagesSent, &id)).await;
        home = envoy.end().await;
    }
    let mut posted = Vec::new();
    for asked in stand_in.asked() {
        posted.push(asked.body["metadata"]["event_payload"]["id"].clone());
    }
    assert_eq!(posted, [1, 2, 3].map(|number| message_id(number).to_string()));
}
