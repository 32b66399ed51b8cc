//! Little scripts about sessions that read like the contract.
//!
//! A line is `TIME COMMAND [-> EVENTS] [~> EFFECTS] [=> REPLY]`. `s.50` is the range of session s that begins with
//! frame 50, `#2` its second attempt. After every line all invariants are checked. `restart` builds the engine back
//! from the rows it gave away, as a crash would, and ticks. After `wait W1` a request of W1 waits for a task; `view woken`
//! says whose requests are to be decided again since the last time. `& COMMAND` came together with the one before it: what
//! the store knows was looked up for both at once. `retry s [a..b]` reads an ended session from the rows, as a route does.
//! `pruned s.50` deletes a row of the store; `version-4` leaves failed ranges as a server of that version did. After `slow` no commit is heard of but by `heard`, one at a time.

mod parse;
mod render;

use crate::{Context, Engine, Executed, Restoring, Waiter};
use alloc::{
    boxed::Box,
    collections::{BTreeMap, VecDeque},
    format,
    string::{String, ToString},
    vec::Vec,
};
use muster_model::{
    Change, ClosedSession, Command, Effect, Fact, Facts, FrameChange, FrameCommand, FrameSettings,
    FrameTaskStatus, Key, SessionId, Settings, Subject, Timestamp,
};

/// Runs a script with the default settings.
pub(super) fn check(script: &str) {
    check_with(FrameSettings::default(), script);
}

/// Runs a script.
pub(super) fn check_with(frames: FrameSettings, script: &str) {
    let mut stage = Stage::new(Settings { frames, ..Settings::default() });
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//")) {
        stage.play(line);
    }
}

struct Stage {
    settings: Settings,
    engine: Engine,
    now: Timestamp,
    epoch: u64,
    rows: BTreeMap<String, FrameChange>,
    facts: BTreeMap<Key, Fact>,
    /// What it knew before the last command.
    facts_before: BTreeMap<Key, Fact>,
    is_slow: bool,
    /// The marks of the manifests that were asked for last.
    marks: BTreeMap<SessionId, u64>,
    /// Commits that were not heard of yet.
    unheard: VecDeque<Vec<Change>>,
}

impl Stage {
    fn new(settings: Settings) -> Self {
        Self {
            settings,
            engine: Engine::new(settings),
            now: Timestamp(0),
            epoch: 0,
            rows: BTreeMap::new(),
            facts: BTreeMap::new(),
            facts_before: BTreeMap::new(),
            is_slow: false,
            marks: BTreeMap::new(),
            unheard: VecDeque::new(),
        }
    }

    fn play(&mut self, line: &str) {
        let (rest, reply) = parse::cut(line, "=>");
        let (rest, effects) = parse::cut(rest, "~>");
        let (rest, events) = parse::cut(rest, "->");
        let mut words = rest.split_whitespace();
        self.now = parse::time(words.next().expect("a line begins with a time"));
        let words: Vec<&str> = words.collect();
        let executed = match words[0] {
            "restart" => self.restart(),
            "slow" => return self.is_slow = true,
            "heard" => return self.hear_of_commit(),
            "pruned" => {
                self.rows.remove(&format!("3 {}", parse::task(words[1])));
                return;
            }
            "version-4" => return self.cancel_failed_rows(),
            "wait" => return self.engine.begin_waiting(&Waiter::Renderer(parse::name(words[1]))),
            "explain" => {
                let told = self.explain(&words);
                return assert_eq!(Some(told.as_str()), reply, "`{line}`");
            }
            "view" => {
                let told = self.view(&words);
                return assert_eq!(Some(told.as_str()), reply, "view of `{line}`");
            }
            "tick" => self.tick(),
            "&" => {
                let command = Command::Frames(parse::command(&words[1..]));
                self.execute_with(command, self.facts_before.clone())
            }
            "register" => self.register(&words),
            "merged" if !words.iter().any(|word| word.starts_with("mark=")) => self.merged(&words),
            "retry" => {
                let closed = self.closed(&parse::session(words[1]));
                let command = FrameCommand::Retry(Box::new(parse::retry(&words, closed)));
                self.execute(Command::Frames(command))
            }
            _ => self.execute(Command::Frames(parse::command(&words))),
        };
        let done = self.engine.take_effects();
        self.marks.extend(done.iter().filter_map(|effect| match effect {
            Effect::Merge { session, mark } => Some((session.clone(), *mark)),
            _ => None,
        }));
        if let Some(expected) = events {
            assert_eq!(render::events(&executed.events), expected, "events of `{line}`");
        }
        if let Some(expected) = effects {
            assert_eq!(render::effects(&done), expected, "effects of `{line}`");
        }
        if let Some(expected) = reply {
            assert_eq!(render::reply(&executed.result), expected, "reply of `{line}`");
        }
        self.engine.check_invariants().unwrap_or_else(|broken| panic!("after `{line}`: {broken}"));
    }

    /// Tells that the manifest that was asked for last was written.
    fn merged(&mut self, words: &[&str]) -> Executed {
        let mark = self.marks.get(&parse::session(words[1])).copied().unwrap_or_default();
        let mark = format!("mark={mark}");
        self.execute(Command::Frames(parse::command(&[words, &[mark.as_str()]].concat())))
    }

    /// Registers a worker; unless the line says `unheard`, its first good heartbeat follows, so that it gets work (S8).
    fn register(&mut self, words: &[&str]) -> Executed {
        let mut executed = self.execute(Command::Frames(parse::command(words)));
        if executed.result.is_ok() && !words.contains(&"unheard") {
            let beat = self.execute(Command::Frames(parse::command(&["beat", words[1]])));
            executed.events.extend(beat.events);
        }
        executed
    }

    fn explain(&self, words: &[&str]) -> String {
        let subject = match words[1] {
            "session" => Subject::Session(parse::session(words[2])),
            "range" => Subject::Range(parse::task(words[2])),
            _ => Subject::Renderer(parse::name(words[2])),
        };
        let explanation = self.engine.explain(subject, self.now);
        explanation.map_or("unknown".into(), |why| why.cause.rule_and_code().1.into())
    }

    /// An ended session with its ranges that were not completed.
    fn closed(&self, id: &SessionId) -> Option<ClosedSession> {
        let Some(Fact::Session(record)) = self.facts.get(&Key::Session(id.clone())) else {
            return None;
        };
        let ranges = self.rows.values().filter_map(|row| match row {
            FrameChange::Task(task) if task.id.session == *id => Some((**task).clone()),
            _ => None,
        });
        let ranges = ranges.filter(|task| task.status != FrameTaskStatus::Completed).collect();
        Some(ClosedSession { record: (**record).clone(), ranges, uncut: Vec::new() })
    }

    /// Version 4 had no failed ranges: whatever a failed session had not done was cancelled.
    fn cancel_failed_rows(&mut self) {
        for row in self.rows.values_mut() {
            if let FrameChange::Task(task) = row
                && task.status == FrameTaskStatus::Failed
            {
                task.status = FrameTaskStatus::Cancelled;
            }
        }
    }

    fn tick(&mut self) -> Executed {
        let mut events = Vec::new();
        loop {
            let executed = self.execute(Command::Tick);
            events.extend(executed.events);
            if self.engine.next_deadline().is_none_or(|next| next > self.now) {
                return Executed { result: executed.result, events };
            }
        }
    }

    fn execute(&mut self, command: Command) -> Executed {
        self.facts_before.clone_from(&self.facts);
        let keys = self.engine.keys(&command);
        let found = keys.into_iter().filter_map(|key| Some((key.clone(), self.facts.get(&key)?.clone())));
        let found = found.collect();
        self.execute_with(command, found)
    }

    fn execute_with(&mut self, command: Command, found: BTreeMap<Key, Fact>) -> Executed {
        let mut facts = Facts::default();
        found.into_iter().for_each(|(key, fact)| facts.insert(key, fact));
        let executed =
            self.engine.execute(command, &Context { now: self.now, seed: &[7; 32], facts: &facts });
        let changes = self.engine.take_changes();
        self.unheard.push_back(changes);
        if !self.is_slow {
            self.hear_of_commit();
        }
        executed
    }

    fn hear_of_commit(&mut self) {
        let changes = self.unheard.pop_front().expect("a commit is under way");
        self.engine.forget(&changes);
        for change in changes {
            if let Change::Frames(change) = change {
                self.keep(change);
            }
        }
    }

    fn restart(&mut self) -> Executed {
        self.epoch += 1;
        let mut restoring = Restoring::new(self.settings);
        for change in self.rows.values().cloned() {
            restoring.frames(change);
        }
        self.engine = restoring.finish(self.epoch, self.now);
        self.engine.check_invariants().expect("a restored engine is sound");
        self.tick()
    }

    /// Keeps what a store would load again, in the order it would, and what it could be asked.
    fn keep(&mut self, change: FrameChange) {
        let key = match &change {
            FrameChange::Farm(_) => "0".to_string(),
            FrameChange::Renderer(record) => format!("1 {}", record.id),
            FrameChange::Session(record) => {
                let key = format!("2 {:020}", record.seq);
                if record.open {
                    self.facts.remove(&Key::Session(record.id.clone()));
                } else {
                    self.facts.insert(Key::Session(record.id.clone()), Fact::Session(record.clone()));
                    self.rows.remove(&key);
                    return;
                }
                key
            }
            FrameChange::Task(record) => {
                let fact = Key::FrameTask(record.id.clone());
                match record.status.is_ended() {
                    true => _ = self.facts.insert(fact, Fact::FrameTask(record.clone())),
                    false => _ = self.facts.remove(&fact),
                }
                format!("3 {}", record.id)
            }
            FrameChange::Chunk(record) => {
                self.facts.insert(Key::Chunk(record.ids.chunk), Fact::Chunk(record.clone().into()));
                let key = format!("4 {:020}", record.ids.chunk);
                if record.state != muster_model::ChunkState::Live {
                    self.rows.remove(&key);
                    return;
                }
                key
            }
            FrameChange::Quarantine(record) => {
                let key = format!("5 {}", record.id);
                if record.moved {
                    self.rows.remove(&key);
                    return;
                }
                key
            }
            FrameChange::RendererGone(name) => {
                self.rows.remove(&format!("1 {name}"));
                return;
            }
            FrameChange::Transition(_) | FrameChange::Replay(_) | FrameChange::Diagnostic(_) => return,
        };
        self.rows.insert(key, change);
    }
}
