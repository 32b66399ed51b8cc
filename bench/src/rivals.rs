//! Muster beside other durable queues, one after the other in the same run: jobs are accepted durably, handed out, and
//! finished durably.

mod beanstalkd;
mod broker;
mod document;
mod driven;
mod install;
mod muster;
mod nats;
mod process;
mod program;
pub(crate) mod redis;

use crate::{
    cost::{tree_cpu, tree_mib},
    handover::sync_alone,
    pool::{Drive, PAIRS, median},
    stopwatch::{now, percentile},
};
use muster_pg_harness::Cluster;
use std::{
    cell::OnceCell,
    panic::{AssertUnwindSafe, catch_unwind},
    rc::Rc,
    time::Duration,
};

/// Rounds that a median is taken of.
pub(crate) const ROUNDS: usize = 3;
const BATCHES: [usize; 2] = [1, 100];
/// Duration of one measurement.
const SPAN: Duration = Duration::from_secs(3);
/// Jobs of one round that are done one after the other.
const LATENCIES: usize = 200;
/// Waiting jobs, and the time that may be spent on handing them in.
const WAITING: usize = 100_000;
const WAITING_SPAN: Duration = Duration::from_secs(20);
/// No round of a rival begins later.
const LIMIT: Duration = Duration::from_secs(720);

/// A queue that runs and has no jobs.
pub(crate) trait Queue {
    fn version(&self) -> String;
    /// Hands in jobs and works them off at the same time.
    fn run(&mut self, drive: Drive) -> Run;
    /// The times of jobs that are done one after the other, from the beginning of the submission to the acknowledged
    /// completion by a worker that waited.
    fn latencies(&mut self, jobs: usize) -> Vec<Duration>;
    /// Hands in jobs that nobody works off; gives the roots of the server's processes.
    fn fill(&mut self, jobs: usize) -> Vec<u32>;
}

/// One measurement.
pub(crate) struct Run {
    /// Jobs per second.
    rate: f64,
    /// Microseconds of a core per job: the servers', and the clients'.
    servers: f64,
    clients: f64,
}

/// Reads what processes and their descendants spend.
struct Meter {
    servers: Vec<u32>,
    clients: Vec<u32>,
}

impl Meter {
    fn new(servers: &[u32], clients: &[u32]) -> Self {
        Self { servers: servers.to_vec(), clients: clients.to_vec() }
    }

    /// Watches while jobs are done at a rate.
    fn watch(&self, drive: Drive, work: impl FnOnce() -> f64) -> Run {
        // The servers may be children of this process, which is the client.
        let spent = || {
            let servers = tree_cpu(&self.servers);
            let clients = match self.clients.as_slice() {
                [this] if *this == std::process::id() => crate::cost::process_cpu(*this),
                others => tree_cpu(others),
            };
            (servers, clients)
        };
        let before = spent();
        let rate = work();
        let after = spent();
        let cost = |after: Duration, before: Duration| {
            after.saturating_sub(before).as_secs_f64() * 1e6 / drive.jobs as f64
        };
        Run { rate, servers: cost(after.0, before.0), clients: cost(after.1, before.1) }
    }
}

/// A queue that can be measured.
struct Rival {
    /// For `--only`.
    key: &'static str,
    name: &'static str,
    /// The place of the Muster in the list that it is compared with.
    beside: usize,
    start: fn(&Shared) -> Result<Box<dyn Queue>, String>,
}

/// Servers that rivals share.
#[derive(Default)]
struct Shared {
    cluster: OnceCell<Rc<Cluster>>,
}

impl Shared {
    fn cluster(&self) -> Rc<Cluster> {
        Rc::clone(self.cluster.get_or_init(|| Rc::new(Cluster::start())))
    }
}

/// What was measured of one rival.
#[derive(Default)]
struct Figures {
    version: String,
    runs: [Vec<Run>; 2],
    latencies: Vec<Duration>,
    memory: Option<Memory>,
    /// It could not be measured.
    failure: Option<String>,
}

/// Memory of a queue's servers, with hardly a job and with many.
struct Memory {
    idle_mib: f64,
    filled_mib: f64,
    jobs: usize,
}

/// Measures all, or those that are named; only the table of all goes into the documentation.
pub(crate) fn measure(only: &[String], rounds: usize) {
    let unknown = only.iter().find(|name| RIVALS.iter().all(|rival| rival.key != **name));
    if let Some(name) = unknown {
        let keys: Vec<&str> = RIVALS.iter().map(|rival| rival.key).collect();
        println!("There is no rival {name}. Choose from: {}.", keys.join(", "));
        return;
    }
    println!(
        "rivals: {PAIRS} senders hand in, {PAIRS} workers work off at the same time, all on the same cores; rounds of about {} s, medians of {rounds} in turn",
        SPAN.as_secs()
    );
    let mut syncs = sync_alone(process::directory().path());
    println!(
        "  one write of a page and its fdatasync alone: p50 {:.2} ms, p99 {:.2} ms",
        millis(percentile(&mut syncs, 50)),
        millis(percentile(&mut syncs, 99))
    );
    let table = table(&rounds_in_turn(only, rounds));
    println!("{table}");
    if only.is_empty()
        && let Err(reason) = document::write(&table)
    {
        println!("  the table was not written into docs/performance.md: {reason}");
    }
}

fn rounds_in_turn(only: &[String], rounds: usize) -> Vec<Figures> {
    let (begun, shared) = (now(), Shared::default());
    let mut figures: Vec<Figures> = RIVALS.iter().map(|_| Figures::default()).collect();
    for round in 0..rounds {
        for (rival, figures) in RIVALS.iter().zip(&mut figures) {
            let is_wanted = only.is_empty() || only.iter().any(|name| name == rival.key);
            if begun.elapsed() > LIMIT {
                println!("  time is over: round {} of {} is left out", round + 1, rival.name);
            } else if is_wanted && figures.failure.is_none() {
                rival.measure(round, &shared, figures);
            }
        }
    }
    figures
}

impl Rival {
    /// Measures one round; what fails is left out from then on.
    fn measure(&self, round: usize, shared: &Shared, figures: &mut Figures) {
        let round = AssertUnwindSafe(|| self.round(round, shared, figures));
        let failure = match catch_unwind(round) {
            Ok(Ok(())) => return,
            Ok(Err(reason)) => reason,
            Err(_) => "it failed, see above".into(),
        };
        println!("  {} is left out: {failure}", self.name);
        figures.failure = Some(failure);
    }

    fn round(&self, round: usize, shared: &Shared, figures: &mut Figures) -> Result<(), String> {
        let mut queue = (self.start)(shared)?;
        figures.version = queue.version();
        for (batch, runs) in BATCHES.into_iter().zip(&mut figures.runs) {
            let rate = runs.last().map_or_else(|| probe(&mut *queue, batch), |run| run.rate);
            let run = queue.run(drive(batch, rate));
            println!(
                "  {} {}, {batch} in a request: {:.0} jobs/s, {:.0} µs of a core per job, clients {:.0}",
                self.name, figures.version, run.rate, run.servers, run.clients
            );
            runs.push(run);
        }
        figures.latencies.extend(queue.latencies(LATENCIES));
        drop(queue);
        if round == 0 {
            figures.memory = Some(self.memory(shared, figures.runs[1][0].rate)?);
        }
        Ok(())
    }

    fn memory(&self, shared: &Shared, rate: f64) -> Result<Memory, String> {
        let jobs = WAITING.min((rate * WAITING_SPAN.as_secs_f64()) as usize / 1_600 * 1_600);
        let mut queue = (self.start)(shared)?;
        let idle_mib = tree_mib(&queue.fill(PAIRS));
        let filled_mib = tree_mib(&queue.fill(jobs));
        Ok(Memory { idle_mib, filled_mib, jobs })
    }
}

/// Finds out roughly how fast a queue is.
fn probe(queue: &mut dyn Queue, batch: usize) -> f64 {
    let mut jobs = PAIRS * batch.max(20);
    loop {
        let rate = queue.run(Drive { batch, jobs }).rate;
        if jobs as f64 / rate > 0.3 {
            return rate;
        }
        jobs *= 8;
    }
}

/// So many jobs as take one measurement.
fn drive(batch: usize, rate: f64) -> Drive {
    let unit = PAIRS * batch;
    Drive { batch, jobs: ((rate * SPAN.as_secs_f64()) as usize / unit).max(1) * unit }
}

fn table(figures: &[Figures]) -> String {
    let rate = |place: usize, batch: usize| {
        let runs = &figures[place].runs[batch];
        if runs.is_empty() { f64::NAN } else { median(runs.iter().map(|run| run.rate).collect()) }
    };
    let mut table = HEAD.to_owned();
    for (place, (rival, figures)) in RIVALS.iter().zip(figures).enumerate() {
        let name = format!("{} {}", rival.name, figures.version);
        if let Some(failure) = &figures.failure {
            table += &format!("| {name} | left out: {failure} | | | | | | | |\n");
            continue;
        }
        let Some(memory) = &figures.memory else { continue };
        let ratio = |batch: usize| rate(rival.beside, batch) / rate(place, batch);
        let cost = |cost: fn(&Run) -> f64| {
            figures
                .runs
                .each_ref()
                .map(|runs| format!("{:.0}", median(runs.iter().map(cost).collect())))
                .join(" / ")
        };
        let latency = |percent| millis(percentile(&mut figures.latencies.clone(), percent));
        table += &format!(
            "| {name} | {:.0} | {:.2} | {:.0} | {:.2} | {:.2} / {:.2} | {} | {} | {:.0} → {:.0}{} |\n",
            rate(place, 0),
            ratio(0),
            rate(place, 1),
            ratio(1),
            latency(50),
            latency(99),
            cost(|run| run.servers),
            cost(|run| run.clients),
            memory.idle_mib,
            memory.filled_mib,
            if memory.jobs < WAITING { format!(" ({})", memory.jobs) } else { String::new() },
        );
    }
    table
}

fn millis(span: Duration) -> f64 {
    span.as_secs_f64() * 1000.0
}

const HEAD: &str = "\
| queue | jobs/s, 1 in a request | Muster is | jobs/s, 100 in a request | Muster is | one job, p50 / p99 ms | µs of a core per job, servers, 1 / 100 | clients, 1 / 100 | MiB, idle → 100,000 jobs waiting |
|---|---:|---:|---:|---:|---:|---:|---:|---:|
";

const RIVALS: [Rival; 10] = [
    Rival {
        key: "muster",
        name: "Muster, SQLite",
        beside: 0,
        start: |_| Ok(Box::new(muster::Muster::new(None))),
    },
    Rival { key: "redis", name: "Redis streams", beside: 0, start: |_| Ok(Box::new(redis::Redis::start()?)) },
    Rival { key: "nats", name: "NATS JetStream", beside: 0, start: |_| Ok(Box::new(nats::Nats::start()?)) },
    Rival {
        key: "rabbitmq",
        name: "RabbitMQ quorum queue",
        beside: 0,
        start: |_| Ok(Box::new(driven::RabbitMq::start()?)),
    },
    Rival {
        key: "beanstalkd",
        name: "beanstalkd",
        beside: 0,
        start: |_| Ok(Box::new(beanstalkd::Beanstalkd::start()?)),
    },
    Rival {
        key: "celery",
        name: "Celery on Redis",
        beside: 0,
        start: |_| Ok(Box::new(driven::Celery::start()?)),
    },
    Rival {
        key: "temporal",
        name: "Temporal, development server",
        beside: 0,
        start: |_| Ok(Box::new(driven::Temporal::start()?)),
    },
    Rival {
        key: "muster-postgres",
        name: "Muster, PostgreSQL",
        beside: 7,
        start: |shared| Ok(Box::new(muster::Muster::new(Some(shared.cluster())))),
    },
    Rival {
        key: "graphile-worker",
        name: "graphile-worker",
        beside: 7,
        start: |shared| Ok(Box::new(driven::OnPostgres::start(shared.cluster(), "graphile-worker")?)),
    },
    Rival {
        key: "pg-boss",
        name: "pg-boss",
        beside: 7,
        start: |shared| Ok(Box::new(driven::OnPostgres::start(shared.cluster(), "pg-boss")?)),
    },
];
