//! What must be true of the files, and of what people read, at the end.

use super::{OPEN, Palace};
use muster_tests::{SlackPost, until};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

type Files = BTreeMap<String, Value>;

pub(crate) fn all(palace: &mut Palace, events: u64, kills: u64) {
    nothing_is_stuck(palace);
    nothing_is_left_behind(palace);
    nothing_is_under_way(palace);
    let (made, tasks) = (over(palace, "queue/events/completed"), over(palace, "queue/tasks/completed"));
    each_event_is_one_task(palace, &made, &tasks, events);
    each_task_has_one_result(palace, &tasks);
    let messages = over(palace, "queue/messages/sent");
    each_message_is_due_once(palace, &tasks, &messages);
    each_message_is_posted(palace, &messages, kills);
    no_attempt_ran_twice(palace);
}

pub(crate) fn summary(palace: &Palace, events: u64) -> String {
    let tasks = palace.court.count("queue/tasks/completed");
    let (messages, posts) = (palace.court.count("queue/messages/sent"), palace.slack.count());
    let attempts = palace.lines().len();
    format!(
        "{events} events, {tasks} tasks, {} of them resumed, {attempts} soldiers, {messages} messages, {} posted twice",
        palace.answered.len(),
        posts - messages
    )
}

fn over(palace: &Palace, place: &str) -> Files {
    palace.court.files(place).into_iter().collect()
}

fn nothing_is_stuck(palace: &Palace) {
    let said = palace.court.output(&["doctor", "--json"]);
    let found: Value = serde_json::from_slice(&said.stdout).unwrap();
    assert!(said.status.success() && found["stuck"].as_array().unwrap().is_empty(), "{found:#}");
}

/// A last life sweeps what the others left; then nothing is there that is no part of a court.
fn nothing_is_left_behind(palace: &mut Palace) {
    palace.court.kill9(None);
    palace.court.start(&["run"]);
    let temporary = || files_below(&palace.court.home()).into_iter().filter(|path| path.contains("/.tmp-"));
    until("temporary files are swept", || (temporary().count() == 0).then_some(()));
    until("what attempts left is gone", || (palace.court.count("state/attempts") == 0).then_some(()));
    let ended = palace.court.terminate();
    assert!(ended.iter().all(std::process::ExitStatus::success), "{ended:?}");
    let left = palace.court.soldiers();
    assert!(left.is_empty(), "still in the process table: {left:?}");
    assert_eq!(palace.court.names("rejected"), Vec::<String>::new());
}

fn nothing_is_under_way(palace: &Palace) {
    for place in OPEN {
        assert_eq!(palace.court.names(place), Vec::<String>::new(), "{place}");
    }
}

/// Each event that was handed in, and each reply, once.
fn each_event_is_one_task(palace: &Palace, made: &Files, tasks: &Files, events: u64) {
    let replies = made.keys().filter(|id| id.starts_with("evt-slack-reply-")).count();
    assert_eq!(replies, palace.answered.len());
    assert_eq!(palace.court.count("state/questions/answered"), replies);
    assert_eq!(made.len() as u64, events + replies as u64);
    assert_eq!(tasks.len(), made.len());
    let mut seen = BTreeSet::new();
    for (id, task) in tasks {
        let event = &made[task["event_id"].as_str().unwrap()];
        assert!(seen.insert(task["event_id"].as_str().unwrap()), "{} has two tasks", event["id"]);
        assert_eq!(event["dispatch"]["task_id"], **id);
        let is_failed = task["status"] == "failed";
        assert_eq!(event["status"], if is_failed { "failed" } else { "completed" }, "{event}");
        if replies_to(event).is_none() {
            assert_eq!(task["payload"], event["payload"]);
        }
    }
}

fn each_task_has_one_result(palace: &Palace, tasks: &Files) {
    let results = over(palace, "state/results");
    assert!(results.keys().eq(tasks.keys()), "{} results of {} tasks", results.len(), tasks.len());
    for (id, result) in &results {
        let (kind, status) = (tasks[id]["type"].as_str().unwrap(), result["status"].as_str().unwrap());
        let (expected, task_status) = match kind.rsplit('.').next().unwrap() {
            "fail" => ("failed", "failed"),
            "skip" => ("skipped", "skipped"),
            "ask" => ("needs_human", "needs_human"),
            _ => ("success", "completed"),
        };
        assert_eq!(status, expected, "{id}: {result}");
        assert_eq!(tasks[id]["status"], task_status, "{id}");
    }
}

/// The thread's start, one update for the start and for each retry, and the news of the end; nothing else.
fn each_message_is_due_once(palace: &Palace, tasks: &Files, messages: &Files) {
    let events = over(palace, "queue/events/completed");
    let mut due = BTreeMap::new();
    for (id, task) in tasks {
        let event = &events[task["event_id"].as_str().unwrap()];
        let end = if task["status"] == "needs_human" { "human_input_request" } else { "notification" };
        due.insert(text(&event["dispatch"]["thread_start"]), (id.clone(), "thread_start"));
        due.insert(text(&task["closing"]["message"]), (id.clone(), end));
        let updates = task["messages"].as_object().unwrap();
        assert_eq!(updates.len(), 1 + retries(task), "{task}");
        assert!(updates.contains_key("start"), "{task}");
        due.extend(updates.values().map(|update| (text(update), (id.clone(), "thread_update"))));
        if task["type"] == "plain.shout" {
            let message = text(&task["closing"]["proclamation"]);
            due.insert(message, (format!("proclamation-{id}"), "notification"));
        }
    }
    for (id, message) in messages {
        let (task, kind) = due.remove(id).unwrap_or_else(|| panic!("nobody asked for {message}"));
        assert_eq!((&message["context"]["task_id"], &message["type"]), (&task.into(), &kind.into()), "{id}");
        assert_eq!(message["status"], "sent", "{id}");
    }
    assert!(due.is_empty(), "never said: {due:?}");
}

/// How many attempts were followed by one that cost a retry; those that ended with their general cost none.
fn retries(task: &Value) -> usize {
    let attempts = task["attempts"].as_array().unwrap();
    let last = attempts.len() - 1;
    let costs = |attempt: &&Value| attempt["error"] != "the general ended";
    attempts[..last].iter().filter(costs).count()
}

/// Once, or twice where a kill came between the post and its record; never with another text.
fn each_message_is_posted(palace: &Palace, messages: &Files, kills: u64) {
    let mut posted: BTreeMap<String, Vec<SlackPost>> = BTreeMap::new();
    for post in palace.slack.posts() {
        posted.entry(post.id.clone()).or_default().push(post);
    }
    assert!(posted.keys().eq(messages.keys()), "{} posts of {} messages", posted.len(), messages.len());
    let repeats: usize = posted.values().map(|posts| posts.len() - 1).sum();
    // A life that was cut short at its start is a kill as well.
    assert!(repeats as u64 <= 2 * kills, "{repeats} repeats in {kills} kills");
    for (id, posts) in &posted {
        let expected = messages[id]["content"].as_str().unwrap();
        let expected = expected.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        assert!(posts.iter().all(|post| post.text == expected), "{id}: {posts:?}");
    }
}

fn no_attempt_ran_twice(palace: &Palace) {
    let mut begun = BTreeSet::new();
    for line in palace.lines() {
        assert!(line.starts_with("begin "), "{line}");
        assert!(begun.insert(line.clone()), "ran twice: {line}");
    }
}

fn replies_to(event: &Value) -> Option<&str> {
    event["payload"]["reply_context"]["task_id"].as_str()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text")).to_owned()
}

fn files_below(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok) {
        match entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            true => found.extend(files_below(&entry.path())),
            false => found.push(entry.path().to_string_lossy().into_owned()),
        }
    }
    found
}
