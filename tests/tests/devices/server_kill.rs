//! The server is killed again and again under load, and every promise it made must hold afterwards.
//!
//! `MUSTER_KILLS` says how many times (20), `MUSTER_SEED` which chance.

use muster_tests::{
    Dice, Server,
    load::{self, Ledger, Phase, check},
    until,
};
use std::thread;

/// N2, N5, Q1, Q2, Q7, Q15, I1, I8: no kill -9 loses or doubles what was acknowledged, and the work goes on.
#[test]
fn no_kill_breaks_a_promise() {
    let kills = std::env::var("MUSTER_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(20);
    let mut dice = Dice::announced();
    let mut server = Server::with(&SETTINGS);
    let ledger = Ledger::default();
    thread::scope(|scope| {
        let _end = ledger.end_with_scope();
        let clients = load::Clients { node: server.node(), admin: server.admin() };
        load::start(scope, &clients, &ledger, &mut dice);
        for _ in 0..kills {
            thread::sleep(dice.millis(150, 1100));
            server.kill9();
            if dice.percent(30) {
                server.restart_cut_short(dice.millis(0, 60));
            }
            server.restart();
            check::all(&server.database(), &server.node(), &ledger);
        }
        ledger.set_phase(Phase::Draining);
        let open = "SELECT count(*) FROM tasks WHERE open = 1";
        until("all runs end", || (server.database().count(open) == 0).then_some(()));
        ledger.set_phase(Phase::Over);
    });
    check::all(&server.database(), &server.node(), &ledger);
    check::drained(&server.database(), &ledger);
    println!("{kills} kills: {}", ledger.summary());
}

/// A lost answer is made good within a second, so that lost work shows as work that never ends.
const SETTINGS: [(&str, &str); 3] =
    [("MUSTER_NODES__REDELIVER_AFTER_S", "1"), ("MUSTER_OPERATIONS__SLOTS", "6"), ("MUSTER_LOG", "warn")];
