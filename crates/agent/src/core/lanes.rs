//! N18: one line per device, never two tasks on one device, so many at once, devices in turn.

use super::action::Work;
use crate::{Job, Text};
use muster_model::{Millis, Timestamp};
use std::collections::{BTreeMap, VecDeque};

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

/// Why a job is ended before its time.
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

    /// Whether a job of this run waits or runs here.
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
