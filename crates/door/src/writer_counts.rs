//! Shows what the writer counts about itself among the server's other counts.

use muster_coordinator::{Coordinator, Lead, Stats};
use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric},
    metrics::{counter::ConstCounter, gauge::ConstGauge},
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
        Ok(())
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

const GAUGES: [Count<Coordinator>; 4] = [
    ("waiting_pulls", "Pulls that wait for work now", |writer| writer.stats().waiting_pulls()),
    ("epoch", "The epoch of the running term, here or at the server that leads", |writer| {
        match writer.lead() {
            Lead::Here { epoch } | Lead::There { epoch, .. } => epoch,
            Lead::Nowhere => writer.epoch(),
        }
    }),
    ("leading", "Whether this server leads: 1 or 0", |writer| {
        u64::from(matches!(writer.lead(), Lead::Here { .. }))
    }),
    ("ready", "Whether a term runs here: 1 or 0", |writer| u64::from(writer.is_ready())),
];
