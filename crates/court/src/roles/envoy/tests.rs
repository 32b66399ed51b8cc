//! The envoy in a court of its own, with the time handed in.

mod listener;
mod mind;
mod outlets;

use super::{Answer, Envoy, Heard, Post, Receipt};
use crate::{
    Document, Folder, Id, Place,
    file::{MessageKind, NewMessage, Urgency},
};
use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, Method, StatusCode, Uri},
};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};
use tokio::{
    net::TcpListener,
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    task::JoinHandle,
};

/// A court whose messages are posted by hand.
struct Stage {
    folder: Folder,
    mind: Envoy,
    now: Timestamp,
    posts: u32,
    _home: tempfile::TempDir,
}

impl Stage {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let folder = Folder::open(home.path()).unwrap();
        Self { folder, mind: Envoy::default(), now: start(), posts: 0, _home: home }
    }

    fn pending(&self, number: u32, message: &NewMessage) -> Id {
        let id = message_id(number);
        assert!(self.folder.create(Place::MessagesPending, &id, &message.document(&id, self.now)).unwrap());
        id
    }

    fn next(&mut self) -> Option<Post> {
        self.mind.look(&self.folder).unwrap();
        self.mind.next(&self.folder, self.now).unwrap()
    }

    fn hear(&mut self, post: &Post, answer: Answer) {
        self.mind.hear(&self.folder, post, Heard { answer, at: self.now }).unwrap();
    }

    /// Posts what is next; gives its number, its channel and its thread.
    fn post(&mut self) -> (String, String, Option<String>) {
        let post = self.next().expect("a message may go");
        self.posts += 1;
        let ts = format!("17.{:06}", self.posts);
        self.hear(
            &post,
            Answer::Posted(Receipt {
                ts,
                channel_id: Some(format!("C-{}", post.channel.trim_start_matches("C-"))),
            }),
        );
        (post.id.to_string(), post.channel, post.thread_ts)
    }

    fn fail(&mut self) -> Option<Id> {
        let post = self.next()?;
        self.hear(&post, Answer::Failed("not now".to_owned()));
        Some(post.id)
    }

    fn later(&mut self, seconds: i64) {
        self.now += SignedDuration::from_secs(seconds);
    }

    fn read(&self, place: Place, id: &str) -> Document {
        self.folder.read(place, &Id::parse(id).unwrap()).unwrap()
    }
}

fn start() -> Timestamp {
    "2026-02-07T10:00:00Z".parse().unwrap()
}

fn message_id(number: u32) -> Id {
    Id::parse(&format!("msg-20260207-{number:03}")).unwrap()
}

fn message(kind: MessageKind, task: &str) -> NewMessage {
    let mut context = Document::new();
    context.set_text("task_id", task);
    let (channel, content) = ("dev".to_owned(), format!("about {task}"));
    NewMessage { kind, channel, urgency: Urgency::Normal, content, context }
}

/// An open question of a task, as the king leaves it.
fn open_question(folder: &Folder, task: &str) {
    let mut context = Document::new();
    context.set_text("task_id", task).set_text("target_general", "gen-pr").set_raw("attempt", "1.0");
    let mut question = Document::new();
    question
        .set_text("task_id", task)
        .set_text("question", "which?")
        .set_text("channel", "dev")
        .set_object("reply_context", &context);
    folder.write(Place::QuestionsOpen, &Id::parse(task).unwrap(), &question).unwrap();
}

/// A server of one's own.
struct StandIn {
    url: String,
    asked: UnboundedReceiver<Asked>,
    answers: Answers,
    serving: JoinHandle<()>,
}

/// What was asked.
struct Asked {
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Value,
}

/// What to answer: a status, the seconds of `Retry-After`, and a body.
type Told = (u16, Option<u64>, String);
type Answers = Arc<Mutex<VecDeque<Told>>>;
type Desk = (UnboundedSender<Asked>, Answers);

impl StandIn {
    async fn new() -> Self {
        let (tell, asked) = unbounded_channel();
        let answers = Answers::default();
        let router = Router::new().fallback(answer).with_state((tell, Arc::clone(&answers)));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/api", listener.local_addr().unwrap());
        let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, asked, answers, serving }
    }

    /// Adds an answer; once there are none left, everything is well.
    fn will_answer(&self, status: u16, retry_after: Option<u64>, body: impl Into<String>) {
        self.answers.lock().unwrap().push_back((status, retry_after, body.into()));
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn answer(
    State((tell, answers)): State<Desk>,
    (method, uri, headers): (Method, Uri, HeaderMap),
    body: Bytes,
) -> (StatusCode, HeaderMap, String) {
    let body = serde_json::from_slice(&body).unwrap_or_default();
    let _ = tell.send(Asked { method, uri, headers, body });
    let well = (200, None, r#"{"ok":true,"ts":"1700000000.000100","channel":"C1"}"#.to_owned());
    let (status, retry_after, body) = answers.lock().unwrap().pop_front().unwrap_or(well);
    let mut headers = HeaderMap::new();
    if let Some(seconds) = retry_after {
        headers.insert("Retry-After", seconds.into());
    }
    headers.insert("Location", "/elsewhere".parse().unwrap());
    (StatusCode::from_u16(status).unwrap(), headers, body)
}
