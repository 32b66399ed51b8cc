//! From an event's file to its soldier, with nothing and with a long history behind; and how many events a second.

use super::{
    cost::Cost,
    server::binary,
    stopwatch::{now, percentile, since_epoch},
};
use serde_json::{Value, json};
use std::{
    env, fs,
    io::{self, BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};
use tempfile::TempDir;

const EVENTS: usize = 200;
const WARM_UP: usize = 20;
const OVER: usize = 100_000;
const AT_ONCE: usize = 2_000;

/// Measures, or is one of the soldiers.
pub(crate) fn measure(is_soldier: bool) {
    if is_soldier {
        return serve();
    }
    let (young, old) = (House::build(), House::build());
    fill(old.home(), OVER);
    let (young, old) = (young.open(), old.open());
    latency(&young, &old);
    drop(old);
    throughput(&young);
}

/// The two courts take turns, so that whatever else the machine does meets both alike.
fn latency(young: &House, old: &House) {
    println!(
        "court: `muster court run`, {EVENTS} events to either of two courts, in turn and one after the other; from the rename of the event's file to the start of its soldier"
    );
    println!("  files that are over went once through the king's hands in {:.1} s", seconds(old.settle()));
    let mut spans: [Vec<Duration>; 2] = Default::default();
    for number in 0..WARM_UP + EVENTS {
        for (court, spans) in [young, old].into_iter().zip(&mut spans) {
            let span = court.time_one(&format!("evt-bench-{number}"));
            spans.extend((number >= WARM_UP).then_some(span));
        }
    }
    let bare = Bare::measure(young.home());
    let [mut young, mut old] = spans;
    let medians = [percentile(&mut young, 50), percentile(&mut old, 50)];
    row("nothing is over", &mut young, "");
    let ratio = format!("   ratio of the p50s {:.2}", seconds(medians[1]) / seconds(medians[0]));
    row("100,000 files in each directory of what is over", &mut old, &ratio);
    row("beside: the soldier alone, fork and exec", &mut bare.starts.clone(), "");
    row("beside: a file written, synced, renamed, synced", &mut bare.writes.clone(), "");
}

fn throughput(court: &House) {
    let before = Bare::measure(court.home());
    let begun = now();
    court.hand_in_at_once(AT_ONCE);
    court.wait_for_results(AT_ONCE + WARM_UP + EVENTS);
    let results = begun.elapsed();
    court.wait_until_quiet();
    let all = begun.elapsed();
    let after = Bare::measure(court.home());
    let (writes, starts) = Bare::rates([&before, &after]);
    let rate = |span: Duration| AT_ONCE as f64 / seconds(span);
    println!("court: {AT_ONCE} events at once, {} soldiers", SOLDIERS);
    println!("  until all results are there               {:>8.0} events/s", rate(results));
    println!("  until all is closed and people were told  {:>8.0} events/s", rate(all));
    println!(
        "  beside: files written, synced, renamed and synced by one writer {writes:>6.0}/s, {:.1} for each event",
        writes / rate(all)
    );
    println!(
        "  beside: the soldier alone, one after the other {starts:>6.0}/s, {:.1} for each event",
        starts / rate(all)
    );
}

fn row(what: &str, spans: &mut [Duration], remark: &str) {
    let [p50, p99] = [50, 99].map(|percent| seconds(percentile(spans, percent)) * 1000.0);
    println!("  {what:<48} p50 {p50:>7.2} ms   p99 {p99:>7.2} ms{remark}");
}

fn seconds(span: Duration) -> f64 {
    span.as_secs_f64()
}

/// Environment of every soldier.
fn soldier_command() -> [String; 3] {
    let this = std::env::current_exe().expect("this program has a path");
    let path = this.to_str().expect("a path in UTF-8 fits a configuration").to_owned();
    [path, "court".to_owned(), "--soldier".to_owned()]
}

/// Writes a file the way programs other than the court must (C4): complete, synced, under a name that no role reads.
fn write_synced(path: &Path, text: &str) {
    use std::io::Write;
    let mut file = std::fs::File::create_new(path).expect("a new file");
    file.write_all(text.as_bytes()).expect("a write");
    file.sync_all().expect("a sync");
}

fn sync_directory(path: &Path) {
    std::fs::File::open(path).and_then(|directory| directory.sync_all()).expect("a sync");
}

/// Leaves a result whose summary is the moment of the start.
pub(crate) fn serve() {
    let started = since_epoch();
    let variable = |name: &str| env::var(name).expect("a general says so");
    let result = json!({
        "task_id": variable("MUSTER_TASK_ID"), "status": "success", "summary": started.as_nanos().to_string(),
    });
    fs::write(variable("MUSTER_RESULT_PATH"), result.to_string()).expect("a result");
}

/// When the soldier that left this result started, since 1970.
pub(crate) fn started(result: &Path) -> Duration {
    let summary = member(result, "/summary");
    Duration::from_nanos(summary.parse().expect("a number of nanoseconds"))
}

const TIMES: usize = 200;

/// The single spans.
#[derive(Clone)]
pub(crate) struct Bare {
    /// A file written, synced, renamed, its directory synced.
    pub(crate) writes: Vec<Duration>,
    /// From the fork to the soldier's first line.
    pub(crate) starts: Vec<Duration>,
    /// From the fork to the soldier's end.
    runs: Vec<Duration>,
}

impl Bare {
    /// Measures beside a court, on its disk.
    pub(crate) fn measure(home: &Path) -> Self {
        let directory = tempfile::tempdir_in(home).expect("a directory");
        let writes = (0..TIMES).map(|number| write(directory.path(), number)).collect();
        let (starts, runs) = (0..TIMES).map(|_| start(directory.path())).unzip();
        Self { writes, starts, runs }
    }

    /// Writes, and soldiers from fork to end, per second.
    pub(crate) fn rates(measured: [&Self; 2]) -> (f64, f64) {
        let rate = |spans: fn(&Self) -> &Vec<Duration>| {
            let all: Duration = measured.iter().flat_map(|bare| spans(bare)).sum();
            (measured.len() * TIMES) as f64 / all.as_secs_f64()
        };
        (rate(|bare| &bare.writes), rate(|bare| &bare.runs))
    }
}

fn write(directory: &Path, number: usize) -> Duration {
    let begun = now();
    let temporary = directory.join(".tmp");
    write_synced(&temporary, &"x".repeat(FILE_BYTES));
    fs::rename(temporary, directory.join(format!("{number}.json"))).expect("a rename");
    sync_directory(directory);
    begun.elapsed()
}

fn start(directory: &Path) -> (Duration, Duration) {
    let result = directory.join("result.json");
    let [program, arguments @ ..] = soldier_command();
    let (begun, forked) = (now(), since_epoch());
    let status = Command::new(program)
        .args(arguments)
        .env("MUSTER_TASK_ID", "task-20250101-001")
        .env("MUSTER_RESULT_PATH", &result)
        .status();
    let run = begun.elapsed();
    assert!(status.expect("this program can be started").success(), "a soldier notes when it started");
    (started(&result).saturating_sub(forked), run)
}

/// As large as the file of a small task.
const FILE_BYTES: usize = 400;

/// A file of some kind, by its number.
type Make = fn(usize) -> Value;

/// Puts so many files into each directory of what is over.
pub(crate) fn fill(home: &Path, count: usize) {
    let kinds: [(&str, Make); 4] = [
        ("queue/events/completed", event),
        ("queue/tasks/completed", task),
        ("queue/messages/sent", message),
        ("state/results", result),
    ];
    for (directory, document) in kinds {
        let directory = home.join(directory);
        for number in 0..count {
            let document = document(number);
            let id = document.get("id").or_else(|| document.get("task_id")).and_then(Value::as_str);
            let path = directory.join(format!("{}.json", id.expect("each has one")));
            fs::write(path, document.to_string()).expect("room on the disk");
        }
    }
    // Sync, because writes that the kernel still holds back would be part of the measurement.
    rustix::fs::sync();
}

fn event(number: usize) -> Value {
    json!({
        "id": event_id(number), "type": "bench.begin", "source": "bench", "repo": null, "payload": {"n": number},
        "priority": "normal", "created_at": LONG_AGO, "status": "completed",
        "dispatch": {"task_id": task_id(number)},
    })
}

fn task(number: usize) -> Value {
    json!({
        "id": task_id(number), "event_id": event_id(number), "target_general": "bench", "type": "bench.begin",
        "payload": {"n": number}, "priority": "normal", "created_at": LONG_AGO, "status": "completed",
    })
}

fn message(number: usize) -> Value {
    json!({
        "id": format!("msg-20250101-{number:06}"), "type": "notification", "channel": "general",
        "urgency": "normal", "content": "done", "context": {"task_id": task_id(number)},
        "created_at": LONG_AGO, "status": "sent",
    })
}

fn result(number: usize) -> Value {
    json!({"task_id": task_id(number), "status": "success", "summary": "done"})
}

fn event_id(number: usize) -> String {
    format!("evt-bench-long-ago-{number}")
}

fn task_id(number: usize) -> String {
    format!("task-20250101-{number:06}")
}

const LONG_AGO: &str = "2025-01-01T10:00:00Z";

/// Number of soldiers at once.
pub(crate) const SOLDIERS: usize = 8;

/// A court whose directories are there and in which nobody is at work yet.
pub(crate) struct Site(TempDir);

/// A running `muster court run`; ended when dropped.
pub(crate) struct House {
    home: TempDir,
    child: Child,
}

impl House {
    /// Makes the directories and the configuration.
    pub(crate) fn build() -> Site {
        let home = tempfile::tempdir().expect("a temporary directory");
        for directory in DIRECTORIES {
            fs::create_dir_all(home.path().join(directory)).expect("a directory");
        }
        let command = json!(soldier_command());
        let general =
            format!("subscribes = [\"bench.begin\"]\ncommand = {command}\nmax_soldiers = {SOLDIERS}\n");
        fs::write(home.path().join("generals/bench.toml"), general).expect("a file");
        fs::write(home.path().join("court.toml"), "").expect("a file");
        Site(home)
    }

    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    /// Waits until the program has nothing left to do; says how long that took.
    pub(crate) fn settle(&self) -> Duration {
        let begun = now();
        loop {
            let cost = Cost::watch(self.child.id(), || thread::sleep(Duration::from_millis(250)));
            if cost.cpu < Duration::from_millis(5) {
                return begun.elapsed();
            }
        }
    }

    /// Hands in an event and waits until it is over; says how long it took until its soldier started.
    pub(crate) fn time_one(&self, id: &str) -> Duration {
        let pending = self.prepare(id, 0);
        let handed_in = since_epoch();
        self.hand_in(&pending, id);
        self.wait_until_quiet();
        let event = self.path("queue/events/completed").join(format!("{id}.json"));
        let task = member(&event, "/dispatch/task_id");
        let started = started(&self.path("state/results").join(format!("{task}.json")));
        started.saturating_sub(handed_in)
    }

    /// Hands in many events, all synced before the first can be seen.
    pub(crate) fn hand_in_at_once(&self, count: usize) {
        let id = |number: usize| format!("evt-bench-at-once-{number}");
        let prepared: Vec<_> = (0..count).map(|number| self.prepare(&id(number), number)).collect();
        for (number, temporary) in prepared.iter().enumerate() {
            let target = self.path(PENDING).join(format!("{}.json", id(number)));
            fs::rename(temporary, target).expect("a rename");
        }
        sync_directory(&self.path(PENDING));
    }

    /// Waits until there are so many results.
    pub(crate) fn wait_for_results(&self, count: usize) {
        self.wait(Duration::from_millis(20), || self.count("state/results") >= count);
    }

    /// Waits until nothing is under way.
    pub(crate) fn wait_until_quiet(&self) {
        self.wait(Duration::from_millis(1), || UNDER_WAY.iter().all(|directory| self.count(directory) == 0));
    }

    fn prepare(&self, id: &str, number: usize) -> PathBuf {
        let event = json!({
            "id": id, "type": "bench.begin", "source": "bench", "repo": null, "payload": {"n": number},
            "priority": "normal", "created_at": "2026-02-07T10:00:00Z", "status": "pending",
        });
        let temporary = self.path(PENDING).join(format!(".tmp-{}-{number}", std::process::id()));
        write_synced(&temporary, &event.to_string());
        temporary
    }

    fn hand_in(&self, temporary: &Path, id: &str) {
        fs::rename(temporary, self.path(PENDING).join(format!("{id}.json"))).expect("a rename");
        sync_directory(&self.path(PENDING));
    }

    fn wait(&self, pause: Duration, is_done: impl Fn() -> bool) {
        let begun = now();
        while !is_done() {
            assert!(begun.elapsed() < PATIENCE, "the court at {} does not go on", self.home().display());
            thread::sleep(pause);
        }
    }

    fn count(&self, directory: &str) -> usize {
        let files = fs::read_dir(self.path(directory)).expect("a court has its directories");
        let names = files.filter_map(Result::ok).map(|file| file.file_name());
        names.filter(|name| !name.as_encoded_bytes().starts_with(b".")).count()
    }

    fn path(&self, directory: &str) -> PathBuf {
        self.home().join(directory)
    }
}

impl Site {
    pub(crate) fn home(&self) -> &Path {
        self.0.path()
    }

    /// Starts the release binary, and waits until it says that it is there.
    pub(crate) fn open(self) -> House {
        let mut child = Command::new(binary())
            .args(["court", "run", "--home"])
            .arg(self.home())
            .env("MUSTER_LOG", "error")
            .stdout(Stdio::piped())
            .spawn()
            .expect("target/release/muster is there: cargo build --release -p muster");
        let mut stdout = BufReader::new(child.stdout.take().expect("it was piped"));
        stdout.read_line(&mut String::new()).expect("the court speaks");
        // Drain the envoy's messages: a court whose output nobody reads stalls.
        thread::spawn(move || io::copy(&mut stdout, &mut io::sink()));
        House { home: self.0, child }
    }
}

impl Drop for House {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A text in a file of JSON.
pub(crate) fn member(path: &Path, pointer: &str) -> String {
    let bytes = fs::read(path).expect("a file that is there");
    let value: Value = serde_json::from_slice(&bytes).expect("a file of JSON");
    value.pointer(pointer).and_then(Value::as_str).expect("a text").to_owned()
}

const PENDING: &str = "queue/events/pending";
const UNDER_WAY: [&str; 5] = [
    PENDING,
    "queue/events/dispatched",
    "queue/tasks/pending",
    "queue/tasks/in_progress",
    "queue/messages/pending",
];
const DIRECTORIES: [&str; 6] = [
    PENDING,
    "queue/events/completed",
    "queue/tasks/completed",
    "queue/messages/sent",
    "state/results",
    "generals",
];
const PATIENCE: Duration = Duration::from_secs(600);
