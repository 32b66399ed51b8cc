//! S10, S16: how many frames a worker is given. Cut when they are given out, never more than `framesPerTask`.

use super::health;
use crate::frames::state::{Farm, Renderer, Session};
use muster_model::{FrameRange, Pressure, RendererState};

/// The frames that a worker would be given next of a session's uncut ones; `None` when it is to get none.
pub(crate) fn next(farm: &Farm, session: &Session, renderer: &Renderer) -> Option<FrameRange> {
    let (start, end) = session.uncut.iter().next()?;
    let length = length(farm, session, renderer)?;
    Some(FrameRange { start: *start, end: (*end).min(start + length) })
}

/// Number of frames that suit a worker now: fewer when it is slow or unwell, and fewer towards the end of the session, so
/// that nobody is waited for long.
fn length(farm: &Farm, session: &Session, renderer: &Renderer) -> Option<u64> {
    let pressure = health::pressure(renderer);
    if pressure == Pressure::Pause && !farm.has_bug(crate::Mutant::PressureIgnored) {
        return None;
    }
    let mut length = session.per_task * u64::from(pressure.percent()) / 100;
    if renderer.state == RendererState::Degraded && !farm.has_bug(crate::Mutant::DegradedGetsAll) {
        length /= 2;
    }
    if let Some(share) = Share::of(farm, renderer) {
        length = length.min(share.by_speed(session.per_task)).min(share.of_the_rest(session));
    }
    Some(length.max(1))
}

/// Speed of one worker compared with the others'. Nothing is known before two have completed something.
struct Share {
    rate: u64,
    mean: u64,
    able: u64,
}

impl Share {
    fn of(farm: &Farm, renderer: &Renderer) -> Option<Self> {
        let rate = renderer.rate?;
        let mean = farm.crew.rate_sum.checked_div(farm.crew.rated)?.max(1);
        (farm.crew.rated > 1).then_some(Self { rate, mean, able: farm.crew.able })
    }

    /// Slower than the mean: fewer frames, so that a range takes everybody about as long.
    fn by_speed(&self, per_task: u64) -> u64 {
        scale(per_task, self.rate.min(self.mean), self.mean)
    }

    /// Half of what this worker would do of the uncut frames if all worked to the end together; not below what it
    /// does in two seconds, where giving out costs more than waiting.
    fn of_the_rest(&self, session: &Session) -> u64 {
        let all = self.mean.saturating_mul(self.able);
        scale(session.uncut_frames(), self.rate, all.saturating_mul(2)).max(self.rate / 500)
    }
}

fn scale(value: u64, by: u64, of: u64) -> u64 {
    let scaled = u128::from(value) * u128::from(by) / u128::from(of.max(1));
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

/// A worker's rate after it completed so many frames in so many milliseconds: half of what was, half of what is.
pub(crate) fn rate_after(before: Option<u64>, frames: u64, millis: i64) -> u64 {
    let now = scale(frames, 1_000_000, millis.max(1).unsigned_abs()).clamp(1, RATE_MAX);
    before.map_or(now, |before| (before + now) / 2)
}

/// Above this (a thousand million frames per second) a rate says only that the clock is coarse.
const RATE_MAX: u64 = 1 << 40;
