//! A client that has one small session of frames rendered after the other.

use super::{Ledger, PAUSE, Phase, patient};
use crate::{Client, Request, frames};
use serde_json::{Value, json};
use std::{path::Path, thread};

/// Submits a session, waits until it is complete, and submits the next.
pub fn render_sessions(client: &Client, ledger: &Ledger) {
    for number in 1.. {
        let id = format!("load-{number}");
        let body = json!({"sessionId": id, "totalFrames": FRAMES, "framesPerTask": 10, "scenario": {"fps": 30},
            "cameras": ["front"], "qualityMode": "strict"});
        let submit = Request::new("POST", "/api/v1/sessions").json(&body);
        let look = Request::new("GET", &format!("/api/v1/sessions/{id}"));
        if ledger.phase() != Phase::Loading || ask(client, ledger, &submit).is_none() {
            return;
        }
        ledger.acked().sessions.push(id);
        while let Some(shown) = ask(client, ledger, &look).filter(|shown| shown["status"] != "completed") {
            assert_eq!(shown["status"], "running", "{shown}");
            thread::sleep(PAUSE * 10);
        }
    }
}

/// Holds the files to the sessions that were acknowledged, all of which must be complete.
pub fn check(output: &Path, ledger: &Ledger) {
    for session in &ledger.acked().sessions {
        frames::check_session(output, session, FRAMES);
    }
    frames::no_id_is_used_twice(output);
}

/// Asks until there is an answer, or everything is over. A repeat is answered as the first.
fn ask(client: &Client, ledger: &Ledger, request: &Request) -> Option<Value> {
    while ledger.phase() != Phase::Over {
        match patient(client.try_send(request.clone())) {
            Ok(answer) if answer.is_success() => return Some(answer.json()),
            Ok(answer) => panic!("{}", answer.text()),
            Err(_) => thread::sleep(PAUSE),
        }
    }
    None
}

const FRAMES: u64 = 40;
