//! Who sees a new term begin and its first write acknowledged.

use crate::{
    call::{self, call},
    stopwatch::now,
};
use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};
use tokio::runtime::Builder;
use tokio_postgres::NoTls;

/// How many write at a time, each starting a quarter of a second after the one before: so that one of them asks soon
/// even if an answer never comes.
pub(super) const WRITERS: u32 = 4;

/// Threads that write and look until they are dropped.
pub(super) struct Witnesses {
    acknowledged: Receiver<Seen>,
    begun: Receiver<Seen>,
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

/// A term, seen at a moment.
#[derive(Clone, Copy)]
pub(super) struct Seen {
    pub(super) epoch: u64,
    pub(super) at: Instant,
}

impl Witnesses {
    /// Begins to write through a server, and to look into the database.
    pub(super) fn call(server: SocketAddr, database: &str) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let (acknowledge, acknowledged) = channel();
        let (begin, begun) = channel();
        let writer = |number: u32| {
            let (over, acknowledge) = (Arc::clone(&over), acknowledge.clone());
            thread::spawn(move || {
                thread::sleep(call::PATIENCE / WRITERS * number);
                write(server, &over, &acknowledge);
            })
        };
        let mut threads: Vec<_> = (0..WRITERS).map(writer).collect();
        let (database, end) = (database.to_owned(), Arc::clone(&over));
        threads.push(thread::spawn(move || look(&database, &end, &begin)));
        Self { acknowledged, begun, over, threads }
    }

    /// The term of the next write that is acknowledged.
    pub(super) fn term(&self) -> u64 {
        self.acknowledged.recv_timeout(LIMIT).expect("a write is acknowledged").epoch
    }

    /// When a term after this one began, and when a write of it was acknowledged.
    pub(super) fn next_term(&self, epoch: u64) -> [Instant; 2] {
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

fn write(server: SocketAddr, over: &AtomicBool, acknowledge: &Sender<Seen>) {
    for number in 0.. {
        if over.load(Ordering::Relaxed) {
            return;
        }
        // As small as a write can be, whatever the size of the fleet, and unlike the one before.
        let labels = format!(r#"{{"labels":{{"number":"{number}"}}}}"#);
        if let Ok(answer) = call(server, "PATCH /api/devices/serial-00000-000", &labels)
            && answer.status == 200
        {
            // Nobody may listen any more.
            let _ = acknowledge.send(Seen { epoch: answer.epoch, at: now() });
        }
        thread::sleep(PAUSE);
    }
}

fn look(database: &str, over: &AtomicBool, begin: &Sender<Seen>) {
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let (client, connection) =
            tokio_postgres::connect(database, NoTls).await.expect("the server listens");
        tokio::spawn(connection);
        let statement = client.prepare("SELECT epoch FROM muster.leader").await.expect("a statement");
        while !over.load(Ordering::Relaxed) {
            let row = client.query_one(&statement, &[]).await.expect("there is always a row");
            let epoch = u64::try_from(row.get::<_, i64>(0)).unwrap_or(0);
            let _ = begin.send(Seen { epoch, at: now() });
            tokio::time::sleep(PAUSE).await;
        }
    });
}

const PAUSE: Duration = Duration::from_millis(5);
/// How long all this may take before the measurement is given up.
const LIMIT: Duration = Duration::from_secs(120);
