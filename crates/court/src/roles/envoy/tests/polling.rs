//! From a message in `pending/` to the event that its answer becomes, by asking Slack.

use super::{outlets::HOSTILE, stand_in::StandIn, *};
use crate::{
    Wake,
    config::{self, Tokens},
    roles::envoy::{Errand, run},
};
use serde_json::json;
use std::{path::Path, sync::Arc, time::Duration};
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

/// An envoy at work, until it is dropped.
pub(super) struct AtWork {
    pub(super) folder: Arc<Folder>,
    stop: DropGuard,
    running: JoinHandle<()>,
    home: tempfile::TempDir,
}

impl AtWork {
    pub(super) fn at(stand_in: &StandIn, listen: Option<&str>) -> Self {
        let home = tempfile::tempdir().unwrap();
        Self::in_home(home, stand_in, listen)
    }

    fn in_home(home: tempfile::TempDir, stand_in: &StandIn, listen: Option<&str>) -> Self {
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
        let errand = Errand { settings, tokens, out: Box::new(std::io::sink()) };
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
    let mut stand_in = StandIn::new().await;
    stand_in.will_answer(200, None, r#"{"ok":true,"ts":"1700.000100","channel":"C1"}"#);
    stand_in.will_answer(429, Some(0), "");
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
    stand_in.will_answer(200, None, page(first, "more=&x"));
    stand_in.will_answer(200, None, page(second.clone(), ""));
    stand_in.will_answer(200, None, page(second, ""));
    let id = message_id(1);
    let asks = message(MessageKind::HumanInputRequest, "task-1").document(&id, start());
    folder.create(Place::MessagesPending, &id, &asks).unwrap();

    let envoy = AtWork::in_home(home, &stand_in, None);
    let event = "evt-slack-reply-1700-000100-1700-000200";
    appears(&envoy.folder.file(Place::EventsPending, &Id::parse(event).unwrap())).await;
    assert_eq!(stand_in.asked.recv().await.unwrap().uri.path(), "/api/chat.postMessage");
    // At first Slack asks for patience, and is then asked the same again.
    for query in ["", "", "&cursor=more%3D%26x"] {
        let asked = stand_in.asked.recv().await.unwrap();
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
    let mut stand_in = StandIn::new().await;
    let mut home = tempfile::tempdir().unwrap();
    for number in 1..4 {
        let envoy = AtWork::in_home(home, &stand_in, None);
        let id = message_id(number);
        let told = message(MessageKind::ThreadUpdate, "task-1").document(&id, start());
        envoy.folder.create(Place::MessagesPending, &id, &told).unwrap();
        appears(&envoy.folder.file(Place::MessagesSent, &id)).await;
        home = envoy.end().await;
    }
    stand_in.asked.close();
    let mut posted = Vec::new();
    while let Some(asked) = stand_in.asked.recv().await {
        posted.push(asked.body["metadata"]["event_payload"]["id"].clone());
    }
    assert_eq!(posted, [1, 2, 3].map(|number| message_id(number).to_string()));
}
