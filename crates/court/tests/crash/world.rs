//! A court in a directory, and those around it: who hands in events, soldiers, people, and where messages go.

use crate::Dying;
use jiff::{SignedDuration, Timestamp};
use muster_court::{
    Document, Fault, Folder, Place,
    config::{Court, General},
    emit::emit,
    roles::{
        Step,
        envoy::{Answer, Envoy, Receipt, TimedAnswer},
        general::{Ending, GeneralMind, Start},
        king::King,
    },
};
use std::{cell::RefCell, fs, path::Path, sync::Arc};

pub(crate) struct World {
    pub(crate) story: &'static Story,
    directory: tempfile::TempDir,
    /// The messages that people have read: their ids, in order.
    pub(crate) posts: RefCell<Vec<String>>,
    now: RefCell<Timestamp>,
}

/// The minds of one life.
struct Life<'a> {
    world: &'a World,
    folder: &'a Folder,
    king: King,
    general: GeneralMind,
    envoy: Envoy,
}

impl World {
    pub(crate) fn new(story: &'static Story) -> Self {
        // A directory in memory: what is tested is the order of operations, not how long a disk takes.
        let memory = Path::new("/dev/shm");
        let builder = tempfile::Builder::new();
        let directory = if memory.is_dir() { builder.tempdir_in(memory) } else { builder.tempdir() };
        let now = RefCell::new(BEGIN.parse().unwrap());
        let world = Self { story, directory: directory.unwrap(), posts: RefCell::default(), now };
        let pending = world.home().join(Place::EventsPending.path());
        fs::create_dir_all(&pending).unwrap();
        for (name, text) in story.files {
            fs::write(pending.join(name), text).unwrap();
        }
        world
    }

    pub(crate) fn home(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn now(&self) -> Timestamp {
        *self.now.borrow()
    }

    /// Lives until nothing is left to do, or until the process dies.
    pub(crate) fn live(&self, fuse: Option<Arc<Dying>>) {
        let is_dead = || fuse.as_ref().is_some_and(|fuse| fuse.is_dead());
        let opened = match &fuse {
            Some(fuse) => Folder::with_fuse(self.home(), fuse.clone()),
            None => Folder::open(self.home()),
        };
        let Ok(folder) = opened else { return assert!(is_dead()) };
        let end =
            BEGIN.parse::<Timestamp>().unwrap().checked_add(SignedDuration::from_secs(self.story.seconds));
        let end = end.unwrap();
        let mut life = Life::new(self, &folder);
        let mut done = life.begin();
        while done.is_ok() && !is_dead() && self.now() < end {
            done = life.second();
            let later = self.now().checked_add(SignedDuration::from_secs(1)).unwrap();
            *self.now.borrow_mut() = later;
        }
        if let Err(fault) = done {
            assert!(is_dead(), "{}: {fault}", self.story.name);
        }
    }
}

impl<'a> Life<'a> {
    fn new(world: &'a World, folder: &'a Folder) -> Self {
        let mut general: General = toml::from_str(world.story.general).unwrap();
        general.name = "gen".to_owned();
        let mut court = Court::default();
        court.generals.insert(general.name.clone(), general.clone());
        let king = King::new(court, "dev-eddy".to_owned()).unwrap();
        let general = GeneralMind::new(general, "dev-eddy".to_owned());
        Self { world, folder, king, general, envoy: Envoy::default() }
    }

    fn begin(&mut self) -> Result<(), Fault> {
        let now = self.world.now();
        for event in self.world.story.events {
            emit(self.folder, Document::parse(event.as_bytes()).unwrap(), now)?;
        }
        self.king.begin(self.folder, now)?;
        self.general.recover(self.folder, now)
    }

    /// All that happens within a second.
    fn second(&mut self) -> Result<(), Fault> {
        let now = self.world.now();
        while self.king.step(self.folder, now)? {}
        for start in self.general.next(self.folder, now) {
            let ending = self.soldier(&start);
            self.general.ended(Step { folder: self.folder, now }, &start.task, ending);
        }
        self.general.announce(self.folder, now);
        self.tell(now)?;
        self.answer(now)
    }

    /// The soldier leaves its result; the first time it may leave none.
    fn soldier(&self, start: &Start) -> Ending {
        let kind = start.document.text("type").unwrap();
        let is_real = |attempt: &&Document| {
            let error = attempt.text("error").unwrap_or_default();
            attempt.text("status").as_deref() != Some("running") && !error.contains("general ended")
        };
        let failures = start.document.objects("attempts").iter().filter(is_real).count();
        if let Some(members) = (self.world.story.soldier)(&kind, failures) {
            let result = format!(r#"{{"task_id": "{}", {members}}}"#, start.task);
            // A soldier whose general died has no directory any more; it dies with it.
            let _ = fs::write(&start.result_path, result);
        }
        Ending::Exited { code: 0, last_words: String::new() }
    }

    fn tell(&mut self, now: Timestamp) -> Result<(), Fault> {
        self.envoy.look(self.folder)?;
        while let Some(post) = self.envoy.next(self.folder, now)? {
            let ts = format!("1234.{:06}", self.world.posts.borrow().len());
            self.world.posts.borrow_mut().push(post.id.to_string());
            let answer = Answer::Posted(Receipt { ts, channel_id: None });
            self.envoy.hear(self.folder, &post, TimedAnswer { answer, at: now })?;
        }
        Ok(())
    }

    /// People answer what they have read, twice, and again until they are heard.
    fn answer(&self, now: Timestamp) -> Result<(), Fault> {
        for place in [Place::QuestionsOpen, Place::QuestionsAnswered] {
            self.answer_in(place, now)?;
        }
        Ok(())
    }

    fn answer_in(&self, place: Place, now: Timestamp) -> Result<(), Fault> {
        for task in self.folder.ids(place)? {
            let question = self.folder.read(place, &task)?;
            let context = question.raw("reply_context").unwrap();
            for ts in ["1", "2"] {
                let event = format!(
                    r#"{{"id": "evt-slack-reply-{task}-{ts}", "type": "slack.thread.reply", "source": "slack", "priority": "high",
                        "payload": {{"text": "this", "channel": "dev-eddy", "thread_ts": "1234.0", "reply_context": {context}}}}}"#
                );
                emit(self.folder, Document::parse(event.as_bytes()).unwrap(), now)?;
            }
        }
        Ok(())
    }
}

/// A story: what comes in, and what soldiers do about it.
pub(crate) struct Story {
    pub(crate) name: &'static str,
    /// `generals/gen.toml`.
    pub(crate) general: &'static str,
    /// The events that a producer hands in, in every life anew.
    pub(crate) events: &'static [&'static str],
    /// Files that lie in `events/pending`, put there once.
    pub(crate) files: &'static [(&'static str, &'static str)],
    /// The result that a soldier leaves, by the type of the task and the number of failures before.
    pub(crate) soldier: fn(&str, usize) -> Option<&'static str>,
    /// Length of the story in seconds, crashes included.
    pub(crate) seconds: i64,
}

pub(crate) const TWO_ENDS: Story = Story {
    name: "two ends",
    general: "subscribes = ['a', 'b']\ncommand = ['true']\nmax_soldiers = 1",
    events: &[
        r#"{"id": "e1", "type": "a", "source": "s", "payload": {"n": 12345678901234567890123}, "priority": "low"}"#,
        r#"{"id": "e2", "type": "b", "source": "s", "payload": {}}"#,
    ],
    files: &[],
    soldier: |kind, _| {
        Some(match kind {
            "a" => {
                r#""status": "success", "summary": "done", "notify_channel": "C0OPS", "proclamation": {"channel": "C0TEAMCH", "message": "news"}"#
            }
            _ => r#""status": "skipped", "summary": "s", "reason": "a draft""#,
        })
    },
    seconds: 25,
};

pub(crate) const FAILURE: Story = Story {
    name: "fails, is tried again, and fails",
    general: "subscribes = ['a']\ncommand = ['true']\nretries = 1\nretry_after_s = 3",
    events: &[r#"{"id": "e1", "type": "a", "source": "s", "payload": {}}"#],
    files: &[],
    soldier: |_, failures| match failures {
        0 => None,
        _ => Some(r#""status": "failed", "summary": "s", "error": "it broke""#),
    },
    seconds: 30,
};

pub(crate) const QUESTION: Story = Story {
    name: "asks, is answered, and goes on",
    general: "subscribes = ['a']\ncommand = ['true']",
    events: &[r#"{"id": "e1", "type": "a", "source": "s", "payload": {}}"#],
    files: &[],
    soldier: |kind, _| {
        Some(match kind {
            "resume" => r#""status": "success", "summary": "went on""#,
            _ => r#""status": "needs_human", "summary": "s", "question": "which?", "checkpoint_path": "/c""#,
        })
    },
    seconds: 30,
};

pub(crate) const SLOT: Story = Story {
    name: "by the clock",
    general: "command = ['true']\n[[schedules]]\nname = 'news'\ncron = '* * * * *'\ntask_type = 'briefing'",
    events: &[],
    files: &[],
    soldier: |_, _| Some(r#""status": "success", "summary": "told""#),
    // One slot comes; a restart takes a moment, so the story must not end near the next.
    seconds: 80,
};

pub(crate) const REFUSED: Story = Story {
    name: "what nobody wants, and what nobody can read",
    general: "subscribes = ['a']\ncommand = ['true']",
    events: &[r#"{"id": "e1", "type": "unheard.of", "source": "s", "payload": {}}"#],
    files: &[
        ("half.json", r#"{"id": "half""#),
        ("notes.txt", "remember"),
        (
            "e2.json",
            r#"{"id": "e2", "type": "a", "source": "s", "payload": {}, "priority": "normal", "created_at": "2026-02-07T10:00:00Z", "status": "completed"}"#,
        ),
    ],
    soldier: |_, _| Some(r#""status": "success", "summary": "done""#),
    seconds: 25,
};

const BEGIN: &str = "2026-02-07T10:00:05Z";
