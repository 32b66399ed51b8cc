//! S8, S8b: what a heartbeat says about its sender.

use crate::frames::state::{Farm, Renderer};
use muster_model::{FrameSettings, Heartbeat, Millis, RendererState, Timestamp};

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

/// Whether a heartbeat took too long. Without a measured round trip, its lateness counts: the time since the one before
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
