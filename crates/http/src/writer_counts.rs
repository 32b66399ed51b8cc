//! Shows what the writer counts about itself among the server's other counts.

use muster_coordinator::{Coordinator, Lead, Stats};
use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric, NoLabelSet},
    metrics::{MetricType, counter::ConstCounter, gauge::ConstGauge},
    registry::Unit,
};
use std::fmt;

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
