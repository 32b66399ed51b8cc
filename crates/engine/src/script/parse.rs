//! Reads the commands of a script.

use super::{Stage, digest, millis};
use alloc::{
    boxed::Box,
    collections::{BTreeMap, BTreeSet},
    format,
    string::ToString,
    vec::Vec,
};
use muster_model::{
    Attachment, Command, DeviceReport, FailureReason, JobPayload, Name, Outcome, Pull, Report, ReportId,
    ReportKind, RunSummary, Scope, Step, StepStatus, Submission, SubmissionKey, TaskReport, TaskReportKind,
    Timestamp,
};

pub(super) fn time(text: &str) -> Timestamp {
    let (number, unit) = text.split_at(text.find(|c: char| c.is_alphabetic()).expect("a time has a unit"));
    let number: i64 = number.parse().expect("a time is a number");
    Timestamp(match unit {
        "ms" => number,
        "s" => number * 1000,
        "m" => number * 60_000,
        "d" => number * 86_400_000,
        _ => panic!("no unit of time: {unit}"),
    })
}

pub(super) fn name(text: &str) -> Name {
    Name::new(text).expect("a name")
}

/// The words `key=value` of a line.
struct Options<'a>(BTreeMap<&'a str, &'a str>);

impl<'a> Options<'a> {
    fn of(words: &[&'a str]) -> Self {
        Self(words.iter().filter_map(|word| word.split_once('=')).collect())
    }

    fn get(&self, key: &str) -> Option<&'a str> {
        self.0.get(key).copied()
    }

    fn number(&self, key: &str) -> Option<u32> {
        self.get(key).map(|text| text.parse().expect("a number"))
    }
}

impl Stage {
    pub(super) fn command(&mut self, words: &[&str]) -> Command {
        let options = Options::of(words);
        match words[0] {
            "pull" => Command::Pull(Pull {
                worker: name(words[1]),
                max: options.number("max").unwrap_or(20),
                devices: options.get("devices").map(devices),
            }),
            "submit" => Command::Submit(Box::new(submission(words[1], &options))),
            "cancel" => Command::Cancel { job: self.jobs[words[1]] },
            "tick" => Command::Tick,
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
            "secret" => Command::RotateSecret { worker: name(words[1]), hash: [7; 32] },
            _ => Command::Report(Box::new(self.report(words, &options))),
        }
    }

    fn report(&mut self, words: &[&str], options: &Options<'_>) -> Report {
        self.reports += 1;
        let id = options.get("id").map_or_else(|| format!("e{}", self.reports), ToString::to_string);
        let kind = match words[0] {
            "run_started" => ReportKind::RunStarted { job: self.jobs[words[2]] },
            "run_finished" => ReportKind::RunFinished { job: self.jobs[words[2]], summary: summary(options) },
            _ => ReportKind::Task(self.task_report(words, options)),
        };
        let at = options.get("at").map_or(self.now, time);
        Report { id: ReportId::new(&id).expect("an id"), worker: name(words[1]), at, body: "{}".into(), kind }
    }

    fn task_report(&self, words: &[&str], options: &Options<'_>) -> TaskReport {
        let task = self.tasks.get(words[2]).copied().unwrap_or(muster_model::TaskId::NIL);
        let (run, device) = words[2].split_once('/').expect("run/device");
        let attempt = options.number("attempt").map(|attempt| u16::try_from(attempt).expect("small"));
        let fence = options.number("fence").map(|attempt| {
            let attempt = u16::try_from(attempt).expect("small");
            self.fences.get(&(task, attempt)).copied().unwrap_or(muster_model::Fence(1))
        });
        TaskReport {
            job: self
                .jobs
                .get(options.get("run").unwrap_or(run))
                .copied()
                .unwrap_or(muster_model::JobId::NIL),
            task,
            lane: name(options.get("device").unwrap_or(device)),
            attempt,
            fence,
            kind: self.kind(words, options),
        }
    }

    fn kind(&self, words: &[&str], options: &Options<'_>) -> TaskReportKind {
        let (at, status) = (self.now, StepStatus::Running);
        match words[0] {
            "started" => TaskReportKind::Started,
            "progress" => TaskReportKind::Progress(Step { name: name("PREFLIGHT"), status, at }),
            "finished" => TaskReportKind::Finished {
                outcome: match words[3] {
                    "ok" => Outcome::Succeeded,
                    _ => Outcome::Failed { reason: Some(FailureReason::AdbOffline), error: None },
                },
                started_at: options.get("began").map_or(self.now, time),
                result: None,
            },
            other => panic!("no such command: {other}"),
        }
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

/// The scope that the words of a line name.
pub(super) fn scope(words: &[&str]) -> Scope {
    scope_of(&Options::of(words))
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
