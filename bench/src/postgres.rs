//! Durable jobs per second on one PostgreSQL server: Muster, beside job queues from npm that keep their jobs there, one
//! after the other in the same run.

mod bare;
mod meter;
mod npm;

use crate::pool::{Drive, PAIRS, Stage, median, signature_cost};
use meter::{Meter, Run};
use muster_pg_harness::Cluster;
use npm::{Library, Node};

const ROUNDS: usize = 3;
const DRIVES: [Drive; 2] = [Drive { batch: 1, jobs: 20_000 }, Drive { batch: 100, jobs: 200_000 }];

/// Whoever takes jobs and has them done.
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
            bare::print(&cluster, rows);
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
            Self::Npm(node, library) => node.run(*library, (&database, drive), &meter),
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
