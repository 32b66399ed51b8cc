use super::*;
use crate::{
    config::Court,
    roles::{
        chamberlain::{Chamberlain, Sample},
        king::King,
    },
};

fn now() -> Timestamp {
    "2026-02-07T10:00:00Z".parse().unwrap()
}

fn id(text: &str) -> Id {
    Id::parse(text).unwrap()
}

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
    let home = tempfile::tempdir().unwrap();
    let folder = Folder::open(home.path()).unwrap();
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
    let home = tempfile::tempdir().unwrap();
    let folder = Folder::open(home.path()).unwrap();
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
    let home = tempfile::tempdir().unwrap();
    let folder = Folder::open(home.path()).unwrap();
    ask(&folder, "task-20260207-001", "");
    let task = id("task-20260207-001");
    assert!(matches!(reply(&folder, &id("task-20260207-009"), "x", now()), Err(ReplyError::NotFound(_))));
    assert!(matches!(reply(&folder, &task, " \n", now()), Err(ReplyError::Empty)));
    let long = "é".repeat(CHARS_MAX + 1);
    assert!(matches!(reply(&folder, &task, &long, now()), Err(ReplyError::TooLong(_))));
    reply(&folder, &task, &long[..CHARS_MAX * 2], now()).unwrap();
}
