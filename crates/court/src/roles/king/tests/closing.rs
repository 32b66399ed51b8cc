use super::*;

const EVENT: &str = r#"{"id": "e1", "type": "github.pr.review_requested", "source": "s", "payload": {}}"#;

fn ended(members: &str) -> Scene {
    let mut scene = Scene::obeying(&[PR]);
    scene.emit(EVENT);
    scene.step();
    scene.finish(&id("task-20260207-001"), members);
    scene.step();
    scene
}

/// C2, C3, C14: how a task ends is told once, and both files are where they belong with the right word.
#[test]
fn ends_are_told() {
    for (members, status, event_status, sign, word) in [
        (r#""status": "success", "summary": "all good""#, "completed", "completed", "✅", "all good"),
        (r#""status": "failed", "summary": "s", "error": "it broke""#, "failed", "failed", "❌", "it broke"),
        (r#""status": "killed", "summary": "s", "error": "too long""#, "failed", "failed", "❌", "too long"),
        (
            r#""status": "skipped", "summary": "s", "reason": "a draft""#,
            "skipped",
            "completed",
            "⏭️",
            "a draft",
        ),
    ] {
        let mut scene = ended(members);
        scene.step();
        assert_eq!(scene.only(Place::TasksCompleted).text("status").as_deref(), Some(status));
        assert_eq!(scene.only(Place::EventsCompleted).text("status").as_deref(), Some(event_status));
        let messages = scene.messages();
        assert_eq!(messages.len(), 2);
        assert_eq!(messages[1].text("type").as_deref(), Some("notification"));
        assert_eq!(messages[1].text("channel").as_deref(), Some("dev-eddy"));
        let content = messages[1].text("content").unwrap();
        assert!(
            content.starts_with(sign) && content.contains("task-20260207-001") && content.contains(word),
            "{content}"
        );
    }
}

/// C14: the result may name another channel.
#[test]
fn a_result_may_name_its_channel() {
    let scene = ended(r#""status": "success", "summary": "s", "notify_channel": "C0OPS""#);
    assert_eq!(scene.messages()[1].text("channel").as_deref(), Some("C0OPS"));
}

/// C15: the proclamation of the source's example is a message of its own, besides the notification.
#[test]
fn a_proclamation_is_a_message_of_its_own() {
    let scene = ended(
        r#""status": "success", "summary": "PR News 게시 완료",
           "proclamation": {"channel": "C0TEAMCH", "message": "PR News\n1. repo-a — canvas_link_a\n..."}"#,
    );
    let messages = scene.messages();
    assert_eq!(messages.len(), 3);
    assert!(messages[1].text("content").unwrap().contains("PR News 게시 완료"));
    assert_eq!(messages[2].text("type").as_deref(), Some("notification"));
    assert_eq!(messages[2].text("channel").as_deref(), Some("C0TEAMCH"));
    assert_eq!(messages[2].text("content").as_deref(), Some("PR News\n1. repo-a — canvas_link_a\n..."));
    let context = messages[2].object("context").unwrap();
    assert_eq!(context.text("task_id").as_deref(), Some("proclamation-task-20260207-001"));
}

/// C14, C15: a question goes out, is no proclamation, and the task is over at once.
#[test]
fn a_question_is_asked() {
    let scene = ended(
        r#""status": "needs_human", "summary": "s", "question": "which branch?", "checkpoint_path": "/c/1",
           "proclamation": {"channel": "C0", "message": "m"}"#,
    );
    assert_eq!(scene.only(Place::TasksCompleted).text("status").as_deref(), Some("needs_human"));
    let messages = scene.messages();
    assert_eq!(messages.len(), 2);
    assert_eq!(messages[1].text("type").as_deref(), Some("human_input_request"));
    let reply = messages[1].object("context").unwrap().object("reply_context").unwrap();
    assert_eq!(reply.text("task_id").as_deref(), Some("task-20260207-001"));
    assert_eq!(reply.text("checkpoint_path").as_deref(), Some("/c/1"));
    let question = scene.only(Place::QuestionsOpen);
    assert_eq!(question.text("question").as_deref(), Some("which branch?"));
    assert_eq!(question.object("reply_context"), Some(reply));
}

/// C14, C19: an answer goes on with the work, once, whatever the colour and also for a king that obeys it; another one
/// comes too late.
#[test]
fn an_answer_resumes() {
    let mut scene = ended(r#""status": "needs_human", "summary": "s", "question": "which branch?""#);
    let context = scene.only(Place::QuestionsOpen).raw("reply_context").unwrap().to_owned();
    let reply = |ts: &str| {
        format!(
            r#"{{"id": "evt-slack-reply-1234-5678-{ts}", "type": "slack.thread.reply", "source": "slack", "priority": "high",
                "payload": {{"text": "main", "channel": "C1", "thread_ts": "1234.5678", "reply_context": {context}}}}}"#
        )
    };
    scene.set_health("red");
    scene.emit(&reply("1707300000"));
    scene.step();
    let task = scene.only(Place::TasksPending);
    assert_eq!(task.text("type").as_deref(), Some("resume"));
    assert_eq!(task.text("target_general").as_deref(), Some("gen-pr"));
    assert_eq!(task.text("priority").as_deref(), Some("high"));
    assert_eq!(task.object("payload").unwrap().text("text").as_deref(), Some("main"));
    assert_eq!(scene.ids(Place::QuestionsOpen), Vec::<String>::new());
    let thread = scene.messages()[2].object("context").unwrap().object("reply_to").unwrap();
    assert_eq!(thread.text("thread_ts").as_deref(), Some("1234.5678"));
    scene.emit(&reply("1707300009"));
    scene.step();
    assert_eq!(scene.ids(Place::TasksPending).len(), 1);
    let late = id("evt-slack-reply-1234-5678-1707300009");
    let late = scene.folder.read(Place::EventsCompleted, &late).unwrap();
    assert_eq!(late.text("outcome").as_deref(), Some("discarded"));
}

/// C12: a result that is not valid is set apart, and the task has failed for that.
#[test]
fn a_wrong_result_is_a_failure() {
    let scene = ended(r#""status": "failed", "summary": "no error is given""#);
    assert_eq!(scene.only(Place::TasksCompleted).text("status").as_deref(), Some("failed"));
    let result = scene.only(Place::Results);
    assert!(result.text("error").unwrap().contains("error"), "{result:?}");
    assert!(exists(&scene.folder.path("rejected/task-20260207-001.json.reason")));
}

/// C6, C12: a task that cannot be ended holds up neither the others nor what is new.
#[test]
fn a_spoilt_task_holds_up_nobody() {
    let mut scene = Scene::new(&[PR]);
    for name in ["e1", "e2"] {
        scene.emit(&EVENT.replace("e1", name));
    }
    scene.step();
    for number in ["001", "002"] {
        scene.finish(&id(&format!("task-20260207-{number}")), r#""status": "success", "summary": "s""#);
    }
    let spoilt = id("task-20260207-001");
    let document = scene.folder.read(Place::TasksInProgress, &spoilt).unwrap();
    scene.folder.create(Place::TasksCompleted, &spoilt, &document).unwrap();
    scene.emit(&EVENT.replace("e1", "e3"));
    scene.step();
    assert_eq!(scene.ids(Place::TasksInProgress), Vec::<String>::new());
    assert_eq!(scene.ids(Place::TasksCompleted), ["task-20260207-001", "task-20260207-002"]);
    assert_eq!(scene.ids(Place::TasksPending), ["task-20260207-003"]);
}

/// C12, C14: `closing` of somebody else is no plan.
#[test]
fn a_strange_closing_is_no_plan() {
    let mut scene = Scene::new(&[PR]);
    scene.emit(EVENT);
    scene.step();
    let task = id("task-20260207-001");
    let mut document = scene.folder.read(Place::TasksPending, &task).unwrap();
    document.set_raw("closing", "{}");
    scene.folder.write(Place::TasksPending, &task, &document).unwrap();
    scene.finish(&task, r#""status": "success", "summary": "s""#);
    scene.step();
    assert_eq!(scene.ids(Place::TasksCompleted).len(), 1);
    assert_eq!(scene.messages().len(), 2);
}
