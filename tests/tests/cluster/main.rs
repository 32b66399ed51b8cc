//! Several servers on one PostgreSQL database: takeovers, cut lines, wrong clocks, full disks.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod faults;
mod fence;
mod kill;
mod servers;
mod sessions;

use muster_tests::{
    Cluster, Dice,
    load::{Ledger, Phase, jobs},
    wait_until,
};
use std::{thread, time::Duration};

/// Has something happen while jobs are handed in through all servers. Afterwards all that was acknowledged must be there,
/// once, and nothing else; and more is taken than before.
pub(crate) fn under_load(cluster: &Cluster, harm: impl FnOnce(&Ledger)) -> Ledger {
    let ledger = Ledger::default();
    let client = cluster.user("carl", &["CLIENT"]).with_patience(PATIENCE);
    let mut dice = Dice::announced();
    thread::scope(|scope| {
        let _end = ledger.end_with_scope();
        let writer = |luck| {
            let (client, ledger) = (client.clone(), &ledger);
            scope.spawn(move || jobs::hand_in_jobs(&client, ledger, luck))
        };
        let writers: Vec<_> = (0..WRITERS).map(|_| writer(dice.split())).collect();
        flows(&ledger);
        harm(&ledger);
        flows(&ledger);
        ledger.set_phase(Phase::Draining);
        writers.into_iter().for_each(|writer| writer.join().unwrap());
    });
    println!("{}", ledger.summary());
    ledger
}

/// Waits until more is taken; that may have been asked for before.
pub(crate) fn flows(ledger: &Ledger) {
    let taken = || ledger.acked().jobs.len();
    let before = taken();
    wait_until("jobs are taken", || taken() > before + 5 * WRITERS);
}

const WRITERS: usize = 3;

/// Longer than a server keeps anybody waiting for a leader.
const PATIENCE: Duration = Duration::from_secs(10);
