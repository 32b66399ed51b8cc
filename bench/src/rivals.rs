//! Muster beside other durable queues, one after the other in the same run. The work is the same for all: a job is
//! accepted durably, handed out, and completed durably.

mod beanstalkd;
mod broker;
mod document;
mod driven;
mod figures;
mod install;
mod muster;
mod nats;
mod process;
mod program;
pub(crate) mod redis;

use crate::{
    cost::{process_cpu, tree_cpu, tree_mib},
    handover::sync_alone,
    pool::{Drive, PAIRS},
    stopwatch::{now, percentile},
};
use clap::Args;
use figures::{Figures, Memory, millis};
use muster_pg_harness::Cluster;
use std::{
    cell::OnceCell,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    rc::Rc,
    time::Duration,
};

/// The part of the rivals to measure, and for how long.
#[derive(Args)]
pub(crate) struct Options {
    /// Only these, separated by commas; writes nothing.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// Rounds that the medians are taken of; with fewer than the default nothing is written.
    #[arg(long, value_name = "NUMBER", default_value_t = ROUNDS)]
    pub(crate) rounds: usize,
    /// Duration of one measurement; with less than the default nothing is written.
    #[arg(long, default_value_t = SECONDS)]
    pub(crate) seconds: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { only: Vec::new(), rounds: ROUNDS, seconds: SECONDS }
    }
}

impl Options {
    fn includes(&self, rival: &Rival) -> bool {
        self.only.is_empty() || self.only.iter().any(|name| name == rival.key)
    }

    /// The documentation gets nothing that was measured in part or in haste.
    fn is_complete(&self) -> bool {
        self.only.is_empty() && self.rounds >= ROUNDS && self.seconds >= SECONDS
    }
}

const ROUNDS: usize = 3;
const SECONDS: u64 = 3;
const BATCHES: [usize; 2] = [1, 100];
/// Jobs per second of a rival that nothing is known about.
const SLOW: f64 = 160.0;
/// Jobs of one round that are done one after the other.
const LATENCIES: usize = 200;
/// Jobs before them that do not count: clients open connections when they first need them.
const WARM_UP: usize = 10;
/// Number of waiting jobs whose memory is measured, and the time that submitting them may take.
const WAITING: usize = 100_000;
const WAITING_SPAN: Duration = Duration::from_secs(20);
/// No round of a rival begins later, so that all ends within a quarter of an hour.
const LIMIT: Duration = Duration::from_secs(720);
/// A sync that takes less did not reach a disk.
const DISK: Duration = Duration::from_micros(20);

/// A queue that runs and has no jobs.
pub(crate) trait Queue {
    fn version(&self) -> String;
    /// Submits jobs and completes them at the same time.
    fn run(&mut self, drive: Drive) -> Run;
    /// Latencies of jobs that are done one after the other, from the beginning of the submission to the acknowledged
    /// completion by a worker that waited.
    fn latencies(&mut self, jobs: usize) -> Vec<Duration>;
    /// Submits jobs that nobody works on; gives the roots of the server's processes.
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

/// Reads the CPU time of processes and their descendants.
struct Meter {
    servers: Vec<u32>,
    /// Programs that submit and complete jobs; if there are none, this process does.
    programs: Vec<u32>,
}

impl Meter {
    fn new(servers: &[u32], programs: &[u32]) -> Self {
        Self { servers: servers.to_vec(), programs: programs.to_vec() }
    }

    /// Watches while jobs are done at a rate.
    fn watch(&self, drive: Drive, work: impl FnOnce() -> f64) -> Run {
        let before = self.spent();
        let rate = work();
        let after = self.spent();
        let [servers, clients] =
            [0, 1].map(|of| after[of].saturating_sub(before[of]).as_secs_f64() * 1e6 / drive.jobs as f64);
        Run { rate, servers, clients }
    }

    /// CPU time of the servers and of the clients so far.
    fn spent(&self) -> [Duration; 2] {
        // The servers are children of this process, so its descendants do not count as clients.
        let clients = match self.programs.as_slice() {
            [] => process_cpu(std::process::id()),
            programs => tree_cpu(programs),
        };
        [tree_cpu(&self.servers), clients]
    }
}

/// A queue that can be measured.
struct Rival {
    /// For `--only`.
    key: &'static str,
    name: &'static str,
    /// Place in the list of the Muster that it is compared with.
    beside: usize,
    start: fn(&Shared) -> Result<Box<dyn Queue>, String>,
}

/// Programs and servers that rivals share, each installed or started once, when it is first needed.
#[derive(Default)]
struct Shared {
    cluster: OnceCell<Result<Rc<Cluster>, String>>,
    node: OnceCell<Result<PathBuf, String>>,
    python: OnceCell<Result<PathBuf, String>>,
}

impl Shared {
    fn cluster(&self) -> Result<Rc<Cluster>, String> {
        let start = || install::postgresql().map(|()| Rc::new(Cluster::start()));
        self.cluster.get_or_init(start).clone()
    }

    fn node(&self) -> Result<PathBuf, String> {
        self.node.get_or_init(install::node).clone()
    }

    /// A program of the Python packages, or Python itself.
    fn python(&self, program: &str) -> Result<PathBuf, String> {
        self.python.get_or_init(install::python).clone().map(|directory| directory.join(program))
    }
}

/// Measures all, or those that are named; only complete measurements go into the documentation.
pub(crate) fn measure(options: &Options) {
    let is_known = |name: &&String| RIVALS.iter().any(|rival| rival.key == **name);
    if let Some(name) = options.only.iter().find(|name| !is_known(name)) {
        let keys: Vec<&str> = RIVALS.iter().map(|rival| rival.key).collect();
        println!("There is no rival {name}. Choose from: {}.", keys.join(", "));
        return;
    }
    let conditions = conditions(options);
    println!("rivals: {conditions}");
    let section = format!("{conditions}\n\n{}", figures::table(&in_turn(options)));
    println!("\n{section}");
    if options.is_complete() {
        match document::write(&section) {
            Ok(()) => println!("  This is in docs/performance.md now."),
            Err(reason) => println!("  docs/performance.md is unchanged: {reason}"),
        }
    }
}

/// One paragraph on this run and this machine.
fn conditions(options: &Options) -> String {
    let mut syncs = sync_alone(process::directory().path());
    let [p50, p99] = [50, 99].map(|percent| percentile(&mut syncs, percent));
    if p50 < DISK {
        println!("  The directory for temporary files is not on a disk: set TMPDIR to one that is.");
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!(
        "{PAIRS} senders and {PAIRS} workers at the same time, everything on the same {cores} cores; medians of {} rounds in turn, each of about {} s. One write of a page and its `fdatasync` alone: p50 {:.2} ms, p99 {:.2} ms.",
        options.rounds,
        options.seconds,
        millis(p50),
        millis(p99)
    )
}

fn in_turn(options: &Options) -> Vec<Figures> {
    let (begun, shared) = (now(), Shared::default());
    let mut figures: Vec<Figures> = RIVALS.iter().map(|_| Figures::default()).collect();
    for round in 0..options.rounds {
        for (rival, figures) in RIVALS.iter().zip(&mut figures) {
            if !options.includes(rival) || figures.failure.is_some() {
                continue;
            }
            if begun.elapsed() > LIMIT {
                println!("  The time is up: {} has no round {}.", rival.name, round + 1);
                if figures.runs[0].is_empty() {
                    figures.failure = Some("the time was up before its turn".into());
                }
            } else {
                rival.measure(options, &shared, figures);
            }
        }
    }
    println!("  {:.0} s in all", begun.elapsed().as_secs_f64());
    figures
}

impl Rival {
    /// Measures one round. A rival that fails is skipped from then on.
    fn measure(&self, options: &Options, shared: &Shared, figures: &mut Figures) {
        let round = AssertUnwindSafe(|| self.round(options, shared, figures));
        let failure = match catch_unwind(round) {
            Ok(Ok(())) => return,
            Ok(Err(reason)) => reason,
            Err(_) => "a measurement of it failed".into(),
        };
        println!("  {} is skipped: {failure}", self.name);
        figures.failure = Some(failure);
    }

    fn round(&self, options: &Options, shared: &Shared, figures: &mut Figures) -> Result<(), String> {
        let mut queue = (self.start)(shared)?;
        figures.version = queue.version();
        let mut rate = SLOW;
        for (batch, runs) in BATCHES.into_iter().zip(&mut figures.runs) {
            // In the first round the rate is not known yet, but that of a hundred is hardly below that of one.
            rate = runs.last().map_or_else(|| probe(&mut *queue, drive(batch, rate)), |run| run.rate);
            let run = queue.run(drive(batch, rate * options.seconds as f64));
            println!(
                "  {} {}, {batch} in a request: {:.0} jobs/s, µs of a core per job: servers {:.0}, clients {:.0}",
                self.name, figures.version, run.rate, run.servers, run.clients
            );
            runs.push(run);
        }
        figures.latencies.extend(queue.latencies(WARM_UP + LATENCIES).into_iter().skip(WARM_UP));
        // Two of them would not do for one server that both use.
        drop(queue);
        if figures.memory.is_none() {
            figures.memory = Some(self.memory(shared, figures.runs[1][0].rate)?);
        }
        Ok(())
    }

    /// Measures the memory of a fresh server, at first with hardly a job.
    fn memory(&self, shared: &Shared, rate: f64) -> Result<Memory, String> {
        let jobs = WAITING.min(drive(100, rate * WAITING_SPAN.as_secs_f64()).jobs);
        let mut queue = (self.start)(shared)?;
        let idle_mib = tree_mib(&queue.fill(PAIRS));
        let filled_mib = tree_mib(&queue.fill(jobs));
        Ok(Memory { idle_mib, filled_mib, jobs })
    }
}

/// Finds out roughly how many jobs per second a queue does.
fn probe(queue: &mut dyn Queue, mut drive: Drive) -> f64 {
    loop {
        let rate = queue.run(drive).rate;
        if drive.jobs as f64 / rate > 0.3 {
            return rate;
        }
        drive.jobs *= 8;
    }
}

/// About so many jobs, in whole requests, and as many of each sender if the jobs suffice for that.
fn drive(batch: usize, jobs: f64) -> Drive {
    let jobs = jobs as usize;
    let unit = if jobs < PAIRS * batch { batch } else { PAIRS * batch };
    Drive { batch, jobs: (jobs / unit).max(1) * unit }
}

/// The Musters stand before those that are compared with them.
const RIVALS: [Rival; 10] = [
    Rival {
        key: "muster",
        name: "Muster, SQLite",
        beside: 0,
        start: |_| Ok(Box::new(muster::Muster::new(None))),
    },
    Rival { key: "redis", name: "Redis streams", beside: 0, start: |_| Ok(Box::new(redis::Redis::start()?)) },
    Rival {
        key: "nats",
        name: "NATS JetStream",
        beside: 0,
        start: |shared| Ok(Box::new(nats::Nats::start(shared)?)),
    },
    Rival {
        key: "rabbitmq",
        name: "RabbitMQ quorum queue",
        beside: 0,
        start: |shared| Ok(Box::new(driven::RabbitMq::start(shared)?)),
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
        start: |shared| Ok(Box::new(driven::Celery::start(shared)?)),
    },
    Rival {
        key: "temporal",
        name: "Temporal, development server",
        beside: 0,
        start: |shared| Ok(Box::new(driven::Temporal::start(shared)?)),
    },
    Rival {
        key: "muster-postgres",
        name: "Muster, PostgreSQL",
        beside: 7,
        start: |shared| Ok(Box::new(muster::Muster::new(Some(shared.cluster()?)))),
    },
    Rival {
        key: "graphile-worker",
        name: "graphile-worker",
        beside: 7,
        start: |shared| Ok(Box::new(driven::OnPostgres::start(shared, "graphile-worker")?)),
    },
    Rival {
        key: "pg-boss",
        name: "pg-boss",
        beside: 7,
        start: |shared| Ok(Box::new(driven::OnPostgres::start(shared, "pg-boss")?)),
    },
];
