//! Several servers on one store: whatever befalls the one that leads, at whatever instant, costs nothing but time.

use muster_faultsim::{Blow, Stage};
use muster_model::Millis;

/// S18, S19: a run is under way when something befalls the leader, a little later in every world: before, in and after
/// commits, between a commit and its answer, while work is handed out and while it is reported.
#[test]
fn a_leader_is_lost_at_every_instant() {
    for blow in Blow::ALL {
        let takeovers: u64 = (0..INSTANTS).map(|instant| live_through(blow, instant)).sum();
        // A server that no client reaches leads all the same.
        let expected = if blow == Blow::NoClients { 0 } else { u64::from(INSTANTS) };
        assert!(takeovers >= expected, "{blow:?} was no reason to take over: {takeovers} of {INSTANTS}");
    }
}

/// S18: each of three servers after the other is lost for good, until one is left; that one does all the work.
#[test]
fn one_server_is_enough() {
    let mut stage = held(Stage::with_servers(7, 3));
    held(stage.pass(Millis::from_secs(5)));
    for _ in 0..2 {
        held(stage.strike(Blow::Crash, Millis::from_secs(100_000)));
        held(stage.pass(Millis::from_secs(5)));
    }
    ends_well(stage);
}

/// S18: where nobody leads for minutes, the agent goes on by itself, and all that it did counts afterwards.
#[test]
fn all_servers_may_be_away_for_a_while() {
    let mut stage = held(Stage::with_servers(11, 3));
    held(stage.pass(Millis::from_secs(5)));
    stage.submit();
    held(stage.pass(Millis::from_secs(20)));
    for _ in 0..3 {
        held(stage.strike(Blow::Crash, Millis::from_secs(200)));
        held(stage.pass(Millis::from_secs(6)));
    }
    held(stage.pass(Millis::from_secs(240)));
    held(stage.come_to_rest());
    assert_eq!((stage.account().completed, stage.account().failed), (12, 0));
}

/// Instants at which a leader is lost, five milliseconds apart.
const INSTANTS: u32 = 40;

/// One world; answers how often the lead changed after it was taken first.
fn live_through(blow: Blow, instant: u32) -> u64 {
    let mut stage = held(Stage::with_servers(instant.into(), 3));
    held(stage.pass(Millis::from_secs(5)));
    stage.submit();
    held(stage.pass(Millis(i64::from(instant) * 5)));
    held(stage.strike(blow, Millis::from_secs(8)));
    held(stage.pass(Millis::from_secs(30)));
    if stage.account().attempts == 0 {
        // It was lost with the leader; whoever wanted it was not told that it was taken.
        stage.submit();
        held(stage.pass(Millis::from_secs(30)));
    }
    let takeovers = stage.seen("lead taken") - 1;
    held(stage.come_to_rest());
    assert_eq!((stage.account().completed, stage.account().failed), (12, 0), "{blow:?} at {instant}");
    takeovers
}

fn ends_well(mut stage: Stage) {
    stage.submit();
    held(stage.pass(Millis::from_secs(20)));
    held(stage.come_to_rest());
    assert_eq!((stage.account().completed, stage.account().failed), (12, 0));
}

fn held<T>(result: Result<T, String>) -> T {
    result.unwrap_or_else(|broken| panic!("{broken}"))
}
