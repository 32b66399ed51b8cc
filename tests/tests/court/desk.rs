//! A court over HTTP (C14, C21).

use muster_tests::{Client, Court, Server, until};
use serde_json::{Value, json};

fn shown(court: &Court) -> Server {
    Server::with(&[("MUSTER_COURT__DIRECTORY", court.home().to_str().unwrap())])
}

fn column(client: &Client, place: &str) -> Value {
    let board = client.get("/api/court").expect(200);
    let places = board["places"].as_array().unwrap();
    places.iter().find(|column| column["place"] == place).unwrap().clone()
}

/// C14, C21, I7: a question stands in the inbox; a VIEWER reads it, an OPERATOR answers; the work goes on, the timeline tells
/// all stations in order, and who answered is written down.
#[test]
fn a_question_is_answered_over_http() {
    let mut court = Court::as_shipped();
    let server = shown(&court);
    let (vera, otto) = (server.user("vera", &["VIEWER"]), server.user("otto", &["OPERATOR"]));
    court.start(&["run"]);
    let event = court.emit(&json!({"type": "greet.hello", "source": "me", "payload": {"ask": true}}));
    let task = court.finished(&event);
    let id = task["id"].as_str().unwrap();
    let question = vera.get("/api/court/inbox").expect(200)["questions"][0].clone();
    assert_eq!((&question["task_id"], &question["general"]), (&task["id"], &json!("greet")));
    assert!(question["asked_at"].as_i64().unwrap() > 0);
    let waiting = column(&vera, "tasks/needs_human");
    assert_eq!((&waiting["count"], &waiting["items"][0]["id"]), (&json!(1), &task["id"]));
    assert_eq!(waiting["items"][0]["kind"], "task");
    let path = format!("/api/court/tasks/{id}/reply");
    let answer = json!({"text": "Ada"});
    assert_eq!(vera.post(&path, &answer).status, 403);
    assert_eq!(otto.post(&path, &json!({"text": " "})).problem(422)["field"], "text");
    let taken = otto.post(&path, &answer).expect(202);
    let resumed = court.finished(taken["event_id"].as_str().unwrap());
    assert_eq!(court.result(&resumed)["summary"], "Hello, Ada, and thank you for the answer.");
    assert_eq!(otto.post(&path, &answer).status, 409);
    let story = vera.get(&format!("/api/court/tasks/{id}")).expect(200);
    stations_stand_in_order(&story, &event, id);
    assert_eq!(story["documents"]["task"]["id"], *id);
    assert_eq!(story["documents"]["question"]["question"], "Whom shall I greet?");
    let acts = server.admin().get("/audit?limit=5").expect(200)["acts"].clone();
    assert_eq!((&acts[0]["username"], &acts[0]["action"]), (&json!("otto"), &json!("reply_to_court")));
    until("the board follows", || {
        (column(&vera, "tasks/needs_human")["count"] == 0 && column(&vera, "tasks/completed")["count"] == 2)
            .then_some(())
    });
}

fn stations_stand_in_order(story: &Value, event: &str, task: &str) {
    let stations = story["timeline"].as_array().unwrap();
    let times: Vec<i64> = stations.iter().map(|station| station["at"].as_i64().unwrap()).collect();
    assert!(times.is_sorted(), "{story}");
    let told: Vec<&str> = stations.iter().map(|station| station["what"].as_str().unwrap()).collect();
    let place_of = |part: &str| {
        told.iter().position(|what| what.contains(part)).unwrap_or_else(|| panic!("{part}: {told:?}"))
    };
    let first = format!("event {event}");
    let made = format!("task {task}");
    let parts =
        [first.as_str(), made.as_str(), "attempt 1 began", "it asked", "the answer", "goes on with it"];
    let places: Vec<usize> = parts.iter().map(|part| place_of(part)).collect();
    assert!(places.is_sorted(), "{told:?}");
    assert!(stations.iter().all(|station| station["file"].as_str().unwrap().contains('/')));
}

/// C23, I9: without a court there is a hint; what is no task, or leads elsewhere, is not there; files that nobody can read
/// are listed by their names; a place shows its newest hundred.
#[test]
fn what_is_shown_is_bounded() {
    let bare = Server::start();
    for path in ["/api/court", "/api/court/inbox", "/api/court/tasks/t", "/api/explain/court_task/t"] {
        let hint = bare.admin().get(path).problem(404)["detail"].as_str().unwrap().to_owned();
        assert!(hint.contains("--court"), "{hint}");
    }
    let court = Court::as_shipped();
    let server = shown(&court);
    for id in ["..%2F..%2Fcourt.toml", "%2Fetc%2Fpasswd", "task-20200101-001", "%00", "a%2Fb"] {
        for path in [format!("/api/court/tasks/{id}"), format!("/api/explain/court_task/{id}")] {
            assert_eq!(server.admin().get(&path).status, 404, "{path}");
        }
        let reply = server.admin().post(&format!("/api/court/tasks/{id}/reply"), &json!({"text": "t"}));
        assert_eq!(reply.status, 404, "{id}");
    }
    for n in 0..120 {
        court.write(&format!("queue/events/pending/evt-{n}.json"), "no JSON");
    }
    let pending = column(&server.admin(), "events/pending");
    assert_eq!((pending["count"].as_u64(), pending["items"].as_array().unwrap().len()), (Some(120), 100));
    assert_eq!(pending["items"][0].get("title"), None);
    let why = server.admin().get("/api/explain/court_task/evt-7").expect(200);
    assert_eq!(why["code"], "court_file_unreadable");
}
