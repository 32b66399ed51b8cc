//! What a dashboard asks of the server, without drawing it: the feed, and the snapshot now and then.

use crate::{connection::Connection, server::ADMIN_TOKEN};
use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

/// As often as the overview refreshes itself.
const REFRESH: Duration = Duration::from_secs(15);
const PATIENCE: Duration = Duration::from_millis(500);

/// Viewers, until they are closed.
pub(super) struct Viewers {
    stop: Arc<AtomicBool>,
    bytes: Arc<AtomicU64>,
    threads: Vec<JoinHandle<()>>,
}

impl Viewers {
    pub(super) fn open(address: SocketAddr, count: usize) -> Self {
        let (stop, bytes) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let view = |_| {
            let (stop, bytes) = (Arc::clone(&stop), Arc::clone(&bytes));
            thread::spawn(move || view(address, &stop, &bytes))
        };
        let threads = (0..count).map(view).collect();
        Self { stop, bytes, threads }
    }

    /// Ends them; says how many bytes of the feed came.
    pub(super) fn close(self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads {
            thread.join().expect("a viewer ends");
        }
        self.bytes.load(Ordering::Relaxed)
    }
}

fn view(address: SocketAddr, stop: &AtomicBool, bytes: &AtomicU64) {
    let mut snapshots = Connection::open(address);
    let mut feed = TcpStream::connect(address).expect("the server listens");
    feed.set_read_timeout(Some(PATIENCE)).expect("a socket option");
    let request =
        format!("GET /api/events HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {ADMIN_TOKEN}\r\n\r\n");
    feed.write_all(request.as_bytes()).expect("the server reads");
    let mut piece = [0; 65536];
    let mut asked_at = None;
    while !stop.load(Ordering::Relaxed) {
        let now = crate::stopwatch::now();
        if asked_at.is_none_or(|asked| now - asked > REFRESH) {
            snapshots.get_as_operator("/api/overview");
            asked_at = Some(now);
        }
        let came = feed.read(&mut piece).unwrap_or(0);
        bytes.fetch_add(came as u64, Ordering::Relaxed);
    }
}
