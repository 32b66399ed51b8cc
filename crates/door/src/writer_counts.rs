//! Shows what the writer counts about itself among the server's other counts.

use muster_coordinator::{Coordinator, Stats};
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
        let stats = self.0.stats();
        for (name, help, read) in COUNTERS {
            let counter = ConstCounter::new(read(stats));
            counter.encode(encoder.encode_descriptor(name, help, None, counter.metric_type())?)?;
        }
        for (name, help, read) in GAUGES {
            let gauge = ConstGauge::new(i64::try_from(read(stats)).unwrap_or(i64::MAX));
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

type Count = (&'static str, &'static str, fn(&Stats) -> u64);

const COUNTERS: [Count; 5] = [
    ("commands", "Commands decided", Stats::commands),
    ("batches", "Batches made durable", Stats::batches),
    ("rows", "Rows made durable", Stats::rows),
    ("terms", "Terms begun", Stats::terms),
    ("broken_invariants", "Times a sampled invariant did not hold", Stats::broken_invariants),
];

const GAUGES: [Count; 3] = [
    ("waiting_pulls", "Pulls that wait for work now", Stats::waiting_pulls),
    ("epoch", "The epoch of the running term", Stats::epoch),
    ("ready", "Whether a term runs: 1 or 0", |stats| u64::from(stats.is_ready())),
];
