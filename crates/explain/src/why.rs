//! The answer to "why is this not running?".

use crate::{data::data, rows, template::fill};
use muster_model::{Explanation, Subject, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::borrow::Cow;
use utoipa::ToSchema;

/// The one rule that holds something back.
#[derive(Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Why {
    /// The kind of thing asked about: `run`, `device`, `task_device`, `node`, `worker`, `job`, `session`, `range`, `schedule` or
    /// `court_task`.
    pub kind: Cow<'static, str>,
    /// Its id.
    pub id: String,
    /// The code scripts match on.
    pub code: Cow<'static, str>,
    /// The rule of the contract that says so.
    pub rule: Cow<'static, str>,
    /// The answer for people.
    pub sentence: String,
    /// The objects and figures it refers to.
    #[schema(value_type = Object)]
    pub data: Map<String, Value>,
}

/// The code that holds something back, before it is put into words.
#[derive(Debug)]
pub struct Finding {
    /// The rule of the contract.
    pub rule: &'static str,
    /// The code, one of the table's.
    pub code: &'static str,
    /// An object with the values of the sentence.
    pub data: Value,
}

/// Puts an explanation of the engine into words.
#[must_use]
pub fn show(explanation: &Explanation, now: Timestamp) -> Why {
    let (kind, id) = kind_and_id(&explanation.subject);
    let (rule, code) = explanation.cause.rule_and_code();
    let why = Why::new(kind, id, Finding { rule, code, data: data(&explanation.cause) }, now);
    match explanation.heartbeat_late_since {
        Some(since) => why.with_late_heartbeat(since, now),
        None => why,
    }
}

/// The advice for a code.
#[must_use]
pub fn advice(code: &str) -> Option<&'static str> {
    rows().find(|row| row.code == code).map(|row| row.advice)
}

impl Why {
    /// Puts a finding about one thing into the words of the table.
    ///
    /// # Panics
    /// When the table has no such code.
    #[must_use]
    pub fn new(kind: &'static str, id: String, finding: Finding, now: Timestamp) -> Self {
        let Finding { rule, code, data } = finding;
        let row = rows().find(|row| row.code == code).expect("every code has a row: a test looks at all");
        let data = match data {
            Value::Object(data) => data,
            _ => Map::new(),
        };
        let noun = match kind {
            "task_device" => "task device",
            "court_task" => "court task",
            other => other,
        };
        let said = fill(row.says, &data, now);
        // A reason or a question written by a person may already end with a stop.
        let end = if said.ends_with(['.', '?', '!']) { "" } else { "." };
        let sentence = format!("The {noun} {id} {said}{end}");
        Self { kind: kind.into(), id, code: code.into(), rule: rule.into(), sentence, data }
    }

    /// Adds that the heartbeat of the node is late (N8c).
    fn with_late_heartbeat(mut self, since: Timestamp, now: Timestamp) -> Self {
        self.data.insert("heartbeat".to_owned(), "late".into());
        self.data.insert("heartbeat_late_since".to_owned(), since.0.into());
        let said = fill(LATE_HEARTBEAT, &self.data, now);
        self.sentence.push_str(&said);
        self
    }
}

/// The sentence about a late heartbeat; the dashboard's texts have the same.
const LATE_HEARTBEAT: &str =
    " Its heartbeat has been late for {heartbeat_late_since:ago}: restart its agent or look at its log.";

fn kind_and_id(subject: &Subject) -> (&'static str, String) {
    match subject {
        Subject::Job(job) => ("run", job.to_string()),
        Subject::Task(task) => ("task_device", task.to_string()),
        Subject::Lane(lane) => ("device", lane.to_string()),
        Subject::Worker(worker) => ("node", worker.to_string()),
        Subject::Session(session) => ("session", session.to_string()),
        Subject::Range(range) => ("range", range.to_string()),
        Subject::Renderer(worker) => ("worker", worker.to_string()),
        Subject::PoolJob(job) => ("job", job.to_string()),
        Subject::Member(worker) => ("worker", worker.to_string()),
        Subject::Schedule(schedule) => ("schedule", schedule.to_string()),
    }
}

#[cfg(test)]
mod tests;
