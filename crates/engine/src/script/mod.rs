//! Little scripts that read like the contract.
//!
//! A line is `TIME COMMAND [-> EVENTS] [=> REPLY]`. Runs and devices are called by their names in the
//! script (`r1/d1` is the task of run r1 on device d1, `#2` its second attempt). After every line all
//! invariants are checked. `restart` builds the engine back from the rows it gave away, as a crash would.

mod parse;
mod render;

use crate::{Context, Engine, Restoring};
use alloc::{
    collections::BTreeMap,
    string::{String, ToString},
    vec::Vec,
};
use muster_model::{
    Change, Command, Digest, Event, Fact, Facts, Fence, JobId, Key, Millis, Name, Settings, TaskId, Timestamp,
};

/// Runs a script with the default settings.
pub(crate) fn check(script: &str) {
    check_with(Settings::default(), script);
}

/// Runs a script.
pub(crate) fn check_with(settings: Settings, script: &str) {
    let mut stage = Stage::new(settings);
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//")) {
        stage.play(line);
    }
}

/// Everything a script has on stage.
pub(crate) struct Stage {
    settings: Settings,
    engine: Engine,
    now: Timestamp,
    seeds: u8,
    reports: u64,
    jobs: BTreeMap<String, JobId>,
    tasks: BTreeMap<String, TaskId>,
    fences: BTreeMap<(TaskId, u16), Fence>,
    rows: Rows,
}

/// What a store would hold.
#[derive(Default)]
struct Rows {
    live: BTreeMap<String, Change>,
    facts: BTreeMap<Key, Fact>,
}

impl Stage {
    fn new(settings: Settings) -> Self {
        Self {
            settings,
            engine: Engine::new(settings),
            now: Timestamp(0),
            seeds: 0,
            reports: 0,
            jobs: BTreeMap::new(),
            tasks: BTreeMap::new(),
            fences: BTreeMap::new(),
            rows: Rows::default(),
        }
    }

    fn play(&mut self, line: &str) {
        let (rest, reply) =
            line.split_once("=>").map_or((line, None), |(rest, reply)| (rest, Some(reply.trim())));
        let (rest, events) =
            rest.split_once("->").map_or((rest, None), |(rest, events)| (rest, Some(events.trim())));
        let mut words = rest.split_whitespace();
        self.now = parse::time(words.next().expect("a line begins with a time"));
        let words: Vec<&str> = words.collect();
        if words == ["restart"] {
            return self.restart();
        }
        let (told, answered) = self.run(&words);
        if let Some(expected) = events {
            assert_eq!(told, expected, "events of `{line}`");
        }
        if let Some(expected) = reply {
            assert_eq!(answered, expected, "reply of `{line}`");
        }
        self.engine.check_invariants().unwrap_or_else(|broken| panic!("after `{line}`: {broken}"));
    }

    fn run(&mut self, words: &[&str]) -> (String, String) {
        if words[0] == "explain" {
            return (String::new(), self.explain(words));
        }
        if words[0] == "supply" {
            return (String::new(), self.supply(words[1]));
        }
        if words[0] == "row" {
            return (String::new(), self.row(words[1]));
        }
        if words[0] == "strangers" {
            return (String::new(), self.strangers(words));
        }
        let command = self.command(words);
        let ticking = matches!(command, Command::Tick);
        let mut events = Vec::new();
        let result = loop {
            let executed = self.execute(command.clone());
            events.extend(executed.events);
            let due = self.engine.next_deadline().is_some_and(|next| next <= self.now);
            if !ticking || !due {
                break executed.result;
            }
        };
        let words_run = words.get(1).copied().unwrap_or_default();
        self.learn(&events, words_run);
        (self.render_events(&events), self.render_reply(&result))
    }

    fn execute(&mut self, command: Command) -> crate::Executed {
        let mut facts = Facts::default();
        for key in self.engine.keys(&command) {
            if let Some(fact) = self.rows.facts.get(&key) {
                facts.insert(key, fact.clone());
            }
        }
        self.seeds = self.seeds.wrapping_add(1);
        let seed = [self.seeds; 32];
        let executed = self.engine.execute(command, &Context { now: self.now, seed: &seed, facts: &facts });
        let changes = self.engine.take_changes();
        self.engine.forget(&changes);
        self.rows.keep(changes);
        executed
    }

    fn learn(&mut self, events: &[Event], run: &str) {
        for event in events {
            match event {
                Event::JobSubmitted { job, .. } => _ = self.jobs.insert(run.to_string(), *job),
                Event::LeaseGranted(grant) => {
                    self.name_task(grant.task, &grant.lane);
                    self.fences.insert((grant.task, grant.attempt), grant.fence);
                }
                Event::TaskSkipped { task, lane, .. } => self.name_task(*task, lane),
                _ => {}
            }
        }
    }

    fn name_task(&mut self, task: TaskId, lane: &Name) {
        let name = alloc::format!("{}/{lane}", self.job_name(task.job));
        self.tasks.insert(name, task);
    }

    fn restart(&mut self) {
        let mut restoring = Restoring::new(self.settings);
        let rows: Vec<Change> = self.rows.live.values().cloned().collect();
        for change in rows {
            match change {
                Change::Worker(record) => restoring.worker(*record),
                Change::Lane(record) => restoring.lane(*record),
                Change::Job(record) if record.open => restoring.job(*record),
                Change::Task(record) => restoring.task(*record),
                Change::Share(record) => restoring.share(record),
                Change::Stop { worker, task, .. } => restoring.stop(&worker, task),
                Change::Secrets(worker, secrets) => restoring.secrets(&worker, secrets),
                _ => {}
            }
        }
        self.engine = restoring.finish(1, self.now);
        self.engine.check_invariants().expect("a restored engine is sound");
    }

    fn supply(&self, worker: &str) -> String {
        match &self.engine.supplies(&[parse::name(worker)])[..] {
            [muster_model::WorkerSupply { running, eligible, target, .. }] => {
                alloc::format!("running={running} eligible={eligible} target={target}")
            }
            _ => "unknown".into(),
        }
    }

    /// A row as a store would hold it: of a task (`r1/d1`), a run (`r1`) or a worker.
    fn row(&self, name: &str) -> String {
        let row = match (self.tasks.get(name), self.jobs.get(name)) {
            (Some(task), _) => self.rows.live.get(&alloc::format!("4 {task}")),
            (None, Some(job)) => {
                self.rows.live.values().find(|row| matches!(row, Change::Job(record) if record.id == *job))
            }
            (None, None) => self.rows.live.get(&alloc::format!("1 {name}")),
        };
        match row {
            Some(Change::Task(record)) => {
                let flag = if record.timed_out { " timed_out" } else { "" };
                alloc::format!("{:?}{flag}", record.status)
            }
            Some(Change::Job(record)) => alloc::format!("{:?} {}", record.status, record.outcome.as_str()),
            Some(Change::Worker(record)) => {
                let flag = if record.heartbeat_late_since.is_some() { " late" } else { "" };
                alloc::format!("{:?}{flag}", record.status)
            }
            _ => "none".into(),
        }
    }

    fn strangers(&self, words: &[&str]) -> String {
        let found = self.engine.strangers(&parse::scope(words));
        let targets = alloc::format!("{} targets", found.targets);
        match &found.unknown[..] {
            [] => targets,
            unknown => alloc::format!("{} of {}; {targets}", unknown.join(","), found.known.join(",")),
        }
    }

    fn explain(&self, words: &[&str]) -> String {
        let subject = match words[1] {
            "run" => muster_model::Subject::Job(self.jobs[words[2]]),
            "task" => muster_model::Subject::Task(self.tasks[words[2]]),
            "device" => muster_model::Subject::Lane(parse::name(words[2])),
            _ => muster_model::Subject::Worker(parse::name(words[2])),
        };
        let explanation = self.engine.explain(subject, self.now);
        explanation.map_or("unknown".into(), |why| why.cause.rule_and_code().1.into())
    }
}

impl Rows {
    fn keep(&mut self, changes: Vec<Change>) {
        for change in changes {
            let key = match &change {
                Change::Worker(record) => alloc::format!("1 {}", record.id),
                Change::Lane(record) => alloc::format!("2 {}", record.id),
                Change::Job(record) => {
                    if !record.open {
                        self.facts.insert(Key::Job(record.id), Fact::Job(record.status));
                    }
                    alloc::format!("3 {:020}", record.seq)
                }
                Change::Task(record) => {
                    if record.status.is_ended() {
                        self.facts.insert(Key::Task(record.id), Fact::Task(record.clone()));
                    }
                    alloc::format!("4 {}", record.id)
                }
                Change::Share(record) => alloc::format!("5 {} {}", record.worker, record.job),
                Change::ShareGone { worker, job } => {
                    self.live.remove(&alloc::format!("5 {worker} {job}"));
                    continue;
                }
                Change::Stop { worker, task, gone } => {
                    let key = alloc::format!("6 {worker} {task}");
                    if *gone {
                        self.live.remove(&key);
                        continue;
                    }
                    key
                }
                Change::Secrets(worker, _) => alloc::format!("7 {worker}"),
                Change::Report(record) => {
                    self.facts.insert(Key::Report(record.id.clone()), Fact::Report(Some(record.subject)));
                    continue;
                }
                Change::Key(record) => {
                    self.facts.insert(Key::Submission(record.key.clone()), Fact::Submission(record.clone()));
                    continue;
                }
                Change::Log(_) | Change::WorkerLog(_) | Change::Alert(_) => continue,
                Change::Frames(_) | Change::Pool(_) | Change::Accounts(_) => continue,
                Change::Schedule(_) | Change::ScheduleGone(_) => continue,
            };
            self.live.insert(key, change);
        }
    }
}

/// A digest that stands for a body.
pub(crate) fn digest(text: &str) -> Digest {
    Digest(text.bytes().fold(7, |sum: u128, byte| sum.wrapping_mul(31).wrapping_add(u128::from(byte))))
}

pub(crate) fn millis(text: &str) -> Millis {
    Millis(parse::time(text).0)
}
