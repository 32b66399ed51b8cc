//! The envoy's mind: one message at a time, in order, into its thread, and none lost (C6, C15, C18).

use super::replies::close_answered;
use crate::{Document, Fault, Folder, Id, Place, clock::Pause, document::document, file::stamp};
use jiff::{SignedDuration, Timestamp};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

/// Decides which message is posted next, and writes down what became of it.
#[derive(Debug, Default)]
pub struct Envoy {
    queue: Queue,
    /// Posted, but not yet written down: the disk may fail after the other side has said yes.
    accepted: BTreeMap<Id, Document>,
    /// The other side asked for patience.
    hold: Option<Pause>,
}

/// The answer to a post.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It is there.
    Posted(Receipt),
    /// The other side wants nothing for a while; that is no try (C18).
    Limited(Duration),
    /// It is not there, and why.
    Failed(String),
}

/// An answer, and when it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimedAnswer {
    /// The answer.
    pub answer: Answer,
    /// The time.
    pub at: Timestamp,
}

impl Envoy {
    /// Takes in what is new in `pending/`, and forgets what is gone. Each file is read here once.
    pub fn look(&mut self, folder: &Folder) -> Result<(), Fault> {
        let ids: BTreeSet<Id> = folder.ids(Place::MessagesPending)?.into_iter().collect();
        self.queue.keep(&ids);
        self.accepted.retain(|id, _| ids.contains(id));
        let new: Vec<&Id> = ids.iter().filter(|id| !self.queue.has(id)).collect();
        for id in new {
            match admissible(folder, id).and_then(|document| mended(folder, id, document)) {
                Ok(document) => document.iter().for_each(|document| self.queue.insert(id, document)),
                // A message that cannot be read now must not keep the others waiting.
                Err(error) => tracing::warn!(%id, %error, "a message cannot be read"),
            }
        }
        Ok(())
    }

    /// The message to be posted now, if there is one. The answer must be given to [`Self::hear`].
    pub fn next(&mut self, folder: &Folder, now: Timestamp) -> Result<Option<Post>, Fault> {
        while let Some(id) = self.queue.head(now) {
            if self.accepted.contains_key(&id) {
                self.finish(folder, &id, now)?;
                continue;
            }
            if self.hold.is_some_and(|hold| !hold.is_over(now)) {
                return Ok(None);
            }
            match prepare(folder, &id) {
                Ok(Some(post)) => return Ok(Some(post)),
                Ok(None) => self.queue.remove(&id),
                Err(error) => {
                    self.queue.rest(&id, now);
                    return Err(error);
                }
            }
        }
        Ok(None)
    }

    /// Takes the answer to a post.
    pub fn hear(&mut self, folder: &Folder, post: &Post, heard: TimedAnswer) -> Result<(), Fault> {
        match heard.answer {
            Answer::Posted(receipt) => {
                self.accepted.insert(post.id.clone(), post.record(&receipt, heard.at));
                self.finish(folder, &post.id, heard.at)
            }
            Answer::Limited(wait) => {
                let wait = wait.clamp(LIMIT_MIN, LIMIT_MAX);
                let wait = SignedDuration::try_from(wait).unwrap_or(SignedDuration::MAX);
                self.hold = Some(Pause::of(wait, heard.at));
                Ok(())
            }
            Answer::Failed(_) if self.queue.set_back(&post.id, heard.at) => Ok(()),
            Answer::Failed(error) => {
                tracing::warn!(id = %post.id, %error, "a message could not be posted");
                self.ended(&post.id, give_up(folder, post, &shortened(&error)), heard.at)
            }
        }
    }

    /// The next deadline: something may be due then even if no file appears.
    #[must_use]
    pub fn next_deadline(&self, now: Timestamp) -> Option<Timestamp> {
        let hold = self.hold.filter(|hold| !hold.is_over(now)).map(Pause::until);
        // While all wait, no line moves before that.
        hold.or_else(|| self.queue.next_deadline(now))
    }

    /// Writes down that a message is posted, then does what follows from it.
    fn finish(&mut self, folder: &Folder, id: &Id, now: Timestamp) -> Result<(), Fault> {
        let Some(document) = self.accepted.get(id) else { return Ok(()) };
        if folder.has(Place::MessagesSent, id) {
            // It was moved, and only making that durable failed.
            return self.ended(id, Ok(()), now);
        }
        let done =
            folder.write(Place::MessagesPending, id, document).and_then(|()| settle(folder, id, document));
        self.ended(id, done, now)
    }

    fn ended(&mut self, id: &Id, done: Result<(), Fault>, now: Timestamp) -> Result<(), Fault> {
        match done {
            Ok(()) => {
                self.accepted.remove(id);
                self.queue.remove(id);
            }
            Err(_) => self.queue.rest(id, now),
        }
        done
    }
}

/// Reads the message whose turn it is; one that was posted in an earlier life is only brought to its end.
fn prepare(folder: &Folder, id: &Id) -> Result<Option<Post>, Fault> {
    match admissible(folder, id)? {
        Some(document) if is_posted(&document) => settle(folder, id, &document).map(|()| None),
        Some(document) => Post::of(folder, id, document).map(Some),
        None => Ok(None),
    }
}

/// Reads a message; `None` if it is invalid or was sent before.
fn admissible(folder: &Folder, id: &Id) -> Result<Option<Document>, Fault> {
    let document = folder.read_or_reject(Place::MessagesPending, id)?;
    if document.is_some() && folder.has(Place::MessagesSent, id) {
        let reason = "a message of this id was sent before; give it another id";
        folder.reject_file(Place::MessagesPending, id, reason)?;
        return Ok(None);
    }
    Ok(document)
}

/// Puts right a file that was moved here by hand: the directory is believed (C3).
fn mended(folder: &Folder, id: &Id, document: Option<Document>) -> Result<Option<Document>, Fault> {
    let Some(mut document) = document else { return Ok(None) };
    if document.text("status").as_deref() != Some("pending") && !is_posted(&document) {
        document.remove("error");
        document.set("status", "pending");
        folder.write(Place::MessagesPending, id, &document)?;
    }
    Ok(Some(document))
}

fn shortened(error: &str) -> String {
    error.chars().take(ERROR_CHARS_MAX).collect()
}

/// The messages that are to be posted, by their turn.
///
/// Only what decides about turns is kept: thousands of long messages may wait.
#[derive(Debug, Default)]
struct Queue {
    /// The line that a message stands in, by its turn.
    lines: BTreeMap<Turn, String>,
    /// The lines in which nobody moves for now.
    setbacks: BTreeMap<String, Setback>,
}

/// By day and number; the id tells apart what should not have the same.
type Turn = (u32, u64, Id);

#[derive(Debug)]
struct Setback {
    id: Id,
    tries: usize,
    pause: Pause,
}

impl Queue {
    fn has(&self, id: &Id) -> bool {
        self.lines.contains_key(&turn(id))
    }

    fn insert(&mut self, id: &Id, document: &Document) {
        self.lines.insert(turn(id), line(id, document));
    }

    /// Forgets a message, and that it failed.
    fn remove(&mut self, id: &Id) {
        if let Some(line) = self.lines.remove(&turn(id)) {
            self.setbacks.remove(&line);
        }
    }

    /// Forgets all others.
    fn keep(&mut self, ids: &BTreeSet<Id>) {
        let gone: Vec<Id> =
            self.lines.keys().map(|turn| &turn.2).filter(|id| !ids.contains(id)).cloned().collect();
        gone.iter().for_each(|id| self.remove(id));
    }

    /// Whose turn it is. Within a line nobody overtakes; a line that waits holds up no other.
    fn head(&self, now: Timestamp) -> Option<Id> {
        let may_go = |line: &String| self.setbacks.get(line).is_none_or(|setback| setback.pause.is_over(now));
        self.lines.iter().find(|(_, line)| may_go(line)).map(|(turn, _)| turn.2.clone())
    }

    /// Notes a try that failed; says whether there is another one, which must wait.
    fn set_back(&mut self, id: &Id, now: Timestamp) -> bool {
        let Some(line) = self.lines.get(&turn(id)) else { return false };
        let before =
            self.setbacks.get(line).filter(|setback| setback.id == *id).map_or(0, |setback| setback.tries);
        let Some(wait) = WAITS.get(before) else { return false };
        let pause = Pause::of(*wait, now);
        self.setbacks.insert(line.clone(), Setback { id: id.clone(), tries: before + 1, pause });
        true
    }

    /// Lets a line wait without counting a try: it was not the message's fault.
    fn rest(&mut self, id: &Id, now: Timestamp) {
        let Some(line) = self.lines.get(&turn(id)) else { return };
        let pause = Pause::of(REST, now);
        let setback =
            self.setbacks.entry(line.clone()).or_insert(Setback { id: id.clone(), tries: 0, pause });
        setback.pause = pause;
    }

    /// The end of the earliest pause.
    fn next_deadline(&self, now: Timestamp) -> Option<Timestamp> {
        let pauses = self.setbacks.values().map(|setback| setback.pause);
        pauses.filter(|pause| !pause.is_over(now)).map(Pause::until).min()
    }
}

/// Messages of one task follow each other; one that belongs to no task stands alone.
fn line(id: &Id, document: &Document) -> String {
    let task = document.object("context").and_then(|context| context.text("task_id"));
    task.unwrap_or_else(|| id.to_string())
}

fn turn(id: &Id) -> Turn {
    let mut parts = id.as_str().rsplitn(3, '-');
    let number = parts.next().and_then(|number| number.parse().ok()).unwrap_or(u64::MAX);
    let day = parts.next().and_then(|day| day.parse().ok()).unwrap_or(u32::MAX);
    (day, number, id.clone())
}

/// A message as it is to be posted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Post {
    /// The message's id; it travels along, so that a repeated post can be told.
    pub id: Id,
    /// The channel it goes to.
    pub channel: String,
    /// The thread it goes into; it is a message of its own where there is none.
    pub thread_ts: Option<String>,
    /// The text that people read.
    pub text: String,
    /// The type, as in its file.
    pub kind: String,
    /// The urgency, as in the file.
    pub urgency: String,
    /// The task it belongs to.
    pub task_id: Option<String>,
    /// The message as it was read.
    pub(super) document: Document,
    /// The channel as this court calls it; a thread keeps both names.
    court_channel: String,
}

/// The receiver's answer to an accepted post.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// The post's name there.
    pub ts: String,
    /// The channel's name there, where it has its own.
    pub channel_id: Option<String>,
}

impl Post {
    /// Decides where a message goes: into its task's thread where that is in the same channel.
    pub(super) fn of(folder: &Folder, id: &Id, document: Document) -> Result<Self, Fault> {
        let text = |key: &str| document.text(key).unwrap_or_default();
        let context = document.object("context").unwrap_or_default();
        let task_id = context.text("task_id");
        let home = match reply_to(&document, &context) {
            Some(thread) => Some(thread),
            None => thread_of(folder, task_id.as_deref())?.filter(|thread| is_in(thread, &text("channel"))),
        };
        let court_channel =
            home.as_ref().and_then(|home| home.text("channel")).unwrap_or_else(|| text("channel"));
        let channel_id = home.as_ref().and_then(|home| home.text("channel_id"));
        Ok(Self {
            id: id.clone(),
            channel: channel_id.unwrap_or_else(|| court_channel.clone()),
            thread_ts: home.and_then(|home| home.text("thread_ts")),
            text: text("content"),
            kind: text("type"),
            urgency: text("urgency"),
            task_id,
            court_channel,
            document,
        })
    }

    /// The message's file once it is posted. It names the thread, so that all the rest can be done from it alone.
    fn record(&self, receipt: &Receipt, now: Timestamp) -> Document {
        let mut thread = document! {"channel": self.court_channel};
        if let Some(channel_id) = &receipt.channel_id {
            thread.set("channel_id", channel_id);
        }
        thread.set("thread_ts", self.thread_ts.as_deref().unwrap_or(&receipt.ts));
        let mut document = self.document.clone();
        document.remove("error");
        document
            .set("status", "sent")
            .set("sent_at", &stamp(now))
            .set("ts", &receipt.ts)
            .set("thread", &thread);
        document
    }
}

/// True if a message in `pending/` has been posted and only the rest was cut short.
///
/// The word alone does not say so: whoever moves a file back by hand wants it posted, and the directory is believed.
fn is_posted(document: &Document) -> bool {
    document.text("status").as_deref() == Some("sent") && document.has("ts") && document.has("thread")
}

/// Does all that follows from a post, each step so that it may be done again; the rename comes last (C6).
fn settle(folder: &Folder, id: &Id, document: &Document) -> Result<(), Fault> {
    let context = document.object("context").unwrap_or_default();
    let task = context.text("task_id").and_then(|task| Id::parse(&task).ok());
    if let (Some(task), Some(thread)) = (task, document.object("thread")) {
        if !folder.has(Place::Threads, &task) {
            folder.create(Place::Threads, &task, &thread)?;
        }
        if document.text("type").as_deref() == Some("human_input_request") {
            locate_question(folder, &task, document)?;
        }
    }
    moved(folder.advance(id, Place::MessagesPending, Place::MessagesSent))
}

/// Ends a message that could not be posted (C18).
fn give_up(folder: &Folder, post: &Post, error: &str) -> Result<(), Fault> {
    let mut document = post.document.clone();
    document.set("status", "failed").set("error", error);
    folder.write(Place::MessagesPending, &post.id, &document)?;
    if folder.has(Place::MessagesFailed, &post.id) {
        // It failed before and was put back by a copy; the newer one says more.
        folder.remove(Place::MessagesFailed, &post.id)?;
    }
    moved(folder.advance(&post.id, Place::MessagesPending, Place::MessagesFailed))
}

/// Writes into an open question where people read it, so that their replies are recognised.
fn locate_question(folder: &Folder, task: &Id, message: &Document) -> Result<(), Fault> {
    let (Some(thread), Some(ts)) = (message.object("thread"), message.text("ts")) else { return Ok(()) };
    let Some(mut question) = folder.read_or_reject(Place::QuestionsOpen, task)? else { return Ok(()) };
    for key in thread.keys() {
        question.set_raw(key, thread.raw(key).unwrap_or("null"));
    }
    question.set("asked_ts", &ts);
    folder.write(Place::QuestionsOpen, task, &question)?;
    close_answered(folder, task).map(|_| ())
}

/// Accepts a missing file: if another process or a user moved it meanwhile, nothing is left to do.
fn moved(done: Result<(), Fault>) -> Result<(), Fault> {
    match done {
        Err(Fault::Gone(_)) => Ok(()),
        other => other,
    }
}

/// The thread that a resumed task goes on in.
fn reply_to(document: &Document, context: &Document) -> Option<Document> {
    let is_start = document.text("type").as_deref() == Some("thread_start");
    let thread = context.object("reply_to").filter(|_| is_start)?;
    thread.text("channel").filter(|channel| !channel.is_empty())?;
    thread.text("thread_ts").filter(|ts| !ts.is_empty())?;
    Some(thread)
}

/// A task's thread. What is no id names no file (C23), so it has none.
fn thread_of(folder: &Folder, task_id: Option<&str>) -> Result<Option<Document>, Fault> {
    match task_id.and_then(|task| Id::parse(task).ok()) {
        Some(task) => folder.read_or_reject(Place::Threads, &task),
        None => Ok(None),
    }
}

fn is_in(thread: &Document, channel: &str) -> bool {
    let named = |key: &str| thread.text(key).as_deref() == Some(channel);
    named("channel") || named("channel_id")
}

/// A server that says "now" would be asked in a busy loop.
const LIMIT_MIN: Duration = Duration::from_secs(1);
/// Longer than a day nobody is told to wait who is not being fooled.
const LIMIT_MAX: Duration = Duration::from_secs(86_400);
const ERROR_CHARS_MAX: usize = 500;
/// The pauses after failed tries; one more failure is final.
const WAITS: [SignedDuration; 2] = [SignedDuration::from_secs(1), SignedDuration::from_secs(5)];
/// Long enough that others get their turn when one file cannot be dealt with.
const REST: SignedDuration = SignedDuration::from_secs(30);
