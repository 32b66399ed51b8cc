use super::*;
use crate::{
    Document, Id, Kind,
    config::General,
    emit::emit,
    scene::{court, documents, exists, id, now},
};

/// A court in a temporary directory, whose clock is moved by hand.
struct Scene {
    _directory: tempfile::TempDir,
    folder: Folder,
    king: King,
    now: Timestamp,
    /// The king obeys the host's health (C19).
    obeys: bool,
}

impl Scene {
    fn new(generals: &[(&str, &str)]) -> Self {
        Self::with(generals, false)
    }

    /// A court whose king obeys the host's health.
    fn obeying(generals: &[(&str, &str)]) -> Self {
        Self::with(generals, true)
    }

    fn with(generals: &[(&str, &str)], obeys: bool) -> Self {
        let (directory, folder) = court();
        let king = king(generals, obeys);
        let scene = Self { _directory: directory, folder, king, now: now(), obeys };
        scene.set_health("green");
        scene
    }

    /// Lets another king go on where this one is.
    fn restart(&mut self, generals: &[(&str, &str)]) {
        self.king = king(generals, self.obeys);
        self.king.begin(&self.folder, self.now).unwrap();
    }

    fn step(&mut self) {
        while self.king.step(&self.folder, self.now).unwrap() {}
    }

    fn set_health(&self, colour: &str) {
        let text = format!(r#"{{"timestamp": "{}", "health": "{colour}", "system": {{}}}}"#, self.now);
        std::fs::write(self.folder.path("state/resources.json"), text).unwrap();
    }

    fn advance_s(&mut self, seconds: i64) {
        self.now = self.now.checked_add(jiff::SignedDuration::from_secs(seconds)).unwrap();
    }

    fn emit(&self, event: &str) -> Id {
        emit(&self.folder, Document::parse(event.as_bytes()).unwrap(), self.now).unwrap().id().clone()
    }

    /// Plays the general: takes the one task that waits and leaves a result for it.
    fn finish(&self, task: &Id, members: &str) {
        if self.folder.has(Place::TasksPending, task) {
            self.folder.advance(task, Place::TasksPending, Place::TasksInProgress).unwrap();
        }
        let result = format!(r#"{{"task_id": "{task}", {members}}}"#);
        let path = self.folder.file(Place::Results, task);
        self.folder.replace(&path, result.as_bytes()).unwrap();
    }

    fn ids(&self, place: Place) -> Vec<String> {
        let mut ids: Vec<String> = self.folder.ids(place).unwrap().iter().map(ToString::to_string).collect();
        ids.sort();
        ids
    }

    fn only(&self, place: Place) -> Document {
        let ids = self.folder.ids(place).unwrap();
        assert_eq!(ids.len(), 1, "{} has {ids:?}", place.path());
        self.folder.read(place, &ids[0]).unwrap()
    }

    /// The messages that wait, in order.
    fn messages(&self) -> Vec<Document> {
        documents(&self.folder, Place::MessagesPending)
    }
}

fn king(generals: &[(&str, &str)], obey_health: bool) -> King {
    let mut court = configuration(generals);
    court.settings.king.obey_health = obey_health;
    King::new(court, "dev-eddy".to_owned()).unwrap()
}

fn configuration(generals: &[(&str, &str)]) -> Court {
    let mut court = Court::default();
    for (name, text) in generals {
        let mut general: General = toml::from_str(text).unwrap();
        general.name = (*name).to_owned();
        court.generals.insert(general.name.clone(), general);
    }
    court
}

const EVENT: &str = r#"{"id": "e1", "type": "github.pr.review_requested", "source": "s", "payload": {}}"#;

/// C3: the directory is right, wherever a word disagrees, in what is over too.
#[test]
fn the_directory_is_right() {
    let mut scene = Scene::new(&[PR]);
    scene.emit(EVENT);
    scene.step();
    let task = id("task-20260207-001");
    scene.finish(&task, r#""status": "skipped", "summary": "s", "reason": "r""#);
    scene.step();
    scene.emit(&EVENT.replace("e1", "e2"));
    scene.step();
    for (place, id, word) in [
        (Place::EventsCompleted, id("e1"), "pending"),
        (Place::EventsDispatched, id("e2"), "pending"),
        (Place::TasksCompleted, task.clone(), "in_progress"),
    ] {
        let mut document = scene.folder.read(place, &id).unwrap();
        document.set("status", word);
        scene.folder.write(place, &id, &document).unwrap();
    }
    scene.restart(&[PR]);
    scene.step();
    let status = |place, id: &Id| scene.folder.read(place, id).unwrap().text("status").unwrap();
    assert_eq!(status(Place::EventsCompleted, &id("e1")), "completed");
    assert_eq!(status(Place::EventsDispatched, &id("e2")), "dispatched");
    assert_eq!(status(Place::TasksCompleted, &task), "skipped");
}

const PULL_REQUEST: &str = r#"{"id": "evt-github-12345678-2026-02-07T10:00:00Z", "type": "github.pr.review_requested",
    "source": "github", "repo": "querypie/frontend", "payload": {"pr_number": "77", "big": 123456789012345678901234567890, "f": 1.50},
    "priority": "normal", "created_at": "2026-02-07T10:00:00Z", "status": "pending", "mine": [1]}"#;

/// C2, C9, C13: an event becomes one task and one thread_start; the payload passes to the digit.
#[test]
fn an_event_becomes_a_task() {
    let mut scene = Scene::new(&[PR]);
    let event = scene.emit(PULL_REQUEST);
    scene.step();
    let task = scene.only(Place::TasksPending);
    assert_eq!(task.text("id").as_deref(), Some("task-20260207-001"));
    assert_eq!(task.text("event_id").as_deref(), Some(event.as_str()));
    assert_eq!(task.text("target_general").as_deref(), Some("gen-pr"));
    assert_eq!(task.text("type").as_deref(), Some("github.pr.review_requested"));
    assert_eq!(task.text("status").as_deref(), Some("pending"));
    assert_eq!(
        task.raw("payload"),
        Some(r#"{"pr_number": "77", "big": 123456789012345678901234567890, "f": 1.50}"#)
    );
    let kept = scene.only(Place::EventsDispatched);
    assert_eq!(kept.text("status").as_deref(), Some("dispatched"));
    assert_eq!(kept.raw("mine"), Some("[1]"), "C7: unknown members are kept");
    let message = scene.only(Place::MessagesPending);
    assert_eq!(message.text("type").as_deref(), Some("thread_start"));
    assert_eq!(message.text("channel").as_deref(), Some("dev-eddy"));
    assert_eq!(message.object("context").unwrap().text("task_id"), task.text("id"));
}

/// C13: high before normal before low, then by age.
#[test]
fn the_urgent_and_the_old_go_first() {
    let mut scene = Scene::new(&[PR]);
    for (id, priority, minute) in [("a", "low", 1), ("b", "normal", 3), ("c", "normal", 2), ("d", "high", 9)]
    {
        scene.emit(&format!(
            r#"{{"id": "{id}", "type": "github.pr.review_requested", "source": "s", "payload": {{}},
                "priority": "{priority}", "created_at": "2026-02-07T10:0{minute}:00Z"}}"#
        ));
    }
    scene.step();
    let order = ["001", "002", "003", "004"].map(|number| {
        let task = scene.folder.read(Place::TasksPending, &id(&format!("task-20260207-{number}"))).unwrap();
        task.text("event_id").unwrap()
    });
    assert_eq!(order, ["d", "c", "b", "a"]);
}

/// C8: the same event again is dropped wherever the first one is, also when its producer does not look.
#[test]
fn a_repeat_is_dropped() {
    let mut scene = Scene::new(&[PR]);
    let event = scene.emit(PULL_REQUEST);
    scene.emit(PULL_REQUEST);
    scene.step();
    scene.emit(PULL_REQUEST);
    assert_eq!(scene.ids(Place::EventsPending), Vec::<String>::new());
    std::fs::write(scene.folder.file(Place::EventsPending, &event), PULL_REQUEST).unwrap();
    scene.step();
    assert_eq!(scene.ids(Place::EventsPending), Vec::<String>::new());
    scene.finish(&id("task-20260207-001"), r#""status": "success", "summary": "done""#);
    scene.step();
    std::fs::write(scene.folder.file(Place::EventsPending, &event), PULL_REQUEST).unwrap();
    scene.step();
    assert_eq!(scene.ids(Place::EventsPending), Vec::<String>::new());
    assert_eq!(scene.ids(Place::TasksPending), Vec::<String>::new());
    assert_eq!(scene.ids(Place::TasksCompleted), ["task-20260207-001"]);
}

/// C13: what nobody wants is over at once.
#[test]
fn an_event_nobody_wants_is_discarded() {
    let mut scene = Scene::new(&[]);
    scene.emit(PULL_REQUEST);
    scene.step();
    let event = scene.only(Place::EventsCompleted);
    assert_eq!(event.text("outcome").as_deref(), Some("discarded"));
    assert_eq!(event.text("status").as_deref(), Some("completed"));
    assert_eq!(scene.ids(Place::TasksPending), Vec::<String>::new());
    assert_eq!(scene.messages().len(), 0);
}

/// C19: by default the king takes every event, whatever the colour, and also where there is no report.
#[test]
fn health_is_only_watched_by_default() {
    for report in [Some("red"), Some("orange"), Some("yellow"), Some("green"), None] {
        let mut scene = Scene::new(&[PR]);
        match report {
            Some(colour) => scene.set_health(colour),
            None => std::fs::remove_file(scene.folder.path("state/resources.json")).unwrap(),
        }
        for (number, priority) in ["low", "normal", "high"].into_iter().enumerate() {
            scene.emit(&PULL_REQUEST.replace("normal", priority).replace("12345678-", &format!("{number}-")));
        }
        scene.step();
        assert_eq!(scene.ids(Place::EventsDispatched).len(), 3, "{report:?}");
    }
}

/// C19: a king that obeys takes all on green, only high on yellow, nothing on orange and red; a report that is missing,
/// empty or stale counts as orange.
#[test]
fn a_busy_host_admits_less() {
    let mut scene = Scene::obeying(&[PR]);
    let normal = PULL_REQUEST;
    let high = PULL_REQUEST.replace("normal", "high").replace("12345678-", "99-");
    let admitted = |scene: &mut Scene| {
        scene.step();
        scene.ids(Place::EventsDispatched).len()
    };
    scene.emit(normal);
    scene.emit(&high);
    for colour in ["red", "orange", "purple"] {
        scene.set_health(colour);
        assert_eq!(admitted(&mut scene), 0, "{colour}");
    }
    std::fs::write(scene.folder.path("state/resources.json"), "").unwrap();
    assert_eq!(admitted(&mut scene), 0);
    std::fs::remove_file(scene.folder.path("state/resources.json")).unwrap();
    assert_eq!(admitted(&mut scene), 0);
    scene.set_health("green");
    scene.advance_s(121);
    assert_eq!(admitted(&mut scene), 0, "old news");
    scene.set_health("yellow");
    assert_eq!(admitted(&mut scene), 1);
    scene.set_health("green");
    assert_eq!(admitted(&mut scene), 2);
}

/// C4, C7, C8, C12: what is not valid is set apart with its reason, and the rest goes on.
#[test]
fn wrong_files_do_not_hold_up_the_rest() {
    let mut scene = Scene::new(&[PR]);
    let pending = scene.folder.directory(Place::EventsPending);
    for (name, text) in [
        ("half.json", "{\"id\": \"half\""),
        ("other-id.json", PULL_REQUEST),
        (
            "word.json",
            &PULL_REQUEST
                .replace("\"pending\"", "\"waiting\"")
                .replace("evt-github-12345678-2026-02-07T10:00:00Z", "word"),
        ),
        ("notes.txt", "remember"),
        ("-rf.json", PULL_REQUEST),
        (".tmp-1-x", "half"),
    ] {
        std::fs::write(pending.join(name), text).unwrap();
    }
    scene.emit(PULL_REQUEST);
    scene.step();
    assert_eq!(scene.ids(Place::EventsDispatched).len(), 1);
    let rejected = scene.folder.path("rejected");
    for name in ["half.json", "other-id.json", "word.json", "notes.txt", "-rf.json"] {
        assert!(exists(&rejected.join(name)), "{name}");
        let reason = std::fs::read_to_string(rejected.join(format!("{name}.reason"))).unwrap();
        assert_eq!(reason.lines().count(), 1, "{reason}");
    }
    assert!(exists(&pending.join(".tmp-1-x")), "nobody else's temporary file is touched by a reader");
}

/// C13: the ids are in the event before the files are there, so another king makes these and no others.
#[test]
fn what_was_planned_is_made_once() {
    let mut scene = Scene::new(&[PR]);
    let event = scene.emit(PULL_REQUEST);
    scene.step();
    // As if the king had died right before the last rename.
    scene.folder.advance(&event, Place::EventsDispatched, Place::EventsPending).unwrap();
    scene.restart(&[]);
    scene.step();
    assert_eq!(scene.ids(Place::TasksPending), ["task-20260207-001"]);
    assert_eq!(scene.messages().len(), 1);
    assert_eq!(scene.ids(Place::EventsDispatched).len(), 1);
}

/// C23: an event too large to be carried on is refused, not half done.
#[test]
fn a_large_event_is_refused() {
    let mut scene = Scene::new(&[PR]);
    let padding = "x".repeat(crate::FILE_BYTES_MAX);
    let event = PULL_REQUEST.replace("\"77\"", &format!("\"{padding}\""));
    std::fs::write(
        scene.folder.file(Place::EventsPending, &id("evt-github-12345678-2026-02-07T10:00:00Z")),
        event,
    )
    .unwrap();
    scene.step();
    assert_eq!(scene.ids(Place::EventsPending).len() + scene.ids(Place::EventsDispatched).len(), 0);
    assert_eq!(scene.ids(Place::TasksPending).len(), 0);
    assert!(exists(&scene.folder.path("rejected/evt-github-12345678-2026-02-07T10:00:00Z.json")));
}

/// C23: an event just below the limit is carried all the way.
#[test]
fn a_full_event_is_carried() {
    let mut scene = Scene::new(&[PR]);
    let padding = "x".repeat(crate::FILE_BYTES_MAX - 600);
    scene.emit(&PULL_REQUEST.replace("\"77\"", &format!("\"{padding}\"")));
    scene.step();
    let task = scene.only(Place::TasksPending);
    assert_eq!(task.object("payload").unwrap().text("pr_number").unwrap().len(), padding.len());
    scene.finish(&id("task-20260207-001"), r#""status": "success", "summary": "done""#);
    scene.step();
    assert_eq!(scene.ids(Place::TasksCompleted).len(), 1);
    assert_eq!(scene.ids(Place::EventsCompleted).len(), 1);
    assert_eq!(scene.folder.find(Kind::Task, &id("task-20260207-001")), Some(Place::TasksCompleted));
}

/// C7, C13: producers may use the king's own words; only what the king wrote is a plan.
#[test]
fn words_of_producers_are_no_plan() {
    let mut scene = Scene::obeying(&[PR]);
    scene.set_health("orange");
    for (name, member) in [
        ("a", r#""outcome": "merged""#),
        ("b", r#""dispatch": "x""#),
        (
            "c",
            r#""dispatch": {"task_id": "task-20200101-001", "thread_start": "msg-20200101-001", "target_general": "gen-pr", "type": "z"}"#,
        ),
        ("d", r#""outcome": "discarded""#),
    ] {
        scene.emit(&format!(
            r#"{{"id": "{name}", "type": "github.pr.review_requested", "source": "s", "payload": {{}}, {member}}}"#
        ));
    }
    scene.step();
    assert_eq!(scene.ids(Place::EventsPending).len(), 4, "none of them passes the health of the host");
    scene.set_health("green");
    scene.step();
    assert_eq!(scene.ids(Place::EventsDispatched), ["a", "b", "c", "d"]);
    let tasks = ["001", "002", "003", "004"].map(|number| format!("task-20260207-{number}"));
    assert_eq!(scene.ids(Place::TasksPending), tasks);
}

/// C12: an event whose task was refused by its general ends as failed.
#[test]
fn an_event_whose_task_is_gone_ends() {
    let mut scene = Scene::new(&[PR]);
    scene.emit(PULL_REQUEST);
    scene.step();
    scene.folder.reject(Place::TasksPending, "task-20260207-001.json".as_ref(), "it was spoilt").unwrap();
    scene.restart(&[PR]);
    assert_eq!(scene.only(Place::EventsCompleted).text("status").as_deref(), Some("failed"));
}

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

const MISSED: &str = "subscribes = []\ncommand = ['true']\n[[schedules]]\nname = 'news'\ncron = '*/10 * * * *'\ntask_type = 'briefing'\nmissed = 'once'\n[schedules.payload]\nday = 1\nat = 2026-02-07T10:00:00Z";

fn general(missed: &str) -> (&'static str, String) {
    ("gen-briefing", MISSED.replace("'once'", &format!("'{missed}'")))
}

fn tasks(scene: &Scene) -> usize {
    scene.ids(Place::TasksPending).len()
}

/// C22: one task of low priority per slot, also when the king is another one each time.
#[test]
fn a_slot_comes_once() {
    let (name, text) = general("skip");
    let mut scene = Scene::new(&[(name, &text)]);
    scene.step();
    assert_eq!(tasks(&scene), 0, "a new schedule begins with the next slot");
    assert_eq!(scene.king.next_deadline(), Some("2026-02-07T10:10:00Z".parse().unwrap()));
    scene.advance_s(600);
    for _ in 0..3 {
        scene.set_health("green");
        scene.restart(&[(name, &text)]);
        scene.step();
    }
    let task = scene.only(Place::TasksPending);
    assert_eq!(task.text("event_id").as_deref(), Some("schedule-news"));
    assert_eq!(task.text("type").as_deref(), Some("briefing"));
    assert_eq!(task.text("priority").as_deref(), Some("low"));
    assert_eq!(task.raw("payload"), Some(r#"{"at":"2026-02-07T10:00:00Z","day":1}"#));
    scene.finish(&id("task-20260207-001"), r#""status": "success", "summary": "told""#);
    scene.step();
    assert_eq!(scene.ids(Place::TasksCompleted).len(), 1);
}

/// C22: what passed while nobody was there is left out by default, or made up for once.
#[test]
fn missed_slots_follow_the_policy() {
    for (missed, count) in [("skip", 0), ("once", 1)] {
        let (name, text) = general(missed);
        let mut scene = Scene::new(&[(name, &text)]);
        scene.step();
        scene.advance_s(3600 + 120);
        scene.set_health("green");
        scene.restart(&[(name, &text)]);
        scene.step();
        scene.step();
        assert_eq!(tasks(&scene), count, "{missed}");
        scene.advance_s(480);
        scene.set_health("green");
        scene.step();
        assert_eq!(tasks(&scene), count + 1, "{missed}: the next slot is no missed one");
    }
}

/// C19, C22: by default a slot comes in time, however busy the host is; also one that an obeying king had held back.
#[test]
fn a_slot_does_not_wait_by_default() {
    let (name, text) = general("skip");
    for had_obeyed in [false, true] {
        let mut scene = Scene::with(&[(name, &text)], had_obeyed);
        scene.step();
        scene.advance_s(600);
        scene.set_health("red");
        scene.step();
        assert_eq!(tasks(&scene), usize::from(!had_obeyed));
        scene.obeys = false;
        scene.advance_s(120);
        scene.restart(&[(name, &text)]);
        scene.step();
        assert_eq!(tasks(&scene), 1);
    }
}

/// C19, C22: a slot that comes while the host is busy waits for a king that obeys, and is not missed.
#[test]
fn a_busy_host_delays_a_slot() {
    let (name, text) = general("skip");
    let mut scene = Scene::obeying(&[(name, &text)]);
    scene.step();
    scene.advance_s(600);
    scene.set_health("orange");
    scene.step();
    assert_eq!(tasks(&scene), 0);
    scene.advance_s(300);
    scene.set_health("green");
    scene.step();
    assert_eq!(tasks(&scene), 1);
}

/// C22: a plan that an earlier king left is finished, not made again.
#[test]
fn a_planned_slot_is_finished() {
    let (name, text) = general("skip");
    let mut scene = Scene::new(&[(name, &text)]);
    scene.step();
    scene.advance_s(600);
    scene.set_health("green");
    scene.step();
    let record = id("news");
    let mut document = scene.folder.read(Place::Schedules, &record).unwrap();
    document.set_raw("plan", r#"{"slot": "2026-02-07T10:10:00Z", "task_id": "task-20260207-001", "thread_start": "msg-20260207-001"}"#);
    scene.folder.write(Place::Schedules, &record, &document).unwrap();
    scene.restart(&[(name, &text)]);
    scene.step();
    assert_eq!((tasks(&scene), scene.messages().len()), (1, 1));
}

/// C22: a schedule that makes no sense is an error at start that names it.
#[test]
fn a_wrong_schedule_is_an_error_at_start() {
    let (name, text) = general("skip");
    for (cron, why) in [("99 * * * *", "99"), ("0 0 30 2 *", "no day of the calendar is ever due")] {
        let text = text.replace("*/10 * * * *", cron);
        let error = King::new(configuration(&[(name, &text)]), String::new()).err().unwrap().to_string();
        assert!(["gen-briefing", "news", why].iter().all(|word| error.contains(word)), "{error}");
    }
    let leap_day = text.replace("*/10 * * * *", "0 0 29 2 *");
    assert!(King::new(configuration(&[(name, &leap_day)]), String::new()).is_ok());
}

/// C19, C22: after a downtime nothing is known of the host yet; what was missed is dropped all the same.
#[test]
fn a_stale_health_makes_no_slot_up() {
    let (name, text) = general("skip");
    let mut scene = Scene::obeying(&[(name, &text)]);
    scene.step();
    scene.advance_s(3 * 24 * 3600 + 300);
    scene.restart(&[(name, &text)]);
    scene.step();
    scene.set_health("green");
    scene.step();
    assert_eq!(tasks(&scene), 0);
}

/// C22: a slot that waits for the host is not forgotten by the next king.
#[test]
fn a_held_slot_outlives_its_king() {
    let (name, text) = general("skip");
    let mut scene = Scene::obeying(&[(name, &text)]);
    scene.step();
    scene.advance_s(600);
    scene.set_health("yellow");
    scene.step();
    scene.advance_s(300);
    scene.set_health("green");
    scene.restart(&[(name, &text)]);
    scene.step();
    assert_eq!(tasks(&scene), 1);
}

/// C22: a clock that was years ahead for a moment does not silence a schedule.
#[test]
fn a_clock_that_was_ahead_does_no_lasting_harm() {
    let (name, text) = general("skip");
    let mut scene = Scene::new(&[(name, &text)]);
    scene.step();
    let right = scene.now;
    scene.advance_s(400_000_000);
    scene.set_health("green");
    scene.step();
    scene.now = right;
    scene.step();
    scene.advance_s(600);
    scene.set_health("green");
    scene.step();
    assert_eq!(tasks(&scene), 1);
}

const PR: (&str, &str) = ("gen-pr", "subscribes = ['github.pr.review_requested']\ncommand = ['true']");
