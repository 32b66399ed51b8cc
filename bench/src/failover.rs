//! Time without a writer when the leader of two servers goes, with many live tasks in PostgreSQL.

use super::{
    connection::call,
    server::Server,
    startup,
    stopwatch::{now, percentile},
};
use crate::connection;
use futures_util::StreamExt;
use muster_pg_harness::Cluster;
use muster_store_postgres::{PostgresOptions, PostgresStore};
use rustix::process::{Pid, Signal, kill_process};
use std::{
    mem,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};
use tempfile::TempDir;
use tokio::runtime::Builder;
use tokio_postgres::NoTls;

const ROUNDS: usize = 5;

pub(crate) fn measure(tasks: &[u32]) {
    let cluster = Cluster::start();
    println!(
        "failover: two servers on one PostgreSQL with its defaults, a lease of 3 s; {} connections write through the one that follows; from the blow to the first write that the new term acknowledged; median (max) of {ROUNDS}",
        WRITERS
    );
    for count in tasks {
        measure_with(&cluster, *count);
    }
}

fn measure_with(cluster: &Cluster, tasks: u32) {
    let database = cluster.fresh_database();
    let live =
        startup::fill(&PostgresStore::open(&database, &PostgresOptions::default()).expect("a store"), tasks);
    cluster.sql(&database, "VACUUM ANALYZE");
    cluster.sql("postgres", "CHECKPOINT");
    println!("  {live} live tasks on as many devices");
    println!("    reading their rows alone, by COPY  {:>6.2} s", copied(&database).as_secs_f64());
    let mut duel = Duel::begin(&database);
    for blow in [Blow::Kill, Blow::Stop, Blow::Terminate] {
        let outages: Vec<Outage> = (0..ROUNDS).map(|_| duel.round(blow)).collect();
        let times = |part: fn(&Outage) -> Duration| {
            let mut times: Vec<Duration> = outages.iter().map(part).collect();
            format!(
                "{:>5.2} s ({:.2})",
                percentile(&mut times, 50).as_secs_f64(),
                percentile(&mut times, 100).as_secs_f64()
            )
        };
        println!(
            "    {:<34} {}   until the term began {}   then until the write {}",
            blow.name(),
            times(|outage| outage.taken + outage.answered),
            times(|outage| outage.taken),
            times(|outage| outage.answered)
        );
    }
}

/// Time to read the rows from the database and do nothing with them.
fn copied(database: &str) -> Duration {
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let (client, connection) =
            tokio_postgres::connect(database, NoTls).await.expect("the server listens");
        tokio::spawn(connection);
        let begun = now();
        for table in ["pcs", "devices", "tasks", "task_devices", "pc_runs"] {
            let sql = format!("COPY muster.{table} TO STDOUT (FORMAT binary)");
            let rows = client.copy_out(&sql).await.expect("a table");
            let mut rows = std::pin::pin!(rows);
            while rows.next().await.is_some() {}
        }
        begun.elapsed()
    })
}

/// Fate of the leader.
#[derive(Clone, Copy)]
enum Blow {
    /// Its process is gone, and its connections with it.
    Kill,
    /// It stands still with its connections open, as a machine does whose cable was pulled.
    Stop,
    /// It is asked to end, and hands over.
    Terminate,
}

impl Blow {
    fn name(self) -> &'static str {
        match self {
            Self::Kill => "killed (SIGKILL)",
            Self::Stop => "silent (SIGSTOP)",
            Self::Terminate => "ended (SIGTERM)",
        }
    }

    fn signal(self) -> Signal {
        match self {
            Self::Kill => Signal::KILL,
            Self::Stop => Signal::STOP,
            Self::Terminate => Signal::TERM,
        }
    }
}

/// Time without a writer.
struct Outage {
    /// From the blow to the new term.
    taken: Duration,
    /// From there to its first acknowledged write.
    answered: Duration,
}

/// Both servers.
struct Duel {
    database: String,
    leader: Fighter,
    follower: Fighter,
}

struct Fighter {
    server: Server,
    _data: TempDir,
}

impl Duel {
    fn begin(database: &str) -> Self {
        let leader = Fighter::enter(database, "leading");
        let follower = Fighter::enter(database, "following");
        Self { database: database.to_owned(), leader, follower }
    }

    /// Strikes the leader; the other takes its place, and a third follows that one.
    fn round(&mut self, blow: Blow) -> Outage {
        let witnesses = Witnesses::call(self.follower.server.address, &self.database);
        let epoch = witnesses.term();
        // Writes go on for a while, so that nothing read before this can be of use.
        thread::sleep(Duration::from_secs(2));
        let process = i32::try_from(self.leader.server.id()).ok().and_then(Pid::from_raw);
        let struck = now();
        kill_process(process.expect("a process"), blow.signal()).expect("it is ours");
        let [begun, acknowledged] = witnesses.next_term(epoch);
        drop(witnesses);
        let next = mem::replace(&mut self.follower, Fighter::enter(&self.database, "following"));
        self.leader = next;
        Outage { taken: begun - struck, answered: acknowledged.saturating_duration_since(begun) }
    }
}

impl Fighter {
    /// Starts a server and waits until it has its place.
    fn enter(database: &str, place: &str) -> Self {
        let data = tempfile::tempdir().expect("a temporary directory");
        let server = Server::start(data.path(), database, SETTINGS);
        loop {
            let answer = call(server.address, "GET /readyz", "");
            if answer.is_ok_and(|answer| answer.status == 200 && answer.text.contains(place)) {
                return Self { server, _data: data };
            }
            thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Settings with timeouts of a day: no agent reports for the devices, and live attempts stay live.
const SETTINGS: &[(&str, &str)] = &[
    ("MUSTER_OPERATIONS__SLOTS", "100"),
    ("MUSTER_OPERATIONS__ATTEMPT_TIMEOUT_S", "86400"),
    ("MUSTER_NODES__LEASE_S", "86400"),
    ("MUSTER_NODES__OFFLINE_AFTER_S", "86400"),
];

/// Number of concurrent writers. Each starts a quarter of a second after the previous one, so that one of them sends a
/// request soon even if a response never comes.
const WRITERS: u32 = 4;

/// Threads that write and look until they are dropped.
struct Witnesses {
    acknowledged: Receiver<Observation>,
    begun: Receiver<Observation>,
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

/// A term, seen at a moment.
#[derive(Clone, Copy)]
struct Observation {
    epoch: u64,
    at: Instant,
}

impl Witnesses {
    /// Begins to write through a server, and to look into the database.
    fn call(server: SocketAddr, database: &str) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let (acknowledge, acknowledged) = channel();
        let (begin, begun) = channel();
        let writer = |number: u32| {
            let (over, acknowledge) = (Arc::clone(&over), acknowledge.clone());
            thread::spawn(move || {
                thread::sleep(connection::PATIENCE / WRITERS * number);
                write(server, &over, &acknowledge);
            })
        };
        let mut threads: Vec<_> = (0..WRITERS).map(writer).collect();
        let (database, end) = (database.to_owned(), Arc::clone(&over));
        threads.push(thread::spawn(move || look(&database, &end, &begin)));
        Self { acknowledged, begun, over, threads }
    }

    /// The term of the next write that is acknowledged.
    fn term(&self) -> u64 {
        self.acknowledged.recv_timeout(LIMIT).expect("a write is acknowledged").epoch
    }

    /// When a term after this one began, and when a write of it was acknowledged.
    fn next_term(&self, epoch: u64) -> [Instant; 2] {
        [&self.begun, &self.acknowledged].map(|seen| {
            loop {
                let seen = seen.recv_timeout(LIMIT).expect("the other server leads");
                if seen.epoch > epoch {
                    return seen.at;
                }
            }
        })
    }
}

impl Drop for Witnesses {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // A thread that failed has said so.
            let _ = thread.join();
        }
    }
}

fn write(server: SocketAddr, over: &AtomicBool, acknowledge: &Sender<Observation>) {
    for number in 0.. {
        if over.load(Ordering::Relaxed) {
            return;
        }
        // As small as a write can be, whatever the size of the fleet, and unlike the one before.
        let labels = format!(r#"{{"labels":{{"number":"{number}"}}}}"#);
        if let Ok(answer) = call(server, "PATCH /api/devices/serial-00000-000", &labels)
            && answer.status == 200
        {
            // The receiver may be gone.
            let _ = acknowledge.send(Observation { epoch: answer.epoch, at: now() });
        }
        thread::sleep(PAUSE);
    }
}

fn look(database: &str, over: &AtomicBool, begin: &Sender<Observation>) {
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let (client, connection) =
            tokio_postgres::connect(database, NoTls).await.expect("the server listens");
        tokio::spawn(connection);
        let statement = client.prepare("SELECT epoch FROM muster.leader").await.expect("a statement");
        while !over.load(Ordering::Relaxed) {
            let row = client.query_one(&statement, &[]).await.expect("there is always a row");
            let epoch = u64::try_from(row.get::<_, i64>(0)).unwrap_or(0);
            let _ = begin.send(Observation { epoch, at: now() });
            tokio::time::sleep(PAUSE).await;
        }
    });
}

const PAUSE: Duration = Duration::from_millis(5);
/// Time limit of the measurement.
const LIMIT: Duration = Duration::from_secs(120);
