//! The write path, driven by hand.

use muster_coordinator::{Answer, Request, WritePath};
use muster_engine::Engine;
use muster_model::{
    Attachment, Command, DeviceReport, Digest, Facts, JobPayload, Name, Outcome, Pull, Reply, Report,
    ReportId, ReportKind, Scope, Settings, Subject, Submission, TaskReport, TaskReportKind, Timestamp,
};

/// a write path whose batches are durable at once.
struct Counter(WritePath<&'static str>);

impl Counter {
    fn open() -> Self {
        let mut drawn = 0u8;
        let seeds = move || {
            drawn += 1;
            [drawn; 32]
        };
        Self(WritePath::new(Engine::new(Settings::default()), 0, Box::new(seeds)))
    }

    fn ask(&mut self, secs: i64, command: Command, wait_secs: i64) -> Vec<Answer<&'static str>> {
        let now = Timestamp(secs * 1000);
        let wait_until = (wait_secs > 0).then_some(Timestamp((secs + wait_secs) * 1000));
        self.0.take(Request { command, actor: None, wait_until, handle: "asked" }, now, &Facts::default());
        self.settle(now)
    }

    fn tick(&mut self, secs: i64) -> Vec<Answer<&'static str>> {
        let now = Timestamp(secs * 1000);
        self.0.tick(now);
        self.settle(now)
    }

    fn why(&self, secs: i64) -> &'static str {
        let why = self.0.explain(Subject::Worker(name("PC-01")), Timestamp(secs * 1000));
        why.expect("the worker is known").cause.rule_and_code().1
    }

    fn settle(&mut self, now: Timestamp) -> Vec<Answer<&'static str>> {
        self.0.seal(now).map_or_else(Vec::new, |_| self.0.committed().answers)
    }
}

/// N2: a waiting pull is answered when the second of two unconfirmed jobs becomes due, though nobody waited when
/// the first did.
#[test]
fn every_unconfirmed_job_is_handed_out_again_by_itself() {
    let mut counter = Counter::open();
    counter.ask(0, pull(0), 0);
    counter.ask(1, submit(Scope::All), 0);
    let first = handed(&counter.ask(2, pull(1), 0)).expect("the first job");
    let second = handed(&counter.ask(10, pull(1), 0)).expect("the second job");
    assert!(counter.tick(17).is_empty(), "nobody waits");
    counter.ask(18, finished(&first), 0);
    assert!(counter.ask(19, pull(1), 30).is_empty(), "nothing is due yet");
    assert_eq!(handed(&counter.tick(25)), Some(second));
}

/// N15: an open request is a sign of life while it is open, so a wait of 30 s does not flap against a limit of 30 s.
#[test]
fn whoever_waits_is_there() {
    let mut counter = Counter::open();
    assert!(counter.ask(1, pull(1), 30).is_empty(), "there is no work");
    assert_eq!(counter.tick(31).len(), 1, "the wait is over");
    assert_eq!(counter.why(31), "no_work");
    counter.tick(60);
    assert_eq!(counter.why(60), "no_work");
    counter.tick(61);
    assert_eq!(counter.why(61), "node_offline");
}

/// N15: a request whose sender went away is no sign of life, and is given nothing.
#[test]
fn whoever_went_away_waits_no_longer() {
    let mut counter = Counter::open();
    counter.0 = counter.0.with_senders(|handle| *handle != "asked", |_| ());
    counter.ask(1, pull(1), 60);
    assert!(counter.tick(31).is_empty(), "nobody listens");
    assert_eq!(counter.why(31), "node_offline");
    assert_eq!(counter.0.waiting(), 0);
}

/// N1, Q7: a cancel reaches a waiting pull at once, as a stop.
#[test]
fn a_cancel_answers_a_waiting_pull() {
    let mut counter = Counter::open();
    counter.ask(0, pull(0), 0);
    counter.ask(1, submit(Scope::All), 0);
    let job = handed(&counter.ask(2, pull(2), 0)).expect("both devices have work").task.job;
    assert!(counter.ask(3, pull(1), 30).is_empty(), "nothing more to do");
    let answers = counter.ask(4, Command::Cancel { job }, 0);
    let stops = answers.iter().find_map(|answer| match &answer.result {
        Ok(Reply::Pulled(reply)) => Some(reply.stop.len()),
        _ => None,
    });
    assert_eq!(stops, Some(2));
}

fn name(text: &str) -> Name {
    Name::new(text).expect("a name")
}

fn pull(max: u32) -> Command {
    let device =
        |text: &str| DeviceReport { device: name(text), handle: name(text), attachment: Attachment::Online };
    Command::Pull(Pull { worker: name("PC-01"), max, devices: Some(vec![device("d1"), device("d2")]) })
}

fn submit(scope: Scope) -> Command {
    let payload =
        JobPayload { title: None, workflow: "w".into(), params: "{}".into(), timeout: None, schedule: None };
    Command::Submit(Box::new(Submission {
        key: None,
        digest: Digest(1),
        queue: name("default"),
        scope,
        max_attempts: None,
        payload,
    }))
}

fn finished(handout: &muster_model::Handout) -> Command {
    let kind =
        TaskReportKind::Finished { outcome: Outcome::Succeeded, started_at: Timestamp(3_000), result: None };
    let about = TaskReport {
        job: handout.task.job,
        task: handout.task,
        lane: handout.lane.clone(),
        attempt: Some(handout.attempt),
        fence: Some(handout.fence),
        kind,
    };
    Command::Report(Box::new(Report {
        id: ReportId::new("e1").expect("an id"),
        worker: name("PC-01"),
        at: Timestamp(18_000),
        body: "{}".into(),
        kind: ReportKind::Task(about),
    }))
}

/// The one job in the one answer.
fn handed(answers: &[Answer<&'static str>]) -> Option<muster_model::Handout> {
    match &answers.first()?.result {
        Ok(Reply::Pulled(reply)) => reply.handouts.first().cloned(),
        _ => None,
    }
}
