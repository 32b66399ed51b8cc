//! Plays the script: submits the runs of each act, watches them, cancels one, returns devices to service.

use super::{
    fleet::Fleet,
    plan::{Device, PCS, Plan, ROUND, RunPlan, Twist},
    view::View,
};
use crate::{client::Client, failure::Failure};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::{sync::watch, time::Instant};

/// A run that was submitted, and where it stands.
#[derive(Debug)]
pub(super) struct Performed {
    /// Counts runs over all rounds; [`Plan::run`] knows it by this.
    pub(super) number: usize,
    pub(super) id: String,
    pub(super) plan: &'static RunPlan,
    pub(super) status: String,
    pub(super) counts: Counts,
    /// Between becoming active and its end.
    pub(super) took: Option<Duration>,
    /// The demo asked for its end.
    pub(super) is_cancelled: bool,
}

/// How many of a run's rows stand where.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) pending: u64,
    pub(super) running: u64,
    pub(super) completed: u64,
    pub(super) failed: u64,
    pub(super) cancelled: u64,
}

/// What was done in all.
#[derive(Debug, Default)]
pub(super) struct Performance {
    /// Runs over all rounds, as they were submitted.
    pub(super) runs: Vec<Performed>,
    /// Devices that used up their attempts and were returned.
    pub(super) returned: Vec<String>,
}

/// Who plays the script.
pub(super) struct Conductor<'a> {
    client: &'a Client,
    fleet: &'a Fleet,
    view: &'a mut View,
    stop: watch::Receiver<bool>,
    began: Instant,
    done: Performance,
}

impl Counts {
    pub(super) const fn ended(self) -> u64 {
        self.completed + self.failed + self.cancelled
    }

    fn read(run: &Value) -> Self {
        let count = |name: &str| run.pointer(&format!("/counts/{name}")).and_then(Value::as_u64).unwrap_or(0);
        Self {
            pending: count("pending"),
            running: count("running"),
            completed: count("completed"),
            failed: count("failed"),
            cancelled: count("cancelled"),
        }
    }
}

impl Performed {
    /// Ended, and no device still at it.
    pub(super) fn is_over(&self) -> bool {
        self.has_ended() && self.counts.running == 0
    }

    pub(super) fn has_ended(&self) -> bool {
        matches!(self.status.as_str(), "success" | "failed" | "cancelled")
    }

    pub(super) fn targets(&self) -> u64 {
        self.plan.scope.devices().count() as u64
    }

    fn update(&mut self, run: &Value) {
        run["status"].as_str().unwrap_or_default().clone_into(&mut self.status);
        self.counts = Counts::read(run);
        let moment = |name: &str| run[name].as_i64();
        self.took = moment("completed_at")
            .zip(moment("started_at"))
            .map(|(ended, began)| Duration::from_millis((ended - began).unsigned_abs()));
    }

    /// Halfway enough for some to have ended, some to run and some to wait.
    fn is_due_for_cancelling(&self) -> bool {
        self.plan.twist == Twist::Withdrawn
            && !self.is_cancelled
            && !self.has_ended()
            && self.counts.completed * 3 >= self.targets()
    }
}

/// Gives each device its labels.
pub(super) async fn label(client: &Client) -> Result<(), Failure> {
    let [first, second, third] = PCS.map(|pc| label_pc(client, pc));
    tokio::try_join!(first, second, third)?;
    Ok(())
}

impl<'a> Conductor<'a> {
    pub(super) fn new(
        client: &'a Client,
        fleet: &'a Fleet,
        view: &'a mut View,
        stop: watch::Receiver<bool>,
    ) -> Self {
        Self { client, fleet, view, stop, began: Instant::now(), done: Performance::default() }
    }

    pub(super) fn performance(self) -> Performance {
        self.done
    }

    /// Plays one round; ends early when asked to stop.
    pub(super) async fn play_round(&mut self) -> Result<(), Failure> {
        for act in ROUND {
            if self.is_stopping() {
                return Ok(());
            }
            let first = self.done.runs.len();
            for _ in *act {
                self.submit().await?;
            }
            self.see_through(first).await?;
            self.view.end_act(&self.done.runs);
            self.return_devices().await?;
        }
        Ok(())
    }

    pub(super) fn is_stopping(&self) -> bool {
        *self.stop.borrow()
    }

    /// Submits the next run. The key makes a repeat harmless, should the answer be lost.
    async fn submit(&mut self) -> Result<(), Failure> {
        let number = self.done.runs.len();
        let plan = Plan::run(number);
        let key = format!("demo-run-{number}");
        let answer = self.client.post_once(&["api", "runs"], &plan.submission(number), &key).await?;
        self.done.runs.push(Performed {
            number,
            id: answer["run_id"].as_str().unwrap_or_default().to_owned(),
            plan,
            status: answer["status"].as_str().unwrap_or_default().to_owned(),
            counts: Counts::default(),
            took: None,
            is_cancelled: false,
        });
        Ok(())
    }

    /// Watches the runs from that one on until all are over.
    async fn see_through(&mut self, first: usize) -> Result<(), Failure> {
        let mut was_ready = false;
        loop {
            // Looked at twice: an answer may have been about to get lost the first time.
            let is_ready = self.is_stopping() && self.fleet.is_ready_to_cancel();
            let is_over = is_ready && was_ready;
            was_ready = is_ready;
            for run in self.done.runs[first..].iter_mut().filter(|run| !run.is_over()) {
                run.update(&self.client.get(&["api", "runs", &run.id], &[]).await?);
                // Asked to stop, nothing new is begun and nothing old waited for.
                if run.is_due_for_cancelling() || (is_over && !run.has_ended()) {
                    run.is_cancelled = cancel(self.client, &run.id).await?;
                }
            }
            self.view.show((&self.done.runs, first), self.fleet, self.began.elapsed());
            if self.done.runs[first..].iter().all(Performed::is_over) {
                return Ok(());
            }
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
    }

    /// Returns every device that is out of service to it (Q11).
    async fn return_devices(&mut self) -> Result<(), Failure> {
        let page = self.client.get(&["api", "devices"], &[("status", "ERROR".to_owned())]).await?;
        for device in page["devices"].as_array().into_iter().flatten() {
            let id = device["device_id"].as_str().unwrap_or_default();
            let note = json!({"note": "given a new cable"});
            self.client.post(&["api", "devices", id, "return"], &note).await?;
            self.done.returned.push(id.to_owned());
        }
        Ok(())
    }
}

async fn label_pc(client: &Client, pc: &'static str) -> Result<(), Failure> {
    for device in Device::of_pc(pc) {
        client.patch(&["api", "devices", &device.id()], &json!({"labels": device.labels()})).await?;
    }
    Ok(())
}

/// Cancels a run, unless it ended just before.
async fn cancel(client: &Client, id: &str) -> Result<bool, Failure> {
    match client.post(&["api", "runs", id, "cancel"], &json!({})).await {
        Ok(_) => Ok(true),
        Err(crate::client::ClientError::Refused { status, .. }) if status.as_u16() == 409 => Ok(false),
        Err(error) => Err(error.into()),
    }
}

const BETWEEN_LOOKS: Duration = Duration::from_millis(80);
