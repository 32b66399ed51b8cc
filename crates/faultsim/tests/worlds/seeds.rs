//! Worlds without a planted bug hold.

use muster_faultsim::{Coverage, Scenario, run};

/// N1, N2, N5, N6b, N7, N14, N15, N15b, N16, N17, N18, N19, N20, N22b, N25, Q2, Q5, Q6, Q7, Q7b, Q9, Q9b, Q10, Q11, Q12, Q17, S1, S2, S3, S5, S5b, S6,
/// S8, S8b, S9, S10, S11, S12, S13, S14, S15, S16, S17, S18, S19, S20b, S21, S23b, S26, S26b, P3, P5, P6, P7, P8, P11, P13, P14, P15, P16, P18, P19: nothing a hundred worlds do breaks a rule.
#[test]
fn a_hundred_worlds_hold() {
    let mut seen = Coverage::default();
    for seed in 0..100 {
        match run(&Scenario::new(seed)) {
            Ok(summary) => seen.add(&summary.coverage),
            Err(failure) => panic!("{failure}\n{}", failure.trace.join("\n")),
        }
    }
    for what in SEEN {
        assert!(seen.of(what) > 0, "a sleeping world is no safe one; never: {what}");
    }
}

/// S18, S19: whoever leads, and however often that changes, no rule breaks and nothing that was acknowledged is lost.
#[test]
fn worlds_with_several_servers_hold() {
    let mut seen = Coverage::default();
    for seed in 0..60 {
        let servers = Some(2 + usize::try_from(seed % 3).unwrap());
        match run(&Scenario { servers, ..Scenario::new(seed) }) {
            Ok(summary) => seen.add(&summary.coverage),
            Err(failure) => panic!("{failure}\n{}", failure.trace.join("\n")),
        }
    }
    for what in SEEN_AMONG_SERVERS {
        assert!(seen.of(what) > 0, "a sleeping world is no safe one; never: {what}");
    }
}

#[test]
fn a_seed_gives_the_same_world_every_time() {
    for seed in [6, 7, 9] {
        let (first, second) = (run(&Scenario::new(seed)), run(&Scenario::new(seed)));
        let (first, second) = (first.expect("it holds"), second.expect("it holds"));
        assert_eq!((first.lasted, first.coverage), (second.lasted, second.coverage));
    }
}

/// Some of what must happen to runs, to schedules, to sessions and to the pool in a hundred worlds.
const SEEN: [&str; 58] = [
    "reports sent together by an agent",
    "reports sent together by a foreign node",
    "report twice in a batch",
    "batch of reports answered",
    "event of a batch refused",
    "batch of reports refused as a whole",
    "request with a mistake refused",
    "retry of a run asked",
    "call refused",
    "slot fired",
    "session completed",
    "session failed",
    "session reopened",
    "range halved",
    "frame given up",
    "range skipped by a manifest",
    "failed range retried",
    "report resent with a new timestamp",
    "session cancelled",
    "range completed",
    "range given out anew",
    "range lost with its worker",
    "range failed",
    "range stalled",
    "range of an earlier term",
    "range of an earlier incarnation",
    "range retired",
    "further ids granted",
    "push taken",
    "push failed",
    "worker in quarantine",
    "worker removed",
    "completion that is wrong",
    "worker gives itself up",
    "jobs handed in",
    "jobs handed in again",
    "cancel of a pool job asked",
    "pool job completed",
    "pool job failed",
    "pool job cancelled",
    "assignment completed",
    "assignment failed",
    "assignment expired",
    "assignment revoked",
    "result with a wrong nonce",
    "result handed in again",
    "result handed in late",
    "result signed with another key",
    "true hash with a false output",
    "vote without its output",
    "result with a wrong hash",
    "old result handed in",
    "result set aside",
    "key changed",
    "key of muster's own worker changed",
    "member crashed",
    "member frozen",
    "member ends",
];

/// Some of what must happen among servers in sixty worlds.
const SEEN_AMONG_SERVERS: [&str; 24] = [
    "lead taken",
    "lead taken by another",
    "leader stands still",
    "follower stands still",
    "leader steps down",
    "sign of life refused",
    "stale commit refused",
    "batch of a life that is over kept",
    "empty batch sent to the store",
    "memory read ahead used",
    "memory read ahead too old",
    "crash in a commit, all kept",
    "crash in a commit, nothing kept",
    "commit failed, yet kept",
    "coordinator stopped",
    "connection of the leader lost",
    "server cut off from the store",
    "server cannot show that it lives",
    "server cut off from everybody outside",
    "server cut off from the others",
    "store away",
    "request forwarded",
    "forwarded to one that does not lead",
    "range of an earlier term",
];
