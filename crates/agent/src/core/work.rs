//! N18, N13, N22b: from a job in a line to its end.

use super::{Action, Attempt, Core, End, EventKind, Outcome, Progress, TIMEOUT, Work, bounded};
use crate::{Job, StepStatus, Text};
use muster_model::{FailureReason, Millis, Timestamp};
use std::collections::{BTreeMap, VecDeque};

impl Core {
    /// A step of a work begins or is over.
    pub fn stepped(&mut self, work: u64, Progress { step, status }: Progress<'_>, now: Timestamp) {
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
            attempt: work.job.attempt_by(&work.handle),
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
        self.work.job.attempt_by(&self.work.handle)
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

/// Jobs that wait and jobs that run, by device.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    waiting: BTreeMap<Text, VecDeque<Job>>,
    /// Devices with a job that could begin, the longest waiting first.
    ring: VecDeque<Text>,
    running: BTreeMap<Text, Running>,
}

/// A job that occupies its device and a slot.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) work: Work,
    /// The number of its `task_started` in the spool.
    pub(super) start: u64,
    pub(super) started_at: Timestamp,
    /// It was handed to the executor, and must be over by then.
    pub(super) deadline: Option<Timestamp>,
    pub(super) step: Option<Text>,
    pub(super) cut: Option<Cut>,
}

/// Reason why a job is ended before its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// The whole task took too long.
    TimedOut,
    /// The backend wants it no more, or the agent is leaving.
    Stopped(&'static str),
    /// The backend does not take its reports (N13, `callback_error`).
    Refused(Text),
}

impl Lanes {
    pub(super) fn push(&mut self, job: Job) {
        let device = job.device.clone();
        let line = self.waiting.entry(device.clone()).or_default();
        line.push_back(job);
        if line.len() == 1 && !self.running.contains_key(&device) {
            self.ring.push_back(device);
        }
    }

    /// The next job whose device is free, devices in turn.
    pub(super) fn next(&mut self) -> Option<Job> {
        let device = self.ring.pop_front()?;
        self.pop(&device)
    }

    pub(super) fn occupy(&mut self, running: Running) {
        self.running.insert(running.work.job.device.clone(), running);
    }

    /// Nothing of a work runs any more: its device and its slot are free.
    pub(super) fn release(&mut self, work: u64) -> Option<Running> {
        let device = self.by_work(work).map(|running| running.work.job.device.clone())?;
        let running = self.running.remove(&device);
        if self.waiting.contains_key(&device) {
            self.ring.push_back(device);
        }
        running
    }

    /// Takes a job out that has not begun.
    pub(super) fn withdraw(&mut self, task: &str) -> Option<Job> {
        let (device, place) = self.waiting.iter().find_map(|(device, line)| {
            let place = line.iter().position(|job| &*job.task == task)?;
            Some((device.clone(), place))
        })?;
        let line = self.waiting.get_mut(&device)?;
        let job = line.remove(place);
        if line.is_empty() {
            self.waiting.remove(&device);
            self.ring.retain(|other| *other != device);
        }
        job
    }

    /// Forgets everything that has not begun; says what it was.
    pub(super) fn clear_waiting(&mut self) -> Vec<Job> {
        self.ring.clear();
        std::mem::take(&mut self.waiting).into_values().flatten().collect()
    }

    pub(super) fn by_work(&mut self, work: u64) -> Option<&mut Running> {
        self.running.values_mut().find(|running| running.work.number == work)
    }

    pub(super) fn by_task(&mut self, task: &str) -> Option<&mut Running> {
        self.running.values_mut().find(|running| &*running.work.job.task == task)
    }

    pub(super) fn running(&self) -> impl Iterator<Item = &Running> {
        self.running.values()
    }

    pub(super) fn running_mut(&mut self) -> impl Iterator<Item = &mut Running> {
        self.running.values_mut()
    }

    pub(super) fn running_count(&self) -> usize {
        self.running.len()
    }

    pub(super) fn waiting_count(&self) -> usize {
        self.waiting.values().map(VecDeque::len).sum()
    }

    /// True if a job of this run waits or runs here.
    pub(super) fn holds_run(&self, run: &str) -> bool {
        let mut waiting = self.waiting.values().flatten();
        waiting.any(|job| &*job.run == run) || self.running().any(|running| &*running.work.job.run == run)
    }

    fn pop(&mut self, device: &Text) -> Option<Job> {
        let line = self.waiting.get_mut(device)?;
        let job = line.pop_front();
        if line.is_empty() {
            self.waiting.remove(device);
        }
        job
    }
}

impl Running {
    pub(super) const fn is_begun(&self) -> bool {
        self.deadline.is_some()
    }

    pub(super) fn is_overdue(&self, now: Timestamp) -> bool {
        self.cut.is_none() && self.deadline.is_some_and(|deadline| deadline <= now)
    }

    pub(super) fn timeout(&self) -> Millis {
        self.work.job.timeout
    }
}
