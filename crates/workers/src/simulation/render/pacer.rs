//! S10: frames at a rate, times whatever part of it the master allows.

use muster_model::Ratio;
use std::time::Duration;
use tokio::{sync::watch, time::Instant};

/// Says when frames are due.
#[derive(Debug)]
pub(super) struct Pacer {
    frames_per_second: f64,
    pace: watch::Receiver<Ratio>,
    /// Frames that are due, and parts of one.
    credit: f64,
    looked_at: Instant,
    /// Frames per second since then.
    rate: f64,
}

impl Pacer {
    pub(super) fn new(frames_per_second: u32, pace: watch::Receiver<Ratio>) -> Self {
        let frames_per_second = frames_per_second.into();
        Self { frames_per_second, pace, credit: 1.0, looked_at: Instant::now(), rate: 0.0 }
    }

    /// Waits until at least one frame is due; gives how many are. Whoever falls behind does not hurry to catch up.
    pub(super) async fn due(&mut self) -> u64 {
        loop {
            self.look();
            if self.credit >= 1.0 && self.rate > 0.0 {
                return self.spend();
            }
            let missing = if self.rate > 0.0 { (1.0 - self.credit) / self.rate } else { STILL_S };
            let wait = Duration::from_secs_f64(missing.clamp(TICK_S, STILL_S));
            let _ = tokio::time::timeout(wait, self.pace.changed()).await;
        }
    }

    /// Counts the time since the last look at the pace that was in force then.
    fn look(&mut self) {
        let now = Instant::now();
        let elapsed = now.duration_since(self.looked_at).as_secs_f64();
        self.credit = (self.credit + elapsed * self.rate).min(f64::from(BATCH_FRAMES_MAX));
        self.looked_at = now;
        self.rate = self.frames_per_second * self.pace.borrow_and_update().value();
    }

    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at least 1, at most a batch")]
    fn spend(&mut self) -> u64 {
        let frames = self.credit.floor();
        self.credit -= frames;
        frames as u64
    }
}

/// How finely time is cut.
const TICK_S: f64 = 0.001;
/// How often one that stands still looks whether it may go on, besides being told.
const STILL_S: f64 = 60.0;
/// Frames that are due at once at most.
pub(super) const BATCH_FRAMES_MAX: u32 = 32;

#[cfg(test)]
mod tests {
    use super::*;

    async fn frames_in(pacer: &mut Pacer, span: Duration) -> u64 {
        let until = Instant::now() + span;
        let mut frames = 0;
        while let Ok(due) = tokio::time::timeout_at(until, pacer.due()).await {
            frames += due;
        }
        frames
    }

    /// S10: the rate is the frame rate times the factor; at 0 nothing is rendered, and afterwards nothing is made up for.
    #[tokio::test(start_paused = true)]
    async fn the_pace_is_kept() {
        let (set, pace) = watch::channel(Ratio(1_000_000));
        let mut pacer = Pacer::new(100, pace);
        let ten = Duration::from_secs(10);
        let near = |frames: u64, expected: u64| assert!(frames.abs_diff(expected) <= 2, "{frames}");
        near(frames_in(&mut pacer, ten).await, 1_000);
        set.send_replace(Ratio(700_000));
        near(frames_in(&mut pacer, ten).await, 700);
        set.send_replace(Ratio(0));
        near(frames_in(&mut pacer, ten).await, 0);
        set.send_replace(Ratio(1_000_000));
        near(frames_in(&mut pacer, ten).await, 1_000);
    }

    /// S10: however high the rate, frames come in batches of a size that lets others speak.
    #[tokio::test(start_paused = true)]
    async fn batches_are_bounded() {
        let (_set, pace) = watch::channel(Ratio(1_000_000));
        let mut pacer = Pacer::new(1_000_000, pace);
        for _ in 0..10 {
            assert!(pacer.due().await <= BATCH_FRAMES_MAX.into());
        }
    }
}
