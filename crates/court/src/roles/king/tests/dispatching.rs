use super::*;

const EVENT: &str = r#"{"id": "evt-github-12345678-2026-02-07T10:00:00Z", "type": "github.pr.review_requested",
    "source": "github", "repo": "querypie/frontend", "payload": {"pr_number": "77", "big": 123456789012345678901234567890, "f": 1.50},
    "priority": "normal", "created_at": "2026-02-07T10:00:00Z", "status": "pending", "mine": [1]}"#;

/// C2, C9, C13: an event becomes one task and one thread_start; the payload passes to the digit.
#[test]
fn an_event_becomes_a_task() {
    let mut scene = Scene::new(&[PR]);
    let event = scene.emit(EVENT);
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
    let event = scene.emit(EVENT);
    scene.emit(EVENT);
    scene.step();
    scene.emit(EVENT);
    assert_eq!(scene.ids(Place::EventsPending), Vec::<String>::new());
    std::fs::write(scene.folder.file(Place::EventsPending, &event), EVENT).unwrap();
    scene.step();
    assert_eq!(scene.ids(Place::EventsPending), Vec::<String>::new());
    scene.finish(&id("task-20260207-001"), r#""status": "success", "summary": "done""#);
    scene.step();
    std::fs::write(scene.folder.file(Place::EventsPending, &event), EVENT).unwrap();
    scene.step();
    assert_eq!(scene.ids(Place::EventsPending), Vec::<String>::new());
    assert_eq!(scene.ids(Place::TasksPending), Vec::<String>::new());
    assert_eq!(scene.ids(Place::TasksCompleted), ["task-20260207-001"]);
}

/// C13: what nobody wants is over at once.
#[test]
fn an_event_nobody_wants_is_discarded() {
    let mut scene = Scene::new(&[]);
    scene.emit(EVENT);
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
            scene.emit(&EVENT.replace("normal", priority).replace("12345678-", &format!("{number}-")));
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
    let normal = EVENT;
    let high = EVENT.replace("normal", "high").replace("12345678-", "99-");
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
        ("other-id.json", EVENT),
        (
            "word.json",
            &EVENT
                .replace("\"pending\"", "\"waiting\"")
                .replace("evt-github-12345678-2026-02-07T10:00:00Z", "word"),
        ),
        ("notes.txt", "remember"),
        ("-rf.json", EVENT),
        (".tmp-1-x", "half"),
    ] {
        std::fs::write(pending.join(name), text).unwrap();
    }
    scene.emit(EVENT);
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
    let event = scene.emit(EVENT);
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
    let event = EVENT.replace("\"77\"", &format!("\"{padding}\""));
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
    scene.emit(&EVENT.replace("\"77\"", &format!("\"{padding}\"")));
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
    scene.emit(EVENT);
    scene.step();
    scene.folder.reject(Place::TasksPending, "task-20260207-001.json".as_ref(), "it was spoilt").unwrap();
    scene.restart(&[PR]);
    assert_eq!(scene.only(Place::EventsCompleted).text("status").as_deref(), Some("failed"));
}
