//! Worlds without a planted bug hold.

use muster_sim::{Scenario, run};

/// N1, N2, N5, N6b, N7, N14, N15, N15b, N16, N17, N18, N19, N20, N22b, Q2, Q5, Q6, Q7, Q9, Q10, Q11, Q12: nothing a hundred
/// worlds do breaks a rule.
#[test]
fn a_hundred_worlds_hold() {
    for seed in 0..100 {
        if let Err(failure) = run(&Scenario::new(seed)) {
            panic!("{failure}\n{}", failure.trace.join("\n"));
        }
    }
}

#[test]
fn a_seed_gives_the_same_world_every_time() {
    let (first, second) = (run(&Scenario::new(7)), run(&Scenario::new(7)));
    let (first, second) = (first.expect("it holds"), second.expect("it holds"));
    assert_eq!((first.lasted, first.coverage), (second.lasted, second.coverage));
}
