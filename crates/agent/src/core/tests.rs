//! The agent's rules, played with a disk, a backend and an executor that do what the test says.

use super::*;
use crate::{Job, StepStatus};
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
    /// The number of events in each request.
    requests: Vec<usize>,
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
        let settings = Settings { slots, wait: Millis(30_000), sends: 4, batch: 3, timeouts };
        let disk = found.pending.clone();
        let log = found.since.clone();
        let core = Core::new(settings, "spool", found, now).unwrap();
        let mut played = Self {
            core,
            now,
            fresh: Vec::new(),
            disk,
            sends: Vec::new(),
            requests: Vec::new(),
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
                Action::Send(numbers) => {
                    for number in &numbers {
                        assert!(
                            self.disk.iter().any(|(other, _)| other == number),
                            "sent before it is durable"
                        );
                    }
                    self.requests.push(numbers.len());
                    self.sends.extend(numbers);
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
        self.core.sent([(number, answer)], self.now);
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

    /// Everything reported, in short.
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

// Devices take turns, and what a device does is told in order.

/// N18: one task per device, so many at once, the next begins when a slot is free, devices in turn.
#[test]
fn devices_take_turns_and_never_run_two_tasks() {
    let mut played = Played::ready(2);
    played.hand_out("r/1@a r/2@a r/3@a r/4@b r/5@c");
    played.sync();
    let begun =
        |played: &Played| played.begun.iter().map(|work| work.job.task.to_string()).collect::<Vec<_>>();
    assert_eq!(begun(&played), ["1", "4"]);
    played.end(1, WELL);
    played.sync();
    assert_eq!(begun(&played), ["1", "4", "5"], "a and b are behind c now");
    played.end(2, WELL);
    played.sync();
    played.end(3, WELL);
    played.sync();
    assert_eq!(begun(&played), ["1", "4", "5", "2"], "3 is on the device of 2");
    assert_eq!(played.core.status().running, 1);
}

/// N18: a task that took too long keeps its slot and its device until nothing of it runs any more. N13: the running
/// step gives the reason.
#[test]
fn a_timed_out_task_frees_its_slot_when_it_is_gone() {
    let mut played = Played::ready(1);
    played.hand_out("r/1@a r/2@b");
    played.sync();
    played.core.stepped(1, Progress { step: "LOGIN_FLOW", status: StepStatus::Running }, played.now);
    played.gather();
    played.pass(999);
    assert!(played.killed.is_empty());
    played.pass(1);
    assert_eq!((played.killed.as_slice(), played.begun.len()), ([1].as_slice(), 1));
    played.pass(60_000);
    assert_eq!((played.killed.len(), played.begun.len()), (1, 1));
    played.end(1, End::Stopped { reason: FailureReason::LoginFlowTimeout });
    played.sync();
    assert_eq!(played.begun.len(), 2);
    let told = "end 1#1 login_flow_timeout: timeout: the task took longer than 1000 ms, in LOGIN_FLOW";
    assert!(played.told().contains(&told.to_owned()), "{:?}", played.told());
}

/// N19: nothing is begun before its start is on disk, nothing is sent before it is.
#[test]
fn the_disk_comes_first() {
    let mut played = Played::ready(2);
    played.hand_out("r/1@a");
    assert_eq!((played.begun.len(), played.sends.len(), played.fresh.len()), (0, 0, 1));
    played.sync();
    assert_eq!((played.begun.len(), played.sends.as_slice()), (1, [1].as_slice()));
}

/// N19: 2xx lets go; any other 4xx is set aside and blocks nothing; N13: a task whose reports are refused ends as
/// `callback_error`.
#[test]
fn refused_events_are_set_aside() {
    let mut played = Played::ready(2);
    played.hand_out("r/1@a r/2@b");
    played.sync();
    assert_eq!(played.sends, [1, 2]);
    played.answer_send(1, Answer::Refused(Refusal { status: 404, detail: "no such task".into() }));
    assert_eq!((played.aside.len(), played.killed.as_slice()), (1, [1].as_slice()));
    played.answer_send(2, Answer::Taken);
    played.end(1, STOPPED);
    played.take_all();
    assert!(played.disk.is_empty());
    let last = played.told().pop().unwrap();
    assert_eq!(last, "end 1#1 callback_error: the backend refused it with 404: no such task");
}

/// N25: where the backend offers it, events leave together, in the order of the spool and one request at a time; each is
/// acked, put off or set aside by its own result.
#[test]
fn events_leave_together_where_that_is_offered() {
    let mut played = Played::ready(2);
    let jobs = ["r/1@a", "r/2@b"].map(job).to_vec();
    played.answer(PulledWork { jobs, features: texts("logs callbacks"), ..PulledWork::default() });
    played.sync();
    assert_eq!((played.requests.as_slice(), played.sends.as_slice()), ([2].as_slice(), [1, 2].as_slice()));
    for work in [1, 2] {
        played.core.stepped(work, Progress { step: "S", status: StepStatus::Running }, played.now);
        played.end(work, WELL);
    }
    played.sync();
    assert_eq!(played.requests, [2], "one request at a time");
    let refused = Answer::Refused(Refusal { status: 404, detail: "no such task".into() });
    played.core.sent([(1, Answer::Taken), (2, refused)], played.now);
    played.gather();
    assert_eq!((played.requests.as_slice(), played.aside.len()), ([2, 3].as_slice(), 1));
    played.sends.clear();
    played.core.sent([(3, Answer::Taken), (4, Answer::Later(None)), (5, Answer::Taken)], played.now);
    played.gather();
    assert_eq!(played.sends, [6], "of another task than 4, which is put off");
    played.answer_send(6, Answer::Taken);
    assert!(played.sends.is_empty());
    played.pass(1_000);
    assert_eq!(played.sends, [4]);
    played.take_all();
    assert!(played.disk.is_empty());
}

/// N25: a backend that refuses several events as a whole, though it offered to take them, costs nothing: each event is
/// sent alone, and none is set aside or put off.
#[test]
fn events_leave_alone_where_several_are_refused() {
    let mut played = Played::ready(2);
    let offer = || PulledWork { features: texts("callbacks"), ..PulledWork::default() };
    played.answer(PulledWork { jobs: ["r/1@a", "r/2@b"].map(job).to_vec(), ..offer() });
    played.sync();
    assert_eq!(played.requests, [2]);
    played.sends.clear();
    let missing = BatchResponse { status: 404, retry_after: None, body: b"" };
    played.core.sent([1, 2].into_iter().zip(missing.answers(2)), played.now);
    played.gather();
    assert_eq!(
        (played.requests.as_slice(), played.sends.as_slice()),
        ([2, 1, 1].as_slice(), [1, 2].as_slice())
    );
    played.take_all();
    assert!(played.disk.is_empty() && played.aside.is_empty() && !played.core.status().degraded);
    played.answer(offer());
    assert!(!played.core.together_is_offered(), "not at once again");
    played.pass(60_000);
    played.answer(offer());
    assert!(played.core.together_is_offered());
    played.answer(PulledWork::default());
    assert!(!played.core.together_is_offered(), "a backend of an older version has taken over");
}

/// N19, N25: what a response to several events means for each of them.
#[test]
fn a_response_to_several_events_speaks_of_each() {
    let answers = |status, body: &str| {
        BatchResponse { status, retry_after: Some(Millis(7)), body: body.as_bytes() }.answers(2)
    };
    let body = r#"{"results":[{"event_id":"a","ok":true,"stale":true},{"event_id":"b","ok":false,"status":409,"detail":"x"}]}"#;
    let refusal = Refusal { status: 409, detail: "x".into() };
    assert_eq!(answers(200, body), [Answer::Taken, Answer::Refused(refusal)]);
    let later = r#"{"results":[{"ok":false,"status":401},{"ok":false}]}"#;
    assert_eq!(answers(200, later), [Answer::Later(None), Answer::Later(None)]);
    for odd in ["", "{}", r#"{"ok":true}"#, r#"{"results":[{"ok":true}]}"#] {
        assert_eq!(answers(200, odd), [Answer::Separately, Answer::Separately], "{odd}");
    }
    for status in [400, 404, 405, 413, 422] {
        assert_eq!(answers(status, body), [Answer::Separately, Answer::Separately], "{status}");
    }
    for status in [302, 401, 408, 429, 500, 503] {
        assert_eq!(answers(status, body), [Answer::Later(Some(Millis(7))), Answer::Later(Some(Millis(7)))]);
    }
}

/// N20: tried after 1, 2, 5, 10, 30, 30 seconds; degraded after the seventh try; then every 30 seconds.
#[test]
fn an_event_is_tried_on_the_contracts_schedule() {
    let mut played = Played::ready(2);
    played.hand_out("r/1@a");
    played.sync();
    let mut waits = Vec::new();
    for failures in 1..=8 {
        assert_eq!(played.core.status().degraded, failures > 7);
        played.answer_send(1, Answer::None);
        let failed_at = played.now;
        while played.sends.is_empty() {
            let pause = played.core.next_wake() - played.now;
            played.pass(pause.0.max(1));
            played.pulls.clear();
        }
        waits.push((played.now - failed_at).0 / 1000);
    }
    assert_eq!(waits, [1, 2, 5, 10, 30, 30, 30, 30]);
    assert!(played.beats.last().unwrap().degraded);
}

/// N20: while nobody answers, tasks are executed and every event is kept; a pull that succeeds again tries at once;
/// everything drains in order before new work is asked for.
#[test]
fn an_outage_costs_nothing_but_time() {
    let mut played = Played::ready(2);
    played.hand_out("r/1@a r/2@b r/3@a");
    let lost = played.pulls.remove(0);
    played.core.pulled(lost.number, Err(NoAnswer), played.now);
    played.gather();
    played.sync();
    for number in [1, 2] {
        played.answer_send(number, Answer::None);
    }
    for work in 1..=3 {
        played.pass(200);
        played.end(work, WELL);
        played.sync();
    }
    for _ in 0..600 {
        played.pass(1_000);
        for number in played.sends.clone() {
            played.answer_send(number, Answer::None);
        }
        for pull in std::mem::take(&mut played.pulls) {
            played.core.pulled(pull.number, Err(NoAnswer), played.now);
            played.gather();
        }
    }
    let status = played.core.status();
    assert!(status.degraded && status.spooled == 6 && status.running == 0, "{status:?}");
    while played.pulls.is_empty() {
        played.pass(1_000);
        for number in played.sends.clone() {
            played.answer_send(number, Answer::None);
        }
    }
    played.answer(PulledWork::default());
    assert_eq!(played.sends, [1], "probed at once, one at a time");
    played.answer_send(1, Answer::Taken);
    assert!(played.core.status().recovering);
    played.pass(10_000);
    assert!(played.pulls.iter().all(|pull| pull.max_jobs == 0), "nothing new before the spool is empty");
    let mut order = vec![1];
    while let Some(number) = played.sends.first().copied() {
        order.push(number);
        played.answer_send(number, Answer::Taken);
    }
    let places = |task: &str| {
        let of_task = played.log.iter().filter(|(_, event)| &*event.kind.attempt().unwrap().task == task);
        of_task.map(|(number, _)| order.iter().position(|sent| sent == number).unwrap()).collect::<Vec<_>>()
    };
    for task in ["1", "2", "3"] {
        assert!(places(task).is_sorted(), "{order:?}");
    }
    assert_eq!(order.len(), 6);
    played.pulls.clear();
    played.core.pulled(u64::MAX, Ok(PulledWork::default()), played.now);
    assert!(!played.core.status().recovering);
}

// Full disks, refusals, outages and haste.

/// N19: a full disk stops what is new, not what runs, and loses nothing.
#[test]
fn a_full_disk_stops_what_is_new() {
    let mut played = Played::ready(1);
    played.hand_out("r/1@a r/2@b");
    played.sync();
    played.end(1, WELL);
    played.core.spool_failed(played.now);
    played.gather();
    assert!(played.core.status().spool_full);
    played.answer(PulledWork::default());
    played.pass(6_000);
    assert_eq!(played.pulls.last().unwrap().max_jobs, 0);
    played.sync();
    assert!(!played.core.status().spool_full);
    assert_eq!(played.begun.len(), 2, "the second began when its start was on disk");
    assert_eq!(played.pulls.len(), 1);
}

/// N19: room that is reserved is for what runs: reports are written there and leave, nothing new is begun.
#[test]
fn the_reserve_is_for_what_runs() {
    let mut played = Played::ready(1);
    played.hand_out("r/1@a r/2@b");
    played.sync();
    for _ in 0..2 {
        played.core.durable_in_reserve(played.core.last_event, played.now);
        played.gather();
        assert!(played.core.status().spool_full);
        played.end(1, WELL);
    }
    assert_eq!((played.begun.len(), played.core.status().running), (1, 0));
    played.core.durable(played.core.last_event, played.now);
    played.gather();
    played.sync();
    assert!(!played.core.status().spool_full);
    assert_eq!(played.begun.len(), 2);
}

/// N1b: a change of the devices is told at once, beside the pull that waits.
#[test]
fn devices_are_told_of_at_once() {
    let mut played = Played::ready(1);
    assert_eq!(played.pulls.len(), 1);
    assert_eq!(played.pulls[0].devices.as_ref().unwrap().len(), 2);
    played.core.devices_seen(Vec::new(), played.now);
    played.gather();
    assert_eq!(played.pulls.len(), 2);
    assert_eq!((played.pulls[1].max_jobs, played.pulls[1].devices.as_ref().unwrap().len()), (0, 0));
    played.core.devices_unknown(played.now);
    played.gather();
    assert_eq!(played.pulls.len(), 2, "nothing has changed");
}

/// N1b: a report of devices that is refused is told again in measure, not in a loop.
#[test]
fn a_refused_report_of_devices_is_told_in_measure() {
    let mut played = Played::ready(1);
    played.answer(PulledWork::default());
    played.core.devices_seen(Vec::new(), played.now);
    played.gather();
    let mut told = 0;
    for _ in 0..10_000 {
        while played.pulls.len() > 1 {
            told += 1;
            let refused = played.pulls.remove(1);
            played.core.pulled(refused.number, Err(NoAnswer), played.now);
            played.gather();
        }
        played.pass(1);
    }
    assert_eq!(told, 4, "at once, and after 1, 2 and 5 seconds");
}

/// N20: one event that the backend always puts off is shown as degraded, but does not keep the node without work.
#[test]
fn one_event_that_is_always_put_off_does_not_idle_the_node() {
    let mut played = Played::ready(1);
    played.hand_out("r/1@a");
    played.sync();
    for _ in 0..400 {
        played.pass(1_000);
        for number in played.sends.clone() {
            played.answer_send(number, if number == 1 { Answer::Later(None) } else { Answer::Taken });
        }
        while !played.pulls.is_empty() {
            played.answer(PulledWork::default());
        }
        if played.core.status().running == 1 && played.core.status().degraded {
            played.end(1, WELL);
            played.sync();
        }
    }
    assert_eq!(played.core.status().spooled, 2, "its start, and the end that must wait for it");
    played.pass(1_000);
    assert!(played.pulls.iter().any(|pull| pull.max_jobs > 0), "{:?}", played.pulls);
}

/// N20: a backend that is away, and something in front of it that says so at every try, is an outage like any other:
/// everything drains before new work is asked for.
#[test]
fn an_outage_in_words_is_an_outage() {
    let mut played = Played::ready(2);
    played.hand_out("r/1@a r/2@b");
    played.sync();
    let away = |played: &mut Played| {
        played.pass(1_000);
        for number in played.sends.clone() {
            played.answer_send(number, Answer::Later(None));
        }
    };
    for second in 0..600 {
        away(&mut played);
        for pull in std::mem::take(&mut played.pulls) {
            played.core.pulled(pull.number, Err(NoAnswer), played.now);
            played.gather();
        }
        if second == 10 {
            [1, 2].into_iter().for_each(|work| played.end(work, WELL));
            played.sync();
        }
    }
    assert!(played.core.status().degraded && played.core.status().spooled == 4);
    while played.pulls.is_empty() {
        away(&mut played);
    }
    played.answer(PulledWork::default());
    while let Some(number) = played.sends.first().copied() {
        assert!(played.pulls.iter().all(|pull| pull.max_jobs == 0), "{number} is not taken");
        played.answer_send(number, Answer::Taken);
        if !played.pulls.is_empty() {
            played.answer(PulledWork::default());
        }
        played.pass(5_000);
    }
    assert_eq!(played.core.status().spooled, 0);
    assert!(played.pulls.iter().any(|pull| pull.max_jobs > 0));
}

/// N1, N1b: a stop that a newer attempt has overtaken on its way is not for that attempt.
#[test]
fn an_overtaken_stop_spares_the_newer_attempt() {
    let mut played = Played::ready(1);
    played.hand_out("r/1@a");
    played.sync();
    played.pass(1);
    played.core.devices_seen(Vec::new(), played.now);
    played.gather();
    let telling = played.pulls.remove(1);
    played.pass(1);
    played.hand_out("r/1@a#2");
    let stop = PulledWork { stop: texts("1"), ..PulledWork::default() };
    played.core.pulled(telling.number, Ok(stop), played.now);
    played.gather();
    played.end(1, STOPPED);
    played.sync();
    assert_eq!(played.begun.len(), 2, "{:?}", played.told());
}

/// N22b: an attempt that is being ended for a newer one is not forgotten by a snapshot.
#[test]
fn a_snapshot_remembers_what_is_being_replaced() {
    let mut played = Played::ready(1);
    played.hand_out("r/1@a");
    played.sync();
    played.hand_out("r/1@a#2");
    let found = Found {
        snapshot: Some(played.core.snapshot()),
        since: Vec::new(),
        pending: played.disk.clone(),
        last: 1,
    };
    let again = Played::restarted(1, found, played.now);
    assert_eq!(again.told(), ["end 1#1 unknown: agent restarted"]);
}

/// N1, N20: a backend that answers at once with nothing is not asked in a loop; a heartbeat leaves at the start and
/// every 30 seconds.
#[test]
fn a_hasty_backend_is_asked_in_measure() {
    let mut played = Played::ready(1);
    let mut asked = 0;
    for _ in 0..61_000 {
        while !played.pulls.is_empty() {
            asked += 1;
            played.answer(PulledWork::default());
        }
        played.pass(1);
    }
    assert_eq!((asked, played.beats.len()), (62, 3));
}

/// N8, N20: the heartbeat of the start speaks of the devices, unless they do not show up.
#[test]
fn the_first_heartbeat_knows_the_devices() {
    let played = Played::ready(1);
    assert_eq!((played.beats.len(), played.beats[0].connected), (1, 2));
    let mut blind = Played::new(1);
    assert_eq!(blind.beats.len(), 0);
    blind.pass(5_000);
    assert_eq!((blind.beats.len(), blind.beats[0].connected), (1, 0));
}

/// I11: draining hands nothing back that waits, ends or lets end what runs, and then is over.
#[test]
fn draining_ends_in_either_way() {
    for (drain, killed) in [(Drain::Finish, 0), (Drain::HandBack, 1)] {
        let mut played = Played::ready(1);
        played.hand_out("r/1@a r/2@b");
        played.sync();
        played.core.drain(drain, played.now);
        played.gather();
        assert_eq!(played.killed.len(), killed);
        assert!(!played.core.is_idle());
        played.end(1, if killed == 0 { WELL } else { STOPPED });
        assert!(played.core.is_idle() && !played.core.is_drained());
        played.take_all();
        assert!(played.core.is_drained());
        assert_eq!(played.begun.len(), 1, "2 is forgotten; the backend hands it out again");
    }
}

// State that a restart finds, and how the agent handles it.

/// N22b: what a crash interrupted is reported once as failed, and not run again.
#[test]
fn an_interrupted_task_is_reported_and_not_run_again() {
    let mut played = Played::ready(1);
    played.hand_out("r/1@a r/2@b");
    played.sync();
    let mut played = played.crash(1);
    assert_eq!(played.told(), ["start 1#1", "end 1#1 unknown: agent restarted"]);
    played.sync();
    let mut played = played.crash(1);
    assert_eq!(played.told().len(), 2, "reported once");
    played.core.devices_seen(Vec::new(), played.now);
    played.gather();
    played.hand_out("r/1@a r/2@b");
    played.sync();
    let begun: Vec<&str> = played.begun.iter().map(|work| &*work.job.task).collect();
    assert_eq!(begun, ["2"], "1 is known, 2 was never begun and comes again (N2)");
    assert_eq!(played.log.last().map(|(number, _)| *number), Some(3), "numbers go on");
}

/// N22b: a snapshot and what came after it tell the same as everything from the beginning.
#[test]
fn a_snapshot_stands_for_what_came_before() {
    let mut played = Played::ready(2);
    let runs = vec![AnnouncedRun { run: "r".into(), targets: 3, max_concurrency: 2 }];
    let jobs = ["r/1@a", "r/2@b"].map(job).to_vec();
    played.answer(PulledWork { runs, jobs, ..PulledWork::default() });
    played.sync();
    played.end(1, WELL);
    played.sync();
    let (snapshot, kept) = (played.core.snapshot(), played.log.len());
    played.end(2, End::Failed { reason: FailureReason::AdbOffline, error: "gone".into(), timed_out: false });
    played.sync();
    let last = played.log.len() as u64;
    let found = Found {
        snapshot: Some(snapshot),
        since: played.log[kept..].to_vec(),
        pending: played.disk.clone(),
        last,
    };
    let books = Played::restarted(2, found, played.now).core.books;
    assert_eq!(books, played.crash(2).core.books);
    assert_eq!(books.runs["r"].summary(), RunSummary { succeeded: 1, failed: 1, timeout: 0 });
}

/// N9, N14: a run is announced once and closed once, when nothing of it is in hand; its summary counts tasks.
#[test]
fn a_run_is_told_from_its_first_job_to_its_last() {
    let mut played = Played::ready(2);
    let offer = AnnouncedRun { run: "r".into(), targets: 2, max_concurrency: 2 };
    let answer = PulledWork { runs: vec![offer], jobs: vec![job("r/1@a")], ..PulledWork::default() };
    played.answer(answer.clone());
    played.answer(answer);
    played.pass(1_000);
    played.sync();
    played.answer(PulledWork { finished_runs: texts("r"), stop: texts("1"), ..PulledWork::default() });
    assert_eq!(played.killed, [1]);
    assert_eq!(played.told(), ["run r of 2", "start 1#1"], "not over while it runs");
    played.end(1, STOPPED);
    let over = ["run r of 2", "start 1#1", "end 1#1 unknown: stopped on request", "over r 0/1/0"];
    assert_eq!(played.told(), over);
    played.pass(1_000);
    played.answer(PulledWork { finished_runs: texts("r"), ..PulledWork::default() });
    assert_eq!(played.told().len(), 4, "said once");
    played.take_all();
    played.pass(1_000);
    played.answer(PulledWork { finished_runs: texts("r"), ..PulledWork::default() });
    assert_eq!(played.told().len(), 4, "that question had left before the answer was known");
    for _ in 0..29 {
        played.pass(1_000);
        played.answer(PulledWork { finished_runs: texts("r"), ..PulledWork::default() });
    }
    assert_eq!(played.told().len(), 4, "a backend that does not listen is not told in a loop");
    played.pass(3_000);
    played.answer(PulledWork::default());
    played.pass(1_000);
    played.answer(PulledWork { finished_runs: texts("r"), ..PulledWork::default() });
    assert_eq!(played.told().len(), 5, "a backend that asks again is told again");
}

/// N14: a run that comes back after it was closed is open again: its count holds all of it, however long the rest takes.
#[test]
fn a_run_that_comes_back_is_counted_in_full() {
    let mut played = Played::ready(1);
    let runs = vec![AnnouncedRun { run: "r".into(), targets: 1, max_concurrency: 1 }];
    played.answer(PulledWork { runs, jobs: vec![job("r/1@a")], ..PulledWork::default() });
    played.sync();
    played.end(1, WELL);
    played.answer(PulledWork { finished_runs: texts("r"), ..PulledWork::default() });
    played.take_all();
    assert_eq!(played.told().last().unwrap(), "over r 1/0/0");
    played.hand_out("r/2@b");
    played.sync();
    played.pass(300_000);
    played.end(2, WELL);
    played.take_all();
    played.pass(60_000);
    played.answer(PulledWork { finished_runs: texts("r"), ..PulledWork::default() });
    assert_eq!(played.told().last().unwrap(), "over r 2/0/0");
}

/// N1: a newer attempt replaces the older, which ends first; a job in its line is withdrawn.
#[test]
fn a_newer_attempt_waits_for_the_end_of_the_older() {
    let mut played = Played::ready(2);
    played.hand_out("r/1@a");
    played.sync();
    played.hand_out("r/1@a#2");
    assert_eq!((played.killed.as_slice(), played.begun.len()), ([1].as_slice(), 1));
    played.end(1, STOPPED);
    played.sync();
    assert_eq!((played.begun.len(), played.begun[1].job.attempt), (2, 2));
    played.hand_out("r/1@a#1");
    assert_eq!(played.core.status().queued, 0, "an older attempt is nothing");
}

/// N1: `stop` ends what waits and what runs, and answers for what was never heard of where the backend says what it is.
#[test]
fn stop_is_answered_for_whatever_it_names() {
    let mut played = Played::ready(1);
    played.hand_out("r/1@a r/2@a");
    played.sync();
    let stop_jobs = vec![job("r/3@b")];
    played.answer(PulledWork { stop: texts("1 2 3 4"), stop_jobs, ..PulledWork::default() });
    played.end(1, STOPPED);
    assert_eq!(
        played.told(),
        [
            "start 1#1",
            "end 2#1 unknown: stopped before it began",
            "end 3#1 unknown: stopped before it began",
            "end 1#1 unknown: stopped on request"
        ]
    );
}
