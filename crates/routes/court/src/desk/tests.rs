use super::*;
use muster_court::{Document, Id, Place};
use serde_json::{Value, json};
use std::fs;

struct Scene {
    home: tempfile::TempDir,
    desk: CourtDesk,
}

fn scene() -> Scene {
    let home = tempfile::tempdir().unwrap();
    muster_court::init::init(home.path()).unwrap();
    let desk = CourtDesk::new(Some(home.path().into()));
    Scene { home, desk }
}

impl Scene {
    fn put(&self, place: Place, id: &str, document: &Value) {
        let folder = Folder::open(self.home.path()).unwrap();
        let document = Document::parse(document.to_string().as_bytes()).unwrap();
        folder.write(place, &Id::parse(id).unwrap(), &document).unwrap();
    }

    fn task(&self, id: &str, status: &str) {
        let task = json!({"id": id, "event_id": "e", "target_general": "greet", "type": "greet.hello", "payload": {},
            "priority": "normal", "created_at": "2026-01-01T10:00:00Z", "status": status});
        self.put(Place::TasksCompleted, id, &task);
    }

    fn names(&self) -> Vec<String> {
        let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
        let mut names: Vec<String> = fs::read_dir(self.home.path()).unwrap().map(name).collect();
        names.sort();
        names
    }

    async fn column(&self, place: &str) -> Value {
        let board = serde_json::to_value(&*self.desk.board().await.unwrap()).unwrap();
        board["places"].as_array().unwrap().iter().find(|column| column["place"] == place).unwrap().clone()
    }
}

/// C21: looking at a court that has not run yet makes nothing there.
#[tokio::test]
async fn looking_makes_nothing() {
    let scene = scene();
    let before = scene.names();
    assert_eq!(scene.column("events/pending").await["count"], 0);
    scene
        .desk
        .look(|look| look.folder.listed(Place::QuestionsOpen).map_err(|fault| faulty(&fault)))
        .await
        .unwrap();
    assert_eq!(scene.names(), before);
}

/// C14: whoever waits for an answer is shown, however many tasks were over since; the answer says how many it shows.
#[tokio::test]
async fn old_questions_are_not_buried() {
    let scene = scene();
    scene.task("task-20260101-001", "needs_human");
    let file =
        fs::File::open(scene.home.path().join("queue/tasks/completed/task-20260101-001.json")).unwrap();
    file.set_modified(std::time::UNIX_EPOCH).unwrap();
    scene.put(Place::QuestionsOpen, "task-20260101-001", &json!({"question": "?"}));
    for number in 0..1005 {
        fs::write(
            scene.home.path().join(format!("queue/tasks/completed/task-20260102-{number:04}.json")),
            "",
        )
        .unwrap();
    }
    let asking = scene.column("tasks/needs_human").await;
    assert_eq!((&asking["count"], &asking["shown"]), (&json!(1), &json!(1)));
    assert_eq!(asking["items"][0]["general"], "greet");
    let done = scene.column("tasks/completed").await;
    assert_eq!((&done["count"], &done["shown"]), (&json!(1005), &json!(100)));
}

/// I9: many pages share one board.
#[tokio::test]
async fn a_board_is_shared() {
    let scene = scene();
    let boards = tokio::join!(scene.desk.board(), scene.desk.board());
    assert!(Arc::ptr_eq(&boards.0.unwrap(), &boards.1.unwrap()));
}

/// C14: an answer does not wait for those who look.
#[tokio::test]
async fn an_answer_waits_for_no_look() {
    let scene = scene();
    let looks = Arc::clone(&scene.desk.shown().unwrap().looks);
    let _all = looks.acquire_many_owned(u32::try_from(LOOKS_MAX).unwrap()).await.unwrap();
    let answered = scene.desk.answer(|_| Ok(()));
    tokio::time::timeout(std::time::Duration::from_secs(30), answered)
        .await
        .expect("it does not wait")
        .unwrap();
}
