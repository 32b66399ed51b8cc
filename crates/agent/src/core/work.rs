//! N18, N13, N22b: from a job in a line to its end.

use super::{
    Core,
    action::{Action, Work},
    event::{Attempt, EventKind, Outcome, TIMEOUT},
    lanes::{Cut, Running},
};
use crate::{End, Job, StepStatus, Text, job::bounded};
use muster_model::{FailureReason, Millis, Timestamp};

impl Core {
    /// A step of a work begins or is over.
    pub fn stepped(&mut self, work: u64, (step, status): (&str, StepStatus), now: Timestamp) {
        let Some(running) = self.lanes.by_work(work) else {
            return;
        };
        running.step = (status == StepStatus::Running).then(|| step.into());
        let attempt = running.attempt();
        self.report(EventKind::TaskProgress { attempt, step: step.into(), status }, now);
        self.settle(now);
    }

    /// Nothing of a work runs any more.
    pub fn ended(&mut self, work: u64, end: End, now: Timestamp) {
        if let Some(running) = self.lanes.release(work) {
            self.finish(&running, end, now);
        }
        self.settle(now);
    }

    /// Begins what has a free slot and a free device: its start is written down first.
    pub(super) fn begin_work(&mut self, now: Timestamp) {
        if self.is_spool_full || self.drain.is_some() {
            return;
        }
        while self.lanes.running_count() < self.settings.slots as usize {
            let Some(job) = self.lanes.next() else {
                return;
            };
            self.start(job, now);
        }
    }

    /// Hands over to the executor what now may run.
    pub(super) fn begin_durable(&mut self, up_to: u64, now: Timestamp) {
        let mut never_begun = Vec::new();
        for running in self.lanes.running_mut().filter(|running| !running.is_begun()) {
            if running.start > up_to {
                continue;
            }
            if running.cut.is_some() {
                never_begun.push(running.work.number);
                continue;
            }
            running.deadline = Some(now + running.timeout());
            self.actions.push_back(Action::Begin(running.work.clone()));
        }
        for work in never_begun {
            if let Some(running) = self.lanes.release(work) {
                self.finish(&running, End::Stopped { reason: FailureReason::Unknown }, now);
            }
        }
    }

    pub(super) fn cut_overdue(&mut self, now: Timestamp) {
        let overdue = self.lanes.running().filter(|running| running.is_overdue(now));
        let tasks: Vec<Text> = overdue.map(|running| running.work.job.task.clone()).collect();
        for task in tasks {
            self.cut(&task, Cut::TimedOut);
        }
    }

    /// Ends whatever runs of a task, once; how it was ended is told when nothing of it runs any more.
    pub(super) fn cut(&mut self, task: &str, cut: Cut) {
        let Some(running) = self.lanes.by_task(task) else {
            return;
        };
        if running.cut.is_some() {
            return;
        }
        running.cut = Some(cut);
        if running.is_begun() {
            let work = running.work.number;
            self.actions.push_back(Action::Kill(work));
        }
    }

    /// The backend does not take what is reported of an attempt: going on would be for nothing.
    pub(super) fn give_up(&mut self, task: &str, attempt: u32, why: String) {
        let is_it = self.lanes.by_task(task).is_some_and(|running| running.work.job.attempt == attempt);
        if is_it {
            self.cut(task, Cut::Refused(why.into()));
        }
    }

    fn start(&mut self, job: Job, now: Timestamp) {
        let timeout = self.limit(&job);
        let job = Job { timeout, ..job };
        let attached = self.devices.as_ref().and_then(|devices| devices.get(&job.device));
        let handle = attached.map_or_else(|| job.handle.clone(), |attached| attached.handle.clone());
        self.last_work += 1;
        let work = Work { number: self.last_work, job, handle };
        let kind = EventKind::TaskStarted {
            attempt: Attempt::of(&work.job, &work.handle),
            workflow: work.job.workflow.clone(),
            timeout,
        };
        let start = self.report(kind, now);
        let running = Running { work, start, started_at: now, deadline: None, step: None, cut: None };
        self.lanes.occupy(running);
    }

    /// The shorter of what the run and what the workflow allow.
    fn limit(&self, job: &Job) -> Millis {
        let workflow = self.settings.timeouts.get(&*job.workflow).copied();
        workflow.map_or(job.timeout, |limit| limit.min(job.timeout))
    }

    fn finish(&mut self, running: &Running, end: End, now: Timestamp) {
        let outcome = match end {
            End::Succeeded { artifact } => Outcome::Succeeded { artifact },
            End::Failed { reason, error, .. } => Outcome::Failed { reason, error: bounded(&error).into() },
            End::Stopped { reason } => running.cut_outcome(reason),
        };
        let (attempt, started_at) = (running.attempt(), running.started_at);
        self.report(EventKind::TaskFinished { attempt, started_at, outcome }, now);
    }
}

impl Running {
    fn attempt(&self) -> Attempt {
        Attempt::of(&self.work.job, &self.work.handle)
    }

    /// `reason`: what the step that was running stands for (N13).
    fn cut_outcome(&self, reason: FailureReason) -> Outcome {
        let (reason, error) = match &self.cut {
            Some(Cut::TimedOut) => {
                let at = self.step.as_deref().unwrap_or("no step");
                let limit = self.timeout().0;
                (reason, format!("{TIMEOUT}the task took longer than {limit} ms, in {at}"))
            }
            Some(Cut::Stopped(why)) => (FailureReason::Unknown, (*why).to_owned()),
            Some(Cut::Refused(why)) => (FailureReason::CallbackError, why.to_string()),
            None => (FailureReason::Unknown, "stopped".to_owned()),
        };
        Outcome::Failed { reason, error: error.into() }
    }
}
