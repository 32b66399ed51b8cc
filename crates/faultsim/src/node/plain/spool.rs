//! N19: every report is written down first, then sent until somebody takes it; flat, beside `type`, as a node of another make
//! writes it (N4).

use super::{Chore, PATIENCE_MS, Plain, Style, Work, wire};
use crate::{node::wire::WORKFLOW, plan::name, scene::Scene};
use muster_model::{
    FailureReason, Outcome, Report, ReportId, ReportKind, RunSummary, Step, StepStatus, TaskReport,
    TaskReportKind, Timestamp,
};
use serde_json::{Value, json};

/// A report that has not been taken.
#[derive(Debug)]
pub(super) struct Spooled {
    pub(super) report: Box<Report>,
    /// The exchange it is in.
    pub(super) exchange: Option<u64>,
}

impl Plain {
    /// Appends a report and sends it.
    pub(super) fn spool(&mut self, kind: ReportKind, scene: &mut Scene) {
        let number = self.number();
        let id = format!("{}-{number}", self.site.name);
        let report = Report {
            id: ReportId::new(&id).expect("a plain id"),
            worker: self.site.name.clone(),
            at: scene.now,
            body: "{}".into(),
            kind,
        };
        self.spool.push_back(Spooled { report: Box::new(report), exchange: None });
        if self.machine.up {
            self.pump(scene);
        }
    }

    pub(super) fn spool_started(&mut self, work: &Work, scene: &mut Scene) {
        if self.style == Style::Rpc {
            return;
        }
        // A third party may leave the start out: the end counts as both (N7).
        if scene.dice.chance(800) {
            self.spool_about(work, TaskReportKind::Started, scene);
        }
        if scene.dice.chance(300) {
            let step = Step { name: name("PREFLIGHT"), status: StepStatus::Running, at: scene.now };
            self.spool_about(work, TaskReportKind::Progress(step), scene);
        }
    }

    pub(super) fn spool_finished(&mut self, work: &Work, scene: &mut Scene) {
        self.spool_end(work, "gone wrong", scene);
    }

    /// A task that a crash interrupted is reported after the restart (N22b).
    pub(super) fn spool_interrupted(&mut self, work: &Work, scene: &mut Scene) {
        let work = Work { fails: true, ..work.clone() };
        self.spool_end(&work, "agent restarted", scene);
    }

    /// Sends whatever is not under way, all at once.
    pub(super) fn pump(&mut self, scene: &mut Scene) {
        let places = 0..self.spool.len();
        let unsent: Vec<usize> = places.filter(|place| self.spool[*place].exchange.is_none()).collect();
        for place in unsent {
            let mut report = self.spool[place].report.clone();
            if self.style == Style::Foreign && report.at < scene.now && scene.dice.chance(300) {
                // A node may put a new timestamp on a resend.
                scene.count("report resent with a new timestamp");
                set_time(&mut report, scene.now);
            }
            let Some(command) = scene.understood(wire::read_callback(&write_callback(&report), &report))
            else {
                return;
            };
            let ticket = self.site.ask(scene, command, None);
            self.machine.plan(scene, PATIENCE_MS, Chore::GiveUp(ticket.exchange));
            self.spool[place].exchange = Some(ticket.exchange);
        }
    }

    /// A report was taken, or refused for good: either way it is not sent again.
    pub(super) fn report_answered(&mut self, exchange: u64, refused: bool, scene: &mut Scene) {
        let sent = |entry: &Spooled| entry.exchange == Some(exchange);
        let Some(place) = self.spool.iter().position(sent) else {
            return;
        };
        let Some(entry) = self.spool.remove(place) else {
            return;
        };
        if refused {
            scene.count("report set aside");
        } else if self.style == Style::Foreign && !scene.calm && scene.dice.chance(30) {
            self.reuse_id(&entry.report, scene);
        }
        self.pump(scene);
    }

    /// A faulty node uses an id twice, for two different events (N5).
    fn reuse_id(&mut self, report: &Report, scene: &mut Scene) {
        scene.count("report id reused");
        let job = report.subject().job;
        let kind = match &report.kind {
            ReportKind::RunStarted { .. } => {
                let summary = RunSummary { succeeded: 0, failed: 0, timeout: 0 };
                ReportKind::RunFinished { job, summary }
            }
            ReportKind::RunFinished { .. } | ReportKind::Task(_) => ReportKind::RunStarted { job },
        };
        let other = Report { kind, ..report.clone() };
        if let Some(command) = scene.understood(wire::read_callback(&write_callback(&other), &other)) {
            self.site.ask(scene, command, None);
        }
    }

    fn spool_end(&mut self, work: &Work, error: &str, scene: &mut Scene) {
        let share = self.shares.entry(work.task.job).or_default();
        let outcome = if work.fails {
            share.failed += 1;
            Outcome::Failed {
                reason: scene.dice.pick(&FailureReason::ALL).copied(),
                error: Some(error.into()),
            }
        } else {
            share.succeeded += 1;
            Outcome::Succeeded
        };
        let kind = TaskReportKind::Finished { outcome, started_at: work.began, result: None };
        self.spool_about(work, kind, scene);
    }

    fn spool_about(&mut self, work: &Work, kind: TaskReportKind, scene: &mut Scene) {
        let told = scene.dice.chance(500) && work.fence.is_some();
        let report = TaskReport {
            job: work.task.job,
            task: work.task,
            lane: work.device.clone(),
            attempt: told.then_some(work.attempt),
            fence: work.fence.filter(|_| told),
            kind,
        };
        self.spool(ReportKind::Task(report), scene);
    }
}

/// Puts another timestamp on a report; the time of a step is that of its event.
fn set_time(report: &mut Report, at: Timestamp) {
    report.at = at;
    if let ReportKind::Task(TaskReport { kind: TaskReportKind::Progress(step), .. }) = &mut report.kind {
        step.at = at;
    }
}

/// Writes the body of a callback.
fn write_callback(report: &Report) -> Vec<u8> {
    let mut body = match &report.kind {
        ReportKind::RunStarted { job } => json!({"type": "run_started", "run_id": job.to_string(),
            "target_devices_count": 1, "max_concurrency": 1}),
        ReportKind::RunFinished { job, summary } => json!({"type": "run_finished", "run_id": job.to_string(),
            "summary": {"succeeded": summary.succeeded, "failed": summary.failed, "timeout": summary.timeout}}),
        ReportKind::Task(task) => write_task(task, report),
    };
    body["event_id"] = report.id.as_str().into();
    body["node_id"] = report.worker.as_str().into();
    body["timestamp"] = report.at.0.into();
    body.to_string().into_bytes()
}

fn write_task(task: &TaskReport, report: &Report) -> Value {
    let handle = task.lane.as_str();
    let mut body = match &task.kind {
        TaskReportKind::Started => {
            json!({"type": "task_started", "runtime_handle": handle, "workflow_id": WORKFLOW, "timeoutMs": 1})
        }
        TaskReportKind::Progress(step) => json!({"type": "task_progress", "step": step.name.as_str(),
            "status": match step.status { StepStatus::Running => "running", StepStatus::Done => "done" }}),
        TaskReportKind::Finished { outcome, started_at, .. } => {
            let mut body = json!({"type": "task_finished", "runtime_handle": handle,
                "timings": {"startedAt": started_at.0, "endedAt": report.at.0}});
            write_outcome(&mut body, outcome);
            body
        }
    };
    body["run_id"] = task.job.to_string().into();
    body["task_id"] = task.task.to_string().into();
    body["device_id"] = handle.into();
    // A field that is null counts as absent (N4).
    body["attempt"] = task.attempt.into();
    body["lease_token"] = task.fence.map(|fence| fence.to_string()).into();
    body
}

fn write_outcome(body: &mut Value, outcome: &Outcome) {
    match outcome {
        Outcome::Failed { reason, error } => {
            body["status"] = "failed".into();
            body["failure_reason"] = reason.map(|reason| reason.as_str()).into();
            body["error_message"] = error.as_deref().into();
        }
        _ => body["status"] = "succeeded".into(),
    }
}
