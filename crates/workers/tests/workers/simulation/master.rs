//! The master of contract S: it takes whatever a worker says, and answers as the test wants.

use crate::stand_in::{self, Answer, Call, torn};
use axum::{
    http::StatusCode,
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// What the master says and has heard.
#[derive(Default)]
pub(crate) struct Script {
    pub(crate) calls: Vec<Call>,
    /// Tasks to be handed out.
    pub(crate) tasks: VecDeque<Value>,
    /// Said once, to the next heartbeat.
    pub(crate) commands: Vec<Value>,
    pub(crate) factor: f64,
    pub(crate) epoch: u64,
    answers: BTreeMap<&'static str, VecDeque<u16>>,
    /// Nothing but 503.
    pub(crate) is_down: bool,
    /// The term is told in a header alone.
    pub(crate) is_tacit: bool,
    /// Servers that were replaced and do not know it: they know nobody.
    pub(crate) deposed: BTreeMap<String, u64>,
    /// Servers that say nothing at all.
    pub(crate) silent: BTreeSet<String>,
    next_id: u64,
}

/// A stand-in of the master: one of its servers.
pub(crate) type StandIn = stand_in::StandIn<Script>;

impl StandIn {
    /// Starts with answers that are given once each, by the end of the path; 0 is an answer that breaks off.
    pub(crate) fn start(answers: &[(&'static str, u16)]) -> Self {
        let mut script = Script { factor: 1.0, epoch: 1, next_id: 9_000_000, ..Script::default() };
        for (end, status) in answers {
            script.answer_once(end, *status);
        }
        Self::with(script)
    }

    pub(crate) fn hand_out(&self, task: Value) {
        self.change(|script| script.tasks.push_back(task));
    }
}

impl stand_in::Desk for Script {
    fn name(path: &str, _body: &Value) -> String {
        path.trim_start_matches("/api/v1/").to_owned()
    }

    fn calls(&mut self) -> &mut Vec<Call> {
        &mut self.calls
    }

    fn answer(&mut self, call: &Call) -> Answer {
        let response = self.respond(call);
        if self.silent.contains(&call.at) {
            return Answer::Never;
        }
        let is_pull = call.what.starts_with("GET workers/");
        match response {
            Some(response) => Answer::Now(response),
            None if is_pull => Answer::WithWork,
            None => Answer::Now(StatusCode::NOT_FOUND.into_response()),
        }
    }

    fn next_work(&mut self) -> Option<Value> {
        self.tasks.pop_front().map(|task| json!({ "task": task }))
    }

    fn sign(&self, at: &str, response: &mut Response) {
        response.headers_mut().insert("muster-epoch", self.epoch_at(at).into());
    }
}

impl Script {
    /// Has the next call whose path ends so answered so.
    pub(crate) fn answer_once(&mut self, end: &'static str, status: u16) {
        self.answers.entry(end).or_default().push_back(status);
    }

    fn respond(&mut self, call: &Call) -> Option<Response> {
        let end = call.end();
        if self.is_down {
            return Some(StatusCode::SERVICE_UNAVAILABLE.into_response());
        }
        match self.answers.get_mut(end).and_then(VecDeque::pop_front) {
            Some(0) => return Some(torn()),
            Some(status) => return Some(StatusCode::from_u16(status).unwrap().into_response()),
            None => {}
        }
        let is_known = call.credential == self.token() && !self.deposed.contains_key(&call.at);
        if end != "register" && !is_known {
            return Some(StatusCode::UNAUTHORIZED.into_response());
        }
        let body = match end {
            "register" => {
                json!({"workerToken": self.token(), "heartbeatIntervalMs": BEAT_MS, "epoch": self.epoch,
                "idRangeEndpoint": "/api/v1/id-ranges"})
            }
            "heartbeat" | "rebind" => {
                json!({"state": "Healthy", "epoch": (!self.is_tacit).then_some(self.epoch),
                "backpressure": {"level": "ok", "factor": self.factor},
                "commands": std::mem::take(&mut self.commands)})
            }
            "id-ranges" => {
                self.next_id += 100;
                json!({"chunkId": self.next_id, "range": [self.next_id, self.next_id + 100]})
            }
            "tasks" => return None,
            _ => json!({}),
        };
        Some(axum::Json(body).into_response())
    }

    /// The term that a server believes to be in.
    fn epoch_at(&self, url: &str) -> u64 {
        self.deposed.get(url).copied().unwrap_or(self.epoch)
    }

    /// The token of the latest registration.
    pub(crate) fn token(&self) -> String {
        let registered = self.calls.iter().filter(|call| call.what == "POST workers/register").count();
        format!("token-{registered}")
    }
}

/// Often, so that nobody has to wait long for a worker to give up; not so often that a busy machine makes it do so.
const BEAT_MS: u64 = 300;
