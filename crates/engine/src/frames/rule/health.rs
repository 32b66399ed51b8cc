//! S8: what a heartbeat says of its sender.

use crate::frames::state::{Farm, Renderer};
use muster_model::{FrameSettings, Heartbeat, RendererState, Timestamp};

/// What is wrong with a heartbeat; `None` when it is fine.
pub(crate) fn complaint(settings: &FrameSettings, heartbeat: &Heartbeat) -> Option<&'static str> {
    if heartbeat.error {
        return Some("it reports an error");
    }
    if heartbeat.queue_ratio >= settings.degraded_ratio {
        return Some("its queue is full");
    }
    heartbeat.rtt.is_some_and(|rtt| rtt > settings.rtt_max).then_some("its heartbeats take long")
}

/// The state a worker moves to by a heartbeat, and why.
pub(crate) fn verdict(
    farm: &Farm,
    renderer: &Renderer,
    heartbeat: &Heartbeat,
    now: Timestamp,
) -> Option<(RendererState, &'static str)> {
    use RendererState::{Degraded, Healthy, Registered};
    let settings = &farm.settings;
    match (renderer.state, complaint(settings, heartbeat)) {
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
