//! The backend goes away and comes back; the agent is the real one, over the real spool.

use muster_agent::core::Status;
use muster_faultsim::Stage;
use muster_model::Millis;

/// N16, N19, N20: the backend is away for ten minutes. Execution goes on, the spool grows, `degraded` shows, everything
/// drains in order on return, and the run's counts are right.
#[test]
fn a_backend_that_is_away_for_ten_minutes_costs_nothing_but_time() {
    for seed in 0..20 {
        let mut stage = begun(seed);
        held(stage.backend_dies());
        live_through(20, &mut stage);
        stage.backend_returns();
        returns_to_order(stage);
    }
}

/// N16, N20: the same while the coordinator lives and only the wire is cut, for less than a lease: the node is offline,
/// what it holds stays its own, and what it did meanwhile counts.
#[test]
fn a_wire_that_is_cut_for_less_than_a_lease_costs_nothing_but_time() {
    for seed in 0..20 {
        let mut stage = begun(seed);
        stage.set_cut(true);
        live_through(9, &mut stage);
        stage.set_cut(false);
        returns_to_order(stage);
    }
}

/// A run on twelve devices, of which the agent holds as many as it can.
fn begun(seed: u64) -> Stage {
    let mut stage = held(Stage::new(seed));
    held(stage.pass(Millis::from_secs(5)));
    stage.submit();
    held(stage.pass(Millis::from_secs(20)));
    let agent = agent(&stage);
    assert!(agent.running > 0 && !agent.degraded && agent.reachable, "{agent:?}");
    stage
}

/// So many half minutes without an answer.
fn live_through(spans: u32, stage: &mut Stage) {
    let before = agent(stage);
    let mut spooled = 0;
    for _ in 0..spans {
        held(stage.pass(Millis::from_secs(30)));
        let agent = agent(stage);
        assert!(agent.spooled >= spooled, "nothing is lost: {agent:?}");
        spooled = agent.spooled;
    }
    let agent = agent(stage);
    assert!(agent.degraded && !agent.reachable, "it shows: {agent:?}");
    assert_eq!((agent.running, agent.queued), (0, 0), "all that it held was executed");
    // At least the ends of what ran, and beginnings and ends of what waited.
    assert!(spooled >= before.running + 2 * before.queued, "{before:?} became {agent:?}");
}

fn returns_to_order(mut stage: Stage) {
    held(stage.pass(Millis::from_secs(40)));
    let agent = agent(&stage);
    assert!(!agent.degraded && !agent.recovering, "{agent:?}");
    held(stage.come_to_rest());
    let account = stage.account();
    assert_eq!((account.completed, account.failed), (12, 0), "{account:?}");
    let told = account.told.last().copied().unwrap_or_default();
    assert_eq!((told.succeeded, told.failed), (12, 0), "{account:?}");
    assert!(account.alerts.is_empty(), "{account:?}");
}

fn agent(stage: &Stage) -> Status {
    stage.agent().unwrap_or_else(|| panic!("the agent is down"))
}

fn held<T>(result: Result<T, String>) -> T {
    result.unwrap_or_else(|broken| panic!("{broken}"))
}
