//! `muster court`, as a host runs it: the real binary, its files, and the services of the outside world.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod bridge;
mod commands;
mod hostile;
mod kill;
mod people;
mod schemas;
mod sources;

use muster_tests::{Slack, SlackPost, until};
use serde_json::Value;

/// Waits for a task's post that begins with a sign.
fn seen_by_slack(slack: &Slack, task: &Value, sign: &str) -> SlackPost {
    let id = task["id"].as_str().unwrap();
    until(&format!("{sign} of {id}"), || {
        slack.posts_of(id).into_iter().find(|post| post.text.starts_with(sign))
    })
}
