//! Court tasks: by a server that shows the court, and without any.

use crate::explain::Planted;
use muster_tests::{Court, muster_command, until};
use serde_json::{Value, json};

pub(crate) fn plant(planted: &Planted<'_>, court: &mut Court) {
    let event = court.emit(&json!({"type": "greet.hello", "source": "me", "payload": {"ask": true}}));
    planted.check("court_task", &event, "court_no_king");
    court.start(&["king"]);
    planted.check("court_task", &event, "court_host_unwatched");
    court.start(&["chamberlain"]);
    let task = dispatched(court, &event);
    planted.check("court_task", &task, "court_general_stopped");
    let nobodys = json!({"id": "task-20260101-900", "event_id": "e", "target_general": "nobody", "type": "a.b", "payload": {},
        "priority": "normal", "created_at": "2026-01-01T10:00:00Z", "status": "pending"});
    court.hand_in("queue/tasks/pending", "task-20260101-900.json", nobodys.to_string().as_bytes());
    planted.check("court_task", "task-20260101-900", "court_no_general");
    let unwanted = court.emit(&json!({"type": "nobody.cares", "source": "me", "payload": {}}));
    planted.wait("court_task", &unwanted, "court_event_over");
    court.start(&["general", "greet"]);
    planted.wait("court_task", &task, "court_question_open");
    offline(court, &task);
    let path = format!("/api/court/tasks/{task}/reply");
    let answer = planted.server.admin().post(&path, &json!({"text": "Ada"})).expect(202);
    let resumed = court.finished(answer["event_id"].as_str().unwrap());
    assert_eq!(planted.wait("court_task", &task, "court_question_answered")["court_task_id"], resumed["id"]);
    planted.check("court_task", resumed["id"].as_str().unwrap(), "court_task_completed");
}

fn dispatched(court: &Court, event: &str) -> String {
    until("the event is made a task", || {
        let event = court.file("queue/events/dispatched", event)?;
        let task = event["dispatch"]["task_id"].as_str()?.to_owned();
        court.file("queue/tasks/pending", &task).map(|_| task)
    })
}

/// The files tell as much without a server.
fn offline(court: &Court, task: &str) {
    let home = court.home();
    let mut command = muster_command();
    command.args(["explain", "court_task", task, "--json", "--court"]).arg(home);
    let outputs = [command.output().unwrap(), court.output(&["explain", task, "--json"])];
    for output in outputs {
        let why: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((&why["code"], &why["rule"]), (&json!("court_question_open"), &json!("C14")), "{why}");
    }
    assert_eq!(court.output(&["explain", "task-20200101-001"]).status.code(), Some(5));
}
