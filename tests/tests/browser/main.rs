//! The dashboard as people use it: a real Chromium before a real server with a living fleet.
//!
//! One test for each spec of `tests/browser`, each with a stage of its own, so that none waits for another and no order
//! matters. Screenshots are kept in `target/screenshots`, or where `MUSTER_SHOTS` says.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod stage;

use stage::Stage;
use std::{path::Path, process::Command};

#[test]
fn audit() {
    Stage::new().play("audit");
}

#[test]
fn court() {
    Stage::new().court().play("court");
}

/// Without a court, the page says how to connect one.
#[test]
fn no_court() {
    Stage::new().play("court");
}

#[test]
fn fleet() {
    Stage::new().devices().play("fleet");
}

#[test]
fn jobs() {
    Stage::new().pool().play("jobs");
}

#[test]
fn login() {
    Stage::new().play("login");
}

#[test]
fn overview() {
    Stage::new().devices().play("overview");
}

/// The feed is followed without a gap over a kill -9 of the server.
#[test]
fn resume() {
    Stage::new().devices().play("resume");
}

#[test]
fn roles() {
    Stage::new().everything().play("roles");
}

#[test]
fn runs() {
    Stage::new().devices().play("runs");
}

#[test]
fn schedules() {
    Stage::new().play("schedules");
}

#[test]
fn sessions() {
    Stage::new().frames().play("sessions");
}

#[test]
fn settings() {
    Stage::new().play("settings");
}

#[test]
fn users() {
    Stage::new().play("users");
}

/// Q16: the page says the sentence, in three languages, and leads to what blocks.
#[test]
fn why() {
    Stage::new().devices().pool().play("why");
}

#[test]
fn workers() {
    Stage::new().frames().pool().play("workers");
}

/// Makes `docs/images` anew.
#[test]
#[ignore = "changes the documentation: run it when the pages look different"]
fn pictures() {
    Stage::new().many_devices().frames().pool().play("pictures");
}

/// What the pages compute without a page: layouts, filters, receipts, texts.
#[test]
fn modules() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/dashboard");
    let tests = std::fs::read_dir(directory.join("tests/js")).unwrap().map(|entry| entry.unwrap().path());
    let tests: Vec<_> = tests.filter(|path| path.to_string_lossy().ends_with(".test.mjs")).collect();
    assert!(!tests.is_empty());
    let output = Command::new("node").arg("--test").args(&tests).current_dir(directory).output();
    let output = output.unwrap_or_else(|error| panic!("node cannot be run ({error}): ./test installs it"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

/// Every page in every language. One test for each language, so that they are looked at side by side.
mod pages {
    use crate::stage::Stage;

    #[test]
    fn in_english() {
        Stage::new().everything().play_in("pages", "en");
    }

    #[test]
    fn in_korean() {
        Stage::new().everything().play_in("pages", "ko");
    }

    #[test]
    fn in_portuguese() {
        Stage::new().everything().play_in("pages", "pt");
    }
}
