//! Little scripts that read like the contract.
//!
//! A line is `TIME COMMAND [-> EVENTS] [~> EFFECTS] [=> REPLY]`. Each domain has verbs of its own (`devices`, `frames`)
//! and says what its commands mean and how its events and replies read. After every line all invariants are checked.

use crate::{Context, Engine, Executed, Restoring};
use alloc::{
    collections::{BTreeMap, VecDeque},
    format,
    string::String,
    vec::Vec,
};
use muster_model::{
    Change, ChunkState, Command, Digest, Fact, Facts, FrameChange, Key, Millis, Name, PoolChange, PoolJobId,
    Settings, Timestamp,
};

/// The verbs of one domain.
pub(crate) trait Verbs {
    /// Does what a line says, and tells what came of it.
    fn play(&mut self, stage: &mut Stage, words: &[&str]) -> Played;
}

/// Outcome of a line, in the words of scripts.
#[derive(Default)]
pub(crate) struct Played {
    pub(crate) events: String,
    pub(crate) effects: String,
    pub(crate) reply: String,
}

impl Played {
    /// The answer to a question, which changes nothing.
    pub(crate) fn answer(reply: String) -> Self {
        Self { reply, ..Self::default() }
    }
}

/// Runs a script.
pub(crate) fn run(mut verbs: impl Verbs, settings: Settings, script: &str) {
    let mut stage = Stage::new(settings);
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//")) {
        let (rest, reply) = cut(line, "=>");
        let (rest, effects) = cut(rest, "~>");
        let (rest, events) = cut(rest, "->");
        let mut words = rest.split_whitespace();
        stage.now = time(words.next().expect("a line begins with a time"));
        let played = verbs.play(&mut stage, &words.collect::<Vec<_>>());
        let parts = [
            ("events", events, played.events),
            ("effects", effects, played.effects),
            ("reply", reply, played.reply),
        ];
        for (part, expected, found) in parts {
            if let Some(expected) = expected {
                assert_eq!(found, expected, "{part} of `{line}`");
            }
        }
        stage.engine.check_invariants().unwrap_or_else(|broken| panic!("after `{line}`: {broken}"));
    }
}

fn cut<'l>(line: &'l str, mark: &str) -> (&'l str, Option<&'l str>) {
    line.split_once(mark).map_or((line, None), |(rest, part)| (rest, Some(part.trim())))
}

pub(crate) fn time(text: &str) -> Timestamp {
    let (number, unit) = text.split_at(text.find(|c: char| c.is_alphabetic()).expect("a time has a unit"));
    let number: i64 = number.parse().expect("a time is a number");
    Timestamp(match unit {
        "ms" => number,
        "s" => number * 1000,
        "m" => number * 60_000,
        "d" => number * 86_400_000,
        _ => panic!("no unit of time: {unit}"),
    })
}

pub(crate) fn millis(text: &str) -> Millis {
    Millis(time(text).0)
}

pub(crate) fn name(text: &str) -> Name {
    Name::new(text).expect("a name")
}

/// A digest that stands for a body.
pub(crate) fn digest(text: &str) -> Digest {
    Digest(text.bytes().fold(7, |sum: u128, byte| sum.wrapping_mul(31).wrapping_add(u128::from(byte))))
}

/// The words `key=value` of a line.
pub(crate) struct Options<'a>(BTreeMap<&'a str, &'a str>);

impl<'a> Options<'a> {
    pub(crate) fn of(words: &[&'a str]) -> Self {
        Self(words.iter().filter_map(|word| word.split_once('=')).collect())
    }

    pub(crate) fn get(&self, key: &str) -> Option<&'a str> {
        self.0.get(key).copied()
    }

    pub(crate) fn number(&self, key: &str) -> Option<u32> {
        self.get(key).map(|text| text.parse().expect("a number"))
    }
}

/// Everything a script has on stage.
pub(crate) struct Stage {
    pub(crate) settings: Settings,
    pub(crate) engine: Engine,
    pub(crate) now: Timestamp,
    /// Rows that a store would load again, in the order in which it would.
    pub(crate) rows: BTreeMap<String, Change>,
    /// Answers that a store would give about rows that have left memory.
    pub(crate) facts: BTreeMap<Key, Fact>,
    /// Facts from before the last command.
    pub(crate) facts_before: BTreeMap<Key, Fact>,
    /// Commits are not heard of by themselves.
    pub(crate) is_slow: bool,
    unheard: VecDeque<Vec<Change>>,
    epoch: u64,
    seeds: u8,
}

impl Stage {
    pub(crate) fn new(settings: Settings) -> Self {
        Self {
            settings,
            engine: Engine::new(settings),
            now: Timestamp(0),
            rows: BTreeMap::new(),
            facts: BTreeMap::new(),
            facts_before: BTreeMap::new(),
            is_slow: false,
            unheard: VecDeque::new(),
            epoch: 0,
            seeds: 0,
        }
    }

    /// Executes a command with what the store knows.
    pub(crate) fn execute(&mut self, command: Command) -> Executed {
        self.facts_before.clone_from(&self.facts);
        let keys = self.engine.keys(&command).into_iter();
        let found = keys.filter_map(|key| Some((key.clone(), self.facts.get(&key)?.clone()))).collect();
        self.execute_with(command, found)
    }

    /// Executes a command with these facts.
    pub(crate) fn execute_with(&mut self, command: Command, known: BTreeMap<Key, Fact>) -> Executed {
        let mut facts = Facts::default();
        known.into_iter().for_each(|(key, fact)| facts.insert(key, fact));
        self.seeds = self.seeds.wrapping_add(1);
        let seed = core::array::from_fn(|i| self.seeds.wrapping_mul(31).wrapping_add(i as u8));
        let executed = self.engine.execute(command, &Context { now: self.now, seed: &seed, facts: &facts });
        self.unheard.push_back(self.engine.take_changes());
        if !self.is_slow {
            self.hear_of_commit();
        }
        executed
    }

    /// Ticks until nothing more is due.
    pub(crate) fn tick(&mut self) -> Executed {
        let mut events = Vec::new();
        loop {
            let executed = self.execute(Command::Tick);
            events.extend(executed.events);
            if self.engine.next_deadline().is_none_or(|next| next > self.now) {
                return Executed { result: executed.result, events };
            }
        }
    }

    /// Lets memory forget what a commit has made findable, as the coordinator does.
    pub(crate) fn hear_of_commit(&mut self) {
        let changes = self.unheard.pop_front().expect("a commit is under way");
        self.engine.forget(&changes);
        changes.into_iter().for_each(|change| self.keep(change));
    }

    /// Throws memory away and builds it back from the rows, as a crash would.
    pub(crate) fn restart(&mut self) {
        self.epoch += 1;
        let mut restoring = Restoring::new(self.settings);
        let has_ended = |job: PoolJobId| self.rows.contains_key(&pool_end(job));
        for change in self.rows.values().cloned() {
            match change {
                Change::Worker(record) => restoring.worker(*record),
                Change::Lane(record) => restoring.lane(*record),
                Change::Job(record) if record.open => restoring.job(*record),
                Change::Task(record) => restoring.task(*record),
                Change::Share(record) => restoring.share(record),
                Change::Stop { worker, task, .. } => restoring.stop(&worker, task),
                Change::Secrets(worker, secrets) => restoring.secrets(&worker, secrets),
                Change::Frames(change) => restoring.frames(change),
                Change::Pool(PoolChange::Job(record)) if has_ended(record.id) => {}
                Change::Pool(PoolChange::Assignment(record)) if has_ended(record.id.job()) => {}
                Change::Pool(PoolChange::End(_) | PoolChange::Key(_)) => {}
                Change::Pool(change) => restoring.pool(change),
                _ => {}
            }
        }
        for key in self.facts.keys() {
            if let Key::Report(id) = key {
                restoring.newest_report(id.clone());
            }
        }
        self.engine = restoring.finish(self.epoch, self.now);
        self.engine.check_invariants().expect("a restored engine is sound");
    }

    fn keep(&mut self, change: Change) {
        let kept = match &change {
            Change::Frames(change) => self.keep_frames(change),
            Change::Pool(change) => Kept::Live(self.keep_pool(change)),
            change => self.keep_devices(change),
        };
        match kept {
            Kept::Live(key) => _ = self.rows.insert(key, change),
            Kept::Gone(key) => _ = self.rows.remove(&key),
            Kept::History => {}
        }
    }

    fn keep_devices(&mut self, change: &Change) -> Kept {
        Kept::Live(match change {
            Change::Worker(record) => worker_key(record.id.as_str()),
            Change::Lane(record) => format!("d2 {}", record.id),
            Change::Job(record) => {
                if !record.open {
                    self.facts.insert(Key::Job(record.id), Fact::Job(record.status));
                }
                format!("d3 {:020}", record.seq)
            }
            Change::Task(record) => {
                if record.status.is_ended() {
                    self.facts.insert(Key::Task(record.id), Fact::Task(record.clone()));
                }
                format!("d4 {}", record.id)
            }
            Change::Share(record) => format!("d5 {} {}", record.worker, record.job),
            Change::ShareGone { worker, job } => return Kept::Gone(format!("d5 {worker} {job}")),
            Change::Stop { worker, task, gone: true } => return Kept::Gone(format!("d6 {worker} {task}")),
            Change::Stop { worker, task, .. } => format!("d6 {worker} {task}"),
            Change::Secrets(worker, _) => format!("d7 {worker}"),
            Change::Report(record) => {
                self.facts.insert(Key::Report(record.id.clone()), Fact::Report(Some(record.subject)));
                return Kept::History;
            }
            Change::Key(record) => {
                self.facts.insert(Key::Submission(record.key.clone()), Fact::Submission(record.clone()));
                return Kept::History;
            }
            Change::Log(_) | Change::WorkerLog(_) | Change::Alert(_) => return Kept::History,
            Change::Frames(_) | Change::Pool(_) | Change::Accounts(_) => return Kept::History,
            Change::Schedule(_) | Change::ScheduleGone(_) => return Kept::History,
        })
    }

    fn keep_frames(&mut self, change: &FrameChange) -> Kept {
        Kept::Live(match change {
            FrameChange::Farm(_) => "f0".into(),
            FrameChange::Renderer(record) => format!("f1 {}", record.id),
            FrameChange::RendererGone(name) => return Kept::Gone(format!("f1 {name}")),
            FrameChange::Session(record) => {
                let (key, id) = (format!("f2 {:020}", record.seq), Key::Session(record.id.clone()));
                if !record.open {
                    self.facts.insert(id, Fact::Session(record.clone()));
                    return Kept::Gone(key);
                }
                self.facts.remove(&id);
                key
            }
            FrameChange::Task(record) => {
                let id = Key::FrameTask(record.id.clone());
                match record.status.is_ended() {
                    true => _ = self.facts.insert(id, Fact::FrameTask(record.clone())),
                    false => _ = self.facts.remove(&id),
                }
                format!("f3 {}", record.id)
            }
            FrameChange::Chunk(record) => {
                self.facts.insert(Key::Chunk(record.ids.chunk), Fact::Chunk(record.clone().into()));
                let key = format!("f4 {:020}", record.ids.chunk);
                if record.state != ChunkState::Live {
                    return Kept::Gone(key);
                }
                key
            }
            FrameChange::Quarantine(record) if record.moved => {
                return Kept::Gone(format!("f5 {}", record.id));
            }
            FrameChange::Quarantine(record) => format!("f5 {}", record.id),
            FrameChange::Transition(_) | FrameChange::Replay(_) | FrameChange::Diagnostic(_) => {
                return Kept::History;
            }
        })
    }

    fn keep_pool(&mut self, change: &PoolChange) -> String {
        match change {
            PoolChange::Counters(_) => "p0".into(),
            PoolChange::Worker(record) => format!("p1 {:010}", record.id.0),
            PoolChange::Job(record) => format!("p2 {:010}", record.id.0),
            PoolChange::Assignment(record) => {
                if record.ended_at.is_some() {
                    self.facts.insert(Key::Assignment(record.id), Fact::Assignment(record.clone()));
                }
                format!("p3 {:010}", record.id.0)
            }
            PoolChange::End(end) => {
                self.facts.insert(Key::PoolEnd(end.job), Fact::PoolEnd(end.clone()));
                pool_end(end.job)
            }
            PoolChange::Key(key) => {
                let known = Key::PoolSubmission(key.client, key.key.clone());
                self.facts.insert(known, Fact::PoolSubmission(key.clone()));
                format!("p5 {} {}", key.client, key.key.as_str())
            }
        }
    }
}

/// Treatment of a changed row.
enum Kept {
    Live(String),
    Gone(String),
    /// Written and never loaded again.
    History,
}

/// The key of a worker's row.
pub(crate) fn worker_key(name: &str) -> String {
    format!("d1 {name}")
}

fn pool_end(job: PoolJobId) -> String {
    format!("p4 {:010}", job.0)
}
