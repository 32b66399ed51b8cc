//! The agents and the server are killed again and again under load, each by itself, and nothing may get lost between a
//! device and the tables.
//!
//! `MUSTER_KILLS` says how many times (20), `MUSTER_SEED` which chance.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod check;
mod lab;

use lab::Lab;
use muster_tests::{Dice, until};
use serde_json::json;
use std::thread;

/// N18, N19, N22b: every task's events arrive complete, in order and once; no device ever runs two tasks; what timed
/// out is gone from the process table.
#[test]
fn no_kill_loses_an_event_or_drives_a_device_twice() {
    let kills = std::env::var("MUSTER_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(20);
    let mut dice = Dice::announced();
    let mut lab = Lab::start();
    for _ in 0..kills {
        // A few runs are always waiting, so that nobody is ever without work.
        while lab.open_runs() < 3 {
            submit(&lab, &mut dice);
        }
        thread::sleep(dice.millis(100, 900));
        match dice.below(5) {
            0 | 1 => lab.kill_server(dice.millis(0, 400)),
            2 | 3 => lab.kill_agent(dice.below(2), dice.millis(0, 300)),
            _ => lab.kill_both(dice.below(2)),
        }
    }
    until("all runs end", || (lab.open_runs() == 0).then_some(()));
    until("all spools are empty", || lab.are_agents_quiet().then_some(()));
    check::all(&lab);
    println!("{kills} kills: {}", check::summary(&lab));
}

/// One run in three begins with steps that never end by themselves.
fn submit(lab: &Lab, dice: &mut Dice) {
    let manner = if dice.percent(30) { "hang" } else { "work" };
    let _ =
        lab.server.submit(&json!({"workflow_id": "lab", "params": {"MANNER": manner}, "max_attempts": 50}));
}
