//! Thousands of events while the court is killed, as a whole and role by role; and nothing may be missing or twice.
//!
//! `MUSTER_EVENTS` says how many events (300); there is a kill for every fifty, ten at least. `MUSTER_SEED` says which chance.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod check;
mod palace;
mod soldier;

use muster_tests::Dice;
use palace::Palace;
use std::thread;

/// C2, C3, C4, C5, C6, C8, C9, C13, C14, C16, C18, C21: each event is exactly one task, one result and one message of
/// each kind that is due, and one post each unless the kill hit the post in flight; no file is in two states, none is
/// left over, and nothing is stuck.
#[test]
fn no_kill_loses_or_doubles_an_event() {
    let events: u64 = std::env::var("MUSTER_EVENTS").ok().and_then(|text| text.parse().ok()).unwrap_or(300);
    let kills = (events / 50).max(10);
    let mut dice = Dice::announced();
    let mut palace = Palace::open(&mut dice);
    for round in 1..=kills {
        palace.hand_in(events * round / kills, &mut dice);
        palace.reply();
        thread::sleep(dice.millis(0, 900));
        palace.kill(&mut dice);
        palace.work_off(BACKLOG_MAX);
    }
    palace.work_off(0);
    palace.post_all();
    check::all(&mut palace, events, kills);
    println!("{kills} kills: {}", check::summary(&palace, events));
}

/// Enough that every role always has something to do, and little enough that a kill is soon made good.
const BACKLOG_MAX: usize = 120;
