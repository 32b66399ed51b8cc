//! Queues that are driven by programs in another language, with the client library of the queue.

use super::{
    Meter, Queue, Run, Shared, install,
    process::{PATIENCE, Process},
};
use crate::{
    pool::{Drive, PAIRS, PAYLOAD},
    stopwatch::now,
};
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Write},
    path::PathBuf,
    process::Command,
    sync::mpsc::{self, Receiver},
    thread,
    time::Duration,
};

/// The program that drives a queue: `PROGRAM SCRIPT LIBRARY PART SETTINGS`.
#[derive(Clone)]
pub(super) struct Driver {
    program: PathBuf,
    script: PathBuf,
    library: &'static str,
}

impl Driver {
    /// A module of `bench/node`.
    pub(super) fn node(library: &'static str, shared: &Shared) -> Result<Self, String> {
        let script = install::node_directory().join("drive.mjs");
        Ok(Self { program: shared.node()?, script, library })
    }

    /// A module of `bench/python`.
    pub(super) fn python(library: &'static str, shared: &Shared) -> Result<Self, String> {
        let script = install::python_directory().join("drive.py");
        Ok(Self { program: shared.python("python")?, script, library })
    }

    fn part(&self, part: &str, settings: &Value) -> Part {
        let mut command = Command::new(&self.program);
        command.arg(&self.script).args([self.library, part, &settings.to_string()]);
        let mut process = Process::start_piped(&command).expect("the program that drives a queue starts");
        let output = BufReader::new(process.child.stdout.take().expect("it was piped"));
        let (tell, lines) = mpsc::channel();
        thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| tell.send(line)));
        Part { process, lines }
    }
}

/// A queue with the program that drives it.
pub(super) struct Driven<S> {
    pub(super) driver: Driver,
    pub(super) server: S,
}

/// The server of a queue that is driven.
pub(super) trait Served {
    fn version(&self) -> String;
    /// The roots of its processes.
    fn servers(&self) -> Vec<u32>;
    /// The address of an empty queue.
    fn fresh(&mut self) -> String;
    /// Fails when not all jobs of the queue are done.
    fn check(&self, _jobs: usize) {}
}

impl<S: Served> Driven<S> {
    /// Makes an empty queue; gives the settings with which it is driven.
    fn prepare(&mut self, drive: Drive) -> Value {
        let payload: Value = serde_json::from_str(PAYLOAD).expect("JSON");
        let settings = json!({"url": self.server.fresh(), "jobs": drive.jobs, "batch": drive.batch,
            "senders": PAIRS, "workers": PAIRS, "payload": payload});
        self.driver.part("prepare", &settings).expect("done");
        settings
    }
}

impl<S: Served> Queue for Driven<S> {
    fn version(&self) -> String {
        self.server.version()
    }

    /// One process hands in all jobs, another works them off.
    fn run(&mut self, drive: Drive) -> Run {
        let settings = self.prepare(drive);
        let mut parts = ["send", "work"].map(|part| self.driver.part(part, &settings));
        parts.iter_mut().for_each(|part| part.expect("ready"));
        let programs = [parts[0].process.id(), parts[1].process.id()];
        let run = Meter::new(&self.server.servers(), &programs).watch(drive, || {
            let begun = now();
            parts.iter_mut().for_each(Part::go);
            // They stay until both have said so: what a process spent is known while it lives.
            parts.iter_mut().for_each(|part| part.expect("done"));
            drive.jobs as f64 / begun.elapsed().as_secs_f64()
        });
        self.server.check(drive.jobs);
        run
    }

    fn latencies(&mut self, jobs: usize) -> Vec<Duration> {
        let settings = self.prepare(Drive { batch: 1, jobs });
        let mut part = self.driver.part("latency", &settings);
        part.expect("ready");
        part.go();
        let millis: Vec<f64> = serde_json::from_str(&part.line()).expect("a list of numbers");
        millis.into_iter().map(|millis| Duration::from_secs_f64(millis / 1e3)).collect()
    }

    fn fill(&mut self, jobs: usize) -> Vec<u32> {
        let settings = self.prepare(Drive { batch: 100, jobs });
        let mut part = self.driver.part("send", &settings);
        part.expect("ready");
        part.go();
        part.expect("done");
        self.server.servers()
    }
}

/// A process that does its part; ended when dropped.
struct Part {
    process: Process,
    lines: Receiver<String>,
}

impl Part {
    fn line(&mut self) -> String {
        self.lines.recv_timeout(PATIENCE).expect("the program that drives a queue speaks in time")
    }

    fn expect(&mut self, word: &str) {
        assert_eq!(self.line(), word, "what the program that drives a queue says");
    }

    /// Lets it begin, or end.
    fn go(&mut self) {
        let input = self.process.child.stdin.as_mut().expect("it was piped");
        input.write_all(b"go\n").expect("it reads");
    }
}
