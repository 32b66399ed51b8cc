//! How long nobody leads.

use crate::world::World;
use muster_tests::{
    Stopwatch,
    load::{Ledger, jobs},
};
use std::time::Duration;

/// From each kill to the first write that a surviving server acknowledged.
#[derive(Default)]
pub(crate) struct Takeovers(Vec<Duration>);

impl Takeovers {
    /// Kills the leader and hands a job to the others until it is taken; says which server is gone.
    pub(crate) fn kill_and_wait(&mut self, world: &mut World, ledger: &Ledger) -> usize {
        let before = world.cluster.settle();
        let survivors = world.cluster.without(before.index).with_token(world.client.token().unwrap());
        let watch = Stopwatch::start();
        world.cluster.servers[before.index].kill9();
        jobs::hand_in(&survivors, ledger);
        let took = watch.elapsed();
        assert!(took < LIMIT, "nobody took over within {LIMIT:?}");
        println!("takeover in {} ms", took.as_millis());
        self.0.push(took);
        let after = world.cluster.leader_after(before.epoch);
        assert_eq!(world.fence.epoch(), after.epoch);
        before.index
    }

    /// The median, the 99th percentile and the longest of all.
    pub(crate) fn summary(&self) -> String {
        let mut sorted = self.0.clone();
        sorted.sort();
        let at = |percent: usize| {
            let index = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
            sorted.get(index).map_or(0, Duration::as_millis)
        };
        format!("takeovers: p50 {} ms, p99 {} ms, max {} ms", at(50), at(99), at(100))
    }
}

/// S18 aims at five seconds; a machine that is busy with other things gets more.
const LIMIT: Duration = Duration::from_secs(30);
