//! Generals that end and come back.

use crate::scene::{SUCCEED, Scene, statuses};
use std::fs;

/// A soldier that hangs, with a child in a session of its own, until the file `go` is there.
fn hanging() -> String {
    format!("[ -e go ] || {{ setsid sleep 1000 & echo > begun; sleep 1001; }}\n{SUCCEED}")
}

/// C16: told to stop, a general ends its soldiers and records what it cut short; its next life takes the task up again,
/// at no cost.
#[tokio::test]
async fn a_general_that_stops_ends_its_soldiers_and_takes_their_tasks_up_again() {
    let scene = Scene::new(&hanging(), "retries = 0");
    let id = scene.task();
    scene.run_until(|| scene.home().join("begun").exists()).await;
    assert_eq!(scene.soldiers(), Vec::<String>::new());
    assert_eq!(statuses(&scene.in_progress(&id)), ["killed"]);
    fs::write(scene.home().join("go"), "").unwrap();
    assert_eq!(statuses(&scene.result(&id).await), ["killed", "success"]);
}

/// C6, C16: after kill -9 the orphaned soldiers are ended before the task is taken up again.
#[tokio::test]
async fn a_killed_generals_soldiers_are_ended_before_its_tasks_are_taken_up() {
    let scene = Scene::new(&hanging(), "retries = 0");
    let id = scene.task();
    let mut general = scene.spawn(&[]);
    scene.wait_until(|| scene.home().join("begun").exists()).await;
    general.kill().unwrap();
    general.wait().unwrap();
    assert_eq!(statuses(&scene.in_progress(&id)), ["running"]);
    // The next soldier says whether it saw a process of the first life.
    let look =
        "grep -lF \"$PWD/state/attempts/$MUSTER_TASK_ID/1/\" /proc/[0-9]*/environ > orphans 2>/dev/null\n";
    fs::write(scene.home().join("soldier.sh"), format!("{look}{SUCCEED}")).unwrap();
    let result = scene.result(&id).await;
    assert_eq!(statuses(&result), ["killed", "success"]);
    assert_eq!(result.objects("attempts")[0].text("error").as_deref(), Some("the general ended"));
    assert_eq!(fs::read_to_string(scene.home().join("orphans")).unwrap(), "");
    assert_eq!(scene.soldiers(), Vec::<String>::new());
}

/// C17: a general for a fleet needs a coordinator, and says so at once.
#[tokio::test]
async fn a_fleet_needs_a_coordinator() {
    use muster_court::{
        config::Court,
        roles::general::{GeneralError, Post, run},
    };
    let scene = Scene::new("", "");
    scene.manifest("executor = \"run\"");
    let general = Court::read(scene.home()).unwrap().generals["pr"].clone();
    let post = Post::new(&scene.folder, general, "ops".to_owned(), None);
    let ran =
        run(std::sync::Arc::clone(&scene.folder), post, tokio_util::sync::CancellationToken::new()).await;
    assert!(matches!(ran, Err(GeneralError::NoCoordinator(name)) if name == "pr"));
}
