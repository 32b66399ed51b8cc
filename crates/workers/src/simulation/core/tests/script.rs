//! The little language of the scripts.

use super::super::super::Task;
use super::*;
use crate::script::{Player, word};
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
    now: Timestamp,
    is_cut: bool,
    is_asleep: bool,
    register: Option<u64>,
    beats: VecDeque<u64>,
    rebinds: VecDeque<u64>,
    pulls: VecDeque<u64>,
    tells: VecDeque<(Text, u64)>,
    works: BTreeMap<u64, Arc<Task>>,
    sends: BTreeMap<Text, u64>,
    leaves: VecDeque<u64>,
    did: Vec<String>,
}

impl Player for Played {
    const QUIET: &'static [&'static str] = &["beat ", "progress "];

    fn start(words: &str, now: Timestamp) -> Self {
        let settings = Settings {
            slots: word(words, "slots").map_or(1, |slots| slots.parse().unwrap()),
            pull_wait: (!words.contains("push")).then_some(Millis(20_000)),
            output_root: word(words, "root").map(PathBuf::from),
        };
        let mut played = Self {
            core: Core::new(settings, now),
            now,
            is_cut: false,
            is_asleep: false,
            register: None,
            beats: VecDeque::new(),
            rebinds: VecDeque::new(),
            pulls: VecDeque::new(),
            tells: VecDeque::new(),
            works: BTreeMap::new(),
            sends: BTreeMap::new(),
            leaves: VecDeque::new(),
            did: Vec::new(),
        };
        played.gather();
        played
    }

    fn play(&mut self, happens: &str, at: Timestamp) {
        let (what, rest) = happens.split_once(' ').unwrap_or((happens, ""));
        let rest = rest.trim();
        if std::mem::take(&mut self.is_asleep) {
            // The first thing that happens then is what had arrived meanwhile, not the alarm clock.
            self.now = at;
        } else {
            self.pass(at);
        }
        match what {
            "wait" => {}
            "cut" => self.is_cut = true,
            "mend" => {
                self.is_cut = false;
                self.answer_all();
            }
            "sleep" => self.is_asleep = true,
            "registered" => self.registered(rest),
            "heard" => self.heard(rest),
            "beat" => self.beat_refused(rest),
            "beat-silent" => {
                let number = self.beats.pop_front().expect("a heartbeat is on its way");
                self.core.beaten(number, Err(SILENT), self.now);
            }
            "term" => self.core.heard_of(rest.parse().unwrap(), self.now),
            "rebound" => {
                let number = self.rebinds.pop_front().expect("a rebind is on its way");
                let answer = trouble(rest).map_or_else(|| Ok(heard(rest)), Err);
                self.core.rebound(number, answer, self.now);
            }
            "pulled" => self.pulled(rest),
            "offered" => {
                let offer = self.core.offered(task(rest), self.now);
                self.did.push(offered(&offer));
            }
            "seen" => self.seen(rest),
            "ended" => self.ended(rest),
            "told" => {
                let place = self.tells.iter().position(|(task, _)| rest.starts_with(&**task));
                let (_, number) = self.tells.remove(place.expect("a progress is on its way")).unwrap();
                self.core.told(number, trouble(rest).map_or(Ok(()), Err), self.now);
            }
            "sent" => {
                let name = rest.split(' ').next().unwrap();
                let work = self.sends.remove(name).expect("a result is on its way");
                self.core.sent(work, trouble(rest).map_or(Ok(()), Err), self.now);
            }
            "leave" => self.core.leave(self.now),
            "dismissed" => self.core.dismissed(self.now),
            "unregistered" => {
                let number = self.leaves.pop_front().expect("a farewell is on its way");
                self.core.unregistered(number, trouble(rest).map_or(Ok(()), Err), self.now);
            }
            "over" => self.did.push(match self.core.over() {
                None => "no".to_owned(),
                Some(Over::Left) => "left".to_owned(),
                Some(Over::Refused(refusal)) => format!("refused {}", refusal.status),
            }),
            other => panic!("what is {other}?"),
        }
        self.gather();
    }

    fn take_actions(&mut self) -> Vec<String> {
        std::mem::take(&mut self.did)
    }
}

impl Played {
    fn pass(&mut self, until: Timestamp) {
        let mut woken_at = None;
        while let Some(due) = self.core.next_wake().filter(|due| *due <= until) {
            assert!(woken_at != Some(due.max(self.now)), "it asks to be woken over and over");
            self.now = self.now.max(due);
            woken_at = Some(self.now);
            self.core.wake(self.now);
            self.gather();
        }
        self.now = until;
    }

    fn registered(&mut self, rest: &str) {
        let number = self.register.take().expect("a registration is on its way");
        let interval = Millis(word(rest, "every").map_or(1_000, |every| every.parse().unwrap()));
        let epoch = word(rest, "epoch").map_or(1, |epoch| epoch.parse().unwrap());
        let answer = trouble(rest).map_or(Ok(Registration { interval, epoch }), Err);
        self.core.registered(number, answer, self.now);
    }

    /// What the master says to the last heartbeat; one is made up where none is on its way.
    fn heard(&mut self, rest: &str) {
        let number = self.heartbeat();
        self.core.beaten(number, Ok(heard(rest)), self.now);
    }

    fn beat_refused(&mut self, rest: &str) {
        let number = self.heartbeat();
        self.core.beaten(number, Err(trouble(rest).unwrap()), self.now);
    }

    fn heartbeat(&mut self) -> u64 {
        if let Some(number) = self.beats.pop_back() {
            return number;
        }
        let number = self.core.next_number();
        let Link::Bound(bound) = &mut self.core.link else { panic!("not registered") };
        let next_beat_at = bound.next_beat_at;
        bound.sent(number, self.now);
        bound.next_beat_at = next_beat_at;
        number
    }

    fn pulled(&mut self, rest: &str) {
        let number = self.pulls.pop_back().expect("a pull is on its way");
        let answer = match (trouble(rest), rest.split_once(' ')) {
            (Some(trouble), _) => Err(trouble),
            (None, Some(("wrong", task))) => {
                Ok(PullReply::Wrong { task: Some((task.into(), 1)), why: "nonsense".into() })
            }
            (None, None) if rest == "nothing" => Ok(PullReply::Nothing),
            _ => Ok(PullReply::Task(Box::new(task(rest)))),
        };
        self.core.pulled(number, answer, self.now);
    }

    fn seen(&mut self, rest: &str) {
        let work = self.work(rest);
        let processed: u64 = word(rest, "frames").unwrap().parse().unwrap();
        let queue = Ratio::new(word(rest, "queue").map_or(0.0, |queue| queue.parse().unwrap())).unwrap();
        let last_frame = processed.checked_sub(1);
        self.core.progressed(work, Seen { processed, last_frame, queue, ..Seen::default() }, self.now);
    }

    fn ended(&mut self, rest: &str) {
        let work = self.work(rest);
        let end = match rest.split_once(' ') {
            Some((task, "well")) => End::Finished { body: format!("body of {task}").into() },
            Some((_, how)) => End::Failed { error: how.trim_start_matches("failed ").into() },
            None => End::Stopped,
        };
        self.core.ended(work, end, self.now);
    }

    fn work(&self, rest: &str) -> u64 {
        let name = rest.split(' ').next().unwrap();
        let mut works = self.works.iter().filter(|(_, task)| &*task.id == name);
        *works.next_back().expect("it is begun").0
    }

    fn answer_all(&mut self) {
        while let Some(number) = self.beats.pop_front() {
            self.core.beaten(number, Ok(HeartbeatResponse::default()), self.now);
        }
    }

    fn gather(&mut self) {
        while let Some(action) = self.core.next_action() {
            if let Some(did) = short(&action, &self.works) {
                self.did.push(did);
            }
            self.take(action);
        }
    }

    fn take(&mut self, action: Action) {
        match action {
            Action::Register(number) => self.register = Some(number),
            Action::Beat(beat) if self.is_cut => self.beats.push_back(beat.number),
            Action::Beat(beat) => self.core.beaten(beat.number, Ok(HeartbeatResponse::default()), self.now),
            Action::Rebind(rebind) => self.rebinds.push_back(rebind.number),
            Action::Pull { number, .. } => self.pulls.push_back(number),
            Action::Begin(work) => drop(self.works.insert(work.number, work.task)),
            Action::Progress(progress) if self.is_cut => {
                self.tells.push_back((progress.request.task.clone().unwrap(), progress.number));
            }
            Action::Progress(progress) => self.core.told(progress.number, Ok(()), self.now),
            Action::Send { work, report } => {
                let (Report::Complete { task, .. } | Report::Fail { task, .. }) = report;
                self.sends.insert(task, work);
            }
            Action::Unregister(number) => self.leaves.push_back(number),
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
