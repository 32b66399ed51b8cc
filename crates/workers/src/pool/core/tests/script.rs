//! The little language of the scripts.

use super::super::super::Assignment;
use super::*;
use crate::script::{Player, PlayerState, word};

/// Plays a script and compares.
#[track_caller]
pub(super) fn check(script: &str) {
    crate::script::check::<Played>(script);
}

/// A core with a server that does what the script says. Heartbeats are answered, unless it is cut.
struct Played {
    core: Core,
    state: PlayerState,
    /// The latest call of each kind.
    calls: BTreeMap<&'static str, u64>,
    works: BTreeMap<u64, u64>,
    entries: BTreeMap<u64, u64>,
}

impl Player for Played {
    const QUIET: &'static [&'static str] = &["beat "];

    fn start(words: &str, now: Timestamp) -> Self {
        let settings = Settings {
            name: "W".into(),
            slots: word(words, "slots").map_or(1, |slots| slots.parse().unwrap()),
            heartbeat: Millis(10_000),
            poll_wait: Millis(20_000),
            grace: Millis(30_000),
            can_log_in: !words.contains("token"),
            key: "K".into(),
            next_key: word(words, "next").map(Text::from),
        };
        let ids = word(words, "spooled").unwrap_or_default().split(',').filter(|id| !id.is_empty());
        let ids: Vec<u64> = ids.map(|id| id.parse().unwrap()).collect();
        let worker = word(words, "of").map_or(7, |worker| worker.parse().unwrap());
        let spooled = |id: &u64| Spooled { worker, assignment: *id, nonce: nonce(*id), is_error: false };
        let core = Core::new(settings, ids.iter().map(spooled).collect(), now);
        let entries = (1..).zip(ids).collect();
        let state = PlayerState { now, ..PlayerState::default() };
        Self { core, state, calls: BTreeMap::new(), works: BTreeMap::new(), entries }
    }

    fn play(&mut self, what: &str, rest: &str) {
        match what {
            // All that comes before the first poll.
            "up" => {
                self.tell("admitted", "");
                self.tell("listed", "W=K");
                self.tell("resumed", "nothing");
            }
            "cut" => self.state.is_cut = true,
            "mend" => self.state.is_cut = false,
            _ => self.tell(what, rest),
        }
    }

    fn gather(&mut self) {
        while let Some(action) = self.core.next_action() {
            self.take(&action);
            if let Some(did) = self.short(&action) {
                self.state.did.push(did);
            }
        }
    }

    fn state(&mut self) -> &mut PlayerState {
        &mut self.state
    }

    fn next_wake(&self) -> Option<Timestamp> {
        self.core.next_wake()
    }

    fn wake(&mut self, now: Timestamp) {
        self.core.wake(now);
    }
}

impl Played {
    fn tell(&mut self, what: &str, rest: &str) {
        let now = self.state.now;
        match what {
            "wait" => {}
            "admitted" => {
                let lasts =
                    Some(Millis::from_secs(word(rest, "lasts").map_or(900, |lasts| lasts.parse().unwrap())));
                let number = self.call("access");
                self.core.admitted(number, trouble(rest).map_or(Ok(lasts), Err), now);
            }
            "listed" => {
                let number = self.call("list");
                let known = rest.split_once('=').map(|(name, key)| known(name, key)).into_iter().collect();
                self.core.listed(number, trouble(rest).map_or(Ok(known), Err), now);
            }
            "registered" => {
                let number = self.call("register");
                self.core.registered(number, trouble(rest).map_or(Ok(known("W", "K")), Err), now);
            }
            "key-given" => {
                let number = self.call("give-key");
                self.core.key_given(number, trouble(rest).map_or(Ok(()), Err), now);
            }
            "replaced" => {
                let number = self.call("replace-key");
                let answer = if rest.is_empty() { Ok(()) } else { Err(rest.into()) };
                self.core.replaced(number, answer, now);
            }
            "beaten" => {
                let number = self.call("beat");
                self.core.beaten(number, trouble(rest).map_or(Ok(None), Err), now);
            }
            "resumed" => {
                let number = self.call("resume");
                let ids = rest.split(',').filter_map(|id| id.parse().ok()).map(assignment).collect();
                self.core.resumed(number, trouble(rest).map_or(Ok(Started::All(ids)), Err), now);
            }
            "resumed-too-long" => {
                let number = self.call("resume");
                self.core.resumed(number, Ok(Started::TooLong), now);
            }
            "resumed-as-polled" => {
                let number = self.call("resume");
                self.core.resumed(number, Ok(Started::One(assignment(rest.parse().unwrap()))), now);
            }
            "polled" => {
                let number = self.call("poll");
                let found = rest.parse().ok().map(assignment);
                self.core.polled(number, trouble(rest).map_or(Ok(found), Err), now);
            }
            _ => self.tell_of_work(what, rest),
        }
        self.gather();
    }

    fn tell_of_work(&mut self, what: &str, rest: &str) {
        let now = self.state.now;
        match what {
            "ended" => {
                let (id, how) = rest.split_once(' ').expect("how?");
                let work = self.works.iter().find(|(_, assignment)| assignment.to_string() == id);
                let work = *work.expect("it runs").0;
                self.works.remove(&work);
                self.core.ended(work, end(how), now);
            }
            "stored" => {
                let entry = self.entry(rest);
                self.core.stored(entry, now);
            }
            "spool-failed" => self.core.spool_failed(now),
            "spool-mended" => self.core.spool_mended(now),
            "submitted" => {
                let (id, how) = rest.split_once(' ').unwrap_or((rest, ""));
                let taken = if how == "before" { Submitted::Before } else { Submitted::Now };
                let entry = self.entry(id);
                self.core.submitted(entry, trouble(how).map_or(Ok(taken), Err), now);
            }
            // The answers are in the order of the entries: `submitted-batch 64,128 now; 400 Invalid nonce`.
            "submitted-batch" => {
                let (ids, how) = rest.split_once(' ').unwrap_or((rest, ""));
                let entries: Vec<u64> = ids.split(',').map(|id| self.entry(id)).collect();
                let answer =
                    trouble(how).filter(|_| !how.contains(';')).map_or_else(|| Ok(answers(how)), Err);
                self.core.submitted_batch(&entries, answer, now);
            }
            "leave" => self.core.leave(now),
            "over" => self.state.did.push(over(self.core.over())),
            "counts" => {
                let Counts { completed, failed, repeated, aside } = self.core.status().counts;
                self.state.did.push(format!("{completed} {failed} {repeated} {aside}"));
            }
            other => panic!("what is {other}?"),
        }
    }

    fn call(&mut self, kind: &'static str) -> u64 {
        self.calls.remove(kind).unwrap_or_else(|| panic!("no {kind} is on its way"))
    }

    /// The latest entry of an assignment.
    fn entry(&self, id: &str) -> u64 {
        let mut entries = self.entries.iter().filter(|(_, assignment)| assignment.to_string() == id);
        *entries.next_back().expect("it has a result").0
    }

    fn take(&mut self, action: &Action) {
        let (kind, number) = match action {
            Action::LogIn(number) | Action::Renew(number) => ("access", *number),
            Action::List(number) => ("list", *number),
            Action::Register(number) => ("register", *number),
            Action::GiveKey { number, .. } => ("give-key", *number),
            Action::ReplaceKey(number) => ("replace-key", *number),
            Action::Beat { number, .. } if !self.state.is_cut => {
                return self.core.beaten(*number, Ok(None), self.state.now);
            }
            Action::Beat { number, .. } => ("beat", *number),
            Action::Resume { number, .. } => ("resume", *number),
            Action::Poll { number, .. } => ("poll", *number),
            Action::TakeBack(number) => {
                assert_eq!(self.calls.remove("poll"), Some(*number));
                return;
            }
            Action::Begin(work) => {
                let id = work.assignment.id;
                assert!(!self.works.values().any(|running| *running == id), "{id} runs twice");
                self.works.insert(work.number, id);
                assert!(self.works.len() <= self.core.settings.slots as usize, "more than there are slots");
                return;
            }
            Action::Store(submission) => {
                assert_eq!(submission.nonce, nonce(submission.assignment));
                self.entries.insert(submission.entry, submission.assignment);
                return;
            }
            _ => return,
        };
        assert!(self.calls.insert(kind, number).is_none(), "two calls of a kind at once: {kind}");
    }

    fn short(&self, action: &Action) -> Option<String> {
        Some(match action {
            Action::LogIn(_) => "login".to_owned(),
            Action::Renew(_) => "renew".to_owned(),
            Action::List(_) => "list".to_owned(),
            Action::Register(_) => "register".to_owned(),
            Action::GiveKey { worker, key, .. } => format!("give-key {worker} {key}"),
            Action::ReplaceKey(_) => "replace-key".to_owned(),
            Action::Beat { worker, .. } => format!("beat {worker}"),
            Action::Resume { .. } => "resume".to_owned(),
            Action::Poll { .. } => "poll".to_owned(),
            Action::TakeBack(_) => "take back".to_owned(),
            Action::Begin(work) => format!("begin {}", work.assignment.id),
            Action::Kill(work) => format!("kill {}", self.works[work]),
            Action::Store(submission) => match &submission.outcome {
                Outcome::Output(_) => format!("store {}", submission.assignment),
                Outcome::Error(error) => format!("store {} error {error}", submission.assignment),
            },
            Action::Submit(entry) => format!("submit {}", self.entries[entry]),
            Action::SubmitBatch { worker: 7, entries } => {
                let ids: Vec<String> = entries.iter().map(|entry| self.entries[entry].to_string()).collect();
                format!("submit-batch {}", ids.join(","))
            }
            Action::SubmitBatch { worker, .. } => panic!("it is not worker {worker}"),
            Action::Ack(entry) => format!("ack {}", self.entries[entry]),
            Action::SetAside { entry, why } => format!("aside {} {why}", self.entries[entry]),
            Action::Note(note) => return short_note(note),
        })
    }
}

fn short_note(note: &Note) -> Option<String> {
    Some(match note {
        Note::Away => "away".to_owned(),
        Note::Back => "back".to_owned(),
        // The script shows their consequences instead.
        Note::Found { .. } | Note::SetAside { .. } => return None,
        Note::Registered { worker } => format!("registered {worker}"),
        Note::OtherSlots { theirs } => format!("other slots {theirs}"),
        Note::KeyReplaced => "key replaced".to_owned(),
        Note::KeyNotReplaced { why } => format!("key not replaced {why}"),
        Note::Resumed { assignments } => format!("resumed {assignments}"),
        Note::Unable { assignment, why } => format!("unable {assignment} {why}"),
        Note::Dropped { assignment } => format!("dropped {assignment}"),
        Note::Refused(refusal) => format!("refused {}", refusal.status),
        Note::Taken { assignment, error: Some(error), how: Submitted::Now } => {
            format!("taken {assignment} failed {error}")
        }
        Note::Taken { assignment, how: Submitted::Now, .. } => format!("taken {assignment}"),
        Note::Taken { assignment, how: Submitted::Before, .. } => format!("taken before {assignment}"),
    })
}

fn over(over: Option<&Over>) -> String {
    match over {
        None => "no".to_owned(),
        Some(Over::Left) => "left".to_owned(),
        Some(Over::NotAdmitted(refusal)) => format!("not admitted {}", refusal.status),
        Some(Over::Refused(refusal)) => format!("refused {} {}", refusal.status, refusal.detail),
        Some(Over::NameTaken) => "name taken".to_owned(),
        Some(Over::OtherKey { key }) => format!("other key {key}"),
        Some(Over::TooLong) => "too long".to_owned(),
        Some(Over::OtherSpool { worker }) => format!("other spool {worker}"),
    }
}

fn end(how: &str) -> End {
    match how.split_once(' ').unwrap_or((how, "")) {
        ("well", _) => End::Done(Outcome::Output("{}".into())),
        ("badly", why) => End::Done(Outcome::Error(why.into())),
        ("stopped", _) => End::Stopped,
        ("unable", why) => End::Unable(why.into()),
        other => panic!("what is {other:?}?"),
    }
}

fn known(name: &str, key: &str) -> WorkerSummary {
    let key = (key != "none").then(|| key.into());
    WorkerSummary { id: 7, name: name.into(), key, slots: None, last_seen: None }
}

fn assignment(id: u64) -> Assignment {
    Assignment { id, nonce: nonce(id), job: "{}".into() }
}

fn nonce(id: u64) -> Text {
    format!("nonce-{id}").into()
}

/// The answers to results that left together.
fn answers(words: &str) -> Vec<Result<Submitted, Refusal>> {
    let answer = |how: &str| match (how, trouble(how)) {
        ("now", _) => Ok(Submitted::Now),
        ("before", _) => Ok(Submitted::Before),
        (_, Some(Trouble::Refused(refusal))) => Err(refusal),
        other => panic!("what is {other:?}?"),
    };
    words.split(';').map(str::trim).filter(|how| !how.is_empty()).map(answer).collect()
}

/// `silent`, `silent=7` with a Retry-After, `401`, or any other status with its words.
fn trouble(words: &str) -> Option<Trouble> {
    if words.starts_with("silent") {
        let asked = word(words, "silent").map(|asked| Millis::from_secs(asked.parse().unwrap()));
        return Some(Trouble::NoAnswer(asked));
    }
    let (status, detail) = words.split_once(' ').unwrap_or((words, ""));
    match status.parse().ok()? {
        401 => Some(Trouble::Unauthorized),
        status @ 400..500 => Some(Trouble::Refused(Refusal { status, detail: detail.into() })),
        _ => None,
    }
}
