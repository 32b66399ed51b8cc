//! What an attempt came to.

use super::scene::{SUCCESS, Scene, at, exited, leave};
use crate::{
    Document, FILE_BYTES_MAX,
    roles::general::{Ending, Start},
};

/// The result of one attempt that is the only one.
fn judged(left: impl Fn(&Start), ending: Ending) -> Document {
    let mut scene = Scene::new("retries = 0");
    let id = scene.plain(1);
    let start = scene.begins_one(at(0));
    left(&start);
    scene.ends(&start, ending, at(1));
    scene.result(&id).unwrap()
}

fn error_of(left: impl Fn(&Start), ending: Ending) -> String {
    let result = judged(left, ending);
    assert_eq!(result.text("status").as_deref(), Some("failed"));
    result.text("error").unwrap()
}

/// C11, C16: a valid result counts as it is, to the digit, whatever the exit code; attempts are ours to tell.
#[test]
fn a_valid_result_counts() {
    for code in [0, 1, 126, 130, 137] {
        let result = judged(|start| leave(start, SUCCESS), exited(code));
        assert_eq!(result.text("status").as_deref(), Some("success"));
        assert_eq!(result.raw("x"), Some("1.50"));
        assert_eq!(result.objects("attempts").len(), 1);
    }
    let boastful =
        r#"{"task_id": "TASK", "status": "success", "summary": "s", "attempts": [{"attempt": 9}, 1]}"#;
    let result = judged(|start| leave(start, boastful), exited(0));
    assert_eq!(result.objects("attempts").len(), 1);
    assert_eq!(result.objects("attempts")[0].number("attempt"), Some(1));
}

/// C16: killed is killed, though a result lies there.
#[test]
fn whoever_was_killed_has_no_result() {
    for ending in [Ending::Killed(15), Ending::TimedOut(1.0)] {
        let result = judged(|start| leave(start, SUCCESS), ending);
        assert_eq!(result.text("status").as_deref(), Some("killed"));
    }
}

/// C16, C23: without a valid result the soldier has failed, and people learn why.
#[test]
fn no_valid_result_is_a_failure() {
    let ending = || Ending::Exited { code: 2, last_words: "no such\u{7} file".to_owned() };
    assert_eq!(error_of(|_| {}, ending()), "the soldier left no result (exit code 2: no such file)");
    let wrong = |left: &str| error_of(|start| leave(start, left), exited(0));
    assert!(wrong("{").contains("not valid JSON"));
    assert!(
        wrong(&SUCCESS.replace("TASK", "task-20260226-999")).contains("its task_id is not task-20260226-001")
    );
    assert!(wrong(&" ".repeat(FILE_BYTES_MAX + 1)).contains("larger than"));
    let link = |start: &Start| std::os::unix::fs::symlink("/etc/hostname", &start.result_path).unwrap();
    assert!(error_of(link, exited(0)).contains("not a plain file"));
    let directory = |start: &Start| std::fs::create_dir(&start.result_path).unwrap();
    assert!(error_of(directory, exited(0)).contains("not a plain file"));
    assert!(error_of(|_| {}, Ending::NotStarted("no such program".into())).contains("no such program"));
}

/// C16, C23: a result as large as may be taken is kept, with its attempts.
#[test]
fn a_full_result_is_kept() {
    let text = format!(
        r#"{{"task_id": "TASK", "status": "success", "summary": "{}"}}"#,
        "x".repeat(FILE_BYTES_MAX - 100)
    );
    let result = judged(|start| leave(start, &text), exited(0));
    assert_eq!(result.text("status").as_deref(), Some("success"));
    assert_eq!(result.objects("attempts").len(), 1);
}
