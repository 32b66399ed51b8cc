//! Counts what happens, for `/metrics`.

use crate::access::method_name;
use axum::http::Method;
use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{counter::Counter, family::Family, histogram::Histogram},
    registry::Registry,
};
use std::{
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

/// The counts of one server. Each server has a registry of its own, so that several can live in one process.
pub struct Metrics {
    registry: Mutex<Registry>,
    gatherers: Mutex<Vec<Gather>>,
    requests: Family<RequestLabels, Counter>,
    seconds: Family<RouteLabels, Histogram>,
}

/// Looks up what a collector will show: some counts only the writer knows, and it must be asked.
pub type Gather = Arc<dyn Fn() -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

impl Metrics {
    /// Nothing counted yet.
    #[must_use]
    pub fn new() -> Self {
        let mut registry = Registry::with_prefix("muster");
        let requests = Family::<RequestLabels, Counter>::default();
        registry.register("http_requests", "Requests by route, method and status", requests.clone());
        let seconds = Family::<RouteLabels, Histogram>::new_with_constructor(|| Histogram::new(SECONDS));
        registry.register(
            "http_request_seconds",
            "Time until the response began, waiting included",
            seconds.clone(),
        );
        Self { registry: Mutex::new(registry), gatherers: Mutex::default(), requests, seconds }
    }

    /// Lets others add counts of their own; names get the prefix `muster_`.
    pub fn register(&self, add: impl FnOnce(&mut Registry)) {
        add(&mut self.registry.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Has something looked up each time before the counts are shown.
    pub fn gather_with(&self, gather: Gather) {
        self.gatherers.lock().unwrap_or_else(PoisonError::into_inner).push(gather);
    }

    /// Everything counted so far, as OpenMetrics text, once everything was looked up.
    pub async fn gathered_text(&self) -> String {
        let gatherers = self.gatherers.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for gather in gatherers {
            gather().await;
        }
        self.text()
    }

    /// Everything counted so far, as OpenMetrics text.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        let registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        encode(&mut text, &registry).expect("writing to a string does not fail");
        text
    }

    /// Counts a request that another server answered.
    pub fn count_forwarded(&self, method: &Method, status: u16, took: Duration) {
        self.count_request(Counted { route: "forwarded", method: method_name(method), status, took });
    }

    /// Counts one request.
    pub(crate) fn count_request(&self, request: Counted<'_>) {
        let Counted { route, method, status, took } = request;
        self.requests.get_or_create(&RequestLabels { route: route.to_owned(), method, status }).inc();
        self.seconds
            .get_or_create(&RouteLabels { route: route.to_owned(), method })
            .observe(took.as_secs_f64());
    }
}

impl std::fmt::Debug for Metrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Metrics")
    }
}

/// One request that was answered.
pub(crate) struct Counted<'a> {
    /// The template, not the path: paths are without number.
    pub(crate) route: &'a str,
    pub(crate) method: &'static str,
    pub(crate) status: u16,
    pub(crate) took: Duration,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RequestLabels {
    route: String,
    method: &'static str,
    status: u16,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RouteLabels {
    route: String,
    method: &'static str,
}

/// From one commit (a millisecond or so) to the longest poll.
const SECONDS: [f64; 12] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0, 15.0, 30.0];

#[cfg(test)]
mod tests {
    use super::*;

    /// I8: requests are counted by route template, method and status.
    #[test]
    fn requests_are_counted_by_route() {
        let metrics = Metrics::new();
        for _ in 0..2 {
            let took = Duration::from_millis(2);
            metrics.count_request(Counted { route: "/api/runs/{id}", method: "GET", status: 200, took });
        }
        let text = metrics.text();
        let line = "muster_http_requests_total{route=\"/api/runs/{id}\",method=\"GET\",status=\"200\"} 2";
        assert!(text.contains(line), "{text}");
        assert!(text.ends_with("# EOF\n"));
    }

    /// I8: what must be looked up is looked up each time before it is shown.
    #[tokio::test]
    async fn counts_are_gathered_first() {
        let metrics = Metrics::new();
        let looks = Counter::<u64>::default();
        metrics.register(|registry| registry.register("looks", "Looks", looks.clone()));
        metrics.gather_with(Arc::new(move || {
            let looks = looks.clone();
            Box::pin(async move {
                looks.inc();
            })
        }));
        assert!(metrics.gathered_text().await.contains("muster_looks_total 1"));
        assert!(metrics.gathered_text().await.contains("muster_looks_total 2"));
    }
}
