//! P16: how the worker as it runs leaves.

use super::scene::{Cast, Scene};
use muster_model::Millis;
use muster_workers::pool::core::Over;
use serde_json::json;
use std::fs;

/// P16: what runs may end, and its result is submitted; nothing more is taken.
#[tokio::test]
async fn what_runs_is_finished() {
    let script = "until [ -e $1/go ]; do sleep 0.01; done; echo '{}'";
    let mut scene = Scene::exec(script).await;
    scene.server.hand_out(65, json!({}));
    scene.report.wait_for(|report| report.running == 1).await.unwrap();
    scene.ask_to_leave();
    scene.report.wait_for(|report| report.state == "leaving").await.unwrap();
    scene.server.hand_out(129, json!({}));
    fs::write(scene.directory.path().join("go"), "").unwrap();
    assert_eq!(scene.over().await, Over::Left);
    let desk = scene.server.desk();
    assert_eq!((desk.results.keys().collect::<Vec<_>>(), desk.queue.len()), (vec![&65], 1));
}

/// P16: what takes longer than the grace is ended, with nothing told of it; the next life executes it.
#[tokio::test]
async fn what_takes_too_long_is_left_to_the_next_life() {
    let script = "[ -e $1/again ] || { touch $1/again; sleep 1000; }; echo '{}'";
    let cast = || Cast { grace: Millis(100), script: Some(script), ..Cast::default() };
    let mut scene = Scene::start(cast()).await;
    scene.server.hand_out(65, json!({}));
    while !scene.directory.path().join("again").exists() {
        tokio::task::yield_now().await;
    }
    assert_eq!(scene.leave().await, Over::Left);
    assert_eq!((scene.server.desk().results.len(), scene.spool().0), (0, 0));
    let (server, directory) = scene.part();
    let scene = Scene::begin(server, directory, cast());
    scene.server.result(65).await;
}
