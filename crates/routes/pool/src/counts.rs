//! The pool among the server's counts (I8).

use muster_coordinator::{Coordinator, Lead};
use muster_http::HttpState;
use muster_model::{PoolStatus, PoolWorkerStatus};
use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric},
    metrics::{MetricType, gauge::ConstGauge},
};
use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

/// Has the counts shown at `/metrics`.
pub(crate) fn register(http: &HttpState) {
    let latest = Arc::new(Mutex::new(PoolStatus::default()));
    let counts = Counts(Arc::clone(&latest));
    http.metrics.register(|registry| registry.register_collector(Box::new(counts)));
    let coordinator = http.coordinator.clone();
    http.metrics.gather_with(Arc::new(move || {
        let (coordinator, latest) = (coordinator.clone(), Arc::clone(&latest));
        Box::pin(async move { look(&coordinator, &latest).await })
    }));
}

/// Only memory knows, and it must be asked. What it does not say in time is shown as it was; where another server leads
/// there is nothing to show.
async fn look(coordinator: &Coordinator, latest: &Mutex<PoolStatus>) {
    let status = if matches!(coordinator.lead(), Lead::There { .. }) {
        PoolStatus::default()
    } else {
        let asked = tokio::time::timeout(PATIENCE, coordinator.pool_status()).await;
        let Ok(Ok(status)) = asked else { return };
        status
    };
    *latest.lock().unwrap_or_else(PoisonError::into_inner) = status;
}

/// What was last looked up.
struct Counts(Arc<Mutex<PoolStatus>>);

impl Collector for Counts {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let status = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut workers = encoder.encode_descriptor("pool_workers", WORKERS, None, MetricType::Gauge)?;
        // Every status, also one that nobody has: a series that comes and goes cannot be watched.
        for known in &PoolWorkerStatus::ALL {
            let count = status.workers.iter().find(|(of, _)| of == known).map_or(0, |(_, count)| *count);
            gauge(count).encode(workers.encode_family(&[("status", known.as_str())])?)?;
        }
        for (name, help, count) in [
            ("pool_jobs_open", "Jobs of the pool that are not over", status.open),
            ("pool_jobs_waiting", "Jobs of the pool that could be given out now", status.waiting),
            ("pool_assignments", "Live assignments of the pool", status.assignments),
            ("pool_polls_waiting", "Polls of the pool that wait for work", status.polls),
        ] {
            gauge(count).encode(encoder.encode_descriptor(name, help, None, MetricType::Gauge)?)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Counts")
    }
}

fn gauge(count: u64) -> ConstGauge<i64> {
    ConstGauge::new(i64::try_from(count).unwrap_or(i64::MAX))
}

const WORKERS: &str = "Workers of the pool by status";

/// A scraper waits for seconds; a server that is starting takes longer than this.
const PATIENCE: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;
    use muster_http::Metrics;

    /// I8: the pool can be watched.
    #[test]
    fn the_pool_is_counted() {
        let workers = vec![(PoolWorkerStatus::Online, 2)];
        let status = PoolStatus { workers, open: 7, waiting: 3, assignments: 4, polls: 1 };
        let metrics = Metrics::new();
        let counts = Counts(Arc::new(Mutex::new(status)));
        metrics.register(|registry| registry.register_collector(Box::new(counts)));
        let text = metrics.text();
        for line in [
            "muster_pool_workers{status=\"online\"} 2",
            "muster_pool_workers{status=\"banned\"} 0",
            "muster_pool_jobs_open 7",
            "muster_pool_jobs_waiting 3",
            "muster_pool_assignments 4",
            "muster_pool_polls_waiting 1",
        ] {
            assert!(text.lines().any(|known| known == line), "{line} in {text}");
        }
    }
}
