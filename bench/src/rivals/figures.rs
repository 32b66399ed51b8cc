//! Measured figures of the rivals, and the table of them.

use super::{RIVALS, Run, WAITING};
use crate::{pool::median, stopwatch::percentile};
use std::time::Duration;

/// What was measured of one rival.
#[derive(Default)]
pub(super) struct Figures {
    pub(super) version: String,
    /// With one job in a request, and with a hundred.
    pub(super) runs: [Vec<Run>; 2],
    pub(super) latencies: Vec<Duration>,
    pub(super) memory: Option<Memory>,
    /// Why it could not be measured.
    pub(super) failure: Option<String>,
}

/// Memory of a queue's servers, with hardly a job and with many.
pub(super) struct Memory {
    pub(super) idle_mib: f64,
    pub(super) filled_mib: f64,
    pub(super) jobs: usize,
}

impl Figures {
    fn rate(&self, place: usize) -> Option<f64> {
        self.median(place, |run| run.rate)
    }

    fn median(&self, place: usize, value: fn(&Run) -> f64) -> Option<f64> {
        let values: Vec<f64> = self.runs[place].iter().map(value).collect();
        (!values.is_empty()).then(|| median(values))
    }

    /// Medians with one job in a request and with a hundred.
    fn both(&self, value: fn(&Run) -> f64) -> String {
        [0, 1].map(|place| self.median(place, value).map_or_else(String::new, whole)).join(" / ")
    }

    /// Cells of its row after the first; `muster` is what it is compared with.
    fn cells(&self, muster: &Self) -> Vec<String> {
        if let Some(failure) = &self.failure {
            let reason = failure.replace(['|', '\n'], " ");
            return vec![format!("skipped: {reason}")];
        }
        let Some(memory) = &self.memory else { return Vec::new() };
        let ratio = |place: usize| match (muster.rate(place), self.rate(place)) {
            (Some(ours), Some(theirs)) => times(ours / theirs),
            _ => String::new(),
        };
        let rate = |place: usize| self.rate(place).map_or_else(String::new, whole);
        let latency = |percent| millis(percentile(&mut self.latencies.clone(), percent));
        let jobs =
            if memory.jobs < WAITING { format!(" ({})", whole(memory.jobs as f64)) } else { String::new() };
        vec![
            rate(0),
            ratio(0),
            rate(1),
            ratio(1),
            format!("{:.2} / {:.2}", latency(50), latency(99)),
            self.both(|run| run.servers),
            self.both(|run| run.clients),
            format!("{} → {}{jobs}", whole(memory.idle_mib), whole(memory.filled_mib)),
        ]
    }
}

/// The rows of all that were asked for, in the order of [`RIVALS`].
pub(super) fn table(all: &[Figures]) -> String {
    let mut table = HEAD.to_owned();
    for (rival, figures) in RIVALS.iter().zip(all) {
        let cells = figures.cells(&all[rival.beside]).join(" | ");
        if !cells.is_empty() {
            table += &format!("| {} | {cells} |\n", format!("{} {}", rival.name, figures.version).trim());
        }
    }
    table
}

pub(super) fn millis(span: Duration) -> f64 {
    span.as_secs_f64() * 1000.0
}

/// `12,345`.
fn whole(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Two digits after the point as long as they say something.
fn times(ratio: f64) -> String {
    if ratio < 10.0 { format!("{ratio:.2} ×") } else { format!("{} ×", whole(ratio)) }
}

const HEAD: &str = "\
| queue | jobs/s, 1 in a request | Muster is | jobs/s, 100 in a request | Muster is | one job, p50 / p99 ms | µs of a core per job, servers, 1 / 100 | clients, 1 / 100 | MiB, idle → 100,000 jobs waiting |
|---|---:|---:|---:|---:|---:|---:|---:|---:|
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_grouped() {
        assert_eq!([whole(7.4), whole(999.6), whole(1_234_567.0)], ["7", "1,000", "1,234,567"]);
        assert_eq!([times(0.456), times(9.994), times(1_234.5)], ["0.46 ×", "9.99 ×", "1,234 ×"]);
    }

    #[test]
    fn a_row_says_how_many_times_faster_muster_is() {
        let measured = |rate: f64| Figures {
            version: "1.0".into(),
            runs: [rate, rate * 10.0].map(|rate| vec![Run { rate, servers: 5.0, clients: 6.0 }]),
            latencies: vec![Duration::from_millis(2)],
            memory: Some(Memory { idle_mib: 10.0, filled_mib: 20.0, jobs: 1_600 }),
            failure: None,
        };
        let skipped = Figures { failure: Some("no a|b".into()), ..Figures::default() };
        let table = table(&[measured(3_000.0), measured(1_000.0), skipped]);
        let rows: Vec<&str> = table.lines().skip(2).collect();
        assert_eq!(
            rows,
            [
                "| Muster, SQLite 1.0 | 3,000 | 1.00 × | 30,000 | 1.00 × | 2.00 / 2.00 | 5 / 5 | 6 / 6 | 10 → 20 (1,600) |",
                "| Redis streams 1.0 | 1,000 | 3.00 × | 10,000 | 3.00 × | 2.00 / 2.00 | 5 / 5 | 6 / 6 | 10 → 20 (1,600) |",
                "| NATS JetStream | skipped: no a b |",
            ]
        );
    }
}
