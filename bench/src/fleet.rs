//! A fleet for measuring: workers of a hundred devices each, and what they send.

use crate::stopwatch::wall_clock;
use muster_engine::{Context, Engine, Executed};
use muster_model::{
    Ask, Attachment, Change, Command, DeviceReport, Digest, Facts, Handout, JobPayload, Millis, Name,
    Outcome, Pull, Report, ReportId, ReportKind, RunSummary, Scope, Settings, Submission, TaskReport,
    TaskReportKind, Timestamp,
};

/// Devices of one worker.
pub(crate) const DEVICES_PER_WORKER: u32 = 100;

/// An engine with its fleet.
pub(crate) struct Fleet {
    pub(crate) engine: Engine,
    pub(crate) workers: Vec<Name>,
    pub(crate) now: Timestamp,
    facts: Facts,
    seed: u64,
    reports: u64,
}

impl Fleet {
    /// A fleet that has reported its devices and has no work.
    pub(crate) fn enrolled(devices: u32) -> Self {
        Self::enrolled_with(devices, Timestamp(1_000), Settings::default(), true)
    }

    /// The same at the present time with another number of slots, its changes not yet taken. For a day no lease ends.
    pub(crate) fn with_slots(devices: u32, slots: u32) -> Self {
        let (lease, attempt_timeout) = (Millis::from_secs(86_400), Millis::from_secs(86_400));
        let settings = Settings { slots, lease, attempt_timeout, ..Settings::default() };
        Self::enrolled_with(devices, wall_clock(), settings, false)
    }

    /// Hands over what a store would be told.
    pub(crate) fn keep_changes(&mut self, keep: &mut dyn FnMut(Vec<Change>)) {
        let changes = self.engine.take_changes();
        self.engine.forget(&changes);
        keep(changes);
    }

    fn enrolled_with(devices: u32, now: Timestamp, settings: Settings, settle: bool) -> Self {
        let workers = (0..devices / DEVICES_PER_WORKER).map(|n| name(&format!("PC-{n:05}"))).collect();
        let engine = Engine::new(settings);
        let mut fleet = Self { engine, workers, now, facts: Facts::default(), seed: 1, reports: 0 };
        for n in 0..fleet.workers.len() {
            let device = |d: u32| {
                let device = name(&format!("serial-{n:05}-{d:03}"));
                DeviceReport { handle: device.clone(), device, attachment: Attachment::Online }
            };
            let devices = Some((0..DEVICES_PER_WORKER).map(device).collect());
            fleet.execute(Command::Pull(Pull { worker: fleet.workers[n].clone(), max: 0, devices }));
            if settle {
                fleet.settle();
            }
        }
        fleet
    }

    /// A job for every device.
    pub(crate) fn submit(&mut self) {
        let payload = JobPayload {
            title: None,
            workflow: "w".into(),
            params: "{}".into(),
            timeout: None,
            schedule: None,
        };
        let submission = Submission {
            key: None,
            digest: Digest(0),
            queue: name("default"),
            scope: Scope::All,
            max_attempts: None,
            payload,
        };
        self.execute(Command::Submit(Box::new(submission)));
    }

    /// A worker asks for work, and reports the end of the runs that hold nothing more for it.
    pub(crate) fn pull(&mut self, worker: usize, max: u32) -> Vec<Handout> {
        let name = self.workers[worker].clone();
        let pulled = self.execute(Command::Pull(Pull { worker: name, max, devices: None })).result;
        let reply = Pull::reply(pulled.expect("a pull is never refused"));
        for job in reply.finished {
            let summary = RunSummary { succeeded: u64::from(DEVICES_PER_WORKER), failed: 0, timeout: 0 };
            self.report(worker, ReportKind::RunFinished { job, summary });
        }
        reply.handouts
    }

    /// A worker reports the beginning of a task.
    pub(crate) fn start(&mut self, worker: usize, task: &Handout) {
        self.report_task(worker, task, TaskReportKind::Started);
    }

    /// A worker reports the end of a task.
    pub(crate) fn finish(&mut self, worker: usize, task: &Handout) {
        let kind = TaskReportKind::Finished {
            outcome: Outcome::Succeeded,
            started_at: self.now,
            result: Some(r#"{"timings":{"startedAt":1,"endedAt":2}}"#.into()),
        };
        self.report_task(worker, task, kind);
    }

    fn report_task(&mut self, worker: usize, task: &Handout, kind: TaskReportKind) {
        let about = TaskReport {
            job: task.task.job,
            task: task.task,
            lane: task.lane.clone(),
            attempt: Some(task.attempt),
            fence: Some(task.fence),
            kind,
        };
        self.report(worker, ReportKind::Task(about));
    }

    fn report(&mut self, worker: usize, kind: ReportKind) {
        self.reports += 1;
        let report = Report {
            id: ReportId::new(&format!("e-{}", self.reports)).expect("short"),
            worker: self.workers[worker].clone(),
            at: self.now,
            body: "{}".into(),
            kind,
        };
        self.execute(Command::Report(Box::new(report)));
    }

    /// Discards what a commit would take.
    pub(crate) fn settle(&mut self) -> usize {
        let changes = self.engine.take_changes();
        self.engine.take_woken();
        self.engine.take_sightings();
        self.engine.forget(&changes);
        changes.len()
    }

    fn execute(&mut self, command: Command) -> Executed {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mut seed = [0; 32];
        seed[..8].copy_from_slice(&self.seed.to_le_bytes());
        seed[8..16].copy_from_slice(&self.seed.rotate_left(17).to_le_bytes());
        self.engine.execute(command, &Context { now: self.now, seed: &seed, facts: &self.facts })
    }
}

pub(crate) fn name(text: &str) -> Name {
    Name::new(text).expect("a name")
}
