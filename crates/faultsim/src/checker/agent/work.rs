//! N18, N22b: one execution per device, so many at once, each after its start is on disk and with exactly one end.

use super::{AgentBook, Attempt, log::Log};
use crate::checker::{Verdict, ensure};
use muster_agent::{
    Job, Text,
    core::{Event, EventKind, PulledWork, Work},
};
use muster_model::Timestamp;
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::RangeInclusive,
};

/// Running works, and the reports about every attempt.
pub(super) struct Works {
    slots: usize,
    running: BTreeMap<u64, Running>,
    executed: BTreeSet<Attempt>,
    /// Number of start and end reports of each attempt.
    told: BTreeMap<Attempt, Told>,
    /// Jobs that wait here, in this life: their attempt and their device.
    waiting: BTreeMap<Text, (u32, Text)>,
    /// When the newest attempt of each task was handed over, in this life.
    taken_at: BTreeMap<Text, Timestamp>,
    is_draining: bool,
    /// Devices with an attempt that was told to have begun, in this life.
    occupied: BTreeMap<Text, Attempt>,
    /// Attempts that were not begun and are to be said to have ended.
    owed: BTreeSet<Attempt>,
}

#[derive(Debug)]
struct Running {
    run: Text,
    device: Text,
    attempt: Attempt,
    /// It is to be told to end.
    is_unwanted: bool,
    /// It was.
    is_killed: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Told {
    started: u32,
    finished: u32,
}

impl AgentBook {
    /// Nothing of a work runs any more.
    pub(crate) fn is_over(&mut self, work: u64) {
        self.works.running.remove(&work);
    }

    /// An answer to a pull: some work is wanted, some is not any more.
    ///
    /// A stop that was asked for before a newer attempt came is not for that attempt.
    pub(crate) fn handed(&mut self, answer: &PulledWork, asked_at: Timestamp, now: Timestamp) {
        for task in &answer.stop {
            if self.works.taken_at.get(task).is_none_or(|taken_at| *taken_at <= asked_at) {
                self.works.is_unwanted(task, &answer.stop_jobs);
            }
        }
        if !self.works.is_draining {
            self.works.take(&answer.jobs, now);
        }
    }

    /// The process of a work is told to end.
    pub(crate) fn kills(&mut self, work: u64) {
        if let Some(running) = self.works.running.get_mut(&work) {
            running.is_killed = true;
        }
    }

    /// True if a newer attempt of the task of a work waits.
    pub(crate) fn is_replaced(&self, work: u64) -> bool {
        let running = self.works.running.get(&work);
        running.is_some_and(|running| self.works.waiting.contains_key(&running.attempt.0))
    }

    /// N1: what is not wanted any more is ended, and what never began is said to have ended.
    pub(crate) fn has_obeyed(&mut self) -> Verdict {
        let goes_on = self.works.running.values().find(|running| running.is_unwanted && !running.is_killed);
        ensure(goes_on.is_none(), "unwanted_work_goes_on", || format!("{goes_on:?}"))?;
        let owed = std::mem::take(&mut self.works.owed);
        let unanswered =
            owed.iter().find(|attempt| self.works.told.get(*attempt).is_none_or(|told| told.finished == 0));
        ensure(unanswered.is_none(), "stop_unanswered", || format!("{unanswered:?}"))
    }

    /// N18: no slot is free beside a job whose device is, unless nothing new may begin.
    pub(crate) fn works_at_full_speed(&self, may_begin: bool) -> Verdict {
        let Works { slots, waiting, occupied, .. } = &self.works;
        if !may_begin || occupied.len() >= *slots {
            return Ok(());
        }
        let idle = waiting.iter().find(|(_, (_, device))| !occupied.contains_key(device));
        ensure(idle.is_none(), "slot_idles_beside_work", || {
            format!("{idle:?}, {} of {slots} in use", occupied.len())
        })
    }

    /// Jobs that were not begun are given up; they are handed out again.
    pub(crate) fn drains(&mut self) {
        self.works.waiting.clear();
        self.works.is_draining = true;
    }

    /// After a start nothing runs: of everything that was begun the end was told (N22b).
    pub(crate) fn has_answered_for_all_begun(&self) -> Verdict {
        let open = self.works.told.iter().find(|(_, told)| told.started > told.finished);
        ensure(open.is_none(), "interrupted_not_reported", || format!("{open:?}"))
    }
}

impl Works {
    pub(super) fn new(slots: usize) -> Self {
        Self {
            slots,
            running: BTreeMap::new(),
            executed: BTreeSet::new(),
            told: BTreeMap::new(),
            waiting: BTreeMap::new(),
            taken_at: BTreeMap::new(),
            is_draining: false,
            occupied: BTreeMap::new(),
            owed: BTreeSet::new(),
        }
    }

    pub(super) fn begins(&mut self, work: &Work, log: &Log) -> Verdict {
        let attempt = (work.job.task.clone(), work.job.attempt);
        let start = log.entries.iter().find(|(_, entry)| match &entry.event.kind {
            EventKind::TaskStarted { attempt: told, .. } => {
                (&told.task, told.number) == (&attempt.0, attempt.1)
            }
            _ => false,
        });
        let is_durable = start.is_some_and(|(number, _)| *number <= log.durable);
        ensure(is_durable, "begun_before_durable", || {
            format!("{attempt:?}, up to {} is durable", log.durable)
        })?;
        let other = self.running.iter().find(|(_, running)| running.device == work.job.device);
        ensure(other.is_none(), "device_runs_two", || {
            format!("{} has work {:?} and {}", work.job.device, other.map(|(number, _)| number), work.number)
        })?;
        ensure(self.running.len() < self.slots, "more_works_than_slots", || format!("{}", self.slots))?;
        self.executed.insert(attempt.clone());
        let (run, device) = (work.job.run.clone(), work.job.device.clone());
        self.running
            .insert(work.number, Running { run, device, attempt, is_unwanted: false, is_killed: false });
        Ok(())
    }

    /// A task is to be stopped.
    fn is_unwanted(&mut self, task: &Text, known_to_backend: &[Job]) {
        for running in self.running.values_mut().filter(|running| running.attempt.0 == *task) {
            running.is_unwanted = true;
        }
        let waiting = self.waiting.get(task).map(|(attempt, _)| *attempt);
        let is_unknown = self.told.range(of(task)).next().is_none();
        let told = known_to_backend.iter().find(|job| is_unknown && job.task == *task).map(|job| job.attempt);
        self.owed.extend(waiting.or(told).map(|attempt| (task.clone(), attempt)));
    }

    /// Takes jobs, except attempts that are already known; a newer attempt replaces an older one.
    fn take(&mut self, jobs: &[Job], now: Timestamp) {
        for job in jobs {
            let is_known = self.told.range(of(&job.task)).any(|((_, attempt), _)| *attempt >= job.attempt);
            let is_newer = self.waiting.get(&job.task).is_none_or(|(attempt, _)| *attempt < job.attempt);
            if is_known || !is_newer {
                continue;
            }
            for running in self.running.values_mut().filter(|running| running.attempt.0 == job.task) {
                running.is_unwanted = true;
            }
            self.waiting.insert(job.task.clone(), (job.attempt, job.device.clone()));
            self.taken_at.insert(job.task.clone(), now);
        }
    }

    /// True if something of a run is executed.
    pub(super) fn runs_of(&self, run: &Text) -> bool {
        self.running.values().any(|running| running.run == *run)
    }

    /// An event tells of a beginning or an end: each once.
    pub(super) fn reported(&mut self, event: &Event) -> Verdict {
        let told = self.note(event);
        self.move_on(event);
        ensure(told.started <= 1 && told.finished <= 1, "told_twice", || format!("{event:?}: {told:?}"))
    }

    /// Forgets what was never durable.
    pub(super) fn replay(&mut self, log: &Log) {
        self.told.clear();
        for entry in log.entries.values() {
            self.note(&entry.event);
        }
    }

    pub(super) fn died(&mut self) {
        *self = Self {
            executed: std::mem::take(&mut self.executed),
            told: std::mem::take(&mut self.told),
            ..Self::new(self.slots)
        };
    }

    /// Whatever was executed has one end, and somebody took it.
    pub(super) fn at_rest(&self, log: &Log) -> Verdict {
        let endless = self
            .executed
            .iter()
            .find(|attempt| self.told.get(*attempt).is_none_or(|told| told.finished != 1));
        ensure(endless.is_none(), "execution_without_end", || format!("{endless:?}"))?;
        ensure(self.running.is_empty(), "work_at_rest", || format!("{} events", log.entries.len()))
    }

    /// Applies an event: a waiting attempt begins, and a running one ends.
    fn move_on(&mut self, event: &Event) {
        let Some(told) = event.kind.attempt() else { return };
        let attempt = (told.task.clone(), told.number);
        match event.kind {
            EventKind::TaskStarted { .. } => drop(self.occupied.insert(told.device.clone(), attempt.clone())),
            EventKind::TaskFinished { .. } => self.occupied.retain(|_, occupant| *occupant != attempt),
            _ => return,
        }
        if self.waiting.get(&attempt.0).is_some_and(|(number, _)| *number == attempt.1) {
            self.waiting.remove(&attempt.0);
        }
    }

    fn note(&mut self, event: &Event) -> Told {
        let Some(attempt) = event.kind.attempt() else { return Told::default() };
        let told = self.told.entry((attempt.task.clone(), attempt.number)).or_default();
        match event.kind {
            EventKind::TaskStarted { .. } => told.started += 1,
            EventKind::TaskFinished { .. } => told.finished += 1,
            _ => {}
        }
        *told
    }
}

/// All attempts of a task.
fn of(task: &Text) -> RangeInclusive<Attempt> {
    (task.clone(), 0)..=(task.clone(), u32::MAX)
}
