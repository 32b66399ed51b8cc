//! How many sessions of frames a world has, and what their workers are like.

use crate::dice::Dice;
use muster_model::{FrameSettings, Millis, Rebind};

/// The figures of the sessions in a world. Chances are in a thousand.
#[derive(Clone, Debug)]
pub(crate) struct FramePlan {
    /// Workers.
    pub(crate) renderers: usize,
    /// Sessions that clients submit at first.
    pub(crate) sessions: usize,
    /// Workers that run muster's own worker.
    pub(crate) real: u32,
    /// Workers that take tasks by push (S3).
    pub(crate) pushed: u32,
    /// Tasks at a time, at most.
    pub(crate) slots_max: i64,
    /// Works that fail, hang, or drop frames while there are faults.
    pub(crate) fails: u32,
    pub(crate) hangs: u32,
    pub(crate) drops: u32,
    /// How often a worker that is none of muster's own does what it should not.
    pub(crate) mischief: u32,
    /// Sessions with a frame that fails everywhere (S26b).
    pub(crate) poisoned: u32,
    /// Every so many chunks the timestamps of a fragment interleave with others' (S23); 0: never.
    pub(crate) skips_every: u64,
    /// How long most works take.
    pub(crate) work_ms: (i64, i64),
}

impl FramePlan {
    pub(crate) fn draw(dice: &mut Dice) -> Self {
        let rough = dice.chance(600);
        Self {
            renderers: 2 + dice.below(3),
            sessions: 1 + dice.below(4),
            real: dice.pick(&[0, 400, 1_000]).copied().unwrap_or(0),
            pushed: dice.pick(&[0, 400, 1_000]).copied().unwrap_or(0),
            slots_max: dice.between(1, 3),
            fails: if rough { 150 } else { 30 },
            hangs: if rough { 100 } else { 0 },
            drops: if rough { 400 } else { 40 },
            mischief: if rough { 200 } else { 20 },
            poisoned: if dice.chance(300) { 400 } else { 0 },
            skips_every: dice.pick(&[0, 0, 3, 7]).copied().unwrap_or(0),
            work_ms: (200, dice.between(1_000, 8_000)),
        }
    }
}

/// The contract's figures in some worlds; in most, others, so that every limit is met.
pub(super) fn settings(dice: &mut Dice) -> FrameSettings {
    let rebind = if dice.chance(500) { Rebind::Resume } else { Rebind::Reassign };
    let usual = FrameSettings { rebind, ..FrameSettings::default() };
    if dice.chance(150) {
        return usual;
    }
    let mut secs = |low: i64, high: i64| Millis(dice.between(low * 1000, high * 1000));
    FrameSettings {
        heartbeat: secs(1, 4),
        degraded_recovery: secs(5, 20),
        quarantine_window: secs(20, 600),
        rebind_within: secs(2, 8),
        stall: secs(5, 30),
        quarantine_after: u32::try_from(dice.between(2, 4)).unwrap_or(3),
        split_after: u16::try_from(dice.between(1, 3)).unwrap_or(2),
        max_attempts: u16::try_from(dice.between(2, 6)).unwrap_or(5),
        poison_workers: u32::try_from(dice.between(2, 3)).unwrap_or(3),
        chunk_size: dice.pick(&[7, 100, 1_000_000]).copied().unwrap_or(100),
        ..usual
    }
}
