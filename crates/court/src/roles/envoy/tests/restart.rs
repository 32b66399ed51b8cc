//! The world ends before every single change of the disk, and goes on.

use super::*;
use crate::{Fuse, Operation};
use std::{
    collections::BTreeMap,
    io,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

/// Lets so many operations pass, then none.
struct Countdown(AtomicUsize);

impl Fuse for Countdown {
    fn before(&self, _: &Operation) -> io::Result<()> {
        let left = self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        left.map(|_| ()).map_err(|_| io::Error::other("the world ended"))
    }
}

/// What the other side has seen: how often each message, and in which thread.
type Seen = BTreeMap<String, Vec<Option<String>>>;

/// One life: posts until nothing is left, or until the disk fails.
fn live(folder: &Folder, seen: &mut Seen) -> Result<(), crate::Fault> {
    let mut mind = Envoy::default();
    mind.look(folder)?;
    while let Some(post) = mind.next(folder, start())? {
        seen.entry(post.id.to_string()).or_default().push(post.thread_ts.clone());
        let ts = format!("17.{:06}", seen.values().map(Vec::len).sum::<usize>());
        let answer = Answer::Posted(Receipt { ts, channel_id: None });
        mind.hear(folder, &post, Heard { answer, at: start() })?;
    }
    Ok(())
}

fn prepare(home: &Path) {
    let folder = Folder::open(home).unwrap();
    open_question(&folder, "task-1");
    let kinds = [MessageKind::ThreadStart, MessageKind::ThreadUpdate, MessageKind::HumanInputRequest];
    for (number, kind) in (1..).zip(kinds) {
        let id = message_id(number);
        folder.create(Place::MessagesPending, &id, &message(kind, "task-1").document(&id, start())).unwrap();
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
        let fuse = Arc::new(Countdown(AtomicUsize::new(passed)));
        let is_whole = live(&Folder::with_fuse(home.path(), fuse).unwrap(), &mut seen).is_ok();
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
    let thread = folder.read(Place::Threads, &Id::parse("task-1").unwrap()).unwrap();
    let question = folder.read(Place::QuestionsOpen, &Id::parse("task-1").unwrap()).unwrap();
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
        let fuse = Arc::new(Countdown(AtomicUsize::new(passed)));
        let folder = Folder::with_fuse(home.path(), Arc::clone(&fuse) as Arc<dyn Fuse>).unwrap();
        let mut mind = Envoy::default();
        mind.look(&folder).unwrap();
        let post = mind.next(&folder, start()).unwrap().unwrap();
        let answer = Answer::Posted(Receipt { ts: "17.1".to_owned(), channel_id: None });
        let done = mind.hear(&folder, &post, Heard { answer, at: start() });
        fuse.0.store(usize::MAX, Ordering::SeqCst);
        let later = start() + SignedDuration::from_secs(60);
        let next = mind.next(&folder, later).unwrap().unwrap();
        assert_eq!(next.id, message_id(2), "{passed} {done:?}");
        assert!(folder.has(Place::MessagesSent, &post.id));
    }
}
