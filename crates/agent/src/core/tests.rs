//! The agent's rules, played with a disk, a backend and an executor that do what the test says.

mod devices;
mod limits;
mod restart;

use super::*;
use crate::{End, Job, StepStatus};
use muster_model::RunSummary;

/// A core with everything that it asked for and did not get yet.
struct Played {
    core: Core,
    now: Timestamp,
    /// Appended, not durable.
    fresh: Vec<(u64, Event)>,
    /// Durable, not acked: what a restart would find.
    disk: Vec<(u64, Event)>,
    sends: Vec<u64>,
    pulls: Vec<PullRequest>,
    begun: Vec<Work>,
    killed: Vec<u64>,
    beats: Vec<Heartbeat>,
    aside: Vec<(u64, Refusal)>,
    /// Everything ever appended and durable, for a look at the order.
    log: Vec<(u64, Event)>,
}

impl Played {
    fn new(slots: u32) -> Self {
        Self::restarted(slots, Found::default(), Timestamp(1_000_000))
    }

    fn restarted(slots: u32, found: Found, now: Timestamp) -> Self {
        let timeouts = BTreeMap::from([("short".to_owned(), Millis(1_000))]);
        let settings = Settings { slots, wait: Millis(30_000), sends: 4, timeouts };
        let disk = found.pending.clone();
        let log = found.since.clone();
        let core = Core::new(settings, "spool", found, now).unwrap();
        let mut played = Self {
            core,
            now,
            fresh: Vec::new(),
            disk,
            sends: Vec::new(),
            pulls: Vec::new(),
            begun: Vec::new(),
            killed: Vec::new(),
            beats: Vec::new(),
            aside: Vec::new(),
            log,
        };
        played.gather();
        played
    }

    /// With two devices, and a pull that waits.
    fn ready(slots: u32) -> Self {
        let mut played = Self::new(slots);
        let devices = ["a", "b"].map(|device| Attached {
            device: device.into(),
            handle: format!("{device}:5555").into(),
            attachment: Attachment::Online,
        });
        played.core.devices_seen(devices.to_vec(), played.now);
        played.gather();
        played
    }

    fn gather(&mut self) {
        while let Some(action) = self.core.next_action() {
            match action {
                Action::Append(number, event) => self.fresh.push((number, *event)),
                Action::Ack(number) => self.disk.retain(|(other, _)| *other != number),
                Action::SetAside(number, refusal) => {
                    self.disk.retain(|(other, _)| *other != number);
                    self.aside.push((number, refusal));
                }
                Action::Send(number) => {
                    assert!(self.disk.iter().any(|(other, _)| *other == number), "sent before it is durable");
                    self.sends.push(number);
                }
                Action::Pull(request) => self.pulls.push(request),
                Action::Heartbeat(beat) => self.beats.push(beat),
                Action::Begin(work) => self.begun.push(work),
                Action::Kill(work) => self.killed.push(work),
            }
        }
    }

    fn sync(&mut self) {
        let Some((last, _)) = self.fresh.last() else { return };
        let last = *last;
        self.log.extend(self.fresh.iter().cloned());
        self.disk.append(&mut self.fresh);
        self.core.durable(last, self.now);
        self.gather();
    }

    fn answer(&mut self, answer: PulledWork) {
        let asked = self.pulls.remove(0);
        self.core.pulled(asked.number, Ok(answer), self.now);
        self.gather();
    }

    /// Hands out jobs, written `run/task@device#attempt`.
    fn hand_out(&mut self, jobs: &str) {
        let jobs = jobs.split(' ').map(job).collect();
        self.answer(PulledWork { jobs, ..PulledWork::default() });
    }

    fn end(&mut self, work: u64, end: End) {
        self.core.ended(work, end, self.now);
        self.gather();
    }

    fn answer_send(&mut self, number: u64, answer: Answer) {
        self.sends.retain(|other| *other != number);
        self.core.sent(number, answer, self.now);
        self.gather();
    }

    /// The backend takes whatever is on its way, until nothing is.
    fn take_all(&mut self) {
        self.sync();
        while let Some(number) = self.sends.first().copied() {
            self.answer_send(number, Answer::Taken);
        }
    }

    fn pass(&mut self, millis: i64) {
        let until = self.now + Millis(millis);
        while self.core.next_wake() <= until {
            let due = self.core.next_wake();
            assert!(due > self.now || self.now == until, "it asks to be woken over and over");
            self.now = self.now.max(due);
            self.core.wake(self.now);
            self.gather();
        }
        self.now = until;
        self.core.wake(until);
        self.gather();
    }

    fn crash(self, slots: u32) -> Self {
        let last = self.log.last().map_or(0, |(number, _)| *number);
        let found = Found { snapshot: None, since: self.log, pending: self.disk, last };
        Self::restarted(slots, found, self.now)
    }

    /// What was reported, in short.
    fn told(&self) -> Vec<String> {
        let all = self.log.iter().chain(&self.fresh);
        all.map(|(_, event)| short(event)).collect()
    }
}

fn short(event: &Event) -> String {
    match &event.kind {
        EventKind::RunStarted { run, targets, .. } => format!("run {run} of {targets}"),
        EventKind::TaskStarted { attempt, .. } => format!("start {}#{}", attempt.task, attempt.number),
        EventKind::TaskProgress { attempt, step, .. } => format!("step {} {step}", attempt.task),
        EventKind::TaskFinished { attempt, outcome, .. } => match outcome {
            Outcome::Succeeded { .. } => format!("end {}#{} well", attempt.task, attempt.number),
            Outcome::Failed { reason, error } => {
                format!("end {}#{} {}: {error}", attempt.task, attempt.number, reason.as_str())
            }
        },
        EventKind::RunFinished { run, summary: RunSummary { succeeded, failed, timeout } } => {
            format!("over {run} {succeeded}/{failed}/{timeout}")
        }
    }
}

fn job(text: &str) -> Job {
    let (run, rest) = text.split_once('/').unwrap();
    let (task, rest) = rest.split_once('@').unwrap();
    let (device, attempt) = rest.split_once('#').unwrap_or((rest, "1"));
    Job {
        task: task.into(),
        run: run.into(),
        device: device.into(),
        handle: device.into(),
        workflow: "short".into(),
        params: "{}".into(),
        timeout: Millis(60_000),
        attempt: attempt.parse().unwrap(),
        token: Some(format!("{task}-{attempt}").into()),
    }
}

const WELL: End = End::Succeeded { artifact: None };
const STOPPED: End = End::Stopped { reason: FailureReason::ScreenshotError };

fn texts(words: &str) -> Vec<Text> {
    words.split(' ').map(Text::from).collect()
}
