//! The checks bite: every planted bug is found by some world, and no world without one fails.

use muster_faultsim::{Failure, Planted, Scenario, run};
use std::{
    iter, panic,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

/// Worlds that may be needed to find a bug.
const SEEDS_MAX: u64 = 3000;

/// Each of these rules broken on purpose is noticed: N2, N5, N6b, N15b, N17, N18, N19, N20, N22b, N25, Q2, Q3, Q5, Q6, Q7, Q9, Q9b,
/// Q10, Q11, Q14, Q15, Q17, P5, P6, P8, P11, P13, P14, P15, P18, P20, S1, S2, S3, S5, S6, S8, S9, S10, S12, S13, S15, S16, S17, S18, S19, S21, S23b, S26, S26b.
#[test]
fn every_planted_bug_is_found() {
    // Some bugs show as a panic inside the engine; the world reports it, the hook need not.
    panic::set_hook(Box::new(|_| ()));
    let found = search_for_all(&Planted::all().collect::<Vec<_>>());
    drop(panic::take_hook());
    println!("{:<26} {:>5}  check", "planted bug", "seeds");
    for (planted, failure) in &found {
        let (seeds, check) = failure.as_ref().map_or((SEEDS_MAX, "-"), |found| (found.seed + 1, found.check));
        println!("{:<26} {seeds:>5}  {check}", planted.name());
    }
    let missed: Vec<_> =
        found.iter().filter(|(_, failure)| failure.is_none()).map(|(bug, _)| bug.name()).collect();
    assert!(missed.is_empty(), "not found in {SEEDS_MAX} worlds: {missed:?}");
}

/// All of them, on as many threads as there are cores: some take a thousand worlds.
fn search_for_all(bugs: &[Planted]) -> Vec<(Planted, Option<Box<Failure>>)> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mine = iter::from_fn(|| bugs.get(next.fetch_add(1, Ordering::Relaxed)));
        mine.map(|planted| (*planted, search(*planted))).collect::<Vec<_>>()
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("a search ends")).collect()
    })
}

/// The first world that notices the bug.
fn search(planted: Planted) -> Option<Box<Failure>> {
    let scenario = |seed| Scenario { planted: Some(planted), ..Scenario::new(seed) };
    (0..SEEDS_MAX).find_map(|seed| run(&scenario(seed)).err())
}
