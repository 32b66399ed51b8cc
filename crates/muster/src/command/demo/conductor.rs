//! Plays the script: submits the runs of each act, watches them, cancels one, returns devices to service; and beside all
//! acts of a round, a session of frames, the jobs of the pool and the events of the court.

use super::{
    court::Court,
    farm::Farm,
    fleet::Fleet,
    plan::{Device, PCS, Plan, ROUND, RunPlan, Twist},
    pool::Pool,
    server::Server,
    view::{Scene, View},
};
use crate::{client::Client, failure::Failure};
use muster_coordinator::instant_now;
use serde_json::{Value, json};
use std::{collections::BTreeMap, time::Duration};
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
    /// The same by PC.
    pub(super) per_pc: BTreeMap<String, Counts>,
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

/// Who takes part.
pub(super) struct Cast<'a> {
    pub(super) fleet: &'a mut Fleet,
    pub(super) farm: &'a mut Farm,
    pub(super) pool: &'a mut Pool,
    pub(super) court: &'a mut Court,
    pub(super) view: &'a mut View,
}

/// Who plays the script.
pub(super) struct Conductor<'a> {
    plan: Plan,
    server: &'a Server,
    client: Client,
    cast: Cast<'a>,
    stop: watch::Receiver<bool>,
    began: Instant,
    done: Performance,
}

impl Counts {
    pub(super) const fn ended(self) -> u64 {
        self.completed + self.failed + self.cancelled
    }

    fn read(counts: &Value) -> Self {
        let count = |name: &str| counts[name].as_u64().unwrap_or(0);
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
    /// The run with that number, before anything is known of it.
    pub(super) fn submitted(number: usize) -> Self {
        Self {
            number,
            id: String::new(),
            plan: Plan::run(number),
            status: String::new(),
            counts: Counts::default(),
            per_pc: BTreeMap::new(),
            took: None,
            is_cancelled: false,
        }
    }

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
        self.counts = Counts::read(&run["counts"]);
        let per_pc = run["per_pc"].as_object().into_iter().flatten();
        self.per_pc = per_pc.map(|(pc, counts)| (pc.clone(), Counts::read(counts))).collect();
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

    /// The PC whose agent is to be killed now.
    fn is_due_for_killing(&self) -> Option<&'static str> {
        self.plan.killed_pc().filter(|pc| self.is_midway(pc))
    }

    /// The PC that is to be cut off now.
    fn is_due_for_cutting(&self) -> Option<&'static str> {
        self.plan.cut_pc().filter(|pc| self.is_midway(pc))
    }

    /// Whether a PC has done a part of what it has to do here, and is at more of it.
    fn is_midway(&self, pc: &str) -> bool {
        if self.has_ended() {
            return false;
        }
        let counts = self.per_pc.get(pc).copied().unwrap_or_default();
        let targets = self.plan.scope.devices().filter(|device| device.pc() == pc).count() as u64;
        counts.running > 0 && counts.completed * 5 >= targets
    }
}

impl<'a> Conductor<'a> {
    pub(super) fn new(plan: Plan, server: &'a Server, cast: Cast<'a>, stop: watch::Receiver<bool>) -> Self {
        let (client, began, done) = (server.client(), instant_now(), Performance::default());
        Self { plan, server, client, cast, stop, began, done }
    }

    /// Gives each device its labels.
    pub(super) async fn label(&self) -> Result<(), Failure> {
        let [first, second, third] = PCS.map(|pc| label_pc(&self.client, pc));
        tokio::try_join!(first, second, third)?;
        Ok(())
    }

    pub(super) fn performance(self) -> Performance {
        self.done
    }

    /// Plays one round; ends early when asked to stop.
    pub(super) async fn play_round(&mut self) -> Result<(), Failure> {
        if self.is_stopping() {
            return Ok(());
        }
        self.cast.farm.submit().await?;
        self.cast.pool.submit().await?;
        self.cast.court.submit()?;
        self.play_acts().await?;
        self.see_rest_through().await
    }

    pub(super) fn is_stopping(&self) -> bool {
        *self.stop.borrow()
    }

    async fn play_acts(&mut self) -> Result<(), Failure> {
        for act in ROUND {
            if self.is_stopping() {
                return Ok(());
            }
            let first = self.done.runs.len();
            for _ in *act {
                self.submit().await?;
            }
            self.see_through(first).await?;
            self.cast.view.end_act(&self.done.runs);
            self.return_devices().await?;
        }
        Ok(())
    }

    /// Submits the next run. The key makes a repeat harmless, should the answer be lost.
    async fn submit(&mut self) -> Result<(), Failure> {
        let number = self.done.runs.len();
        let key = format!("demo-run-{number}");
        let answer = self.client.post_once(&["api", "runs"], &self.plan.submission(number), &key).await?;
        let word = |name: &str| answer[name].as_str().unwrap_or_default().to_owned();
        let run = Performed { id: word("run_id"), status: word("status"), ..Performed::submitted(number) };
        self.done.runs.push(run);
        Ok(())
    }

    /// Watches the runs from that one on until all are over.
    async fn see_through(&mut self, first: usize) -> Result<(), Failure> {
        loop {
            self.look(first).await?;
            if self.done.runs[first..].iter().all(Performed::is_over) {
                return Ok(());
            }
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
    }

    /// Watches what is left of the session, of the pool's jobs and of the court's events when all runs are over.
    async fn see_rest_through(&mut self) -> Result<(), Failure> {
        while !self.cast.farm.is_done() || !self.cast.pool.is_done() || !self.cast.court.is_done() {
            self.look(self.done.runs.len()).await?;
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
        Ok(())
    }

    /// Looks at everything once, from that run on.
    async fn look(&mut self, first: usize) -> Result<(), Failure> {
        let is_stopping = self.is_stopping();
        let Cast { fleet, farm, pool, court, .. } = &mut self.cast;
        // Side by side: whoever is to be killed in the middle of something is not seen in the middle of it for long.
        tokio::try_join!(
            fleet.look(),
            farm.look(is_stopping),
            pool.look(is_stopping),
            court.look(is_stopping)
        )?;
        for place in first..self.done.runs.len() {
            self.follow(place).await?;
        }
        self.cast.view.show(&Scene {
            runs: &self.done.runs,
            act: first,
            agents: self.cast.fleet.agents(),
            was_cut: !self.cast.fleet.cuts().is_empty(),
            farm: self.cast.farm,
            pool: self.cast.pool,
            court: self.cast.court,
            callbacks: self.server.callbacks(),
            elapsed: self.began.elapsed(),
        });
        Ok(())
    }

    /// Looks at a run, and does to it what is planned.
    async fn follow(&mut self, place: usize) -> Result<(), Failure> {
        let is_stopping = self.is_stopping();
        let run = &mut self.done.runs[place];
        if run.is_over() {
            return Ok(());
        }
        run.update(&self.client.get(&["api", "runs", &run.id], &[]).await?);
        // Asked to stop, nothing new is begun and nothing old waited for.
        if run.is_due_for_cancelling() || (is_stopping && !run.has_ended()) {
            run.is_cancelled = cancel(&self.client, &run.id).await?;
        } else if let Some(pc) = run.is_due_for_killing()
            && !self.cast.fleet.was_killed_in(run.number)
        {
            self.cast.fleet.kill(pc, run.number).await?;
        } else if let Some(pc) = run.is_due_for_cutting()
            && !self.cast.fleet.was_cut_in(run.number)
        {
            self.cast.fleet.cut_off(pc, run.number);
        }
        Ok(())
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
