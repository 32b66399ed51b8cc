//! Q3, Q5, Q11, N17: whom a lease may be granted to, and on what.

use super::{Checker, Verdict, ensure, mirror::Before};
use crate::scene::Scene;
use muster_model::{Change, LaneRecord, LogKind, LogRecord, Name, TaskId, TaskStatus, WorkerRecord};
use muster_store::Batch;

impl Checker {
    pub(super) fn check_grants(&self, batch: &Batch, before: &Before, scene: &mut Scene) -> Verdict {
        for change in &batch.changes {
            let Change::Log(log) = change else { continue };
            match log.kind {
                LogKind::Sent => self.check_grant(log, before)?,
                LogKind::FailedFinal => self.check_failed_lane(log.task, before)?,
                LogKind::Failed | LogKind::Timeout => self.check_forgiven(log, before, scene)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Judged only by rows that this batch leaves as they were: they held at the moment of the grant.
    fn check_grant(&self, log: &LogRecord, before: &Before) -> Verdict {
        let row = &self.mirror.tasks[&log.task];
        if row.attempt != log.attempt {
            return Ok(());
        }
        if let Some(worker) = self.steady_worker(&row.worker, before) {
            ensure(!worker.draining, "grant_to_drained_worker", || format!("{log:?} to {worker:?}"))?;
            let resting = worker.paused_until.is_some_and(|until| log.at < until);
            ensure(!resting, "grant_to_resting_worker", || format!("{log:?} to {worker:?}"))?;
            let cap = worker.cap.unwrap_or(self.settings.slots) as usize;
            let running = self.running().filter(|row| row.worker == worker.id).count();
            ensure(running <= cap, "more_leases_than_slots", || {
                format!("{} has {running} leases and {cap} slots", worker.id)
            })?;
        }
        if let Some(lane) = self.steady_lane(&row.lane, before) {
            ensure(!lane.failed, "grant_on_failed_lane", || format!("{log:?} on {lane:?}"))?;
            ensure(lane.offline_since.is_none(), "grant_on_offline_lane", || format!("{log:?} on {lane:?}"))?;
            ensure(lane.worker == row.worker, "grant_on_strange_lane", || format!("{row:?} on {lane:?}"))?;
        }
        Ok(())
    }

    /// Q11: a device whose attempts are used up is out of service until an operator returns it.
    fn check_failed_lane(&self, task: TaskId, before: &Before) -> Verdict {
        let lane = &self.mirror.lanes[&self.mirror.tasks[&task].lane];
        let old = before.lanes.get(&lane.id).and_then(Option::as_ref);
        let returned = old.is_some_and(|old| old.note != lane.note);
        ensure(lane.failed || returned, "failed_lane_in_service", || format!("{task} on {lane:?}"))
    }

    /// N17: an attempt that ends on an absent device while its worker's supply rests costs nothing.
    fn check_forgiven(&self, log: &LogRecord, before: &Before, scene: &mut Scene) -> Verdict {
        let (row, Some(Some(old))) = (&self.mirror.tasks[&log.task], before.tasks.get(&log.task)) else {
            return Ok(());
        };
        let (Some(worker), Some(lane)) =
            (self.steady_worker(&old.worker, before), self.steady_lane(&old.lane, before))
        else {
            return Ok(());
        };
        let resting = worker.paused_until.is_some_and(|until| log.at < until);
        let absent = lane.offline_since.is_some_and(|since| since <= log.at);
        if !resting || !absent || row.status == TaskStatus::Cancelled || old.attempt != log.attempt {
            return Ok(());
        }
        scene.count("attempt forgiven");
        ensure(row.max_attempts > old.max_attempts, "dropout_burns_attempt", || {
            format!("{old:?} became {row:?} on {lane:?} of {worker:?}")
        })
    }

    /// A worker as it was before and after the batch alike.
    fn steady_worker(&self, name: &Name, before: &Before) -> Option<&WorkerRecord> {
        let worker = self.mirror.workers.get(name)?;
        let steady = before.workers.get(name).is_none_or(|old| {
            old.as_ref().is_some_and(|old| {
                (old.draining, old.paused_until, old.cap)
                    == (worker.draining, worker.paused_until, worker.cap)
            })
        });
        steady.then_some(worker)
    }

    /// A lane that the batch did not touch.
    fn steady_lane(&self, name: &Name, before: &Before) -> Option<&LaneRecord> {
        let lane = self.mirror.lanes.get(name)?;
        (!before.lanes.contains_key(name)).then_some(lane)
    }
}
