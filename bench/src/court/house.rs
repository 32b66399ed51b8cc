//! A court in a directory of its own, with the real program at work in it.

use super::{soldier, soldier_command, sync_directory, write_synced};
use crate::{
    cost::Cost,
    server::binary,
    stopwatch::{now, since_epoch},
};
use serde_json::{Value, json};
use std::{
    fs,
    io::{self, BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};
use tempfile::TempDir;

/// How many soldiers there are at once.
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
        let started = soldier::started(&self.path("state/results").join(format!("{task}.json")));
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
        // What the envoy tells people comes here; a court whose words nobody takes stands still.
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
