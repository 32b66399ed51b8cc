//! The pool among the server's counts (I8).

use muster_coordinator::Coordinator;
use muster_http::HttpState;
use muster_model::{PoolStatus, PoolWorkerStatus};
use prometheus_client::{
    encoding::{DescriptorEncoder, EncodeMetric},
    metrics::{MetricType, gauge::ConstGauge},
};
use std::fmt;

/// Has the counts shown at `/metrics`.
pub(crate) fn register(http: &HttpState) {
    let ask = |coordinator: Coordinator| async move { coordinator.pool_status().await.ok() };
    http.metrics.watch(&http.coordinator, ask, encode);
}

fn encode(status: &PoolStatus, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
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

fn gauge(count: u64) -> ConstGauge<i64> {
    ConstGauge::new(i64::try_from(count).unwrap_or(i64::MAX))
}

const WORKERS: &str = "Workers of the pool by status";

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
        *metrics.show(encode).lock().unwrap() = status;
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
