//! A node of the demo: a PC whose devices are simulated, and whose conversation with the server is real (N1 to N14).

mod desk;
mod task;

use super::{
    plan::{Device, Plan},
    tally::{Count, Tally},
    wire::{Job, PullAnswer, RunOffer, Wire},
};
use desk::Desk;
use muster_coordinator::{Clock, SystemClock};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::{
    sync::{Mutex, Semaphore, watch},
    time::Instant,
};

/// One PC.
pub(super) struct Node {
    name: &'static str,
    plan: Plan,
    wire: Wire,
    clock: Arc<SystemClock>,
    tally: Arc<Tally>,
    desk: Desk,
    /// Whether answers to pulls still get lost.
    is_losing: AtomicBool,
    /// Reports about runs that are on their way.
    unsaid: Count,
    slots: Semaphore,
    /// One line per device: whoever holds it drives the device, the others wait in the order they came.
    lanes: BTreeMap<String, Mutex<()>>,
}

/// What a node is made of.
pub(super) struct Parts<'a> {
    pub(super) name: &'static str,
    pub(super) plan: Plan,
    pub(super) server: &'a str,
    pub(super) secret: &'a str,
    pub(super) clock: Arc<SystemClock>,
    pub(super) slots: usize,
}

impl Node {
    pub(super) fn new(parts: &Parts<'_>) -> Arc<Self> {
        let tally = Arc::new(Tally::default());
        Arc::new(Self {
            name: parts.name,
            plan: parts.plan,
            wire: Wire::new(parts.server, parts.secret, Arc::clone(&tally)),
            clock: Arc::clone(&parts.clock),
            tally,
            desk: Desk::default(),
            is_losing: AtomicBool::new(true),
            unsaid: Count::default(),
            slots: Semaphore::new(parts.slots),
            lanes: Device::of_pc(parts.name).map(|device| (device.id(), Mutex::new(()))).collect(),
        })
    }

    pub(super) fn name(&self) -> &'static str {
        self.name
    }

    pub(super) fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Whether it has nothing in hand and has said so of every run it heard of.
    pub(super) fn is_idle(&self) -> bool {
        self.desk.is_idle() && self.unsaid.get() == 0
    }

    /// Loses no more answers to pulls.
    pub(super) fn lose_no_more(&self) {
        self.is_losing.store(false, Ordering::Relaxed);
    }

    /// Tells the server which devices are attached, and asks for nothing.
    pub(super) async fn enrol(&self) {
        self.wire.pull(&json!({"node_id": self.name, "max_jobs": 0, "devices": self.devices()})).await;
    }

    /// Works until told to stop.
    pub(super) async fn work(self: Arc<Self>, mut stop: watch::Receiver<bool>) {
        let beats = tokio::spawn(Arc::clone(&self).beat());
        tokio::select! {
            () = self.pull() => {}
            _ = stop.wait_for(|stop| *stop) => {}
        }
        beats.abort();
    }

    /// Always has one question open, for as many jobs as it has slots: the server knows how many of them are taken, and
    /// answers the moment one is free.
    async fn pull(self: &Arc<Self>) {
        let mut reported: Option<Instant> = None;
        let mut answers_with_jobs = 0;
        loop {
            let mut question = json!({"node_id": self.name, "max_jobs": SLOTS_ASKED, "wait_ms": WAIT_MS});
            if reported.is_none_or(|at| at.elapsed() > BETWEEN_DEVICE_REPORTS) {
                question["devices"] = self.devices();
                reported = Some(Instant::now());
            }
            let Some(answer) = self.wire.pull(&question).await else { continue };
            answers_with_jobs += u64::from(!answer.jobs.is_empty());
            if self.loses(&answer, answers_with_jobs) {
                // As after a cut connection: the server believes these jobs are here (N2).
                self.tally.lost_jobs.add(self.desk.lose(&answer.jobs));
                answers_with_jobs += 1;
                continue;
            }
            self.take(answer);
        }
    }

    fn loses(&self, answer: &PullAnswer, nth: u64) -> bool {
        let runs = answer.jobs.iter().map(|job| job.params.demo_run);
        self.is_losing.load(Ordering::Relaxed) && !answer.jobs.is_empty() && Plan::loses_pull(nth, runs)
    }

    fn take(self: &Arc<Self>, answer: PullAnswer) {
        self.desk.stop(&answer.stop);
        for run in answer.runs.iter().filter(|run| self.desk.begin(&run.run_id)) {
            self.say(self.run_started(run));
        }
        for job in answer.jobs {
            // Known: it was confirmed too late, and handed out once more.
            let Some(arrival) = self.desk.accept(&job) else { continue };
            self.tally.redelivered.add(usize::from(arrival.was_lost));
            self.tally.slot_filled(answer.runs.iter().any(|run| run.run_id == job.run_id));
            tokio::spawn(Arc::clone(self).execute(job, arrival.stop));
        }
        for run in &answer.finished_runs {
            if let Some((succeeded, failed)) = self.desk.finish(run) {
                let summary = json!({"succeeded": succeeded, "failed": failed, "timeout": 0});
                let report = self.event("run_finished", &format!("{run}/{}/end", self.name));
                self.say(with(report, &json!({"run_id": run, "summary": summary})));
            }
        }
    }

    /// Reports about a run without keeping the next pull waiting.
    fn say(self: &Arc<Self>, report: Value) {
        self.unsaid.add(1);
        let node = Arc::clone(self);
        tokio::spawn(async move {
            node.wire.tell(&report, false).await;
            node.unsaid.take_one();
        });
    }

    fn run_started(&self, run: &RunOffer) -> Value {
        let report = self.event("run_started", &format!("{}/{}/start", run.run_id, self.name));
        let told = json!({"run_id": run.run_id, "target_devices_count": run.target_devices_count,
            "max_concurrency": run.max_concurrency});
        with(report, &told)
    }

    /// A heartbeat now and then (N8); more often than a real node's, so that a short demo shows some.
    async fn beat(self: Arc<Self>) {
        for number in 1_u64.. {
            let running = self.tally.busy.get();
            let report = self.event("node_heartbeat", &format!("{}/beat/{number}", self.name));
            let told = json!({"connected_devices_count": self.lanes.len(), "running_devices_count": running,
                "queue_devices_count": self.desk.in_hand().saturating_sub(running), "vendor_ws_ok": true});
            self.wire.beat(&with(report, &told)).await;
            tokio::time::sleep(BETWEEN_BEATS).await;
        }
    }

    /// The envelope that all events share. Ids are made of what is told, so a node that restarted would send the same.
    fn event(&self, kind: &str, id: &str) -> Value {
        json!({"event_id": id, "type": kind, "node_id": self.name, "timestamp": self.clock.now().0})
    }

    fn devices(&self) -> Value {
        let entry = |id: &String| json!({"device_id": id, "runtime_handle": id, "status": "online"});
        self.lanes.keys().map(entry).collect()
    }
}

/// Adds an event's own fields to its envelope.
fn with(mut event: Value, fields: &Value) -> Value {
    for (key, value) in fields.as_object().into_iter().flatten() {
        event[key] = value.clone();
    }
    event
}

const SLOTS_ASKED: u64 = 20;
const WAIT_MS: u64 = 5_000;
const BETWEEN_DEVICE_REPORTS: Duration = Duration::from_secs(2);
const BETWEEN_BEATS: Duration = Duration::from_secs(2);
