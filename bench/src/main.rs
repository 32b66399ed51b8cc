//! Measurements, each a ratio in one run: `cargo run --release -p muster-bench -- all`.

mod agent;
mod allocations;
mod bare;
mod callbacks;
mod connection;
mod cost;
mod court;
mod dashboard;
mod engine;
mod failover;
mod fleet;
mod guard;
mod handover;
mod heartbeats;
mod merge;
mod migrate;
mod pool;
mod postgres;
mod proof;
mod rivals;
mod secrets;
mod server;
mod signatures;
mod spool;
mod startup;
mod stopwatch;

use clap::{Parser, Subcommand};

/// The allocator of the server.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Cost of an engine command and memory, from 1k to 1M devices.
    Engine {
        /// Only this number of devices; prints bare numbers.
        #[arg(long, hide = true)]
        one: Option<u32>,
        /// Only one pass over this number of devices, for counting instructions.
        #[arg(long, hide = true)]
        pass: Option<u32>,
    },
    /// Durable callbacks per second over HTTP, beside the same server without a store and a bare HTTP server.
    Callbacks {
        /// Send so many events in one request (N25) instead of each in its own.
        #[arg(long, value_parser = clap::value_parser!(u16).range(2..=500))]
        batch: Option<u16>,
    },
    /// The bare HTTP server of `callbacks`.
    #[command(hide = true)]
    BareServer,
    /// Allocations per callback, by thread.
    Allocations,
    /// Time per request when ten thousand nodes have secrets of their own.
    Secrets,
    /// From a freed slot to the next job in the hands of a waiting pull.
    Handover,
    /// Thousands of simulation workers that heartbeat every second, and how soon one of them gets a task meanwhile.
    Heartbeats {
        /// Number of workers.
        #[arg(long, default_value_t = HEARTBEAT_WORKERS)]
        workers: usize,
    },
    /// Cost of an agent for its PC, idle and busy.
    Agent,
    /// Durable appends to the agent's log, beside the bare disk.
    Spool,
    /// Time from the start of the server to readiness, with a million live tasks.
    Startup,
    /// Merging manifest fragments, from 1k to 100k, beside the same merge in Python.
    Merge {
        /// Only merges this directory; prints the memory it took.
        #[arg(long, hide = true)]
        one: Option<std::path::PathBuf>,
    },
    /// Verifications per second and core beside bare Ed25519, and canonical JSON beside Python.
    Proof,
    /// Signing and strict verification, beside ed25519-dalek and ring.
    Signatures,
    /// Durable jobs per second through the pool, one by one and in batches, beside Redis streams.
    Pool,
    /// Durable jobs per second on PostgreSQL, beside graphile-worker and pg-boss on the same server.
    Postgres,
    /// Muster beside other durable queues: throughput, latency, CPU per job, memory. Writes the table of docs/performance.md.
    ///
    /// Installs them from Debian, PyPI and npm; takes a quarter of an hour.
    Rivals(rivals::Options),
    /// From the end of the leader of two servers to the first write that the other acknowledges.
    Failover {
        /// Numbers of live tasks.
        #[arg(long, value_delimiter = ',', default_value = "10000,100000,1000000")]
        tasks: Vec<u32>,
    },
    /// Pause of service while an installation moves from SQLite to PostgreSQL.
    Migrate {
        /// Numbers of live tasks.
        #[arg(long, value_delimiter = ',', default_value = "10000,100000,1000000")]
        tasks: Vec<u32>,
    },
    /// From an event's file to its soldier, with and without a long history, and events per second.
    Court {
        /// Only notes when it started, as the soldier of a measured court.
        #[arg(long, hide = true)]
        soldier: bool,
    },
    /// Responsiveness of the overview in Chromium, and the cost of one more dashboard for the server.
    Dashboard {
        /// Devices that are at work.
        #[arg(long, default_value_t = 10_000)]
        devices: usize,
        /// Entries of the feed per second.
        #[arg(long, default_value_t = 1_000)]
        events: usize,
        /// Duration of the measurement in the browser.
        #[arg(long, default_value_t = 300)]
        seconds: u64,
    },
    /// Everything.
    All,
}

fn main() {
    match Arguments::parse().what {
        What::Engine { one, pass } => engine::measure(one, pass),
        What::Callbacks { batch: None } => callbacks::measure(),
        What::Callbacks { batch: Some(batch) } => callbacks::measure_batches(batch.into()),
        What::BareServer => bare::serve(),
        What::Allocations => allocations::measure(),
        What::Secrets => secrets::measure(),
        What::Handover => handover::measure(),
        What::Heartbeats { workers } => heartbeats::measure(workers),
        What::Agent => agent::measure(),
        What::Spool => spool::measure(),
        What::Startup => startup::measure(),
        What::Merge { one } => merge::measure(one.as_deref()),
        What::Proof => proof::measure(),
        What::Signatures => signatures::measure(),
        What::Pool => pool::measure(),
        What::Postgres => postgres::measure(),
        What::Rivals(options) => rivals::measure(&options),
        What::Failover { tasks } => failover::measure(&tasks),
        What::Migrate { tasks } => migrate::measure(&tasks),
        What::Court { soldier } => court::measure(soldier),
        What::Dashboard { devices, events, seconds } => {
            dashboard::measure(&dashboard::Scale { devices, events, seconds });
        }
        What::All => {
            engine::measure(None, None);
            callbacks::measure();
            callbacks::measure_batches(100);
            allocations::measure();
            secrets::measure();
            handover::measure();
            heartbeats::measure(HEARTBEAT_WORKERS);
            spool::measure();
            agent::measure();
            startup::measure();
            merge::measure(None);
            proof::measure();
            signatures::measure();
            pool::measure();
            postgres::measure();
            rivals::measure(&rivals::Options::default());
            failover::measure(&TASKS);
            migrate::measure(&TASKS);
            court::measure(false);
            dashboard::measure(&dashboard::Scale { devices: 10_000, events: 1_000, seconds: 300 });
        }
    }
}

const HEARTBEAT_WORKERS: usize = 20_000;
const TASKS: [u32; 3] = [10_000, 100_000, 1_000_000];
