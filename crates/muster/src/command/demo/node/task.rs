//! One attempt on one simulated device.

use super::{Job, Node, with};
use crate::command::demo::plan::{Device, Fault, STEPS, Try};
use muster_coordinator::Clock;
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use tokio::sync::Notify;

/// How an attempt went.
enum End {
    Succeeded,
    Failed(Fault),
    Stopped,
}

impl Node {
    /// Waits for the device and a slot, walks through the steps, reports each of them and the end.
    pub(super) async fn execute(self: Arc<Self>, job: Job, stop: Arc<Notify>) {
        let Some(lane) = self.lanes.get(&job.device_id) else {
            self.tally.fault(format!("{} was handed a job for {}", self.name, job.device_id));
            return;
        };
        let _device = lane.lock().await;
        let _slot = self.slots.acquire().await.expect("slots are never closed");
        self.tally.busy.add(1);
        let started_at = self.clock.now().0;
        self.report(&job, 0, self.started(&job)).await;
        let end = self.walk(&job, &stop).await;
        self.tally.slot_freed();
        self.desk.count(&job, matches!(end, End::Succeeded));
        self.report(&job, STEPS.len() + 1, self.finished(&job, started_at, &end)).await;
        self.tally.busy.take_one();
        self.tally.jobs.add(1);
        self.desk.end(&job);
    }

    async fn walk(&self, job: &Job, stop: &Notify) -> End {
        let fault = place_of(job).and_then(|at| self.plan.fault(at));
        for (place, step) in STEPS.into_iter().enumerate() {
            self.report(job, 1 + place, self.progress(job, step, "running")).await;
            tokio::select! {
                () = tokio::time::sleep(STEP) => {}
                () = stop.notified() => return End::Stopped,
            }
            if let Some(fault) = fault.filter(|fault| fault.step == place) {
                return End::Failed(fault);
            }
        }
        End::Succeeded
    }

    /// Sends one report of an attempt; `place` tells it from the attempt's others.
    async fn report(&self, job: &Job, place: usize, report: Value) {
        let lose = place_of(job).is_some_and(|at| self.plan.loses_answer(at, place));
        self.wire.tell(&report, lose).await;
    }

    fn started(&self, job: &Job) -> Value {
        let told = json!({"runtime_handle": job.runtime_handle, "workflow_id": job.workflow_id,
            "timeoutMs": job.timeout_ms});
        with(self.about(job, "task_started", "start"), &told)
    }

    fn progress(&self, job: &Job, step: &str, status: &str) -> Value {
        with(self.about(job, "task_progress", step), &json!({"step": step, "status": status}))
    }

    fn finished(&self, job: &Job, started_at: i64, end: &End) -> Value {
        let timings = json!({"startedAt": started_at, "endedAt": self.clock.now().0});
        let told = json!({"runtime_handle": job.runtime_handle, "timings": timings});
        let how = match end {
            End::Succeeded => {
                let path =
                    format!("videos/_/{}/{}/{}/{started_at}.png", self.name, job.device_id, job.run_id);
                let url = format!("https://artifacts.example/{path}");
                let artifact = json!({"kind": "screenshot", "storage_path": path, "public_url": url});
                json!({"status": "succeeded", "artifact": artifact})
            }
            End::Failed(fault) => json!({"status": "failed", "failure_reason": fault.reason,
                "error_message": format!("simulated in {}", STEPS[fault.step])}),
            End::Stopped => {
                json!({"status": "failed", "failure_reason": "unknown", "error_message": "stopped on request"})
            }
        };
        with(with(self.about(job, "task_finished", "end"), &told), &how)
    }

    /// The envelope of a task's events, with the fence of its attempt (N6b).
    fn about(&self, job: &Job, kind: &str, what: &str) -> Value {
        let event = self.event(kind, &format!("{}/{}/{what}", job.task_id, job.attempt));
        let fence = json!({"run_id": job.run_id, "task_id": job.task_id, "device_id": job.device_id,
            "attempt": job.attempt, "lease_token": job.lease.token});
        with(event, &fence)
    }
}

/// Where the plan has this attempt.
fn place_of(job: &Job) -> Option<Try> {
    let device = Device::named(&job.device_id)?;
    Some(Try { run: job.params.demo_run, device, attempt: job.attempt })
}

/// How long a simulated device takes for a step.
const STEP: Duration = Duration::from_millis(20);
