//! N19: every report is written down first, then sent until somebody takes it; flat, beside `type`, as a node of another make
//! writes it (N4).

use super::{Chore, PATIENCE_MS, Plain, Style, Work, wire};
use crate::{checker::Verdict, network::Ticket, node::wire::WORKFLOW, plan::name, scene::Scene};
use muster_contract_nodes::{write_callbacks, write_heartbeat};
use muster_model::{
    Ask, Command, FailureReason, Outcome, Rejection, Reply, Report, ReportBatch, ReportId, ReportKind,
    RunSummary, Step, StepStatus, TaskReport, TaskReportKind, Timestamp, WorkerMessage,
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
        if !self.machine.up {
            return;
        }
        if scene.plan.batches && scene.dice.chance(600) {
            // More may come until then, and leave together with it.
            self.machine.plan(scene, 50..=2_000, Chore::Pump);
        } else {
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

    /// Sends whatever is not under way, all at once: each report in a request of its own, or together (N25).
    pub(super) fn pump(&mut self, scene: &mut Scene) {
        let places = 0..self.spool.len();
        let unsent: Vec<usize> = places.filter(|place| self.spool[*place].exchange.is_none()).collect();
        if scene.plan.batches && unsent.len() > 1 && scene.dice.chance(700) {
            return self.pump_together(&unsent, scene);
        }
        for place in unsent {
            let report = self.report_to_send(place, scene);
            let Some(command) = scene.understood(wire::read_callback(&write_callback(&report), &report))
            else {
                return;
            };
            self.send(command, &[place], scene);
        }
    }

    /// Sends reports in one request; a sloppy node puts some in twice, or two under one id, and a heartbeat between them.
    fn pump_together(&mut self, places: &[usize], scene: &mut Scene) {
        scene.count("reports sent together by a foreign node");
        let (mut bodies, mut meant) = (Vec::new(), Vec::new());
        let mut put = |report: Box<Report>| {
            bodies.push(write_callback(&report));
            meant.push(WorkerMessage::Report(report));
        };
        for place in places {
            let report = self.report_to_send(*place, scene);
            let (is_doubled, is_reused) = (scene.dice.chance(200), !scene.calm && scene.dice.chance(100));
            put(report.clone());
            if is_doubled {
                scene.count("report twice in a batch");
                put(report.clone());
            }
            if is_reused {
                scene.count("report id reused");
                put(Box::new(another_under_its_id(&report)));
            }
        }
        if scene.dice.chance(200) {
            bodies.push(write_heartbeat(self.site.name.as_str(), &self.account(scene)));
            meant.push(WorkerMessage::Heartbeat { worker: self.site.name.clone() });
        }
        if let Some(command) = scene.understood(wire::read_batch(&write_callbacks(&bodies), &meant)) {
            self.send(command, places, scene);
        }
    }

    fn report_to_send(&self, place: usize, scene: &mut Scene) -> Box<Report> {
        let mut report = self.spool[place].report.clone();
        if self.style == Style::Foreign && report.at < scene.now && scene.dice.chance(300) {
            // A node may put a new timestamp on a resend.
            scene.count("report resent with a new timestamp");
            set_time(&mut report, scene.now);
        }
        report
    }

    fn send(&mut self, command: Command, places: &[usize], scene: &mut Scene) {
        let ticket = self.site.ask(scene, command, None);
        self.machine.plan(scene, PATIENCE_MS, Chore::GiveUp(ticket.exchange));
        for place in places {
            self.spool[*place].exchange = Some(ticket.exchange);
        }
    }

    /// No answer came: what left in this exchange is sent again. False: nothing did.
    pub(super) fn take_back(&mut self, exchange: u64) -> bool {
        let sent = self.spool.iter_mut().filter(|entry| entry.exchange == Some(exchange));
        sent.map(|entry| entry.exchange = None).count() > 0
    }

    /// Hears what became of a report, or of several.
    pub(super) fn hear_of_reports(
        &mut self,
        ticket: &Ticket,
        result: Result<Reply, Rejection>,
        scene: &mut Scene,
    ) -> Verdict {
        match &*ticket.command {
            Command::Report(report) => {
                let response = wire::respond(result.map(Report::reply))?;
                let place = self.place_of(&report.id, ticket.exchange);
                self.report_answered(place, response.status != 200, scene);
            }
            Command::ReportBatch(batch) => {
                let results = result.map(ReportBatch::reply).unwrap_or_default();
                wire::respond_to_batch(batch, results.clone())?;
                for (message, result) in batch.messages.iter().zip(results) {
                    if let WorkerMessage::Report(report) = message {
                        let place = self.place_of(&report.id, ticket.exchange);
                        self.report_answered(place, result.is_err(), scene);
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Place of a report that left in an exchange.
    fn place_of(&self, id: &ReportId, exchange: u64) -> Option<usize> {
        let sent = |entry: &Spooled| entry.exchange == Some(exchange) && entry.report.id == *id;
        self.spool.iter().position(sent)
    }

    /// A report was taken, or refused for good: either way it is not sent again.
    fn report_answered(&mut self, place: Option<usize>, refused: bool, scene: &mut Scene) {
        let Some(entry) = place.and_then(|place| self.spool.remove(place)) else {
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
        let other = another_under_its_id(report);
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

/// A report about something else under the id of a report.
fn another_under_its_id(report: &Report) -> Report {
    let job = report.subject().job;
    let kind = match &report.kind {
        ReportKind::RunStarted { .. } => {
            let summary = RunSummary { succeeded: 0, failed: 0, timeout: 0 };
            ReportKind::RunFinished { job, summary }
        }
        ReportKind::RunFinished { .. } | ReportKind::Task(_) => ReportKind::RunStarted { job },
    };
    Report { kind, ..report.clone() }
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
