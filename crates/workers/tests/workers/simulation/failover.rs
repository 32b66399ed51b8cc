//! S18, S19: a master that fails over to another of its servers, at another address.

use super::{
    push,
    scene::{Cast, Scene, Script, synthetic},
};
use crate::stand_in::Call;
use muster_workers::simulation::render::{Renderer, Synthetic};
use serde_json::json;
use std::collections::BTreeSet;

const REGISTER: &str = "POST workers/register";
const BEAT: &str = "POST workers/W1/heartbeat";
const PULL: &str = "GET workers/W1/tasks";
const REBIND: &str = "POST workers/rebind";

/// A worker that renders slowly enough to be in the middle of it.
fn slow() -> Renderer {
    Renderer::Synthetic(Synthetic { frames_per_second: 20, persons_per_frame: 1 })
}

/// A worker in the middle of task `t5`, whose server is then killed; the other one leads in the next term.
async fn failed_over(commands: serde_json::Value) -> Scene {
    let mut scene = Scene::start(|_| Cast::of(slow())).await;
    scene.master.hand_out(scene.task(5, 100..160));
    let has_rendered = |call: &&Call| call.what == BEAT && call.json()["lastFrame"].is_number();
    scene.master.until(|script| script.calls.iter().find(has_rendered).cloned()).await;
    scene.master.die();
    let mut script = scene.next.desk();
    script.epoch = 2;
    script.commands = commands.as_array().unwrap().clone();
    drop(script);
    scene
}

/// The task of the next term.
fn task_of(scene: &Scene, chunk: u64, epoch: u64) -> serde_json::Value {
    let mut task = scene.task(chunk, 0..5);
    task["epoch"] = json!(epoch);
    task
}

/// S19, resume: the next call tells the worker of the new term, at another address; it says what it is at, with the
/// token it has, and goes on with it there.
#[tokio::test]
async fn a_task_goes_on_at_the_next_server() {
    let scene = failed_over(json!([])).await;
    let rebind = scene.next.first(REBIND).await;
    let body = rebind.json();
    assert_eq!((&body["workerId"], &body["epoch"]), (&json!("W1"), &json!(2)));
    assert_eq!((&body["currentTask"]["taskId"], &body["currentTask"]["attempt"]), (&json!("t5"), &json!(1)));
    assert_eq!(body["currentTask"]["globalIdChunk"]["chunkId"], 5);
    assert!(body["lastFrame"].as_u64().unwrap() >= 100 && body["state"].is_string(), "{body}");
    let complete = scene.next.first("POST tasks/t5/complete").await;
    assert_eq!((complete.credential.as_str(), rebind.credential.as_str()), ("token-1", "token-1"));
    assert_eq!(complete.json()["manifestFragment"]["statistics"]["frames"], 60);
    assert_eq!(scene.next.count(REGISTER), 1);
}

/// S19, resume: of several tasks each is told of, so that each can be kept.
#[tokio::test]
async fn several_tasks_are_told_of_one_by_one() {
    let mut scene = Scene::start(|_| Cast { slots: 2, ..Cast::of(slow()) }).await;
    scene.master.hand_out(scene.task(5, 0..60));
    scene.master.hand_out(scene.task(6, 60..120));
    let begun = |script: &Script| {
        let told = script.calls.iter().filter(|call| call.what == "POST workers/W1/progress");
        let told: BTreeSet<String> = told.map(|call| call.json()["taskId"].to_string()).collect();
        (told.len() == 2).then_some(())
    };
    scene.master.until(begun).await;
    scene.master.die();
    scene.next.desk().epoch = 2;
    let told = [scene.next.nth(REBIND, 0).await, scene.next.nth(REBIND, 1).await];
    assert_eq!(told.map(|call| call.json()["currentTask"]["taskId"].clone()), [json!("t5"), json!("t6")]);
    scene.next.first("POST tasks/t5/complete").await;
    scene.next.first("POST tasks/t6/complete").await;
}

/// S19, reassign: what the new leader gave to others is stopped, and its own tasks are done.
#[tokio::test]
async fn a_task_that_was_given_to_others_is_stopped() {
    let scene = failed_over(json!(["rebind", {"stop": "t5"}])).await;
    scene.next.first(REBIND).await;
    scene.next.hand_out(task_of(&scene, 6, 2));
    scene.next.first("POST tasks/t6/complete").await;
    assert_eq!(scene.next.count("POST tasks/t5/complete") + scene.next.count("POST tasks/t5/fail"), 0);
    assert_eq!(scene.next.count(REGISTER), 1);
}

/// S19: a new leader that lost the registration, as asynchronous replication may, is registered with anew.
#[tokio::test]
async fn a_leader_that_does_not_know_the_token_is_registered_with() {
    let scene = failed_over(json!([])).await;
    scene.next.desk().answer_once("heartbeat", 401);
    let register = scene.next.first(REGISTER).await;
    assert_eq!(register.credential, "Bearer enrol-me");
    scene.next.hand_out(task_of(&scene, 6, 2));
    let complete = scene.next.first("POST tasks/t6/complete").await;
    assert_eq!(complete.credential, "token-2");
    assert_eq!(scene.next.count("POST tasks/t5/complete"), 0, "what was held is stopped");
}

/// S3, S19: a question that waits breaks off with its server and goes to the next one at once.
#[tokio::test]
async fn a_question_that_waits_goes_to_the_next_server() {
    let mut scene = Scene::synthetic().await;
    scene.master.first(PULL).await;
    scene.master.die();
    scene.next.first(PULL).await;
    scene.next.hand_out(scene.task(5, 0..5));
    scene.next.first("POST tasks/t5/complete").await;
    assert_eq!(scene.next.count(REGISTER), 1);
}

/// S8, S19: a server that holds its connections and says nothing is left for the next, by whoever waits there, too.
#[tokio::test]
async fn a_server_that_says_nothing_is_left() {
    let scene = Scene::synthetic().await;
    scene.master.first(PULL).await;
    scene.master.desk().silent.insert(scene.master.url.clone());
    scene.next.first(BEAT).await;
    scene.next.first(PULL).await;
    // The question that waits at the silent one could still be answered: what it is given is not done twice.
    scene.next.hand_out(scene.task(5, 0..5));
    scene.next.hand_out(scene.task(6, 5..9));
    let is_complete = |call: &&Call| call.what.ends_with("/complete");
    scene.next.until(|script| script.calls.iter().find(is_complete).cloned()).await;
}

/// S18: the newest term is taken from any answer, told in a header alone; then nothing of an older one is taken.
#[tokio::test]
async fn the_term_is_heard_of_in_any_answer() {
    let scene = Scene::start(|_| Cast { is_pushed_to: true, ..Cast::of(synthetic()) }).await;
    scene.master.first(BEAT).await;
    {
        let mut script = scene.master.desk();
        (script.is_tacit, script.epoch) = (true, 3);
    }
    assert_eq!(scene.master.first(REBIND).await.json()["epoch"], 3);
    let (status, answer) = push(&scene, &task_of(&scene, 5, 2)).await;
    assert_eq!((status, answer["detail"].as_str()), (409, Some("the task is of an older epoch than 3")));
    assert_eq!(push(&scene, &task_of(&scene, 6, 3)).await.0, 200);
    scene.master.first("POST tasks/t6/complete").await;
    assert_eq!(scene.master.count("POST workers/W1/progress"), scene.master.count("POST tasks/t6/complete"));
}

/// S18: a task of an older term is not begun, though the server that hands it out is one of the list.
#[tokio::test]
async fn a_task_of_an_older_term_is_not_begun() {
    let scene = failed_over(json!([{"stop": "t5"}])).await;
    scene.next.first(REBIND).await;
    scene.next.hand_out(task_of(&scene, 6, 1));
    scene.next.hand_out(task_of(&scene, 7, 2));
    scene.next.first("POST tasks/t7/complete").await;
    let is_t6 = |call: &&Call| call.what.contains("tasks/t6") || call.json()["taskId"] == "t6";
    assert_eq!(scene.next.desk().calls.iter().filter(is_t6).count(), 0);
    assert!(!scene.chunk(6).exists());
}

/// S18: what a server refuses that was replaced and does not know it counts for nothing: the worker keeps its task.
#[tokio::test]
async fn a_server_that_was_replaced_is_not_obeyed() {
    let scene = Scene::start(|_| Cast::of(slow())).await;
    scene.master.hand_out(scene.task(5, 100..200));
    scene.master.first("POST workers/W1/progress").await;
    {
        let mut script = scene.master.desk();
        script.epoch = 2;
        script.deposed.insert(scene.master.url.clone(), 1);
        // Has the worker turn to the one that leads now, and then back again.
        script.answer_once("heartbeat", 503);
    }
    scene.next.first(REBIND).await;
    scene.next.desk().answer_once("heartbeat", 503);
    let old = scene.master.url.clone();
    let rebound = |script: &Script| script.calls.iter().position(|call| call.what == REBIND);
    let is_asked_again = |script: &Script| {
        let after = script.calls.iter().skip(rebound(script)?);
        after.filter(|call| call.at == old).map(|call| call.what.clone()).next()
    };
    scene.next.until(is_asked_again).await;
    scene.next.first("POST tasks/t5/complete").await;
    assert_eq!(scene.next.count(REGISTER), 1);
}

/// S3, S18, S19: a new leader brings tasks to where the worker registered, and its signature is known.
#[tokio::test]
async fn a_new_leader_brings_tasks() {
    let mut scene = Scene::start(|_| Cast { is_pushed_to: true, ..Cast::of(synthetic()) }).await;
    scene.master.first(BEAT).await;
    scene.master.die();
    scene.next.desk().epoch = 2;
    scene.next.first(REBIND).await;
    assert_eq!(push(&scene, &task_of(&scene, 5, 1)).await.0, 409);
    assert_eq!(push(&scene, &task_of(&scene, 6, 2)).await.0, 200);
    scene.next.first("POST tasks/t6/complete").await;
}
