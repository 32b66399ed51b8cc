//! How many clients, owners and workers the pool of a world has, and what they are like.

use crate::dice::Dice;
use muster_model::{Millis, PoolSettings};

/// The figures of the pool in a world. Chances are in a thousand.
#[derive(Clone, Debug)]
pub(crate) struct PoolPlan {
    /// Who hands in jobs.
    pub(crate) clients: usize,
    /// Submissions at first.
    pub(crate) orders: usize,
    /// Who brings workers.
    pub(crate) owners: usize,
    /// Owners whose workers tell the same lie.
    pub(crate) pact: usize,
    /// Owners with a second worker.
    pub(crate) seconds: u32,
    /// Honest workers that run muster's own worker.
    pub(crate) real: u32,
    /// Workers that take longer than they are waited for, those of the pact not counted.
    pub(crate) slow: u32,
    /// Of the others, workers that are not honest, those of the pact not counted.
    pub(crate) odd: u32,
    /// How many owners the redundant jobs of this world ask for (P15).
    pub(crate) redundancies: &'static [u8],
    /// Jobs that are redundant.
    pub(crate) redundant: u32,
    /// Jobs with a limit of their own (P5).
    pub(crate) limited: u32,
    /// Assignments that a worker says to have failed, while there are faults.
    pub(crate) fails: u32,
    /// How often a worker does what it should not.
    pub(crate) mischief: u32,
    /// How long most works take.
    pub(crate) work_ms: (i64, i64),
}

impl PoolPlan {
    pub(crate) fn draw(dice: &mut Dice) -> Self {
        let rough = dice.chance(600);
        let kinds: [&[u8]; 4] = [&[2, 3], &[3], &[4, 5], &[2, 3, 4]];
        let redundancies = dice.pick(&kinds).copied().unwrap_or(&[3]);
        Self {
            clients: 1 + dice.below(3),
            orders: 3 + dice.below(5),
            owners: 2 + dice.below(4),
            pact: dice.below(4),
            seconds: 250,
            real: dice.pick(&[0, 500, 1_000]).copied().unwrap_or(0),
            slow: dice.pick(&[0, 0, 600]).copied().unwrap_or(0),
            odd: if rough { 400 } else { 100 },
            redundancies,
            redundant: dice.pick(&[0, 300, 800]).copied().unwrap_or(0),
            limited: dice.pick(&[0, 200]).copied().unwrap_or(0),
            fails: if rough { 150 } else { 20 },
            mischief: if rough { 400 } else { 100 },
            work_ms: (200, dice.between(1_000, 8_000)),
        }
    }

    /// Whether those who lie together are too few to be a majority anywhere (P15).
    pub(crate) fn is_pact_small(&self) -> bool {
        let least = self.redundancies.iter().map(|asked| usize::from(asked / 2) + 1).min().unwrap_or(1);
        self.pact.min(self.owners) < least
    }
}

/// The contract's figures in some worlds; in most, shorter ones, so that every limit is met.
pub(super) fn settings(dice: &mut Dice) -> PoolSettings {
    let waiting_max = if dice.chance(200) { 8 } else { 10_000 };
    if dice.chance(100) {
        return PoolSettings { waiting_max, ..PoolSettings::default() };
    }
    let mut secs = |low: i64, high: i64| Millis(dice.between(low * 1000, high * 1000));
    PoolSettings {
        offline_after: secs(5, 30),
        lease: secs(6, 40),
        max_attempts: u8::try_from(dice.between(1, 4)).unwrap_or(3),
        ban_after: u32::try_from(dice.between(2, 3)).unwrap_or(3),
        waiting_max,
    }
}
