//! The verbs of scripts about sessions.
//!
//! `s.50` is the range of session s that begins with frame 50, `#2` its second attempt. `restart` builds the engine back
//! from the rows it gave away, as a crash would, and ticks. After `wait W1` a request of W1 waits for a task; `view woken`
//! says whose requests are to be decided again since the last time. `& COMMAND` came together with the one before it:
//! what the store knows was looked up for both at once. `retry s [a..b]` reads an ended session from the rows, as a route
//! does. `pruned s.50` deletes a row of the store; `version-4` leaves failed ranges as a server of that version did. After
//! `slow` no commit is heard of but by `heard`, one at a time.

mod parse;
mod render;

use crate::{
    Executed, Waiter,
    kernel::script::{Played, Stage, Verbs, name, run},
};
use alloc::{boxed::Box, collections::BTreeMap, format, string::String, vec::Vec};
use muster_model::{
    Change, ClosedSession, Command, Effect, Fact, FrameChange, FrameCommand, FrameSettings, FrameTaskStatus,
    Key, SessionId, Settings, Subject,
};

/// Runs a script with the default settings.
pub(super) fn check(script: &str) {
    check_with(FrameSettings::default(), script);
}

/// Runs a script.
pub(super) fn check_with(frames: FrameSettings, script: &str) {
    run(Frames::default(), Settings { frames, ..Settings::default() }, script);
}

/// The marks of the manifests that were asked for last.
#[derive(Default)]
struct Frames {
    marks: BTreeMap<SessionId, u64>,
}

impl Verbs for Frames {
    fn play(&mut self, stage: &mut Stage, words: &[&str]) -> Played {
        match words[0] {
            "explain" => return Played::answer(explain(stage, words)),
            "view" => return Played::answer(render::view(stage, words)),
            "slow" => stage.is_slow = true,
            "heard" => stage.hear_of_commit(),
            "pruned" => _ = stage.rows.remove(&format!("f3 {}", parse::task(words[1]))),
            "version-4" => cancel_failed_rows(stage),
            "wait" => stage.engine.begin_waiting(&Waiter::Renderer(name(words[1]))),
            _ => return self.command(stage, words),
        }
        Played::default()
    }
}

impl Frames {
    fn command(&mut self, stage: &mut Stage, words: &[&str]) -> Played {
        let executed = match words[0] {
            "restart" => {
                stage.restart();
                stage.tick()
            }
            "tick" => stage.tick(),
            "&" => {
                let command = Command::Frames(parse::command(&words[1..]));
                stage.execute_with(command, stage.facts_before.clone())
            }
            "register" => register(stage, words),
            "merged" if !words.iter().any(|word| word.starts_with("mark=")) => self.merged(stage, words),
            "retry" => {
                let closed = closed(stage, &parse::session(words[1]));
                let command = FrameCommand::Retry(Box::new(parse::retry(words, closed)));
                stage.execute(Command::Frames(command))
            }
            _ => stage.execute(Command::Frames(parse::command(words))),
        };
        let done = stage.engine.take_effects();
        self.marks.extend(done.iter().filter_map(|effect| match effect {
            Effect::Merge { session, mark } => Some((session.clone(), *mark)),
            _ => None,
        }));
        Played {
            events: render::events(&executed.events),
            effects: render::effects(&done),
            reply: render::reply(&executed.result),
        }
    }

    /// Tells that the manifest that was asked for last was written.
    fn merged(&self, stage: &mut Stage, words: &[&str]) -> Executed {
        let mark = self.marks.get(&parse::session(words[1])).copied().unwrap_or_default();
        let mark = format!("mark={mark}");
        stage.execute(Command::Frames(parse::command(&[words, &[mark.as_str()]].concat())))
    }
}

/// Registers a worker; unless the line says `unheard`, its first good heartbeat follows, so that it gets work (S8).
fn register(stage: &mut Stage, words: &[&str]) -> Executed {
    let mut executed = stage.execute(Command::Frames(parse::command(words)));
    if executed.result.is_ok() && !words.contains(&"unheard") {
        let beat = stage.execute(Command::Frames(parse::command(&["beat", words[1]])));
        executed.events.extend(beat.events);
    }
    executed
}

fn explain(stage: &Stage, words: &[&str]) -> String {
    let subject = match words[1] {
        "session" => Subject::Session(parse::session(words[2])),
        "range" => Subject::Range(parse::task(words[2])),
        _ => Subject::Renderer(name(words[2])),
    };
    let explanation = stage.engine.explain(subject, stage.now);
    explanation.map_or("unknown".into(), |why| why.cause.rule_and_code().1.into())
}

/// An ended session with its ranges that were not completed.
fn closed(stage: &Stage, id: &SessionId) -> Option<ClosedSession> {
    let Some(Fact::Session(record)) = stage.facts.get(&Key::Session(id.clone())) else {
        return None;
    };
    let ranges = stage.rows.values().filter_map(|row| match row {
        Change::Frames(FrameChange::Task(task)) if task.id.session == *id => Some((**task).clone()),
        _ => None,
    });
    let ranges = ranges.filter(|task| task.status != FrameTaskStatus::Completed).collect();
    Some(ClosedSession { record: (**record).clone(), ranges, uncut: Vec::new() })
}

/// Version 4 had no failed ranges: whatever a failed session had not done was cancelled.
fn cancel_failed_rows(stage: &mut Stage) {
    for row in stage.rows.values_mut() {
        if let Change::Frames(FrameChange::Task(task)) = row
            && task.status == FrameTaskStatus::Failed
        {
            task.status = FrameTaskStatus::Cancelled;
        }
    }
}
