//! What the tables say, against what the programs wrote down themselves.

use crate::lab::Lab;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// One attempt: task and number.
type Attempt = (String, u64);

pub(crate) fn all(lab: &Lab) {
    let told = told(lab);
    let begun = begun(lab);
    for (attempt, events) in &told {
        check_order(attempt, events);
    }
    for attempt in &begun {
        let events =
            told.get(attempt).unwrap_or_else(|| panic!("{attempt:?} was executed and never reported"));
        assert!(events.iter().any(|event| event == "task_finished"), "{attempt:?} never ended: {events:?}");
    }
    let left = lab.processes();
    assert!(left.is_empty(), "still in the process table: {left:?}");
    for agent in &lab.agents {
        assert!(agent.aside().is_empty(), "set aside: {:?}", agent.aside());
    }
}

pub(crate) fn summary(lab: &Lab) -> String {
    let database = lab.server.database();
    let runs = database.count("SELECT count(*) FROM tasks");
    let events = database.count("SELECT count(*) FROM node_events");
    let restarted = database.count("SELECT count(*) FROM node_events WHERE body LIKE '%agent restarted%'");
    let timeouts = database.count("SELECT count(*) FROM node_events WHERE body LIKE '%timeout: %'");
    let begun = begun(lab).len();
    format!(
        "{runs} runs, {begun} programs begun, {events} events, {timeouts} timeouts, {restarted} interrupted"
    )
}

/// Every event of every attempt, in the order of arrival.
fn told(lab: &Lab) -> BTreeMap<Attempt, Vec<String>> {
    let mut told: BTreeMap<Attempt, Vec<String>> = BTreeMap::new();
    let mut ids = BTreeSet::new();
    let sql = "SELECT event_id, type, task_id, body FROM node_events WHERE task_id IS NOT NULL ORDER BY id";
    for row in lab.server.database().rows(sql) {
        let [id, kind, task, body] = row.try_into().unwrap();
        assert!(ids.insert(id.clone()), "{id} was applied twice");
        let body: Value = serde_json::from_str(&body).unwrap();
        let event = match body["step"].as_str() {
            Some(step) => format!("{step} {}", body["status"].as_str().unwrap()),
            None => kind,
        };
        told.entry((task, body["attempt"].as_u64().unwrap())).or_default().push(event);
    }
    told
}

/// What the programs wrote down; an attempt is executed once, a device runs one at a time.
fn begun(lab: &Lab) -> BTreeSet<Attempt> {
    let mut begun = BTreeSet::new();
    for line in lab.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        assert_eq!(words[0], "begin", "{line}");
        let attempt = (words[1].to_owned(), words[2].parse().unwrap());
        assert!(begun.insert(attempt), "executed twice: {line}");
    }
    begun
}

/// A prefix of what the workflow does, then the end; or the end alone of what was stopped before it began.
fn check_order(attempt: &Attempt, events: &[String]) {
    let (end, before) = events.split_last().unwrap();
    assert_eq!(end, "task_finished", "{attempt:?}: {events:?}");
    let whole = ORDER.iter().zip(before).all(|(wanted, event)| wanted == event);
    assert!(whole && before.len() <= ORDER.len(), "{attempt:?}: {events:?}");
}

const ORDER: [&str; 7] = [
    "task_started",
    "BOOTSTRAP running",
    "BOOTSTRAP done",
    "WORK running",
    "WORK done",
    "SETTLE running",
    "SETTLE done",
];
