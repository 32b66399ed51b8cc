//! The little language of the scripts.

use super::super::super::Task;
use super::*;
use crate::script::{Player, PlayerState, word};
use muster_contract_simulation::{Backpressure, HeartbeatResponse, Order, PullReply};
use muster_model::{FrameRange, IdRange};
use std::sync::Arc;

/// Plays a script and compares.
#[track_caller]
pub(super) fn check(script: &str) {
    crate::script::check::<Played>(script);
}

/// A core with a master that does what the script says.
struct Played {
    core: Core,
    state: PlayerState,
    is_asleep: bool,
    /// Calls on their way, the oldest first: the kind, the task they are about, and the number.
    calls: Vec<(&'static str, Text, u64)>,
    works: BTreeMap<u64, Arc<Task>>,
}

impl Player for Played {
    const QUIET: &'static [&'static str] = &["beat ", "progress "];

    fn start(words: &str, now: Timestamp) -> Self {
        let settings = Settings {
            slots: word(words, "slots").map_or(1, |slots| slots.parse().unwrap()),
            pull_wait: (!words.contains("push")).then_some(Millis(20_000)),
            output_root: word(words, "root").map(PathBuf::from),
        };
        let state = PlayerState { now, ..PlayerState::default() };
        let core = Core::new(settings, now);
        Self { core, state, is_asleep: false, calls: Vec::new(), works: BTreeMap::new() }
    }

    fn play(&mut self, what: &str, rest: &str) {
        let now = self.state.now;
        self.is_asleep = what == "sleep";
        match what {
            "wait" | "sleep" => {}
            "cut" => self.state.is_cut = true,
            "mend" => {
                self.state.is_cut = false;
                while let Some(number) = self.oldest("beat") {
                    self.core.beaten(number, Ok(HeartbeatResponse::default()), now);
                }
            }
            "registered" => self.registered(rest),
            // The response to the last heartbeat; one is made up where none is on its way.
            "heard" => {
                let number = self.heartbeat();
                self.core.beaten(number, Ok(heard(rest)), now);
            }
            "beat" => {
                let number = self.heartbeat();
                self.core.beaten(number, Err(trouble(rest).unwrap()), now);
            }
            "beat-silent" => {
                let number = self.oldest("beat").expect("a heartbeat is on its way");
                self.core.beaten(number, Err(SILENT), now);
            }
            "term" => self.core.heard_of(rest.parse().unwrap(), now),
            "rebound" => {
                let number = self.oldest("rebind").expect("a rebind is on its way");
                self.core.rebound(number, trouble(rest).map_or_else(|| Ok(heard(rest)), Err), now);
            }
            "pulled" => self.pulled(rest),
            "offered" => {
                let offer = self.core.offered(task(rest), now);
                self.state.did.push(offered(&offer));
            }
            "seen" => self.seen(rest),
            "ended" => self.ended(rest),
            "told" => {
                let number = self.about("progress", rest);
                self.core.told(number, trouble(rest).map_or(Ok(()), Err), now);
            }
            "sent" => {
                let work = self.about("send", rest);
                self.core.sent(work, trouble(rest).map_or(Ok(()), Err), now);
            }
            "leave" => self.core.leave(now),
            "dismissed" => self.core.dismissed(now),
            "unregistered" => {
                let number = self.oldest("unregister").expect("a farewell is on its way");
                self.core.unregistered(number, trouble(rest).map_or(Ok(()), Err), now);
            }
            "over" => self.state.did.push(match self.core.over() {
                None => "no".to_owned(),
                Some(Over::Left) => "left".to_owned(),
                Some(Over::Refused(refusal)) => format!("refused {}", refusal.status),
            }),
            other => panic!("what is {other}?"),
        }
    }

    fn gather(&mut self) {
        while let Some(action) = self.core.next_action() {
            if let Some(did) = short(&action, &self.works) {
                self.state.did.push(did);
            }
            self.take(action);
        }
    }

    fn state(&mut self) -> &mut PlayerState {
        &mut self.state
    }

    /// After a sleep the first thing that happens is what had arrived meanwhile, not the alarm clock.
    fn next_wake(&self) -> Option<Timestamp> {
        self.core.next_wake().filter(|_| !self.is_asleep)
    }

    fn wake(&mut self, now: Timestamp) {
        self.core.wake(now);
    }
}

impl Played {
    /// Takes the oldest call of a kind.
    fn oldest(&mut self, kind: &str) -> Option<u64> {
        let place = self.calls.iter().position(|(other, ..)| *other == kind)?;
        Some(self.calls.remove(place).2)
    }

    /// Takes the latest call of a kind.
    fn latest(&mut self, kind: &str) -> Option<u64> {
        let place = self.calls.iter().rposition(|(other, ..)| *other == kind)?;
        Some(self.calls.remove(place).2)
    }

    /// Takes the latest call of a kind about the task that the words begin with.
    fn about(&mut self, kind: &str, words: &str) -> u64 {
        let name = words.split(' ').next().unwrap();
        let place = self.calls.iter().rposition(|(other, task, _)| *other == kind && &**task == name);
        self.calls.remove(place.unwrap_or_else(|| panic!("no {kind} of {name} is on its way"))).2
    }

    fn registered(&mut self, rest: &str) {
        let number = self.latest("register").expect("a registration is on its way");
        let interval = Millis(word(rest, "every").map_or(1_000, |every| every.parse().unwrap()));
        let epoch = word(rest, "epoch").map_or(1, |epoch| epoch.parse().unwrap());
        let answer = trouble(rest).map_or(Ok(Registration { interval, epoch }), Err);
        self.core.registered(number, answer, self.state.now);
    }

    fn heartbeat(&mut self) -> u64 {
        if let Some(number) = self.latest("beat") {
            return number;
        }
        let number = self.core.next_number();
        let Link::Bound(bound) = &mut self.core.link else { panic!("not registered") };
        let next_beat_at = bound.next_beat_at;
        bound.sent(number, self.state.now);
        bound.next_beat_at = next_beat_at;
        number
    }

    fn pulled(&mut self, rest: &str) {
        let number = self.latest("pull").expect("a pull is on its way");
        let answer = match (trouble(rest), rest.split_once(' ')) {
            (Some(trouble), _) => Err(trouble),
            (None, Some(("wrong", task))) => {
                Ok(PullReply::Wrong { task: Some((task.into(), 1)), why: "nonsense".into() })
            }
            (None, None) if rest == "nothing" => Ok(PullReply::Nothing),
            _ => Ok(PullReply::Task(Box::new(task(rest)))),
        };
        self.core.pulled(number, answer, self.state.now);
    }

    fn seen(&mut self, rest: &str) {
        let work = self.work(rest);
        let processed: u64 = word(rest, "frames").unwrap().parse().unwrap();
        let queue = Ratio::new(word(rest, "queue").map_or(0.0, |queue| queue.parse().unwrap())).unwrap();
        let last_frame = processed.checked_sub(1);
        self.core.progressed(work, Seen { processed, last_frame, queue, ..Seen::default() }, self.state.now);
    }

    fn ended(&mut self, rest: &str) {
        let work = self.work(rest);
        let end = match rest.split_once(' ') {
            Some((task, "well")) => End::Finished { body: format!("body of {task}").into() },
            Some((_, how)) => End::Failed { error: how.trim_start_matches("failed ").into() },
            None => End::Stopped,
        };
        self.core.ended(work, end, self.state.now);
    }

    fn work(&self, rest: &str) -> u64 {
        let name = rest.split(' ').next().unwrap();
        let mut works = self.works.iter().filter(|(_, task)| &*task.id == name);
        *works.next_back().expect("it is begun").0
    }

    fn take(&mut self, action: Action) {
        let (now, is_cut) = (self.state.now, self.state.is_cut);
        let none = || Text::from("");
        match action {
            Action::Register(number) => self.calls.push(("register", none(), number)),
            Action::Beat(beat) if is_cut => self.calls.push(("beat", none(), beat.number)),
            Action::Beat(beat) => self.core.beaten(beat.number, Ok(HeartbeatResponse::default()), now),
            Action::Rebind(rebind) => self.calls.push(("rebind", none(), rebind.number)),
            Action::Pull { number, .. } => self.calls.push(("pull", none(), number)),
            Action::Begin(work) => drop(self.works.insert(work.number, work.task)),
            Action::Progress(progress) if is_cut => {
                self.calls.push(("progress", progress.request.task.unwrap(), progress.number));
            }
            Action::Progress(progress) => self.core.told(progress.number, Ok(()), now),
            Action::Send { work, report } => {
                let (Report::Complete { task, .. } | Report::Fail { task, .. }) = report;
                self.calls.push(("send", task, work));
            }
            Action::Unregister(number) => self.calls.push(("unregister", none(), number)),
            Action::Kill(_) | Action::Pace(_) | Action::Note(_) => {}
        }
    }
}

fn short(action: &Action, works: &BTreeMap<u64, Arc<Task>>) -> Option<String> {
    Some(match action {
        Action::Register(_) => "register".to_owned(),
        Action::Beat(beat) => {
            let beat = &beat.request;
            let last = beat.last_frame.map(|frame| format!(" last={frame}")).unwrap_or_default();
            let queue = if beat.queue_ratio == STILL {
                String::new()
            } else {
                format!(" queue={}", beat.queue_ratio.value())
            };
            let rtt = beat.rtt.map(|rtt| format!(" rtt={}", rtt.0)).unwrap_or_default();
            format!("beat {}{last}{queue}{rtt}", beat.status)
        }
        Action::Rebind(rebind) => {
            let held: Vec<String> = rebind.tasks.iter().map(|task| name(task)).collect();
            let held = if held.is_empty() { "nothing".to_owned() } else { held.join(",") };
            let last = rebind.last_frame.map(|frame| format!(" last={frame}")).unwrap_or_default();
            format!("rebind {} holding {held}{last}", rebind.epoch)
        }
        Action::Pull { .. } => "pull".to_owned(),
        Action::Begin(work) => format!("begin {}", name(&work.task)),
        Action::Kill(work) => format!("kill {}", works[work].id),
        Action::Pace(pace) => format!("pace {}", pace.value()),
        Action::Progress(progress) => {
            let request = &progress.request;
            let (task, max) = (request.task.as_deref().unwrap_or_default(), request.max_queue_ratio.value());
            format!("progress {task} {} max={max}", request.processed)
        }
        Action::Send { report: Report::Complete { task, body }, .. } => {
            assert_eq!(**body, format!("body of {task}"), "the same bytes at every try");
            format!("complete {task}")
        }
        Action::Send { report: Report::Fail { task, attempt, error }, .. } => {
            format!("fail {task}#{attempt} {error}")
        }
        Action::Unregister(_) => "unregister".to_owned(),
        Action::Note(note) => return short_note(note),
    })
}

fn short_note(note: &Note) -> Option<String> {
    let task_of = |report: &Report| match report {
        Report::Complete { task, .. } | Report::Fail { task, .. } => task.clone(),
    };
    Some(match note {
        Note::Registered { epoch } => format!("registered {epoch}"),
        Note::NotRegistered(_) => "not registered".to_owned(),
        Note::StaleMaster { epoch } => format!("stale master {epoch}"),
        Note::Lost(loss) => format!("lost {loss:?}"),
        Note::State(state) => format!("state {state}"),
        // The pace itself is shown.
        Note::Paced(_) => return None,
        Note::NotTaken { task, why } => format!("not taken {} {why}", task.as_deref().unwrap_or("?")),
        Note::Stopping { task } => format!("stopping {task}"),
        Note::Taken(report) => format!("taken {}", task_of(report)),
        Note::GivenUp { report, refusal } => format!("given up {} {}", task_of(report), refusal.status),
    })
}

fn offered(offer: &Offer) -> String {
    match offer {
        Offer::Taken => "taken".to_owned(),
        Offer::Full => "full".to_owned(),
        Offer::Stale { epoch } => format!("stale {epoch}"),
        Offer::Wrong { why } => format!("wrong {why}"),
        Offer::Away => "away".to_owned(),
    }
}

fn heard(words: &str) -> HeartbeatResponse {
    let factor = |factor: &str| Ratio::new(factor.parse().unwrap()).unwrap();
    HeartbeatResponse {
        state: word(words, "state").map(Text::from),
        epoch: word(words, "epoch").map(|epoch| epoch.parse().unwrap()),
        backpressure: word(words, "factor")
            .map(|word| Backpressure { level: "".into(), factor: factor(word) }),
        commands: word(words, "orders").unwrap_or_default().split(',').filter_map(order).collect(),
    }
}

fn order(word: &str) -> Option<Order> {
    Some(match word {
        "" => return None,
        "rebind" => Order::Rebind,
        "reregister" => Order::Reregister,
        "pause" => Order::Pause,
        "resume" => Order::Resume,
        other => Order::Stop(other.strip_prefix("stop:").unwrap().into()),
    })
}

fn task(words: &str) -> Task {
    let (id, rest) = words.split(' ').next().unwrap().split_once('#').expect(words);
    let (attempt, chunk) = rest.split_once('@').expect(words);
    let chunk: u64 = chunk.parse().unwrap();
    let (start, end) = word(words, "frames").unwrap_or("0-10").split_once('-').unwrap();
    Task {
        id: id.into(),
        frames: FrameRange { start: start.parse().unwrap(), end: end.parse().unwrap() },
        ids: IdRange { chunk, start: chunk * 1_000_000, end: (chunk + 1) * 1_000_000 },
        attempt: attempt.parse().unwrap(),
        epoch: word(words, "epoch").map_or(1, |epoch| epoch.parse().unwrap()),
        directory: word(words, "in").unwrap_or("/out/5").into(),
        ..example()
    }
}

fn name(task: &Task) -> String {
    format!("{}#{}@{}", task.id, task.attempt, task.ids.chunk)
}

/// The last word, where it tells of trouble.
fn trouble(words: &str) -> Option<Trouble> {
    match words.split(' ').next_back()? {
        "silent" => Some(SILENT),
        "401" => Some(Trouble::Unauthorized),
        status => {
            let status = status.parse().ok().filter(|status| *status >= 400)?;
            Some(Trouble::Refused(Refusal { status, detail: "no".into() }))
        }
    }
}

const SILENT: Trouble = Trouble::NoAnswer(None);
