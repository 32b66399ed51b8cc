//! The envoy in a court of its own, with the time handed in.

mod listener;
mod mind;
mod outlets;

use super::{Answer, Envoy, Post, Receipt, TimedAnswer};
use crate::{
    Document, Folder, Id, Place,
    file::{MessageKind, NewMessage, Urgency},
    roles::tests::{FakeServer, Reply, reply},
};
use jiff::{SignedDuration, Timestamp};

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
        self.mind.hear(&self.folder, post, TimedAnswer { answer, at: self.now }).unwrap();
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

/// Plays Slack: everything is well unless a test plans another answer.
async fn slack_server() -> FakeServer {
    let well = r#"{"ok":true,"ts":"1700000000.000100","channel":"C1"}"#;
    let mut server = FakeServer::new(move |_| http(200, None, well)).await;
    server.url.push_str("/api");
    server
}

/// An answer with the seconds of `Retry-After`, and an address that must not be followed.
fn http(status: u16, retry_after: Option<u64>, body: impl Into<String>) -> Reply {
    let seconds = retry_after.map(|seconds| seconds.to_string());
    let retry_after = seconds.iter().map(|seconds| ("Retry-After", seconds.as_str()));
    let headers: Vec<_> = retry_after.chain([("Location", "/elsewhere")]).collect();
    reply(status, &headers, body.into())
}
