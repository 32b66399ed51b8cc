//! The verbs of scripts about devices.
//!
//! Runs and devices are called by their names in the script (`r1/d1` is the task of run r1 on device d1, `#2` its second
//! attempt). `restart` builds the engine back from the rows it gave away, as a crash would.

use crate::kernel::script::{Options, Played, Stage, Verbs, digest, millis, name, run, time};
use alloc::{
    boxed::Box,
    collections::{BTreeMap, BTreeSet},
    format,
    string::{String, ToString},
    vec::Vec,
};
use muster_model::{
    Attachment, Change, Command, DeviceReport, Event, FailureReason, Fence, JobId, JobPayload, JobReply,
    Name, Outcome, Pull, PullReply, Rejection, Reply, Report, ReportBatch, ReportId, ReportKind, RunSummary,
    Scope, Settings, Step, StepStatus, Subject, Submission, SubmissionKey, SweepReply, TaskId, TaskRecord,
    TaskReport, TaskReportKind, WorkerMessage, WorkerSupply,
};

/// Runs a script with the default settings.
pub(crate) fn check(script: &str) {
    check_with(Settings::default(), script);
}

/// Runs a script.
pub(crate) fn check_with(settings: Settings, script: &str) {
    run(Devices::default(), settings, script);
}

/// The names that a script gave to runs and tasks.
#[derive(Default)]
struct Devices {
    reports: u64,
    jobs: BTreeMap<String, JobId>,
    tasks: BTreeMap<String, TaskId>,
    fences: BTreeMap<(TaskId, u16), Fence>,
}

impl Verbs for Devices {
    fn play(&mut self, stage: &mut Stage, words: &[&str]) -> Played {
        let executed = match words[0] {
            "restart" => {
                stage.restart();
                return Played::default();
            }
            "explain" => return Played::answer(self.explain(stage, words)),
            "supply" => return Played::answer(supply(stage, words[1])),
            "row" => return Played::answer(self.row(stage, words[1])),
            "strangers" => return Played::answer(strangers(stage, words)),
            "tick" => stage.tick(),
            _ => {
                let command = self.command(stage, words);
                stage.execute(command)
            }
        };
        self.learn(&executed.events, words.get(1).copied().unwrap_or_default());
        let (events, reply) = (self.render_events(&executed.events), self.render_reply(&executed.result));
        Played { events, reply, ..Played::default() }
    }
}

impl Devices {
    fn learn(&mut self, events: &[Event], run: &str) {
        for event in events {
            match event {
                Event::JobSubmitted { job, .. } => _ = self.jobs.insert(run.to_string(), *job),
                Event::LeaseGranted(grant) => {
                    self.name_task(grant.task, &grant.lane);
                    self.fences.insert((grant.task, grant.attempt), grant.fence);
                }
                Event::TaskSkipped { task, lane, .. } => self.name_task(*task, lane),
                _ => {}
            }
        }
    }

    fn name_task(&mut self, task: TaskId, lane: &Name) {
        let name = format!("{}/{lane}", self.job_name(task.job));
        self.tasks.insert(name, task);
    }

    /// A row as a store would hold it: of a task (`r1/d1`), a run (`r1`) or a worker.
    fn row(&self, stage: &Stage, name: &str) -> String {
        let row = match (self.tasks.get(name), self.jobs.get(name)) {
            (Some(task), _) => stage.rows.get(&format!("d4 {task}")),
            (None, Some(job)) => {
                stage.rows.values().find(|row| matches!(row, Change::Job(record) if record.id == *job))
            }
            (None, None) => stage.rows.get(&crate::kernel::script::worker_key(name)),
        };
        match row {
            Some(Change::Task(record)) => {
                let flag = if record.timed_out { " timed_out" } else { "" };
                format!("{:?}{flag}", record.status)
            }
            Some(Change::Job(record)) => format!("{:?} {}", record.status, record.outcome.as_str()),
            Some(Change::Worker(record)) => {
                let flag = if record.heartbeat_late_since.is_some() { " late" } else { "" };
                format!("{:?}{flag}", record.status)
            }
            _ => "none".into(),
        }
    }

    fn explain(&self, stage: &Stage, words: &[&str]) -> String {
        let subject = match words[1] {
            "run" => Subject::Job(self.jobs[words[2]]),
            "task" => Subject::Task(self.tasks[words[2]]),
            "device" => Subject::Lane(name(words[2])),
            _ => Subject::Worker(name(words[2])),
        };
        let explanation = stage.engine.explain(subject, stage.now);
        explanation.map_or("unknown".into(), |why| why.cause.rule_and_code().1.into())
    }

    fn command(&mut self, stage: &Stage, words: &[&str]) -> Command {
        let options = Options::of(words);
        match words[0] {
            "pull" => Command::Pull(Pull {
                worker: name(words[1]),
                max: options.number("max").unwrap_or(20),
                devices: options.get("devices").map(devices),
            }),
            "submit" => Command::Submit(Box::new(submission(words[1], &options))),
            "cancel" => Command::Cancel { job: self.jobs[words[1]] },
            "sweep" => Command::Sweep,
            "heartbeat" => Command::Heartbeat { worker: name(words[1]) },
            "claim" => Command::Claim {
                worker: name(words[1]),
                max: options.number("max").unwrap_or(1),
                lease: millis(options.get("lease").unwrap_or("300s")),
            },
            "renew" => Command::Renew {
                worker: name(words[1]),
                task: self.tasks[words[2]],
                lease: millis(options.get("lease").unwrap_or("300s")),
            },
            "complete" => Command::Complete {
                task: self.tasks[words[1]],
                worker: options.get("by").map(name),
                result: None,
            },
            "fail" => Command::FailOrRetry {
                task: self.tasks[words[1]],
                worker: options.get("by").map(name),
                error: options.get("error").map(Into::into),
            },
            "drain" => Command::Drain { worker: name(words[1]) },
            "resume" => Command::Resume { worker: name(words[1]) },
            "cap" => Command::SetCap { worker: name(words[1]), cap: words[2].parse().ok() },
            "return" => Command::ReturnToService { lane: name(words[1]), note: Some("looked at".into()) },
            "label" => Command::Label { lane: name(words[1]), labels: pairs(words[2]) },
            "batch" => self.batch(stage, &words[1..]),
            "secret" => Command::RotateSecret { worker: name(words[1]), hash: [7; 32] },
            _ => Command::Report(Box::new(self.report(stage, words, &options))),
        }
    }

    /// Messages with `|` between them.
    fn batch(&mut self, stage: &Stage, words: &[&str]) -> Command {
        let message = |words: &[&str]| match words[0] {
            "heartbeat" => WorkerMessage::Heartbeat { worker: name(words[1]) },
            _ => WorkerMessage::Report(Box::new(self.report(stage, words, &Options::of(words)))),
        };
        Command::ReportBatch(ReportBatch {
            messages: words.split(|word| *word == "|").map(message).collect(),
        })
    }

    fn report(&mut self, stage: &Stage, words: &[&str], options: &Options<'_>) -> Report {
        self.reports += 1;
        let id = options.get("id").map_or_else(|| format!("e{}", self.reports), ToString::to_string);
        let kind = match words[0] {
            "run_started" => ReportKind::RunStarted { job: self.jobs[words[2]] },
            "run_finished" => ReportKind::RunFinished { job: self.jobs[words[2]], summary: summary(options) },
            _ => ReportKind::Task(self.task_report(stage, words, options)),
        };
        let at = options.get("at").map_or(stage.now, time);
        Report { id: ReportId::new(&id).expect("an id"), worker: name(words[1]), at, body: "{}".into(), kind }
    }

    fn task_report(&self, stage: &Stage, words: &[&str], options: &Options<'_>) -> TaskReport {
        let task = self.tasks.get(words[2]).copied().unwrap_or(TaskId::NIL);
        let (run, device) = words[2].split_once('/').expect("run/device");
        let attempt = options.number("attempt").map(|attempt| u16::try_from(attempt).expect("small"));
        let fence = options.number("fence").map(|attempt| {
            let attempt = u16::try_from(attempt).expect("small");
            self.fences.get(&(task, attempt)).copied().unwrap_or(Fence(1))
        });
        TaskReport {
            job: self.jobs.get(options.get("run").unwrap_or(run)).copied().unwrap_or(JobId::NIL),
            task,
            lane: name(options.get("device").unwrap_or(device)),
            attempt,
            fence,
            kind: kind(stage, words, options),
        }
    }

    fn job_name(&self, id: JobId) -> String {
        let known = self.jobs.iter().find(|(_, job)| **job == id);
        known.map_or_else(|| id.to_string(), |(name, _)| name.clone())
    }

    fn task_name(&self, id: TaskId) -> String {
        let known = self.tasks.iter().find(|(_, task)| **task == id);
        known.map_or_else(|| id.to_string(), |(name, _)| name.clone())
    }

    fn render_events(&self, events: &[Event]) -> String {
        let told: Vec<String> = events.iter().filter_map(|event| self.render_event(event)).collect();
        if told.is_empty() { "nothing".into() } else { told.join("; ") }
    }

    fn render_event(&self, event: &Event) -> Option<String> {
        Some(match event {
            Event::WorkerOffline { worker, .. } => format!("offline {worker}"),
            Event::WorkerOnline { worker, .. } => format!("online {worker}"),
            Event::HeartbeatChanged { worker, late, .. } => {
                format!("heartbeat {worker} {}", if *late { "late" } else { "back" })
            }
            Event::SupplyPaused { worker, .. } => format!("paused {worker}"),
            Event::SupplyResumed { worker, .. } => format!("supplied {worker}"),
            Event::LeasesExtended { worker, until } => format!("extended {worker} {}s", until.0 / 1000),
            Event::LaneFailed { lane, .. } => format!("error {lane}"),
            Event::LaneReturned { lane, .. } => format!("returned {lane}"),
            Event::JobActivated { job, .. } => format!("active {}", self.job_name(*job)),
            Event::JobEnded { job, status, error, .. } => {
                let error = error.as_ref().map_or_else(String::new, |error| format!(" ({error})"));
                format!("over {} {status:?}{error}", self.job_name(*job))
            }
            Event::LeaseGranted(grant) => format!("granted {}#{}", self.task_name(grant.task), grant.attempt),
            Event::LeaseConfirmed { task, .. } => format!("confirmed {}", self.task_name(*task)),
            Event::LeaseRenewed { task, until } => {
                format!("renewed {} {}s", self.task_name(*task), until.0 / 1000)
            }
            Event::TaskProgressed { task, .. } => format!("progress {}", self.task_name(*task)),
            Event::AttemptEnded { task, attempt, outcome, .. } => {
                format!("ended {}#{attempt} {}", self.task_name(*task), word(outcome))
            }
            Event::TaskQueued { task, .. } => format!("queued {}", self.task_name(*task)),
            Event::TaskForgiven { task } => format!("forgiven {}", self.task_name(*task)),
            Event::TaskEnded { task, status, error, .. } => {
                let error = error.as_ref().map_or_else(String::new, |error| format!(" ({error})"));
                format!("closed {} {status:?}{error}", self.task_name(*task))
            }
            Event::TaskSkipped { task, .. } => format!("skipped {}", self.task_name(*task)),
            Event::AlertRaised(alert) => format!("alert {}", alert.kind.as_str()),
            _ => return None,
        })
    }

    fn render_reply(&self, result: &Result<Reply, Rejection>) -> String {
        match result {
            Err(Rejection::NotHolder { holder }) => format!("! NotHolder {holder}"),
            Err(rejection) => format!("! {rejection:?}"),
            Ok(Reply::Job(JobReply { job, status })) => format!("{} {status:?}", self.job_name(*job)),
            Ok(Reply::Pulled(reply)) => self.render_pull(reply),
            Ok(Reply::Recorded(recorded)) => format!("{recorded:?}"),
            Ok(Reply::RecordedBatch(results)) => {
                let each =
                    results.iter().map(|result| self.render_reply(&result.clone().map(Reply::Recorded)));
                each.collect::<Vec<_>>().join(" | ")
            }
            Ok(Reply::Claimed(rows)) => rows
                .iter()
                .map(|row| format!("{}#{}", self.task_name(row.id), row.attempt))
                .collect::<Vec<_>>()
                .join(","),
            Ok(Reply::Renewed(renewed)) => renewed.to_string(),
            Ok(Reply::Task(row)) => self.render_row(row),
            Ok(Reply::Swept(SweepReply { jobs, tasks })) => format!("jobs={jobs} tasks={tasks}"),
            Ok(Reply::Frames(reply)) => format!("{reply:?}"),
            Ok(Reply::Pool(reply)) => format!("{reply:?}"),
            Ok(Reply::Accounts(reply)) => format!("{reply:?}"),
            Ok(Reply::Schedule(record)) => format!("{record:?}"),
            Ok(Reply::Done) => "done".into(),
        }
    }

    fn render_row(&self, row: &TaskRecord) -> String {
        format!("{} {:?} {}/{}", self.task_name(row.id), row.status, row.attempt, row.max_attempts)
    }

    fn render_pull(&self, reply: &PullReply) -> String {
        let jobs = reply.handouts.iter().map(|job| format!("{}#{}", self.task_name(job.task), job.attempt));
        let runs = reply.announced.iter().map(|run| format!("{}:{}", self.job_name(run.job), run.targets));
        let contested = reply.contested.iter().map(|(lane, worker)| format!("{lane}:{worker}"));
        let parts: [(&str, Vec<String>); 5] = [
            ("runs", runs.collect()),
            ("jobs", jobs.collect()),
            ("finished", reply.finished.iter().map(|job| self.job_name(*job)).collect()),
            ("stop", reply.stop.iter().map(|task| self.task_name(*task)).collect()),
            ("contested", contested.collect()),
        ];
        let told = parts.iter().filter(|(_, items)| !items.is_empty());
        let text: Vec<String> = told.map(|(part, items)| format!("{part}={}", items.join(","))).collect();
        if text.is_empty() { "nothing".into() } else { text.join(" ") }
    }
}

fn supply(stage: &Stage, worker: &str) -> String {
    match &stage.engine.supplies(&[name(worker)])[..] {
        [WorkerSupply { running, eligible, target, .. }] => {
            format!("running={running} eligible={eligible} target={target}")
        }
        _ => "unknown".into(),
    }
}

fn strangers(stage: &Stage, words: &[&str]) -> String {
    let found = stage.engine.strangers(&scope_of(&Options::of(words)));
    let targets = format!("{} targets", found.targets);
    match &found.unknown[..] {
        [] => targets,
        unknown => format!("{} of {}; {targets}", unknown.join(","), found.known.join(",")),
    }
}

fn kind(stage: &Stage, words: &[&str], options: &Options<'_>) -> TaskReportKind {
    let (at, status) = (stage.now, StepStatus::Running);
    match words[0] {
        "started" => TaskReportKind::Started,
        "progress" => TaskReportKind::Progress(Step { name: name("PREFLIGHT"), status, at }),
        "finished" => TaskReportKind::Finished {
            outcome: match words[3] {
                "ok" => Outcome::Succeeded,
                _ => Outcome::Failed { reason: Some(FailureReason::AdbOffline), error: None },
            },
            started_at: options.get("began").map_or(stage.now, time),
            result: None,
        },
        other => panic!("no such command: {other}"),
    }
}

fn summary(options: &Options<'_>) -> RunSummary {
    let count = |key| options.number(key).unwrap_or(0).into();
    RunSummary { succeeded: count("ok"), failed: count("failed"), timeout: count("timeout") }
}

fn devices(list: &str) -> Vec<DeviceReport> {
    let names: Vec<&str> = list.split(',').filter(|device| !device.is_empty()).collect();
    names.into_iter().flat_map(device).collect()
}

/// `d1`, `d1:offline`, or `d1..d30`.
fn device(text: &str) -> Vec<DeviceReport> {
    let (text, attachment) = match text.split_once(':') {
        None => (text, Attachment::Online),
        Some((text, "offline")) => (text, Attachment::Offline),
        Some((text, "unauthorized")) => (text, Attachment::Unauthorized),
        Some((text, _)) => (text, Attachment::Error),
    };
    let one = |device: &str| DeviceReport { device: name(device), handle: name(device), attachment };
    let Some((from, to)) = text.split_once("..") else {
        return Vec::from([one(text)]);
    };
    let digits = from.find(|c: char| c.is_ascii_digit()).expect("a range has numbers");
    let number = |text: &str| text[digits..].parse::<u32>().expect("a number");
    (number(from)..=number(to)).map(|n| one(&format!("{}{n}", &from[..digits]))).collect()
}

fn submission(run: &str, options: &Options<'_>) -> Submission {
    Submission {
        key: options.get("key").map(|key| SubmissionKey::new(key).expect("a key")),
        digest: digest(options.get("body").unwrap_or("body")),
        queue: name(options.get("queue").unwrap_or("default")),
        scope: scope_of(options),
        max_attempts: options.number("attempts").map(|attempts| u16::try_from(attempts).expect("small")),
        payload: JobPayload {
            title: Some(run.into()),
            workflow: "w".into(),
            params: "{}".into(),
            timeout: None,
            schedule: None,
        },
    }
}

fn scope_of(options: &Options<'_>) -> Scope {
    let names = |list: &str| list.split(',').map(name).collect::<BTreeSet<_>>();
    match (options.get("pcs"), options.get("devices"), options.get("labels")) {
        (Some(list), ..) => Scope::Workers(names(list)),
        (_, Some(list), _) => Scope::Devices(names(list)),
        (.., Some(list)) => Scope::Labels(pairs(list)),
        _ => Scope::All,
    }
}

/// `a:b,c:d`
fn pairs(list: &str) -> muster_model::Labels {
    let pairs = list.split(',').filter_map(|pair| pair.split_once(':'));
    pairs.map(|(key, value)| (name(key), name(value))).collect()
}

fn word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Succeeded => "ok",
        Outcome::Failed { .. } => "failed",
        Outcome::TimedOut | Outcome::LeaseLost => "timeout",
    }
}
