//! What a node has in hand: jobs by attempt, runs by their counts.

use super::Job;
use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::sync::Notify;

/// The papers of one node.
#[derive(Default)]
pub(super) struct Desk(Mutex<Papers>);

/// A job that is new here.
pub(super) struct Arrival {
    /// Rings when the job must be stopped.
    pub(super) stop: Arc<Notify>,
    /// It had been handed out in an answer that was lost.
    pub(super) was_lost: bool,
}

#[derive(Default)]
struct Papers {
    /// By task, the last attempt that was taken.
    taken: HashMap<String, u16>,
    lost: HashSet<(String, u16)>,
    live: HashMap<String, Arc<Notify>>,
    runs: HashMap<String, Run>,
}

#[derive(Default)]
struct Run {
    succeeded: u64,
    failed: u64,
    is_begun: bool,
    is_finished: bool,
}

impl Desk {
    /// Forgets an answer's jobs, but for the fact that it did; says how many.
    pub(super) fn lose(&self, jobs: &[Job]) -> usize {
        let mut papers = self.papers();
        let new = jobs.iter().filter(|job| !papers.knows(job));
        let lost: Vec<_> = new.map(|job| (job.task_id.clone(), job.attempt)).collect();
        lost.into_iter().filter(|job| papers.lost.insert(job.clone())).count()
    }

    /// Takes a job, unless this attempt was taken before (N2).
    pub(super) fn accept(&self, job: &Job) -> Option<Arrival> {
        let mut papers = self.papers();
        if papers.knows(job) {
            return None;
        }
        let stop = Arc::new(Notify::new());
        papers.taken.insert(job.task_id.clone(), job.attempt);
        papers.live.insert(job.task_id.clone(), Arc::clone(&stop));
        papers.runs.entry(job.run_id.clone()).or_default();
        let was_lost = papers.lost.remove(&(job.task_id.clone(), job.attempt));
        Some(Arrival { stop, was_lost })
    }

    /// Rings for each of these that is still in hand.
    pub(super) fn stop(&self, tasks: &[String]) {
        let papers = self.papers();
        for stop in tasks.iter().filter_map(|task| papers.live.get(task)) {
            stop.notify_one();
        }
    }

    /// Counts an end before it is reported: the server may call the run finished the moment it hears of it.
    pub(super) fn count(&self, job: &Job, has_succeeded: bool) {
        let mut papers = self.papers();
        let run = papers.runs.entry(job.run_id.clone()).or_default();
        run.succeeded += u64::from(has_succeeded);
        run.failed += u64::from(!has_succeeded);
    }

    /// Lets go of a job whose end was acknowledged.
    pub(super) fn end(&self, job: &Job) {
        let mut papers = self.papers();
        if papers.taken.get(&job.task_id) == Some(&job.attempt) {
            papers.live.remove(&job.task_id);
        }
    }

    /// Whether a run is announced here for the first time. Its jobs may have come before it, where the answer that
    /// announced it was lost.
    pub(super) fn begin(&self, run: &str) -> bool {
        let mut papers = self.papers();
        let run = papers.runs.entry(run.to_owned()).or_default();
        !std::mem::replace(&mut run.is_begun, true)
    }

    /// The counts of a run that is over here, once.
    pub(super) fn finish(&self, run: &str) -> Option<(u64, u64)> {
        let mut papers = self.papers();
        let run = papers.runs.get_mut(run).filter(|run| !run.is_finished)?;
        run.is_finished = true;
        Some((run.succeeded, run.failed))
    }

    pub(super) fn in_hand(&self) -> u64 {
        self.papers().live.len() as u64
    }

    pub(super) fn is_idle(&self) -> bool {
        let papers = self.papers();
        papers.live.is_empty() && papers.runs.values().all(|run| run.is_finished)
    }

    fn papers(&self) -> MutexGuard<'_, Papers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Papers {
    fn knows(&self, job: &Job) -> bool {
        self.taken.get(&job.task_id).is_some_and(|attempt| *attempt >= job.attempt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(attempt: u16) -> Job {
        serde_json::from_value(serde_json::json!({"task_id": "t", "run_id": "r", "device_id": "sim-0001",
            "runtime_handle": "sim-0001", "workflow_id": "w", "params": {"demo_run": 0}, "timeoutMs": 1,
            "attempt": attempt, "lease": {"token": "x", "until": 1}}))
        .unwrap()
    }

    /// N2: an attempt is taken once, however often it is handed out; the next one is another.
    #[test]
    fn an_attempt_is_taken_once() {
        let desk = Desk::default();
        assert_eq!(desk.lose(&[job(1)]), 1);
        assert!(desk.accept(&job(1)).unwrap().was_lost);
        assert!(desk.accept(&job(1)).is_none());
        assert_eq!(desk.lose(&[job(1)]), 0);
        desk.end(&job(1));
        assert!(desk.accept(&job(1)).is_none());
        assert!(!desk.accept(&job(2)).unwrap().was_lost);
        // The end of the attempt before must not let go of this one.
        desk.end(&job(1));
        assert_eq!(desk.in_hand(), 1);
    }

    /// N14: a run is summed up once.
    #[test]
    fn a_run_is_summed_up_once() {
        let desk = Desk::default();
        assert!(desk.begin("r") && !desk.begin("r"));
        desk.count(&job(1), false);
        desk.count(&job(2), true);
        assert!(!desk.is_idle());
        assert_eq!(desk.finish("r"), Some((1, 1)));
        assert_eq!(desk.finish("r"), None);
        assert!(desk.is_idle());
    }
}
