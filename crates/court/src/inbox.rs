//! Questions that wait for people, and their answers (C14).

use crate::{
    Document, Fault, Folder, Id, Place,
    document::document,
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
    /// The question.
    pub question: String,
    /// Since when.
    pub asked_at: Timestamp,
    /// The channel, once it was posted.
    pub channel: Option<String>,
    /// In which thread, as far as it has been posted.
    pub thread_ts: Option<String>,
}

/// The reason why an answer is not accepted.
#[derive(Debug, thiserror::Error)]
pub enum ReplyError {
    /// No task of this name asks anything.
    #[error("no question of {0} is open; `muster court inbox` lists those that are")]
    NotFound(Id),
    /// Another answer came first.
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
    let mut payload = document! {"text": text};
    for key in ["channel", "thread_ts"] {
        payload.set_raw(key, question.raw(key).unwrap_or("null"));
    }
    payload.set("reply_context", &context);
    let thread = question.text("thread_ts").unwrap_or_else(|| task_id.to_string());
    // As Slack would name a post of this moment, so that two answers in one second are two.
    let moment = format!("{}.{:06}", now.as_second(), now.subsec_microsecond());
    Ok(reply_event(&thread, &moment, &payload))
}

/// As much as one message of Slack's can hold.
const CHARS_MAX: usize = 40_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        config::Court,
        roles::{
            chamberlain::{Chamberlain, Sample},
            king::King,
        },
        scene::{court, id, now},
    };

    fn ask(folder: &Folder, task: &str, more: &str) {
        let text = format!(
            r#"{{"task_id": "{task}", "question": "which?", "general": "greet", "channel": "ops",
                "asked_at": "2026-02-07T09:00:00Z"{more},
                "reply_context": {{"task_id": "{task}", "target_general": "greet", "event_id": "evt-1", "type": "t"}}}}"#
        );
        folder.write(Place::QuestionsOpen, &id(task), &Document::parse(text.as_bytes()).unwrap()).unwrap();
    }

    /// C14: questions are listed, the oldest first, with where they were asked.
    #[test]
    fn open_questions_are_listed() {
        let (_home, folder) = court();
        ask(&folder, "task-20260207-002", r#", "thread_ts": "1234.5678""#);
        ask(&folder, "task-20260207-001", "");
        std::fs::write(folder.path("state/questions/open/notes.txt"), "mine").unwrap();
        let questions = open_questions(&folder).unwrap();
        let tasks: Vec<&str> = questions.iter().map(|question| question.task_id.as_str()).collect();
        assert_eq!(tasks, ["task-20260207-001", "task-20260207-002"]);
        assert_eq!(questions[1].thread_ts.as_deref(), Some("1234.5678"));
        assert_eq!((questions[0].question.as_str(), questions[0].general.as_str()), ("which?", "greet"));
        assert!(folder.path("state/questions/open/notes.txt").exists(), "who only looks moves nothing");
    }

    /// C8, C14: an answer without Slack is the event that a reply in the thread makes.
    #[test]
    fn an_answer_is_a_reply_event() {
        let (_home, folder) = court();
        ask(&folder, "task-20260207-001", "");
        ask(&folder, "task-20260207-002", r#", "thread_ts": "1234.5678""#);
        let text = "the \"first\"\n$(touch x) {0} %s";
        let emitted = reply(&folder, &id("task-20260207-001"), text, now()).unwrap();
        assert_eq!(emitted, Emitted::New(id("evt-slack-reply-task-20260207-001-1770458400-000000")));
        let event = folder.read(Place::EventsPending, emitted.id()).unwrap();
        assert_eq!(event.text("type").as_deref(), Some("slack.thread.reply"));
        assert_eq!(event.text("priority").as_deref(), Some("high"));
        let payload = event.object("payload").unwrap();
        assert_eq!(payload.text("text").as_deref(), Some(text));
        assert_eq!(payload.raw("thread_ts"), Some("null"));
        let context = payload.object("reply_context").unwrap();
        assert_eq!(context.text("task_id").as_deref(), Some("task-20260207-001"));

        let threaded = reply(&folder, &id("task-20260207-002"), "x", now()).unwrap();
        assert_eq!(threaded.id().as_str(), "evt-slack-reply-1234-5678-1770458400-000000");
        let payload = folder.read(Place::EventsPending, threaded.id()).unwrap().object("payload").unwrap();
        assert_eq!(payload.text("thread_ts").as_deref(), Some("1234.5678"));
    }

    /// C14, C19: an answer makes a `resume` task, whatever the health colour; the question is then answered, and no second
    /// answer is taken.
    #[test]
    fn an_answer_makes_the_work_go_on() {
        let home = tempfile::tempdir().unwrap();
        crate::init::init(home.path()).unwrap();
        let folder = Folder::open(home.path()).unwrap();
        let sample = Sample { cpu_percent: 99.0, ..Sample::default() };
        Chamberlain::new(Default::default(), "ops".to_owned()).look(&folder, &sample, now()).unwrap();
        ask(&folder, "task-20260101-001", "");
        reply(&folder, &id("task-20260101-001"), "x", now()).unwrap();
        let mut court = Court::read(home.path()).unwrap();
        court.settings.king.obey_health = true;
        let mut king = King::new(court, "ops".to_owned()).unwrap();
        king.begin(&folder, now()).unwrap();
        king.step(&folder, now()).unwrap();

        let tasks = folder.ids(Place::TasksPending).unwrap();
        assert_eq!(tasks.len(), 1);
        let task = folder.read(Place::TasksPending, &tasks[0]).unwrap();
        assert_eq!(task.text("type").as_deref(), Some("resume"));
        assert_eq!(task.text("target_general").as_deref(), Some("greet"));
        assert!(open_questions(&folder).unwrap().is_empty());
        let again = reply(&folder, &id("task-20260101-001"), "y", now());
        assert!(matches!(again, Err(ReplyError::AlreadyAnswered(_))), "{again:?}");
    }

    /// C14, C23: what is no answer, or answers nothing, is refused.
    #[test]
    fn other_answers_are_refused() {
        let (_home, folder) = court();
        ask(&folder, "task-20260207-001", "");
        let task = id("task-20260207-001");
        assert!(matches!(reply(&folder, &id("task-20260207-009"), "x", now()), Err(ReplyError::NotFound(_))));
        assert!(matches!(reply(&folder, &task, " \n", now()), Err(ReplyError::Empty)));
        let long = "é".repeat(CHARS_MAX + 1);
        assert!(matches!(reply(&folder, &task, &long, now()), Err(ReplyError::TooLong(_))));
        reply(&folder, &task, &long[..CHARS_MAX * 2], now()).unwrap();
    }
}
