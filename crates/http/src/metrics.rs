//! Counts for `/metrics`: requests, and what the writer counts about itself.

use crate::access::method_name;
use axum::http::Method;
use muster_coordinator::{Coordinator, Lead, Stats};
use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric, NoLabelSet, text::encode},
    metrics::{
        MetricType,
        counter::{ConstCounter, Counter},
        family::Family,
        gauge::ConstGauge,
        histogram::Histogram,
    },
    registry::{Registry, Unit},
};
use std::{
    collections::HashMap,
    fmt,
    pin::Pin,
    sync::{Arc, Mutex, OnceLock, PoisonError, RwLock},
    time::Duration,
};

/// The counts of one server. Each server has a registry of its own, so that several can live in one process.
pub struct Metrics {
    registry: Mutex<Registry>,
    gatherers: Mutex<Vec<Gather>>,
    requests: Family<RequestLabels, Counter>,
    seconds: Family<RouteLabels, Histogram>,
    /// The counts above by route and method, so that a request is counted without making labels.
    routes: RwLock<HashMap<&'static str, HashMap<Box<str>, RouteCounts>>>,
}

/// The counts of one route and method.
struct RouteCounts {
    seconds: Histogram,
    /// Requests by status, for each of [`COMMON_STATUSES`]; made when first needed, so that none is shown before.
    requests: [OnceLock<Counter>; COMMON_STATUSES.len()],
}

/// Looks up what a collector will show: some counts only the writer knows, and it must be asked.
pub type Gather = Arc<dyn Fn() -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// Writes counts out of a value.
pub type Encode<T> = fn(&T, DescriptorEncoder<'_>) -> Result<(), fmt::Error>;

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
        let routes = RwLock::default();
        Self { registry: Mutex::new(registry), gatherers: Mutex::default(), requests, seconds, routes }
    }

    /// Lets others add counts of their own; names get the prefix `muster_`.
    pub fn register(&self, add: impl FnOnce(&mut Registry)) {
        add(&mut self.registry.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Has something looked up each time before the counts are shown.
    pub fn gather_with(&self, gather: Gather) {
        self.gatherers.lock().unwrap_or_else(PoisonError::into_inner).push(gather);
    }

    /// Adds counts that are written out of a value; returns the value, which begins empty.
    pub fn show<T: Clone + Default + Send + 'static>(&self, encode: Encode<T>) -> Arc<Mutex<T>> {
        let latest = Arc::new(Mutex::new(T::default()));
        let shown = ShownCounts { latest: Arc::clone(&latest), encode };
        self.register(|registry| registry.register_collector(Box::new(shown)));
        latest
    }

    /// Adds counts that only memory knows; it is asked each time before they are shown. Without a reply in time, the
    /// last one is shown again. Where another server leads there is nothing to show.
    pub fn watch<T, F>(&self, coordinator: &Coordinator, ask: fn(Coordinator) -> F, encode: Encode<T>)
    where
        T: Clone + Default + Send + 'static,
        F: Future<Output = Option<T>> + Send + 'static,
    {
        let (coordinator, latest) = (coordinator.clone(), self.show(encode));
        self.gather_with(Arc::new(move || {
            let (coordinator, latest) = (coordinator.clone(), Arc::clone(&latest));
            Box::pin(async move {
                let counted = match coordinator.lead() {
                    Lead::There { .. } => Some(T::default()),
                    Lead::Here { .. } | Lead::Nowhere => {
                        tokio::time::timeout(PATIENCE, ask(coordinator)).await.ok().flatten()
                    }
                };
                if let Some(counted) = counted {
                    *latest.lock().unwrap_or_else(PoisonError::into_inner) = counted;
                }
            })
        }));
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
        self.count_request(&Counted { route: "forwarded", method: method_name(method), status, took });
    }

    /// Counts one request.
    pub(crate) fn count_request(&self, request: &Counted<'_>) {
        let routes = self.routes.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(counts) = routes.get(request.method).and_then(|routes| routes.get(request.route)) {
            self.count_on(counts, request);
            return;
        }
        drop(routes);
        let mut routes = self.routes.write().unwrap_or_else(PoisonError::into_inner);
        let routes = routes.entry(request.method).or_default();
        let counts = routes.entry(request.route.into()).or_insert_with(|| {
            let labels = RouteLabels { route: request.route.to_owned(), method: request.method };
            let seconds = self.seconds.get_or_create(&labels).clone();
            RouteCounts { seconds, requests: Default::default() }
        });
        self.count_on(counts, request);
    }

    fn count_on(&self, counts: &RouteCounts, request: &Counted<'_>) {
        let counter = || {
            let &Counted { route, method, status, .. } = request;
            self.requests.get_or_create(&RequestLabels { route: route.to_owned(), method, status }).clone()
        };
        match COMMON_STATUSES.iter().position(|status| *status == request.status) {
            Some(place) => counts.requests[place].get_or_init(counter).inc(),
            None => counter().inc(),
        };
        counts.seconds.observe(request.took.as_secs_f64());
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

/// Counts out of the latest value.
struct ShownCounts<T> {
    latest: Arc<Mutex<T>>,
    encode: Encode<T>,
}

impl<T: Clone + Send + 'static> Collector for ShownCounts<T> {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner).clone();
        (self.encode)(&latest, encoder)
    }
}

impl<T> fmt::Debug for ShownCounts<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ShownCounts")
    }
}

/// Reads the writer's counts whenever somebody looks.
pub(crate) struct WriterCounts(pub(crate) Coordinator);

impl Collector for WriterCounts {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        for (name, help, read) in COUNTERS {
            let counter = ConstCounter::new(read(self.0.stats()));
            counter.encode(encoder.encode_descriptor(name, help, None, counter.metric_type())?)?;
        }
        for (name, help, read) in GAUGES {
            let gauge = ConstGauge::new(i64::try_from(read(&self.0)).unwrap_or(i64::MAX));
            gauge.encode(encoder.encode_descriptor(name, help, None, gauge.metric_type())?)?;
        }
        if let Some(age) = self.0.since_renewal() {
            let gauge = ConstGauge::new(age.0 as f64 / 1_000.0);
            let help =
                "Since the last sign of life that the store confirmed; of a server that leads among others";
            let unit = Unit::Seconds;
            gauge.encode(encoder.encode_descriptor(
                "renewal_age",
                help,
                Some(&unit),
                gauge.metric_type(),
            )?)?;
        }
        self.encode_commits(encoder)
    }
}

impl WriterCounts {
    fn encode_commits(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let (buckets, sum) = self.0.stats().commits().counted();
        let count = buckets.iter().map(|(_, count)| count).sum();
        let (name, help) = ("commit", "How long the store took to make a batch durable, or to fail");
        let mut encoder =
            encoder.encode_descriptor(name, help, Some(&Unit::Seconds), MetricType::Histogram)?;
        encoder.encode_histogram::<NoLabelSet>(sum, count, &buckets, None)
    }
}

impl fmt::Debug for WriterCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WriterCounts")
    }
}

type Count<T> = (&'static str, &'static str, fn(&T) -> u64);

/// Statuses of the responses that workers get all day.
const COMMON_STATUSES: [u16; 4] = [200, 201, 202, 204];

/// A scraper waits for seconds; a server that is starting takes longer than this.
const PATIENCE: Duration = Duration::from_secs(1);

/// From one commit (a millisecond or so) to the longest poll.
const SECONDS: [f64; 12] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0, 15.0, 30.0];

const COUNTERS: [Count<Stats>; 6] = [
    ("commands", "Commands decided", Stats::commands),
    ("batches", "Batches made durable", Stats::batches),
    ("rows", "Rows made durable", Stats::rows),
    ("terms", "Terms begun", Stats::terms),
    ("takeovers", "Terms begun after one of another process", Stats::takeovers),
    ("broken_invariants", "Times a sampled invariant did not hold", Stats::broken_invariants),
];

const GAUGES: [Count<Coordinator>; 6] = [
    ("waiting_pulls", "Pulls that wait for work now", |writer| writer.stats().waiting_pulls()),
    (
        "epoch",
        "The epoch of the running term, here or at the server that leads; while nobody does, of the last one here",
        |writer| match writer.lead() {
            Lead::Here { epoch } | Lead::There { epoch, .. } => epoch,
            Lead::Nowhere => writer.epoch(),
        },
    ),
    ("leading", "Whether this server leads: 1 or 0", |writer| {
        u64::from(matches!(writer.lead(), Lead::Here { .. }))
    }),
    ("queue_length", "Requests that wait for a decision or a commit", |writer| writer.queued() as u64),
    ("database_up", "Whether the store answered when it was last asked: 1 or 0", |writer| {
        u64::from(writer.reaches_store())
    }),
    ("ready", "Whether a term runs here: 1 or 0", |writer| u64::from(writer.is_ready())),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// I8: requests are counted by route template, method and status.
    #[test]
    fn requests_are_counted_by_route() {
        let metrics = Metrics::new();
        for _ in 0..2 {
            let took = Duration::from_millis(2);
            metrics.count_request(&Counted { route: "/api/runs/{id}", method: "GET", status: 200, took });
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
