//! S8, S8b, S10, S26b: what a heartbeat says about its sender, how much a worker is to slow down, and when it has been lost
//! or has failed too often.

use crate::frames::state::{Farm, FrameTask, Renderer};
use muster_model::{
    FrameSettings, Heartbeat, Millis, Name, Pressure, RangeEnd, Ratio, RendererState, Timestamp,
};

/// The complaint about a heartbeat; `None` when it is fine.
pub(crate) fn complaint(
    settings: &FrameSettings,
    renderer: &Renderer,
    heartbeat: &Heartbeat,
    at: Timestamp,
) -> Option<&'static str> {
    if heartbeat.error {
        return Some("it reports an error");
    }
    if heartbeat.queue_ratio >= settings.degraded_ratio {
        return Some("its queue is full");
    }
    is_slow(settings, renderer, heartbeat, at).then_some(match heartbeat.rtt {
        Some(_) => "its heartbeats take long",
        None => "its heartbeats arrive late",
    })
}

/// True if a heartbeat took too long. Without a measured round trip, its lateness counts: the time since the one before
/// beyond the interval (S8b).
pub(crate) fn is_slow(
    settings: &FrameSettings,
    renderer: &Renderer,
    heartbeat: &Heartbeat,
    at: Timestamp,
) -> bool {
    let lateness = || renderer.beat_at.map(|before| at - (before + settings.heartbeat));
    heartbeat.rtt.or_else(lateness).unwrap_or(Millis(0)) > settings.rtt_max
}

/// The state that a heartbeat moves its sender to, and why.
pub(crate) fn verdict(
    farm: &Farm,
    renderer: &Renderer,
    heartbeat: &Heartbeat,
    now: Timestamp,
) -> Option<(RendererState, &'static str)> {
    use RendererState::{Degraded, Healthy, Registered};
    let settings = &farm.settings;
    match (renderer.state, complaint(settings, renderer, heartbeat, now)) {
        (Registered | Healthy, Some(complaint)) => Some((Degraded, complaint)),
        (Registered, None)
            if renderer.fine + 1 >= FINE_UNTIL_HEALTHY || farm.has_bug(crate::Mutant::HealthyAtOnce) =>
        {
            Some((Healthy, "its last heartbeats were fine"))
        }
        (Degraded, None) => {
            let since = renderer.fine_since.unwrap_or(now);
            let is_long = now - since >= settings.degraded_recovery;
            (is_long || farm.has_bug(crate::Mutant::RecoversAtOnce))
                .then_some((Healthy, "its heartbeats are fine again"))
        }
        _ => None,
    }
}

/// Fine heartbeats in a row that make a worker Healthy, however quickly they come.
const FINE_UNTIL_HEALTHY: u32 = 3;

/// The level that a worker's fullest queue asks for; the progress of an earlier task does not hold it back.
pub(crate) fn pressure(renderer: &Renderer) -> Pressure {
    pressure_at(renderer, renderer.queue_ratio, renderer.is_slow)
}

/// The level with the queue that a heartbeat tells of. Slow heartbeats alone ask for caution (S8b).
pub(crate) fn pressure_at(renderer: &Renderer, queue_ratio: Ratio, is_slow: bool) -> Pressure {
    let told = renderer.max_queue_ratio.filter(|_| !renderer.live.is_empty());
    let least = if is_slow { Pressure::Caution } else { Pressure::Ok };
    level_of(told.unwrap_or_default().max(queue_ratio)).max(least)
}

/// True if a worker itself says, with its last heartbeat, that it must stand still. What its last progress said may be
/// long ago, and whoever stands still has no progress to tell of.
pub(crate) fn says_full(renderer: &Renderer) -> bool {
    level_of(renderer.queue_ratio) == Pressure::Pause
}

fn level_of(ratio: Ratio) -> Pressure {
    match ratio.0 {
        0..700_000 => Pressure::Ok,
        700_000..900_000 => Pressure::Caution,
        900_000..1_000_000 => Pressure::Slow,
        _ => Pressure::Pause,
    }
}

/// True if the end of an assignment counts against its worker.
///
/// From the third different worker on that lost or failed a range, the range is at fault. A worker that completes other
/// ranges is not blamed twice for the same one. And when a range was halved, a worker that failed it is not blamed for the
/// first failure of a half: only both halves together tell whether the worker or a frame is at fault.
pub(crate) fn blames_worker(farm: &Farm, task: &FrameTask, end: RangeEnd, now: Timestamp) -> bool {
    let is_poison = losers_with(task, &task.worker) >= farm.settings.poison_workers as usize;
    let is_known_failure = end.is_failure() && task.losers.contains(&task.worker);
    let does_well =
        farm.renderers.get(&task.worker).is_some_and(|worker| completes_ranges(farm, worker, now));
    // A half begins with no failures and no losses, but knows who failed the whole.
    let is_fresh_half = task.failures == 0 && task.losses == 0;
    let excused =
        is_known_failure && (does_well || is_fresh_half) && !farm.has_bug(crate::Mutant::RangeBlamesWorker);
    end.counts_against_worker() && !is_poison && !excused
}

/// True if one more loss or failure now puts a worker into quarantine.
pub(crate) fn is_too_much(farm: &Farm, renderer: &Renderer, now: Timestamp) -> bool {
    let window = now - farm.settings.quarantine_window;
    let counted = renderer.failures.iter().chain(&renderer.losses).filter(|at| **at > window).count();
    counted + 1 >= farm.settings.quarantine_after as usize && !farm.has_bug(crate::Mutant::DiagnosisForgotten)
}

/// True if a worker has completed a range within the window of the diagnosis.
fn completes_ranges(farm: &Farm, renderer: &Renderer, now: Timestamp) -> bool {
    renderer.last_completed.is_some_and(|at| at > now - farm.settings.quarantine_window)
}

fn losers_with(task: &FrameTask, worker: &Name) -> usize {
    task.losers.len() + usize::from(!task.losers.contains(worker))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S10: ok < 0.7 ≤ caution < 0.9 ≤ slow < 1.0 ≤ pause, with the frame-rate factors 1, 0.9, 0.7, 0.
    #[test]
    fn levels_begin_where_they_are_said_to() {
        let level = |ratio: f64| level_of(Ratio::new(ratio).expect("a ratio"));
        let levels = [0.0, 0.699, 0.7, 0.899, 0.9, 0.999, 1.0, 7.0].map(level);
        use Pressure::{Caution, Ok, Pause, Slow};
        assert_eq!(levels, [Ok, Ok, Caution, Caution, Slow, Slow, Pause, Pause]);
        assert_eq!([Ok, Caution, Slow, Pause].map(Pressure::percent), [100, 90, 70, 0]);
    }
}
