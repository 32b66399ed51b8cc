//! Questions that wait for people, and their answers (C14).

use crate::{
    Document, Fault, Folder, Id, Place,
    emit::{Emitted, emit},
    file::{instant, reply_event},
};
use jiff::Timestamp;

/// A question that nobody has answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The task that cannot go on.
    pub task_id: Id,
    /// Whose task it is.
    pub general: String,
    /// What is asked.
    pub question: String,
    /// Since when.
    pub asked_at: Timestamp,
    /// Where it was asked, as far as it has been posted.
    pub channel: Option<String>,
    /// In which thread, as far as it has been posted.
    pub thread_ts: Option<String>,
}

/// Why an answer is not taken.
#[derive(Debug, thiserror::Error)]
pub enum ReplyError {
    /// No task of this name asks anything.
    #[error("no question of {0} is open; `muster court inbox` lists those that are")]
    NotFound(Id),
    /// Somebody was faster.
    #[error("the question of {0} was answered before")]
    AlreadyAnswered(Id),
    /// There is nothing in it.
    #[error("the answer is empty")]
    Empty,
    /// There is too much in it.
    #[error("the answer has {0} characters; at most {CHARS_MAX} are taken")]
    TooLong(usize),
    /// The question's file, or the court, is not as it must be.
    #[error(transparent)]
    Fault(#[from] Fault),
}

/// All questions that are open, the oldest first.
pub fn open_questions(folder: &Folder) -> Result<Vec<Question>, Fault> {
    let mut questions = Vec::new();
    for id in folder.listed(Place::QuestionsOpen)? {
        match folder.read(Place::QuestionsOpen, &id) {
            Ok(document) => questions.push(Question::of(id, &document)),
            Err(Fault::Gone(_)) => {}
            Err(error) => tracing::warn!(%id, %error, "a question cannot be read"),
        }
    }
    questions.sort_by(|a, b| (a.asked_at, &a.task_id).cmp(&(b.asked_at, &b.task_id)));
    Ok(questions)
}

/// Answers a question as a reply in its thread would: the event is the same, so the king goes the same way (C14).
pub fn reply(folder: &Folder, task_id: &Id, text: &str, now: Timestamp) -> Result<Emitted, ReplyError> {
    check_text(text)?;
    let question = match folder.read(Place::QuestionsOpen, task_id) {
        Ok(question) => question,
        Err(Fault::Gone(_)) if folder.has(Place::QuestionsAnswered, task_id) => {
            return Err(ReplyError::AlreadyAnswered(task_id.clone()));
        }
        Err(Fault::Gone(_)) => return Err(ReplyError::NotFound(task_id.clone())),
        Err(other) => return Err(other.into()),
    };
    Ok(emit(folder, event(task_id, &question, text, now)?, now)?)
}

impl Question {
    fn of(task_id: Id, document: &Document) -> Self {
        let text = |key: &str| document.text(key);
        Self {
            task_id,
            general: text("general").unwrap_or_default(),
            question: text("question").unwrap_or_default(),
            asked_at: text("asked_at").and_then(|text| instant(&text)).unwrap_or_default(),
            channel: text("channel"),
            thread_ts: text("thread_ts"),
        }
    }
}

fn check_text(text: &str) -> Result<(), ReplyError> {
    let chars = text.chars().count();
    if text.trim().is_empty() {
        return Err(ReplyError::Empty);
    }
    if chars > CHARS_MAX { Err(ReplyError::TooLong(chars)) } else { Ok(()) }
}

fn event(task_id: &Id, question: &Document, text: &str, now: Timestamp) -> Result<Document, Fault> {
    let context = question.object("reply_context");
    let context =
        context.ok_or_else(|| Fault::Invalid(format!("the question of {task_id} has no reply_context")))?;
    let mut payload = Document::new();
    payload.set_text("text", text);
    for key in ["channel", "thread_ts"] {
        payload.set_raw(key, question.raw(key).unwrap_or("null"));
    }
    payload.set_object("reply_context", &context);
    let thread = question.text("thread_ts").unwrap_or_else(|| task_id.to_string());
    // As Slack would name a post of this moment, so that two answers in one second are two.
    let moment = format!("{}.{:06}", now.as_second(), now.subsec_microsecond());
    Ok(reply_event(&thread, &moment, &payload))
}

/// As much as one message of Slack's can hold.
const CHARS_MAX: usize = 40_000;

#[cfg(test)]
mod tests;
