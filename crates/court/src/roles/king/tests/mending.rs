use super::*;

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
        document.set_text("status", word);
        scene.folder.write(place, &id, &document).unwrap();
    }
    scene.restart(&[PR]);
    scene.step();
    let status = |place, id: &Id| scene.folder.read(place, id).unwrap().text("status").unwrap();
    assert_eq!(status(Place::EventsCompleted, &id("e1")), "completed");
    assert_eq!(status(Place::EventsDispatched, &id("e2")), "dispatched");
    assert_eq!(status(Place::TasksCompleted, &task), "skipped");
}
