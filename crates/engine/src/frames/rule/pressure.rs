//! S10: how much a worker is to slow down.

use crate::frames::state::Renderer;
use muster_model::{Pressure, Ratio};

/// The level that a worker's fullest queue asks for; the progress of an earlier task does not hold it back.
pub(crate) fn level(renderer: &Renderer) -> Pressure {
    level_at(renderer, renderer.queue_ratio, renderer.is_slow)
}

/// The level with the queue that a heartbeat tells of. Slow heartbeats alone ask for caution (S8b).
pub(crate) fn level_at(renderer: &Renderer, queue_ratio: Ratio, is_slow: bool) -> Pressure {
    let told = renderer.max_queue_ratio.filter(|_| !renderer.live.is_empty());
    let least = if is_slow { Pressure::Caution } else { Pressure::Ok };
    of(told.unwrap_or_default().max(queue_ratio)).max(least)
}

/// Whether a worker itself says, with its last heartbeat, that it must stand still. What its last progress said may be
/// long ago, and whoever stands still has no progress to tell of.
pub(crate) fn says_full(renderer: &Renderer) -> bool {
    of(renderer.queue_ratio) == Pressure::Pause
}

fn of(ratio: Ratio) -> Pressure {
    match ratio.0 {
        0..700_000 => Pressure::Ok,
        700_000..900_000 => Pressure::Caution,
        900_000..1_000_000 => Pressure::Slow,
        _ => Pressure::Pause,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S10: ok < 0.7 ≤ caution < 0.9 ≤ slow < 1.0 ≤ pause, with the frame-rate factors 1, 0.9, 0.7, 0.
    #[test]
    fn levels_begin_where_they_are_said_to() {
        let level = |ratio: f64| of(Ratio::new(ratio).expect("a ratio"));
        let levels = [0.0, 0.699, 0.7, 0.899, 0.9, 0.999, 1.0, 7.0].map(level);
        use Pressure::{Caution, Ok, Pause, Slow};
        assert_eq!(levels, [Ok, Ok, Caution, Caution, Slow, Slow, Pause, Pause]);
        assert_eq!([Ok, Caution, Slow, Pause].map(Pressure::percent), [100, 90, 70, 0]);
    }
}
