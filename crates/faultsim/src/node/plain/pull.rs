//! N1, N9, N14: asking for work, and what an answer means to a node.

use super::{Chore, PATIENCE_MS, Plain, ReceivedJob, Style, wire};
use crate::{machine::patience, plan::WAIT_MAX, scene::Scene};
use muster_contract_nodes::{Attached, write_pull};
use muster_model::{
    Ask, DeviceReport, JobId, Millis, Pull, PullReply, Rejection, Reply, ReportKind, RunSummary,
};

/// A node's own count of its share of a job.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub(super) succeeded: u64,
    pub(super) failed: u64,
    /// Its end stands in the spool.
    pub(super) closing: bool,
}

impl Plain {
    pub(super) fn pull(&mut self, scene: &mut Scene) {
        if self.pulling.is_some() {
            return;
        }
        let held = u32::try_from(self.running.len() + self.line.len()).unwrap_or(u32::MAX);
        let max = match self.style {
            Style::Rpc => 0,
            Style::Foreign => self.site.slots.saturating_sub(held),
        };
        let reports = self.style != Style::Foreign || scene.dice.chance(700);
        let wait = (max > 0 && scene.dice.chance(700)).then(|| Millis(scene.dice.between(1_000, WAIT_MAX.0)));
        let pull = Pull {
            worker: self.site.name.clone(),
            max,
            devices: reports.then(|| self.site.report_of_devices()),
        };
        let attached = |report: &DeviceReport| Attached {
            device: report.device.as_str().into(),
            handle: report.handle.as_str().into(),
            attachment: report.attachment,
        };
        let devices = pull.devices.as_ref().map(|devices| devices.iter().map(attached).collect::<Vec<_>>());
        let body = write_pull(pull.worker.as_str(), max, wait, devices.as_deref());
        let Some(command) = scene.understood(wire::read_pull_request(&body, &pull, wait)) else {
            return;
        };
        let ticket = self.site.ask(scene, command, wait);
        self.machine.plan(scene, patience(PATIENCE_MS, wait), Chore::GiveUp(ticket.exchange));
        self.pulling = Some(ticket);
    }

    pub(super) fn pulled(&mut self, result: Result<Reply, Rejection>, scene: &mut Scene) {
        if let Ok(reply) = result.map(Pull::reply) {
            let work = wire::pulled(&reply, scene.plan.settings.attempt_timeout, scene.now);
            if scene.understood(work).is_some() {
                self.follow(&reply, scene);
            }
        }
        let full = self.running.len() + self.line.len() >= self.site.slots as usize;
        let pause = match (full, self.style) {
            (true, _) | (_, Style::Rpc) => 1_000..=6_000,
            (false, _) => 20..=1_500,
        };
        self.machine.plan(scene, pause, Chore::Pull);
    }

    fn follow(&mut self, reply: &PullReply, scene: &mut Scene) {
        for task in &reply.stop {
            scene.count("told to stop");
            self.abandon(*task, scene);
        }
        for announced in &reply.announced {
            let new = self.shares.get(&announced.job).is_none_or(|share| share.closing);
            if new {
                self.shares.insert(announced.job, Tally::default());
                self.spool(ReportKind::RunStarted { job: announced.job }, scene);
            }
        }
        for handout in &reply.handouts {
            let (task, attempt) = (handout.task, handout.attempt);
            let (device, fence) = (handout.lane.clone(), Some(handout.fence));
            self.take(ReceivedJob { task, device, attempt, fence }, scene);
        }
        for job in &reply.finished {
            self.close_share(*job, scene);
        }
    }

    /// Says that a job has nothing more here, again whenever it is asked for; a share it never heard of is closed as well.
    fn close_share(&mut self, job: JobId, scene: &mut Scene) {
        if self.is_closing(job) {
            return;
        }
        let share = self.shares.entry(job).or_default();
        share.closing = true;
        let summary = RunSummary { succeeded: share.succeeded, failed: share.failed, timeout: 0 };
        self.spool(ReportKind::RunFinished { job, summary }, scene);
    }

    fn is_closing(&self, job: JobId) -> bool {
        let closes =
            |kind: &ReportKind| matches!(kind, ReportKind::RunFinished { job: closed, .. } if *closed == job);
        self.spool.iter().any(|spooled| closes(&spooled.report.kind))
    }
}
