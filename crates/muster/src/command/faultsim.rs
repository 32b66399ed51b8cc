//! `muster faultsim`: lives through deterministic worlds and checks them after every step.

use crate::{
    failure::{Exit, Failure},
    output,
};
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use muster_faultsim::{Coverage, STEPS, Scenario};
use serde_json::{Value, json};
use std::{
    io::{self, IsTerminal},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

/// Failures after which the rest of the seeds is left alone.
const FAILURES_MAX: usize = 10;

#[derive(Debug, Args)]
pub(crate) struct Faultsim {
    /// Begin with this seed; alone, replay just it and show the steps that led to a failure
    #[arg(long)]
    seed: Option<u64>,
    /// Number of seeds [default: 100, or 1 with --seed]
    #[arg(long)]
    seeds: Option<u64>,
    /// Steps with faults in each world
    #[arg(long, default_value_t = STEPS)]
    steps: u32,
    /// So many servers share the store in every world, 1 to 9 [default: as the seed decides]
    #[arg(long, value_parser = clap::value_parser!(u8).range(1..=9))]
    servers: Option<u8>,
    /// Show how often each kind of thing happened; with one seed, all steps that led to a failure
    #[arg(long)]
    verbose: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Totals over all worlds.
#[derive(Default)]
struct Tally {
    worlds: u64,
    lasted_ms: i64,
    coverage: Coverage,
    failures: Vec<muster_faultsim::Failure>,
}

impl Faultsim {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let first = self.seed.unwrap_or(0);
        let count = self.seeds.unwrap_or(if self.seed.is_some() { 1 } else { 100 });
        let servers = self.servers.map(usize::from);
        let scenario = Scenario { steps: self.steps, servers, ..Scenario::new(first) };
        let all_steps = self.verbose && count == 1;
        let trace = if all_steps { usize::MAX } else { scenario.trace };
        let tally = live_through(Scenario { trace, ..scenario }, count);
        if self.json {
            output::document(&tally.document());
        } else {
            self.tell(&tally, count);
        }
        Ok(if tally.failures.is_empty() { Exit::Fine } else { Exit::Failed })
    }

    fn tell(&self, tally: &Tally, count: u64) {
        for failure in &tally.failures {
            if count == 1 {
                failure.trace.iter().for_each(|step| output::line(step));
            }
            output::line(&failure.to_string());
        }
        if self.verbose {
            for (what, count) in tally.coverage.iter() {
                output::line(&format!("{count:>12}  {what}"));
            }
        }
        let hours = tally.lasted_ms / 3_600_000;
        let failed = tally.failures.len();
        output::line(&format!("{} worlds, {hours} simulated hours, {failed} failed", tally.worlds));
    }
}

impl Tally {
    fn add(&mut self, outcome: Result<muster_faultsim::Summary, Box<muster_faultsim::Failure>>) {
        self.worlds += 1;
        match outcome {
            Ok(summary) => {
                self.lasted_ms += summary.lasted.0;
                self.coverage.add(&summary.coverage);
            }
            Err(failure) => self.failures.push(*failure),
        }
    }

    fn document(&self) -> Value {
        let failure = |failure: &muster_faultsim::Failure| {
            json!({
                "seed": failure.seed,
                "steps": failure.steps,
                "servers": failure.servers,
                "check": failure.check,
                "detail": failure.detail,
                "replay": failure.replay(),
                "trace": failure.trace,
            })
        };
        json!({
            "worlds": self.worlds,
            "simulated_ms": self.lasted_ms,
            "failures": self.failures.iter().map(failure).collect::<Vec<_>>(),
            "coverage": self.coverage.iter().collect::<std::collections::BTreeMap<_, _>>(),
        })
    }
}

/// Lives through the worlds of `count` seeds from the first on, on every core.
fn live_through(first: Scenario, count: u64) -> Tally {
    let (next, tally, bar) = (AtomicU64::new(0), Mutex::new(Tally::default()), progress(count));
    let work = || {
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            if place >= count {
                return;
            }
            let scenario = Scenario { seed: first.seed.wrapping_add(place), ..first };
            let outcome = muster_faultsim::run(&scenario);
            let mut tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
            tally.add(outcome);
            bar.inc(1);
            if tally.failures.len() >= FAILURES_MAX {
                return;
            }
        }
    };
    let cores = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(work);
        }
    });
    bar.finish_and_clear();
    let mut tally = tally.into_inner().unwrap_or_else(PoisonError::into_inner);
    tally.failures.sort_by_key(|failure| failure.seed);
    tally
}

/// A bar on a terminal, nothing elsewhere.
fn progress(count: u64) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} worlds, {per_sec}, {eta} left");
    ProgressBar::new(count).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
