//! Whether the overview stays responsive in a real Chromium while ten thousand devices are at work, and what one more
//! open dashboard costs the server.

use super::{
    connection::{Connection, callbacks, report},
    cost::Cost,
    server::{ADMIN_TOKEN, Server},
    stopwatch::now,
};
use serde_json::{Value, json};
use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    path::Path,
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

/// Options of the measurement.
pub(crate) struct Scale {
    pub(crate) devices: usize,
    /// Entries of the feed per second.
    pub(crate) events: usize,
    /// Duration of the measurement in the browser.
    pub(crate) seconds: u64,
}

/// Programs that take the feed and the snapshots as a dashboard does: one alone would drown in the noise.
const VIEWERS: usize = 20;
const SPAN: Duration = Duration::from_secs(30);

pub(crate) fn measure(scale: &Scale) {
    let data = tempfile::tempdir().expect("a temporary directory");
    let server = Server::start(data.path(), "sqlite", &[("MUSTER_RETENTION__HISTORY_DAYS", "1")]);
    let fleet = Fleet::start(server.address, scale);
    println!(
        "dashboard: {} devices on {} nodes, {} entries of the feed a second asked for; server, load and browser share the cores",
        scale.devices,
        fleet.nodes(),
        scale.events
    );
    thread::sleep(Duration::from_secs(5));
    let bare = watch(&server, "nobody looks", || thread::sleep(SPAN));
    let viewers = Viewers::open(server.address, VIEWERS);
    let looked = watch(&server, &format!("{VIEWERS} dashboards, without a browser"), || {
        thread::sleep(SPAN);
    });
    let bytes = viewers.close();
    let one = (share(&looked) - share(&bare)) / VIEWERS as f64;
    println!(
        "  one more dashboard costs the server {:.2} % of a core, {:.1} MiB at most, {:.0} kB/s of loopback",
        100.0 * one,
        (looked.resident_mib() - bare.resident_mib()).max(0.0) / VIEWERS as f64,
        bytes as f64 / VIEWERS as f64 / SPAN.as_secs_f64() / 1000.0
    );
    let mut told = None;
    watch(&server, "one dashboard in Chromium", || {
        told = look(server.address, scale.seconds);
    });
    match told {
        Some(told) => print(&told),
        None => println!("  no browser: install Debian's chromium and run `npm --prefix bench/node ci`"),
    }
    fleet.stop();
}

fn share(cost: &Cost) -> f64 {
    cost.cpu.as_secs_f64() / cost.span.as_secs_f64()
}

/// Watches the server while something is done; says what it cost and how many entries there were.
fn watch(server: &Server, what: &str, meanwhile: impl FnOnce()) -> Cost {
    let before = newest(server);
    let cost = Cost::watch(server.id(), meanwhile);
    let rate = (newest(server) - before) as f64 / cost.span.as_secs_f64();
    println!("  {what:<36} server {}   {rate:>6.0} entries/s", cost.words());
    cost
}

/// On a connection of its own: one that rests for minutes is closed by the server.
fn newest(server: &Server) -> u64 {
    Connection::open(server.address).get_as_operator("/api/overview")["seq"]
        .as_u64()
        .expect("the feed is numbered")
}

/// Has the browser look at the overview; `None` where there is none.
fn look(address: SocketAddr, seconds: u64) -> Option<Value> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("node");
    if !directory.join("node_modules/playwright-core").is_dir() {
        return None;
    }
    let settings = json!({"url": format!("http://{address}"), "token": ADMIN_TOKEN, "seconds": seconds});
    let output = Command::new("node")
        .args(["dashboard.mjs", &settings.to_string()])
        .current_dir(directory)
        .stderr(Stdio::inherit())
        .output()
        .ok()?;
    serde_json::from_slice(&output.stdout).ok()
}

fn print(told: &Value) {
    let figure = |key: &str| told[key].as_f64().unwrap_or(f64::NAN);
    println!(
        "  page, {:.0} s of overview: {:.0} entries taken ({:.0}/s), {:.1} % of the main thread",
        figure("seconds"),
        figure("entries"),
        figure("entries") / figure("seconds"),
        figure("busyPercent")
    );
    println!(
        "  tasks of the main thread over 50 ms: {:.0}, the longest {:.0} ms; between frames p50 {:.1} ms, p99 {:.1} ms, longest {:.0} ms",
        figure("longTasks"),
        figure("longestTaskMs"),
        figure("frameP50Ms"),
        figure("frameP99Ms"),
        figure("frameMaxMs")
    );
    println!(
        "  a click on the filter is answered within p50 {:.0} ms, longest {:.0} ms ({} tries)",
        figure("inputP50Ms"),
        figure("inputMaxMs"),
        told["inputs"]
    );
    println!(
        "  heap after collection: {:.1} MiB after a quarter, {:.1} MiB at the end; {} DOM nodes, then {}",
        figure("heapQuarterMib"),
        figure("heapEndMib"),
        told["nodesQuarter"],
        told["nodesEnd"]
    );
}

const DEVICES_PER_NODE: usize = 100;
const THREADS: usize = 4;
/// Leased, confirmed, one step, the attempt's end, the task's end.
const ENTRIES_PER_TASK: usize = 5;
/// A node takes so many when it is its turn.
const TASKS_PER_VISIT: usize = 5;
/// A visit for nothing takes this long.
const GLANCE: Duration = Duration::from_millis(5);
/// Work that could not be had is made up for, up to this much.
const DEBT: Duration = Duration::from_secs(5);
/// Of so many attempts one fails.
const FAILS_EVERY: usize = 50;

/// Nodes at work, until they are stopped.
struct Fleet {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
    nodes: usize,
}

impl Fleet {
    fn start(address: SocketAddr, scale: &Scale) -> Self {
        let nodes = scale.devices.div_ceil(DEVICES_PER_NODE);
        let tasks_per_second = (scale.events / ENTRIES_PER_TASK).max(1);
        submit(address, scale, tasks_per_second);
        let stop = Arc::new(AtomicBool::new(false));
        let pace = Duration::from_secs_f64(THREADS as f64 / tasks_per_second as f64);
        let names: Vec<String> = (0..nodes).map(|n| format!("PC-{n:03}")).collect();
        let work = |names: &[String]| {
            let (names, stop) = (names.to_vec(), Arc::clone(&stop));
            thread::spawn(move || work(address, &names, pace, &stop))
        };
        let threads = names.chunks(nodes.div_ceil(THREADS)).map(work).collect();
        Self { stop, threads, nodes }
    }

    fn nodes(&self) -> usize {
        self.nodes
    }

    fn stop(self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads {
            thread.join().expect("the nodes stop");
        }
    }
}

/// Enough runs over all devices for the whole measurement.
fn submit(address: SocketAddr, scale: &Scale, tasks_per_second: usize) {
    let mut operator = Connection::open(address);
    let seconds = scale.seconds as usize + 200;
    for _ in 0..=seconds * tasks_per_second / scale.devices {
        operator.post_as_operator("/api/runs", r#"{"workflow_id":"w","params":{}}"#);
    }
}

/// Visits the server for one node after the other: ends what that node had, and takes more, a task per `pace`.
fn work(address: SocketAddr, names: &[String], pace: Duration, stop: &AtomicBool) {
    let mut connection = Connection::open(address);
    for name in names {
        connection.pull(&report(name, DEVICES_PER_NODE, 0));
    }
    let mut held: Vec<Vec<[String; 3]>> = vec![Vec::new(); names.len()];
    let (mut due, mut ended) = (now(), 0);
    for place in (0..names.len()).cycle().take_while(|_| !stop.load(Ordering::Relaxed)) {
        for [_, step, end] in held[place].drain(..) {
            ended += 1;
            connection.post("/api/nodes/callback", &step);
            connection.post("/api/nodes/callback", &outcome(&end, ended));
        }
        held[place] = take(&mut connection, &names[place]);
        // While a run ends, many nodes get little: what they left is taken from the next ones, or later.
        due = (due + (pace * held[place].len() as u32).max(GLANCE)).max(now() - DEBT);
        thread::sleep(due.saturating_duration_since(now()));
    }
}

fn take(connection: &mut Connection, name: &str) -> Vec<[String; 3]> {
    let ask = format!(r#"{{"node_id":"{name}","max_jobs":{TASKS_PER_VISIT}}}"#);
    let answer = connection.pull(&ask);
    let jobs: &[Value] = answer["jobs"].as_array().map_or(&[], Vec::as_slice);
    let told: Vec<_> = jobs.iter().map(|job| callbacks(name, job, &answer["now"])).collect();
    for [begun, ..] in &told {
        connection.post("/api/nodes/callback", begun);
    }
    told
}

fn outcome(end: &str, number: usize) -> String {
    match number % FAILS_EVERY {
        0 => end.replace(
            r#""status":"succeeded""#,
            r#""status":"failed","failure_reason":"upload_error","error_message":"the disk is full""#,
        ),
        _ => end.to_owned(),
    }
}

/// As often as the overview refreshes itself.
const REFRESH: Duration = Duration::from_secs(15);
const PATIENCE: Duration = Duration::from_millis(500);

/// Viewers, until they are closed.
struct Viewers {
    stop: Arc<AtomicBool>,
    bytes: Arc<AtomicU64>,
    threads: Vec<JoinHandle<()>>,
}

impl Viewers {
    fn open(address: SocketAddr, count: usize) -> Self {
        let (stop, bytes) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let view = |_| {
            let (stop, bytes) = (Arc::clone(&stop), Arc::clone(&bytes));
            thread::spawn(move || view(address, &stop, &bytes))
        };
        let threads = (0..count).map(view).collect();
        Self { stop, bytes, threads }
    }

    /// Ends them; says how many bytes of the feed came.
    fn close(self) -> u64 {
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
