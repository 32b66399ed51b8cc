//! Workers by state, and their changes of state, among the server's counts (S7).

use muster_coordinator::{Coordinator, Lead};
use muster_http::HttpState;
use muster_model::{FrameQuery, FrameView, RendererState, StatusView};
use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder},
    metrics::{MetricType, counter::ConstCounter, gauge::ConstGauge},
};
use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

/// Has the counts shown at `/metrics`.
pub(crate) fn register(http: &HttpState) {
    let latest = Arc::new(Mutex::new(StatusView::default()));
    let counts = Counts(Arc::clone(&latest));
    http.metrics.register(|registry| registry.register_collector(Box::new(counts)));
    let coordinator = http.coordinator.clone();
    http.metrics.gather_with(Arc::new(move || {
        let (coordinator, latest) = (coordinator.clone(), Arc::clone(&latest));
        Box::pin(async move { look(&coordinator, &latest).await })
    }));
}

/// Only memory knows how many workers stand where, and it must be asked. What it does not say in time is shown as it was;
/// where another server leads there is nothing to show.
async fn look(coordinator: &Coordinator, latest: &Mutex<StatusView>) {
    let view = if matches!(coordinator.lead(), Lead::There { .. }) {
        StatusView::default()
    } else {
        let asked = tokio::time::timeout(PATIENCE, coordinator.frames(FrameQuery::Status)).await;
        let Ok(Ok(FrameView::Status(view))) = asked else { return };
        view
    };
    *latest.lock().unwrap_or_else(PoisonError::into_inner) = view;
}

/// What was last looked up.
struct Counts(Arc<Mutex<StatusView>>);

impl Collector for Counts {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let view = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let workers = encoder.encode_descriptor("sim_workers", WORKERS, None, MetricType::Gauge)?;
        encode_workers(workers, &view)?;
        let moves =
            encoder.encode_descriptor("sim_worker_transitions", TRANSITIONS, None, MetricType::Counter)?;
        encode_transitions(moves, &view)
    }
}

impl fmt::Debug for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Counts")
    }
}

/// Every state, also those that nobody is in: a series that comes and goes cannot be watched.
fn encode_workers(mut encoder: MetricEncoder<'_>, view: &StatusView) -> Result<(), fmt::Error> {
    let count =
        |state| view.renderers.iter().find(|(known, _)| *known == state).map_or(0, |(_, count)| *count);
    let states = RendererState::ALL.map(|state| (state.as_str(), count(state)));
    for (state, count) in states.into_iter().chain([("zombie", view.zombies)]) {
        let gauge = ConstGauge::new(i64::try_from(count).unwrap_or(i64::MAX));
        gauge.encode(encoder.encode_family(&[("state", state)])?)?;
    }
    Ok(())
}

fn encode_transitions(mut encoder: MetricEncoder<'_>, view: &StatusView) -> Result<(), fmt::Error> {
    for ((from, to), count) in &view.transitions {
        let labels = [("from", from.as_str()), ("to", to.as_str())];
        ConstCounter::new(*count).encode(encoder.encode_family(&labels)?)?;
    }
    Ok(())
}

const WORKERS: &str = "Simulation workers by state";
const TRANSITIONS: &str = "Changes of simulation workers' states since the term began";

/// A scraper waits for seconds; a server that is starting takes longer than this.
const PATIENCE: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;
    use muster_http::Metrics;

    /// S7, S11: every state and every transition is a series of its own.
    #[test]
    fn states_and_transitions_are_counted() {
        let view = StatusView {
            renderers: vec![(RendererState::Healthy, 2)],
            zombies: 1,
            transitions: vec![((RendererState::Healthy, RendererState::Lost), 4)],
            ..StatusView::default()
        };
        let metrics = Metrics::new();
        let counts = Counts(Arc::new(Mutex::new(view)));
        metrics.register(|registry| registry.register_collector(Box::new(counts)));
        let text = metrics.text();
        for line in [
            "muster_sim_workers{state=\"Healthy\"} 2",
            "muster_sim_workers{state=\"Lost\"} 0",
            "muster_sim_workers{state=\"Removed\"} 0",
            "muster_sim_workers{state=\"zombie\"} 1",
            "muster_sim_worker_transitions_total{from=\"Healthy\",to=\"Lost\"} 4",
        ] {
            assert!(text.lines().any(|known| known == line), "{line} in {text}");
        }
    }
}
