//! The envoy in a court of its own, with the time handed in.

mod listener;
mod outlets;

use super::{Answer, Envoy, Post, Receipt, TimedAnswer};
use crate::{
    Document, Folder, Id, Place,
    document::document,
    file::{MessageKind, NewMessage, Urgency},
    scene::{Countdown, FakeServer, Reply, court, id, now, reply},
};
use jiff::{SignedDuration, Timestamp};
use std::{collections::BTreeMap, path::Path, time::Duration};

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
        let (home, folder) = court();
        Self { folder, mind: Envoy::default(), now: now(), posts: 0, _home: home }
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

    fn read(&self, place: Place, name: &str) -> Document {
        self.folder.read(place, &id(name)).unwrap()
    }
}

fn message_id(number: u32) -> Id {
    id(&format!("msg-20260207-{number:03}"))
}

fn message(kind: MessageKind, task: &str) -> NewMessage {
    let context = document! {"task_id": task};
    let (channel, content) = ("dev".to_owned(), format!("about {task}"));
    NewMessage { kind, channel, urgency: Urgency::Normal, content, context }
}

/// An open question of a task, as the king leaves it.
fn open_question(folder: &Folder, task: &str) {
    let mut context = document! {"task_id": task, "target_general": "gen-pr"};
    context.set_raw("attempt", "1.0");
    let question =
        document! {"task_id": task, "question": "which?", "channel": "dev", "reply_context": context};
    folder.write(Place::QuestionsOpen, &id(task), &question).unwrap();
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

/// C18: the messages of one task go in the order of their numbers, also past 999 and over days.
#[test]
fn messages_of_a_task_go_in_order() {
    let mut stage = Stage::new();
    for number in [1000, 2, 999, 10] {
        stage.pending(number, &message(MessageKind::ThreadUpdate, "task-1"));
    }
    let older = id("msg-20260206-5000");
    let document = message(MessageKind::ThreadStart, "task-1").document(&older, stage.now);
    stage.folder.create(Place::MessagesPending, &older, &document).unwrap();
    let order: Vec<String> = (0..5).map(|_| stage.post().0).collect();
    assert_eq!(
        order,
        [
            "msg-20260206-5000",
            "msg-20260207-002",
            "msg-20260207-010",
            "msg-20260207-999",
            "msg-20260207-1000"
        ]
    );
    assert_eq!(stage.next(), None);
}

/// C18, C10: a task's first message opens its thread, the others follow into it; `status` tells what the directory does.
#[test]
fn a_task_has_one_thread() {
    let mut stage = Stage::new();
    stage.pending(1, &message(MessageKind::ThreadStart, "task-1"));
    stage.pending(2, &message(MessageKind::ThreadUpdate, "task-1"));
    stage.pending(3, &message(MessageKind::Notification, "task-1"));
    assert_eq!(stage.post(), ("msg-20260207-001".into(), "dev".into(), None));
    assert_eq!(stage.post(), ("msg-20260207-002".into(), "C-dev".into(), Some("17.000001".into())));
    assert_eq!(stage.post(), ("msg-20260207-003".into(), "C-dev".into(), Some("17.000001".into())));
    let map = stage.read(Place::Threads, "task-1");
    assert_eq!(
        (map.text("channel").unwrap(), map.text("thread_ts").unwrap()),
        ("dev".into(), "17.000001".into())
    );
    let sent = stage.read(Place::MessagesSent, "msg-20260207-002");
    assert_eq!(sent.text("status").as_deref(), Some("sent"));
    assert_eq!(sent.text("ts").as_deref(), Some("17.000002"));
    assert_eq!(sent.text("sent_at").as_deref(), Some("2026-02-07T10:00:00.000Z"));
}

/// C14, C15, C18: what goes to another channel stands there on its own, and the thread stays where it is; a
/// proclamation opens a thread of its own in its channel.
#[test]
fn other_channels_and_proclamations_stand_alone() {
    let mut stage = Stage::new();
    stage.pending(1, &message(MessageKind::ThreadStart, "task-1"));
    let elsewhere = NewMessage { channel: "ops".into(), ..message(MessageKind::Notification, "task-1") };
    stage.pending(2, &elsewhere);
    let proclaimed =
        NewMessage { channel: "news".into(), ..message(MessageKind::Notification, "proclamation-task-1") };
    stage.pending(3, &proclaimed);
    stage.pending(4, &message(MessageKind::Notification, "task-1"));
    stage.pending(5, &proclaimed);
    let posts: Vec<_> = (0..5).map(|_| stage.post()).map(|(_, channel, thread)| (channel, thread)).collect();
    let first = Some("17.000001".to_owned());
    assert_eq!(posts[1], ("ops".into(), None));
    assert_eq!(posts[2], ("news".into(), None));
    assert_eq!(posts[3], ("C-dev".into(), first.clone()));
    assert_eq!(posts[4], ("C-news".into(), Some("17.000003".into())));
    assert_eq!(stage.read(Place::Threads, "task-1").text("thread_ts"), first);
    let proclaimed = stage.read(Place::Threads, "proclamation-task-1");
    assert_eq!(proclaimed.text("thread_ts").as_deref(), Some("17.000003"));
}

/// C14, C18: a resumed task goes on in the thread that its answer came from, and stays there.
#[test]
fn a_resumed_task_goes_on_in_its_old_thread() {
    let mut stage = Stage::new();
    let mut resumed = message(MessageKind::ThreadStart, "task-2");
    resumed.context.set("reply_to", &document! {"channel": "dev", "thread_ts": "9.5"});
    resumed.channel = "general".to_owned();
    stage.pending(1, &resumed);
    stage.pending(2, &message(MessageKind::ThreadUpdate, "task-2"));
    assert_eq!(stage.post(), ("msg-20260207-001".into(), "dev".into(), Some("9.5".into())));
    assert_eq!(stage.post().2.as_deref(), Some("9.5"));
}

/// C14, C18: an open question learns where it was asked; one that was answered meanwhile stays answered.
#[test]
fn a_question_learns_where_it_was_asked() {
    let mut stage = Stage::new();
    for task in ["task-1", "task-2"] {
        open_question(&stage.folder, task);
    }
    let answered = id("task-2");
    let question = stage.folder.read(Place::QuestionsOpen, &answered).unwrap();
    stage.folder.write(Place::QuestionsAnswered, &answered, &question).unwrap();
    stage.pending(1, &message(MessageKind::ThreadStart, "task-1"));
    stage.pending(2, &message(MessageKind::HumanInputRequest, "task-1"));
    stage.pending(3, &message(MessageKind::HumanInputRequest, "task-2"));
    (0..3).for_each(|_| drop(stage.post()));
    let question = stage.read(Place::QuestionsOpen, "task-1");
    let told = |key: &str| question.text(key).unwrap();
    assert_eq!((told("thread_ts"), told("asked_ts")), ("17.000001".into(), "17.000002".into()));
    assert_eq!((told("channel"), told("channel_id")), ("dev".into(), "C-dev".into()));
    assert!(!stage.folder.has(Place::QuestionsOpen, &answered));
}

/// C18: three tries, 1 s and 5 s apart, then `failed/` with the reason; only the same task's messages wait meanwhile.
#[test]
fn three_tries_then_failed() {
    let mut stage = Stage::new();
    let first = stage.pending(1, &message(MessageKind::ThreadStart, "task-1"));
    stage.pending(2, &message(MessageKind::ThreadUpdate, "task-1"));
    stage.pending(3, &message(MessageKind::ThreadStart, "task-2"));
    assert_eq!(stage.fail(), Some(first.clone()));
    assert_eq!(stage.post().0, "msg-20260207-003");
    assert_eq!(stage.next(), None);
    assert_eq!(stage.mind.next_deadline(stage.now), Some(stage.now + SignedDuration::from_secs(1)));
    stage.later(1);
    assert_eq!(stage.fail(), Some(first.clone()));
    stage.later(4);
    assert_eq!(stage.next(), None);
    stage.later(1);
    assert_eq!(stage.fail(), Some(first.clone()));
    let failed = stage.read(Place::MessagesFailed, first.as_str());
    assert_eq!(failed.text("status").as_deref(), Some("failed"));
    assert_eq!(failed.text("error").as_deref(), Some("not now"));
    assert_eq!(stage.post().0, "msg-20260207-002");
}

/// C18, C3: a failed message that is put back is tried again, and loses its error once it is sent.
#[test]
fn a_failed_message_that_is_put_back_goes_again() {
    let mut stage = Stage::new();
    let id = stage.pending(1, &message(MessageKind::Report, "task-1"));
    for wait in [1, 5, 0] {
        assert_eq!(stage.fail(), Some(id.clone()));
        stage.later(wait);
    }
    assert_eq!(stage.next(), None);
    stage.folder.advance(&id, Place::MessagesFailed, Place::MessagesPending).unwrap();
    assert_eq!(stage.post().0, id.as_str());
    assert!(!stage.read(Place::MessagesSent, id.as_str()).has("error"));
}

/// C18: whoever asks for patience gets it for all messages, and it costs no try; a clock that is set back does not
/// make it longer.
#[test]
fn patience_is_no_try() {
    let mut stage = Stage::new();
    let first = stage.pending(1, &message(MessageKind::ThreadStart, "task-1"));
    stage.pending(2, &message(MessageKind::ThreadStart, "task-2"));
    for _ in 0..5 {
        let post = stage.next().unwrap();
        assert_eq!(post.id, first);
        stage.hear(&post, Answer::Limited(Duration::from_secs(30)));
        stage.later(29);
        assert_eq!(stage.next(), None);
        assert_eq!(stage.mind.next_deadline(stage.now), Some(stage.now + SignedDuration::from_secs(1)));
        stage.later(1);
    }
    let post = stage.next().unwrap();
    stage.hear(&post, Answer::Limited(Duration::from_secs(30)));
    stage.later(-3600);
    assert_eq!(stage.post().0, first.as_str());
}

/// C12, C10: what is no message is set apart with a reason, one whose like was sent too; the rest goes on.
#[test]
fn what_is_no_message_is_set_apart() {
    let mut stage = Stage::new();
    let directory = stage.folder.directory(Place::MessagesPending);
    std::fs::write(directory.join("msg-20260207-001.json"), "{").unwrap();
    std::fs::write(directory.join("hello.txt"), "hello").unwrap();
    stage.pending(2, &message(MessageKind::Report, "task-1"));
    assert_eq!(stage.post().0, "msg-20260207-002");
    stage.pending(2, &message(MessageKind::Report, "task-1"));
    assert_eq!(stage.next(), None);
    for name in ["msg-20260207-001.json.reason", "hello.txt.reason", "msg-20260207-002.json.reason"] {
        assert!(stage.folder.path("rejected").join(name).exists(), "{name}");
    }
    assert!(stage.folder.has(Place::MessagesSent, &message_id(2)));
}

/// C23: a task id that could name a file elsewhere is refused, and no such file is made or read.
#[test]
fn a_hostile_task_id_names_no_file() {
    let mut stage = Stage::new();
    let hostile = message(MessageKind::ThreadStart, "../../../court").document(&message_id(1), stage.now);
    std::fs::write(stage.folder.file(Place::MessagesPending, &message_id(1)), hostile.to_file()).unwrap();
    stage.pending(2, &message(MessageKind::Report, "task-1"));
    assert_eq!(stage.post().0, "msg-20260207-002");
    assert_eq!(stage.next(), None);
    assert!(stage.folder.path("rejected/msg-20260207-001.json.reason").exists());
    assert_eq!(stage.folder.names(Place::Threads).unwrap(), ["task-1.json"]);
}

/// C18: many waiting messages are read once, not once per post.
#[test]
fn what_waits_is_read_once() {
    let mut stage = Stage::new();
    let first = stage.pending(1, &message(MessageKind::ThreadStart, "task-1"));
    let second = stage.pending(2, &message(MessageKind::ThreadStart, "task-2"));
    assert_eq!(stage.fail(), Some(first));
    // It would be set apart if it were read.
    std::fs::write(stage.folder.file(Place::MessagesPending, &second), "{").unwrap();
    stage.mind.look(&stage.folder).unwrap();
    assert!(stage.folder.has(Place::MessagesPending, &second));
    assert_eq!(stage.next(), None);
    assert!(!stage.folder.has(Place::MessagesPending, &second));
}

/// The threads that the other side has seen each message in, one per post.
type Seen = BTreeMap<String, Vec<Option<String>>>;

/// One life: posts until nothing is left, or until the disk fails.
fn live(folder: &Folder, seen: &mut Seen) -> Result<(), crate::Fault> {
    let mut mind = Envoy::default();
    mind.look(folder)?;
    while let Some(post) = mind.next(folder, now())? {
        seen.entry(post.id.to_string()).or_default().push(post.thread_ts.clone());
        let ts = format!("17.{:06}", seen.values().map(Vec::len).sum::<usize>());
        let answer = Answer::Posted(Receipt { ts, channel_id: None });
        mind.hear(folder, &post, TimedAnswer { answer, at: now() })?;
    }
    Ok(())
}

fn prepare(home: &Path) {
    let folder = Folder::open(home).unwrap();
    open_question(&folder, "task-1");
    let kinds = [MessageKind::ThreadStart, MessageKind::ThreadUpdate, MessageKind::HumanInputRequest];
    for (number, kind) in (1..).zip(kinds) {
        let id = message_id(number);
        folder.create(Place::MessagesPending, &id, &message(kind, "task-1").document(&id, now())).unwrap();
    }
}

/// C6, C18: wherever a life ends, the next one loses nothing, repeats at most the one post in flight, and leaves
/// thread, question and messages as they must be.
#[test]
fn a_life_may_end_anywhere() {
    for passed in 0.. {
        let home = tempfile::tempdir().unwrap();
        prepare(home.path());
        let mut seen = Seen::new();
        let is_whole =
            live(&Folder::with_fuse(home.path(), Countdown::of(passed)).unwrap(), &mut seen).is_ok();
        let folder = Folder::open(home.path()).unwrap();
        live(&folder, &mut seen).unwrap();
        check(&folder, &seen, passed);
        if is_whole {
            assert!(passed > 20, "the steps were counted");
            return;
        }
    }
}

fn check(folder: &Folder, seen: &Seen, passed: usize) {
    assert_eq!(folder.ids(Place::MessagesPending).unwrap(), []);
    assert_eq!(folder.ids(Place::MessagesSent).unwrap().len(), 3);
    let repeated: usize = seen.values().map(|posts| posts.len() - 1).sum();
    assert!(seen.len() == 3 && repeated <= 1, "{passed}: {seen:?}");
    let thread = folder.read(Place::Threads, &id("task-1")).unwrap();
    let question = folder.read(Place::QuestionsOpen, &id("task-1")).unwrap();
    assert_eq!(question.text("thread_ts"), thread.text("thread_ts"), "{passed}");
    for number in [2, 3] {
        let threads = &seen[message_id(number).as_str()];
        assert!(threads.iter().all(|ts| *ts == thread.text("thread_ts")), "{passed}: {seen:?}");
    }
    for number in 1..=3 {
        let sent = folder.read(Place::MessagesSent, &message_id(number)).unwrap();
        assert_eq!(sent.text("status").as_deref(), Some("sent"), "{passed}");
    }
}

/// C18: a post that was taken is not repeated because the disk failed for a moment.
#[test]
fn a_disk_that_fails_for_a_moment_repeats_nothing() {
    for passed in 0..12 {
        let home = tempfile::tempdir().unwrap();
        prepare(home.path());
        let fuse = Countdown::of(passed);
        let folder = Folder::with_fuse(home.path(), fuse.clone()).unwrap();
        let mut mind = Envoy::default();
        mind.look(&folder).unwrap();
        let post = mind.next(&folder, now()).unwrap().unwrap();
        let answer = Answer::Posted(Receipt { ts: "17.1".to_owned(), channel_id: None });
        let done = mind.hear(&folder, &post, TimedAnswer { answer, at: now() });
        fuse.allow(usize::MAX);
        let later = now() + SignedDuration::from_secs(60);
        let next = mind.next(&folder, later).unwrap().unwrap();
        assert_eq!(next.id, message_id(2), "{passed} {done:?}");
        assert!(folder.has(Place::MessagesSent, &post.id));
    }
}
