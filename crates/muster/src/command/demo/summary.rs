//! How the demo closes: what each run and each node did, and what the check found.

mod contracts;
mod court;
mod frames;
mod pool;

pub(super) use court::CourtSummary;
pub(super) use frames::FrameSummary;
pub(super) use pool::PoolSummary;

use super::{
    check::Finding,
    conductor::Performed,
    fleet::Fleet,
    ledger::Ledger,
    paint::{Paint, grouped},
    report::{Report, slot_waits},
};
use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};
use serde_json::{Value, json};
use std::{fmt::Write, time::Duration};

/// Everything there is to tell.
pub(super) struct Summary<'a> {
    pub(super) server: &'a str,
    pub(super) seed: u64,
    pub(super) runs: &'a [Performed],
    pub(super) fleet: &'a Fleet,
    pub(super) ledger: &'a Ledger,
    pub(super) frames: FrameSummary<'a>,
    pub(super) pool: PoolSummary<'a>,
    pub(super) court: CourtSummary<'a>,
    pub(super) findings: &'a [Finding],
    /// Callbacks that the server took, heartbeats and repeats included.
    pub(super) callbacks: u64,
    pub(super) elapsed: Duration,
}

/// What one agent did.
struct NodeCounts {
    pc: &'static str,
    jobs: u64,
    callbacks: u64,
    interrupted: u64,
    starts: u64,
}

impl Summary<'_> {
    pub(super) fn is_good(&self) -> bool {
        self.findings.iter().all(|finding| finding.is_good)
    }

    /// For people.
    pub(super) fn text(&self, paint: Paint, is_terminal: bool) -> String {
        let mut text = String::new();
        let tables = [
            self.run_table(is_terminal),
            self.node_table(is_terminal),
            self.frames.session_table(is_terminal),
            self.frames.worker_table(is_terminal),
            self.pool.job_table(is_terminal),
            self.pool.worker_table(is_terminal),
            self.court.table(is_terminal),
            self.contract_table(is_terminal),
        ];
        for table in tables {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{}\n", tint(paint, &table));
        }
        let _ = writeln!(text, "{}\n", self.totals(paint));
        for finding in self.findings {
            let mark = if finding.is_good { paint.good("✔") } else { paint.bad("✘") };
            let _ = writeln!(text, "  {mark} {}", finding.says);
        }
        let verdict = if self.is_good() {
            paint.good("Nothing lost, nothing doubled: every piece of work ended as it should.")
        } else {
            paint.bad("Not everything ended as it should; see the lines marked ✘.")
        };
        let _ = write!(text, "\n{verdict}");
        text
    }

    /// For scripts.
    pub(super) fn document(&self) -> Value {
        let findings = self.findings.iter().map(|f| json!({"ok": f.is_good, "check": f.says}));
        json!({
            "server": self.server,
            "seed": self.seed,
            "elapsed_ms": millis(self.elapsed),
            "runs": self.runs.iter().map(|run| self.run_document(run)).collect::<Vec<_>>(),
            "nodes": self.nodes(),
            "sessions": self.frames.sessions(),
            "workers": self.frames.workers(),
            "pool": self.pool.document(),
            "court": self.court.document(),
            "contracts": self.contracts(),
            "totals": {
                "callbacks": self.callbacks,
                "callbacks_per_s": self.callbacks_per_s(),
                "slot_free_to_next_job_p50_ms": self.wait_p50().map(millis),
            },
            "checks": findings.collect::<Vec<_>>(),
            "ok": self.is_good(),
        })
    }

    fn run_document(&self, run: &Performed) -> Value {
        let (attempts, retries) = self.attempts(run);
        json!({"run_id": run.id, "title": run.plan.title, "queue": run.plan.queue, "status": run.status,
            "completed": run.counts.completed, "failed": run.counts.failed, "cancelled": run.counts.cancelled,
            "attempts": attempts, "retries": retries, "duration_ms": run.took.map(millis)})
    }

    fn nodes(&self) -> Vec<Value> {
        let node = |node: NodeCounts| {
            let NodeCounts { pc, jobs, callbacks, interrupted, starts } = node;
            json!({"node_id": pc, "jobs": jobs, "callbacks": callbacks, "interrupted": interrupted,
                "starts": starts})
        };
        self.node_counts().map(node).collect()
    }

    fn node_counts(&self) -> impl Iterator<Item = NodeCounts> {
        self.fleet.agents().iter().map(|agent| {
            let reports = self.ledger.reports.iter().filter(|report| report.node == agent.pc);
            let count = |is_it: fn(&&Report) -> bool| reports.clone().filter(is_it).count() as u64;
            NodeCounts {
                pc: agent.pc,
                jobs: count(|report| report.ends_a_task()),
                callbacks: count(|_| true),
                interrupted: count(|report| report.is_interruption()),
                starts: agent.starts(),
            }
        })
    }

    fn run_table(&self, is_terminal: bool) -> String {
        let mut table = empty_table(is_terminal);
        table.set_header([
            "RUN",
            "QUEUE",
            "STATUS",
            "DONE",
            "FAILED",
            "CANCELLED",
            "ATTEMPTS",
            "RETRIES",
            "TIME",
        ]);
        for run in self.runs {
            let (attempts, retries) = self.attempts(run);
            let counts = run.counts;
            let numbers = [counts.completed, counts.failed, counts.cancelled, attempts, retries].map(number);
            let took = run.took.map_or_else(|| "-".to_owned(), |took| format!("{:.1} s", took.as_secs_f64()));
            let words = [run.plan.title, run.plan.queue, &run.status].map(Cell::new);
            table.add_row(words.into_iter().chain(numbers).chain([right(took)]));
        }
        table.trim_fmt()
    }

    fn node_table(&self, is_terminal: bool) -> String {
        let mut table = empty_table(is_terminal);
        table.set_header(["NODE", "JOBS", "CALLBACKS", "INTERRUPTED", "AGENT STARTED"]);
        for NodeCounts { pc, jobs, callbacks, interrupted, starts } in self.node_counts() {
            let counts = [jobs, callbacks, interrupted].map(number);
            table.add_row([Cell::new(pc)].into_iter().chain(counts).chain([times(starts)]));
        }
        table.trim_fmt()
    }

    fn totals(&self, paint: Paint) -> String {
        let wait = self
            .wait_p50()
            .map_or_else(|| "-".to_owned(), |p50| format!("{:.1} ms", p50.as_secs_f64() * 1e3));
        format!(
            "{} callbacks in {:.1} s: {}; slot free → next job: {} (p50)",
            grouped(self.callbacks),
            self.elapsed.as_secs_f64(),
            paint.strong(&format!("{}/s", grouped(self.callbacks_per_s()))),
            paint.strong(&wait),
        )
    }

    /// Attempts of a run in all, and those that were not a device's first.
    fn attempts(&self, run: &Performed) -> (u64, u64) {
        let rows = self.ledger.rows.get(&run.id).map_or(&[][..], Vec::as_slice);
        let attempts = rows.iter().map(|row| u64::from(row.attempt)).sum();
        (attempts, rows.iter().map(|row| u64::from(row.attempt.saturating_sub(1))).sum())
    }

    fn callbacks_per_s(&self) -> u64 {
        self.callbacks * 1000 / u64::try_from(self.elapsed.as_millis()).unwrap_or(u64::MAX).max(1)
    }

    fn wait_p50(&self) -> Option<Duration> {
        median(slot_waits(&self.ledger.reports))
    }
}

fn empty_table(is_terminal: bool) -> Table {
    let mut table = Table::new();
    table.load_style(if is_terminal { presets::UTF8_BORDERS_ONLY } else { presets::NOTHING });
    table.set_content_arrangement(ContentArrangement::Disabled);
    table
}

fn number(count: u64) -> Cell {
    right(grouped(count))
}

/// How often something was done.
fn times(count: u64) -> Cell {
    right(if count == 1 { "once".to_owned() } else { format!("{count} times") })
}

fn right(text: String) -> Cell {
    Cell::new(text).set_alignment(CellAlignment::Right)
}

/// Colours words after the table is drawn: what has no width must not be measured.
fn tint(paint: Paint, table: &str) -> String {
    let table = table.replace(" success ", &paint.good(" success "));
    let table = table.replace(" completed ", &paint.good(" completed "));
    let table = table.replace(" cancelled ", &paint.note(" cancelled "));
    let table = table.replace(" banned ", &paint.note(" banned "));
    table.replace(" failed ", &paint.bad(" failed "))
}

fn median(mut values: Vec<Duration>) -> Option<Duration> {
    values.sort_unstable();
    values.get(values.len() / 2).copied()
}

fn millis(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e5).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_one_in_the_middle() {
        let ms = |values: &[u64]| median(values.iter().copied().map(Duration::from_millis).collect());
        assert_eq!(ms(&[]), None);
        assert_eq!(ms(&[9, 1, 5]), Some(Duration::from_millis(5)));
        assert_eq!(millis(Duration::from_micros(12_345)), 12.35);
    }

    /// I4: in a pipe a table is bare, on a terminal ruled.
    #[test]
    fn tables_are_ruled_on_a_terminal_only() {
        let drawn = |is_terminal| {
            let mut table = empty_table(is_terminal);
            table.set_header(["A"]).add_row([number(1234)]);
            table.trim_fmt()
        };
        assert!(drawn(true).contains('─'));
        assert!(!drawn(false).contains('─') && drawn(false).contains("1,234"));
    }
}
