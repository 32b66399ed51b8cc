//! The leader of three servers is killed again and again under the load of all dialects, and every promise must hold.
//!
//! `MUSTER_FAILOVERS` says how many times (3), `MUSTER_SEED` which chance.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod artifact;
mod calendar;
mod checkpoint;
mod court;
mod fence;
mod leader;
mod pause;
mod rebind;
mod stale;
mod takeover;
mod world;

use calendar::Calendar;
use muster_tests::{
    Dice,
    load::{Ledger, Phase},
};
use std::thread;
use takeover::Takeovers;
use world::World;

/// S18, S19, I1, I8, Q17: whichever server is asked, no kill -9 of the leader loses, doubles or alters what was
/// acknowledged to nodes, clients, sessions and the pool; every slot of a schedule makes its run once; the epochs rise,
/// no commit of an older one follows one of a newer, and the work goes on.
#[test]
fn no_kill_of_the_leader_breaks_a_promise() {
    let kills: u64 = std::env::var("MUSTER_FAILOVERS").ok().and_then(|text| text.parse().ok()).unwrap_or(3);
    let mut dice = Dice::announced();
    let mut world = World::start();
    let (ledger, mut takeovers) = (Ledger::default(), Takeovers::default());
    let mut calendar = Calendar::default();
    thread::scope(|scope| {
        let _end = ledger.end_with_scope();
        world.load(scope, &ledger, &mut dice);
        for _ in 0..kills {
            thread::sleep(dice.millis(500, 2500));
            calendar.make_one_due(&world.cluster);
            let killed = takeovers.kill_and_wait(&mut world, &ledger);
            calendar.check(&world.cluster);
            world.check(&ledger);
            world.cluster.servers[killed].restart();
            world.cluster.settle();
        }
        ledger.set_phase(Phase::Draining);
        world.work_off();
        ledger.set_phase(Phase::Over);
    });
    world.check(&ledger);
    world.check_drained(&ledger);
    calendar.check(&world.cluster);
    println!("{kills} kills of the leader: {}", ledger.summary());
    let (commits, epochs) = world.fence.counts();
    println!("{commits} commits in {epochs} epochs; {}", takeovers.summary());
}
