//! The server of contract P as far as a worker needs it; it loses responses as the test wants.

use crate::stand_in::{self, Answer, Call};
use axum::{
    Json,
    body::Bytes,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use muster_proof::{PublicKey, decode_signature, signed_bytes};
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};

/// A fault in a call.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fault {
    /// It is done, and the answer breaks off.
    Lost,
    /// It is not done: this status with these words.
    Status(u16, &'static str),
}

/// What the server knows and has heard.
#[derive(Default)]
pub(crate) struct Desk {
    pub(crate) calls: Vec<Call>,
    /// Given once each, by the end of the path.
    pub(crate) faults: BTreeMap<&'static str, VecDeque<Fault>>,
    /// Given always, by the end of the path.
    pub(crate) standing: BTreeMap<&'static str, Fault>,
    tokens: u64,
    is_token_over: bool,
    /// The key of worker 7, once it is registered.
    pub(crate) key: Option<String>,
    /// Other workers of the same owner.
    pub(crate) others: Vec<Value>,
    /// Payloads by assignment that wait for a poll.
    pub(crate) queue: VecDeque<(u64, Value)>,
    pub(crate) started: BTreeMap<u64, Value>,
    /// The bodies that were taken.
    pub(crate) results: BTreeMap<u64, Bytes>,
}

/// A stand-in of the server.
pub(crate) type StandIn = stand_in::StandIn<Desk>;

impl StandIn {
    pub(crate) fn start() -> Self {
        Self::with(Desk::default())
    }

    pub(crate) fn hand_out(&self, assignment: u64, payload: Value) {
        self.change(|desk| desk.queue.push_back((assignment, payload)));
    }

    pub(crate) fn fail_once(&self, end: &'static str, fault: Fault) {
        self.desk().faults.entry(end).or_default().push_back(fault);
    }

    pub(crate) fn fail_always(&self, end: &'static str, fault: Option<Fault>) {
        let mut desk = self.desk();
        desk.standing.remove(end);
        desk.standing.extend(fault.map(|fault| (end, fault)));
    }

    /// The token that was given last is over.
    pub(crate) fn end_token(&self) {
        self.desk().is_token_over = true;
    }

    /// The result of an assignment, once it was taken.
    pub(crate) async fn result(&self, assignment: u64) -> Value {
        let body = self.until(|desk| desk.results.get(&assignment).cloned()).await;
        serde_json::from_slice(&body).unwrap()
    }

    /// What was called, in order, heartbeats left out.
    pub(crate) fn calls(&self) -> Vec<String> {
        let calls = self.desk().calls.clone();
        calls.into_iter().map(|call| call.what).filter(|what| what != "POST workers/heartbeat").collect()
    }
}

impl stand_in::Desk for Desk {
    /// A poll that resumes is `jobs/resume`.
    fn name(path: &str, body: &Value) -> String {
        let path = if body["resume"] == true { "jobs/resume" } else { path.trim_start_matches('/') };
        path.to_owned()
    }

    fn calls(&mut self) -> &mut Vec<Call> {
        &mut self.calls
    }

    fn answer(&mut self, call: &Call) -> Answer {
        let fault = self.faults.get_mut(call.end()).and_then(VecDeque::pop_front);
        match fault.or(self.standing.get(call.end()).copied()) {
            Some(Fault::Status(status, detail)) => Answer::Now(problem(status, detail)),
            Some(Fault::Lost) => Answer::Lost { awaits_work: self.respond(call).is_none() },
            None => self.respond(call).map_or(Answer::WithWork, Answer::Now),
        }
    }

    fn next_work(&mut self) -> Option<Value> {
        let (id, payload) = self.queue.pop_front()?;
        self.started.insert(id, payload.clone());
        Some(handed(id, &payload))
    }
}

impl Desk {
    /// Responds to a call; nothing where it has to wait for work.
    fn respond(&mut self, call: &Call) -> Option<Response> {
        let (what, body) = (call.what.as_str(), &call.body);
        if what == "POST auth/login" {
            let is_right = body == "username=owner&password=pass";
            return Some(if is_right {
                self.admit()
            } else {
                problem(401, "Incorrect username or password")
            });
        }
        if call.credential != format!("Bearer token-{}", self.tokens) || self.is_token_over {
            return Some(problem(401, "Invalid token"));
        }
        let json = call.json();
        Some(match what {
            "POST auth/refresh" => self.admit(),
            "GET workers" => {
                let known = self.key.iter().map(|key| worker(key));
                let known = self.others.iter().cloned().chain(known).collect::<Vec<_>>();
                Json(json!({ "workers": known })).into_response()
            }
            "POST workers/register" | "PUT workers/7/key" => {
                self.key = Some(json["public_key"].as_str().unwrap().to_owned());
                Json(worker(self.key.as_deref().unwrap())).into_response()
            }
            "POST workers/heartbeat" => Json(json!({"worker_id": 7, "last_seen_at": "now"})).into_response(),
            "POST jobs/resume" => {
                let started = self.started.iter().map(|(id, payload)| handed(*id, payload));
                Json(json!({"assignments": started.collect::<Vec<_>>()})).into_response()
            }
            "POST jobs/poll" => {
                return stand_in::Desk::next_work(self).map(|handed| Json(handed).into_response());
            }
            "POST jobs/submit" => self.submit(&json, body),
            _ => problem(404, "no such page"),
        })
    }

    fn admit(&mut self) -> Response {
        (self.tokens, self.is_token_over) = (self.tokens + 1, false);
        Json(json!({"access_token": format!("token-{}", self.tokens), "token_type": "bearer", "expires_in": 900}))
            .into_response()
    }

    /// P8, in its order, as far as it matters here.
    fn submit(&mut self, json: &Value, body: &Bytes) -> Response {
        let id = json["assignment_id"].as_u64().unwrap();
        let signature = decode_signature(json["signature"].as_str().unwrap()).unwrap();
        let signed = signed_bytes(id, json["nonce"].as_str().unwrap(), json["output_hash"].as_str());
        let key = PublicKey::decode(self.key.as_deref().unwrap()).unwrap();
        if !key.verify(&signed, &signature) {
            return problem(400, "Signature verification failed");
        }
        if json["nonce"] != nonce(id) {
            return problem(400, "Invalid nonce");
        }
        match self.results.get(&id) {
            Some(taken) if taken == body => {
                let mut answer = problem(409, "Assignment already submitted");
                answer.headers_mut().insert("muster-identical", "true".parse().unwrap());
                answer
            }
            Some(_) => problem(409, "Assignment already submitted"),
            None if self.started.remove(&id).is_none() => {
                problem(409, "Assignment is not in a submittable state")
            }
            None => {
                self.results.insert(id, body.clone());
                Json(json!({"assignment_id": id, "status": "completed", "finished_at": "now"}))
                    .into_response()
            }
        }
    }
}

fn worker(key: &str) -> Value {
    json!({"id": 7, "name": "W", "owner_user_id": 1, "status": "offline", "region": null, "specs_json": null,
        "public_key": key, "last_seen_at": null})
}

fn handed(id: u64, payload: &Value) -> Value {
    json!({"assignment_id": id, "job": payload, "nonce": nonce(id), "cost_hint_tokens": 0})
}

fn nonce(id: u64) -> String {
    format!("nonce-{id}")
}

fn problem(status: u16, detail: &str) -> Response {
    let status = StatusCode::from_u16(status).unwrap();
    let body = json!({"type": "about:blank", "status": status.as_u16(), "detail": detail});
    let mut answer = (status, Json(body)).into_response();
    if status == StatusCode::SERVICE_UNAVAILABLE {
        answer.headers_mut().insert("retry-after", "0".parse().unwrap());
    }
    answer
}
