use super::*;
use crate::{Id, doctor::tests::Scene};
use jiff::SignedDuration;

const TASK: &str = "task-20260207-001";

impl Scene {
    fn why(&self, id: &str) -> Option<Why> {
        why(&self.folder, &self.court, &Id::parse(id).unwrap(), self.made).unwrap()
    }

    fn check(&self, id: &str, code: &str) -> Why {
        let why = self.why(id).unwrap();
        assert_eq!(why.code, code, "{why:?}");
        let row = muster_explain::rows().find(|row| row.code == code).unwrap();
        assert_eq!((why.kind, why.id.as_str(), why.rule), ("court_task", id, row.rule));
        assert!(!why.sentence.contains(['{', '[']) && why.sentence.ends_with(['.', '?']), "{}", why.sentence);
        why
    }
}

/// Q16, C13, C19: what an event waits for, before it is made a task.
#[test]
fn an_event_is_explained() {
    let mut scene = Scene::new();
    assert_eq!(scene.why("evt-1"), None);
    scene.event(Place::EventsPending, "");
    scene.check("evt-1", "court_no_king");
    scene.start("king").check("evt-1", "court_event_untaken");
    scene.court.settings.king.obey_health = true;
    scene.check("evt-1", "court_host_unwatched");
    scene.start("chamberlain");
    scene.report_host(99.0, scene.made);
    let why = scene.check("evt-1", "court_host_busy");
    assert_eq!((&why.data["health"], &why.data["priority"]), (&"red".into(), &"normal".into()));
    scene.report_host(0.0, scene.made);
    scene.check("evt-1", "court_event_untaken");
    let id = Id::parse("evt-1").unwrap();
    scene.folder.remove(Place::EventsPending, &id).unwrap();
    scene.event(Place::EventsDispatched, r#", "dispatch": {"task_id": "task-20260207-001"}"#);
    let why = scene.check("evt-1", "court_task_missing");
    assert_eq!(why.data["court_task_id"], TASK);
    scene.task(Place::TasksPending, "nobody", &[]);
    scene.check("evt-1", "court_no_general");
    scene.folder.remove(Place::EventsDispatched, &id).unwrap();
    scene.event(Place::EventsCompleted, r#", "outcome": "failed", "reason": "nobody wants it""#);
    let why = scene.check("evt-1", "court_event_over");
    assert!(why.sentence.contains("failed: nobody wants it"), "{}", why.sentence);
}

/// Q16, C5, C16: what a task waits for until its general has taken it.
#[test]
fn a_waiting_task_is_explained() {
    let mut scene = Scene::new();
    scene.task(Place::TasksPending, "nobody", &[]);
    scene.check(TASK, "court_no_general");
    scene.task(Place::TasksPending, "greet", &[]);
    scene.check(TASK, "court_general_stopped");
    scene.start("general-greet").check(TASK, "court_task_untaken");
    let other = r#"{"id": "task-20260207-002", "event_id": "e", "target_general": "greet", "type": "a.b", "payload": {},
        "priority": "normal", "created_at": "2026-02-07T10:00:00Z", "status": "in_progress",
        "attempts": [{"attempt": 1, "status": "running"}]}"#;
    scene.write(Place::TasksInProgress, "task-20260207-002", other);
    assert_eq!(scene.check(TASK, "court_soldiers_busy").data["soldiers"], 1);
    let path = scene.folder.file(Place::TasksPending, &Id::parse(TASK).unwrap());
    std::fs::write(path, "no JSON").unwrap();
    scene.check(TASK, "court_file_unreadable");
}

/// Q16, C16, C17: who is at a task, and how its attempts stand.
#[test]
fn a_task_in_progress_is_explained() {
    let mut scene = Scene::new();
    scene.start("general-greet").start("general-fleet");
    let attempt = |more: &str| {
        format!(
            r#"[{{"attempt": 1, "started_at": "2026-02-07T10:00:00Z", "ended_at": null, "error": null{more}}}]"#
        )
    };
    let running = attempt(r#", "status": "running""#);
    let place = Place::TasksInProgress;
    scene.task(place, "greet", &[("attempts", &running)]);
    scene.check(TASK, "court_soldier_working");
    scene.made += SignedDuration::from_secs(200);
    scene.check(TASK, "court_soldier_silent");
    scene.task(place, "greet", &[("attempts", &attempt(r#", "status": "failed""#))]);
    assert_eq!(scene.check(TASK, "court_retry_waits").data["attempt"], 1);
    scene.task(place, "greet", &[]);
    scene.check(TASK, "court_task_untaken");
    scene.task(place, "fleet", &[("attempts", &running)]);
    scene.check(TASK, "court_fleet_asked");
    for (fleet, key) in [("run", "run_id"), ("session", "session_id"), ("job", "job_id")] {
        let remote =
            attempt(&format!(r#", "status": "running", "remote": {{"kind": "{fleet}", "id": "x7"}}"#));
        scene.task(place, "fleet", &[("attempts", &remote)]);
        let why = scene.check(TASK, "court_fleet_working");
        assert_eq!(why.data[key], "x7");
        assert!(why.sentence.ends_with(&format!("as {fleet} x7.")), "{}", why.sentence);
    }
}

/// Q16, C14: how a task ended, and whose answer it needs.
#[test]
fn an_ended_task_is_explained() {
    let mut scene = Scene::new();
    let result = |scene: &Scene, status: &str, more: &str| {
        let text = format!(r#"{{"task_id": "{TASK}", "status": "{status}", "summary": "it is so"{more}}}"#);
        scene.write(Place::Results, TASK, &text);
    };
    scene.task(Place::TasksInProgress, "greet", &[]);
    result(&scene, "success", "");
    scene.check(TASK, "court_no_king");
    scene.start("king").check(TASK, "court_result_unclosed");
    let done = Place::TasksCompleted;
    scene.task(done, "greet", &[]);
    assert_eq!(scene.check(TASK, "court_task_completed").data["summary"], "it is so");
    result(&scene, "failed", r#", "error": "it broke""#);
    scene.task(done, "greet", &[("status", r#""failed""#)]);
    assert_eq!(scene.check(TASK, "court_task_failed").data["error"], "it broke");
    result(&scene, "skipped", r#", "reason": "nothing to do""#);
    scene.task(done, "greet", &[("status", r#""skipped""#)]);
    assert_eq!(scene.check(TASK, "court_task_skipped").data["reason"], "nothing to do");
    result(&scene, "needs_human", r#", "question": "which one?""#);
    scene.task(done, "greet", &[("status", r#""needs_human""#)]);
    scene.check(TASK, "court_question_answered");
    let question =
        r#"{"task_id": "task-20260207-001", "question": "which one?", "asked_at": "2026-02-07T10:00:00Z"}"#;
    scene.write(Place::QuestionsOpen, TASK, question);
    let why = scene.check(TASK, "court_question_open");
    assert!(why.sentence.ends_with("which one?"), "{}", why.sentence);
}
