//! N19: every report is written down first, then sent until somebody takes it.

use super::{Chore, PATIENCE_MS, Plain, Style, callback, execute::Work, wire};
use crate::{plan::name, scene::Scene};
use muster_model::{
    FailureReason, Outcome, Report, ReportId, ReportKind, RunSummary, Step, StepStatus, TaskReport,
    TaskReportKind, Timestamp,
};

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
        if self.site.up {
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
            let Some(command) = self.understood(wire::read_callback(&callback::write(&report), &report))
            else {
                return;
            };
            let ticket = self.site.ask(scene, command, None);
            self.site.plan(scene, PATIENCE_MS, Chore::GiveUp(ticket.exchange));
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
        if let Some(command) = self.understood(wire::read_callback(&callback::write(&other), &other)) {
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
        let told = scene.dice.chance(500);
        let report = TaskReport {
            job: work.task.job,
            task: work.task,
            lane: work.device.clone(),
            attempt: told.then_some(work.attempt),
            fence: told.then_some(work.fence),
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
