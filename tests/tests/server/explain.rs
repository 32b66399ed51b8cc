//! `muster explain` names the cause that was planted, for every kind of object (Q16).

mod court;
mod devices;
mod frames;
mod pool;

use muster_tests::{Court, Server, until};
use serde_json::Value;
use std::{cell::RefCell, collections::BTreeSet};

/// Causes that are planted one after the other, and what `muster explain` says of them.
struct Planted<'a> {
    server: &'a Server,
    cases: RefCell<Vec<(&'static str, bool)>>,
}

impl Planted<'_> {
    /// Asks about an object, in whose way a cause was put just now; gives the answer's data.
    fn check(&self, kind: &str, id: &str, code: &'static str) -> Value {
        let why = self.ask(kind, id);
        assert_eq!(why["kind"], kind);
        self.note(&why, id, code)
    }

    /// As [`Self::check`], for a cause that comes with time.
    fn wait(&self, kind: &str, id: &str, code: &'static str) -> Value {
        let why = until(&format!("{kind} {id} is {code}"), || {
            Some(self.ask(kind, id)).filter(|why| why["code"] == code)
        });
        assert_eq!(why["kind"], kind);
        self.note(&why, id, code)
    }

    fn note(&self, why: &Value, id: &str, code: &'static str) -> Value {
        let is_named = why["code"] == code;
        if !is_named {
            eprintln!("{id} should be {code}, not {why}");
        }
        let sentence = why["sentence"].as_str().unwrap();
        assert_eq!(why["id"], id);
        assert!(sentence.contains(id) && !sentence.contains(['{', '[']), "{why}");
        self.cases.borrow_mut().push((code, is_named));
        why["data"].clone()
    }

    fn ask(&self, kind: &str, id: &str) -> Value {
        let output = self.server.client_command(&["explain", kind, id, "--json"]).output().unwrap();
        assert!(output.status.success(), "{kind} {id}: {output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

/// Q16: of at least thirty causes, each planted and asked about with the real command, every one is named.
#[test]
fn every_planted_cause_is_named() {
    // The king waits for the chamberlain's first report, and then for nothing: this machine may be busy.
    let limits = "yellow_percent = 101\norange_percent = 102\nred_percent = 103";
    let mut court = Court::as_shipped().section("king", "obey_health = true").section("chamberlain", limits);
    let home = court.home();
    let settings = [
        ("MUSTER_NODES__OFFLINE_AFTER_S", "5"),
        ("MUSTER_POOL__OFFLINE_AFTER_S", "5"),
        ("MUSTER_SIMULATION__HEARTBEAT_MS", "2000"),
        ("MUSTER_NODES__DROPOUT_PAUSE_S", "60"),
        ("MUSTER_COURT__DIRECTORY", home.to_str().unwrap()),
    ];
    let server = Server::with(&settings);
    let planted = Planted { server: &server, cases: RefCell::default() };
    devices::plant(&planted);
    frames::plant(&planted);
    pool::plant(&planted);
    court::plant(&planted, &mut court);
    let cases = planted.cases.into_inner();
    let codes: BTreeSet<&str> = cases.iter().map(|(code, _)| *code).collect();
    let wrong: BTreeSet<&str> = cases.iter().filter(|(_, named)| !named).map(|(code, _)| *code).collect();
    println!("{} of {}", codes.len() - wrong.len(), codes.len());
    assert!(wrong.is_empty() && codes.len() >= 30, "not named: {wrong:?}");
}
