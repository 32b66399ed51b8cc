//! How many servers share a world's store, and how patient they are with each other (S18).

use crate::dice::Dice;
use muster_coordinator::LeaseTimes;
use muster_model::Millis;

/// The figures of the servers. Chances are in a thousand.
#[derive(Clone, Debug)]
pub(crate) struct ServerPlan {
    pub(crate) count: usize,
    pub(crate) times: LeaseTimes,
    /// Faults that concern servers or their store.
    pub(crate) faults: u32,
    /// Looks and signs of life that take their time.
    pub(crate) slow: u32,
    /// Requests that are lost between two servers.
    pub(crate) lost: u32,
}

impl ServerPlan {
    pub(crate) fn draw(dice: &mut Dice, count: Option<usize>) -> Self {
        let usual = dice.chance(300);
        let lease = if usual { LeaseTimes::default().lease } else { Millis(dice.between(1_000, 8_000)) };
        Self {
            count: count.unwrap_or(2 + dice.below(3)),
            times: LeaseTimes { lease },
            faults: dice.pick(&[300, 600]).copied().unwrap_or(300),
            slow: dice.pick(&[20, 200, 500]).copied().unwrap_or(20),
            lost: dice.pick(&[5, 60]).copied().unwrap_or(5),
        }
    }

    /// So many servers with the usual lease, and nothing that goes wrong by itself.
    pub(crate) fn staged(count: usize) -> Self {
        Self { count, times: LeaseTimes::default(), faults: 0, slow: 0, lost: 0 }
    }
}
