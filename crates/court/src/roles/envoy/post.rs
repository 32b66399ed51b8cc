//! One message on its way: where it goes, and what is written down once it is there (C15, C18).

use crate::{Document, Fault, Folder, Id, Place, file::stamp};
use jiff::Timestamp;

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
    pub(super) fn record(&self, receipt: &Receipt, now: Timestamp) -> Document {
        let mut thread = Document::new();
        thread.set_text("channel", &self.court_channel);
        if let Some(channel_id) = &receipt.channel_id {
            thread.set_text("channel_id", channel_id);
        }
        thread.set_text("thread_ts", self.thread_ts.as_deref().unwrap_or(&receipt.ts));
        let mut document = self.document.clone();
        document.remove("error");
        document
            .set_text("status", "sent")
            .set_text("sent_at", &stamp(now))
            .set_text("ts", &receipt.ts)
            .set_object("thread", &thread);
        document
    }
}

/// True if a message in `pending/` has been posted and only the rest was cut short.
///
/// The word alone does not say so: whoever moves a file back by hand wants it posted, and the directory is believed.
pub(super) fn is_posted(document: &Document) -> bool {
    document.text("status").as_deref() == Some("sent") && document.has("ts") && document.has("thread")
}

/// Does all that follows from a post, each step so that it may be done again; the rename comes last (C6).
pub(super) fn settle(folder: &Folder, id: &Id, document: &Document) -> Result<(), Fault> {
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
pub(super) fn give_up(folder: &Folder, post: &Post, error: &str) -> Result<(), Fault> {
    let mut document = post.document.clone();
    document.set_text("status", "failed").set_text("error", error);
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
    question.set_text("asked_ts", &ts);
    folder.write(Place::QuestionsOpen, task, &question)?;
    super::replies::close_answered(folder, task).map(|_| ())
}

/// Somebody else's hand may have taken the file away meanwhile; then there is nothing left to do.
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
