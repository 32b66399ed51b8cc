//! Clients that submit and cancel runs, and operators who turn the knobs. All that they know is in the responses that they
//! get.

mod retry;
mod wire;

use crate::{
    checker::{Verdict, ensure},
    message::Answer,
    plan::{LABELS, Plan, QUEUES, name},
    scene::{Happening, Scene},
};
use muster_model::{
    Command, Digest, JobId, JobPayload, Labels, Millis, Missed, Name, ScheduleCommand, ScheduleDraft,
    ScheduleId, Scope, Submission, SubmissionKey, TaskId, Timestamp,
};
use retry::RetryOrder;
use std::collections::BTreeMap;
pub(crate) use wire::{respond, send};

/// Actions of people.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Duty {
    /// Submit the nth run, session or batch of jobs.
    Submit(usize),
    /// Turn some knob.
    Operate,
    /// Lift whatever would keep work from ending, until nothing does.
    PutInOrder,
    /// No answer came to this exchange.
    GiveUp(u64),
}

/// All clients and operators.
#[derive(Default)]
pub(crate) struct Clients {
    orders: Vec<Order>,
    submitting: BTreeMap<u64, usize>,
    cancelling: BTreeMap<u64, JobId>,
    retries: Vec<RetryOrder>,
    retrying: BTreeMap<u64, usize>,
    /// The runs that retries made, as the first response named them.
    retried: BTreeMap<usize, JobId>,
    jobs: Vec<JobId>,
}

impl Clients {
    pub(crate) fn begin(&mut self, scene: &mut Scene, devices: &[Name]) {
        for n in 0..scene.plan.jobs {
            let order = Order::draw(n, scene, devices);
            self.orders.push(order);
            scene.within(0, 60_000, Happening::Client(Duty::Submit(n)));
        }
        scene.within(1_000, 10_000, Happening::Client(Duty::Operate));
    }

    pub(crate) fn act(&mut self, duty: Duty, scene: &mut Scene) {
        match duty {
            Duty::Submit(n) => self.submit(n, scene),
            Duty::PutInOrder => self.put_in_order(scene),
            Duty::GiveUp(exchange) => self.give_up(exchange, scene),
            Duty::Operate if !scene.calm => {
                self.operate(scene);
                scene.within(500, 10_000, Happening::Client(Duty::Operate));
            }
            Duty::Operate => {}
        }
    }

    /// Reads the response to a request. One that is not final is as good as none: the request is sent again.
    pub(crate) fn hear(&mut self, exchange: u64, answer: &Answer) -> Verdict {
        if !answer.is_final() {
            return Ok(());
        }
        self.cancelling.remove(&exchange);
        if let Some(n) = self.retrying.remove(&exchange) {
            return self.note_retried(n, answer);
        }
        let Some(n) = self.submitting.remove(&exchange) else { return Ok(()) };
        // Each key has one body: a repeat is recognised.
        ensure(answer.status == 201, "repeat_refused", || format!("{answer:?} to {:?}", self.orders[n]))?;
        self.jobs.extend(answer.text("run_id").parse::<JobId>());
        Ok(())
    }

    /// A repeated retry is answered as the first was, though other devices may have failed since (Q15).
    fn note_retried(&mut self, n: usize, answer: &Answer) -> Verdict {
        let run = answer.text("run_id").parse::<JobId>().ok();
        let first = run.map(|run| *self.retried.entry(n).or_insert(run));
        ensure(answer.status == 201 && run.is_some() && first == run, "repeat_answered_otherwise", || {
            format!("{answer:?} to {:?}, first {first:?}", self.retries[n])
        })
    }

    /// Number of runs that were ever requested.
    pub(crate) fn orders(&self) -> usize {
        self.orders.len() + self.retries.len()
    }

    /// True if everything that will be submitted has been.
    pub(crate) fn is_quiet(&self) -> bool {
        self.submitting.is_empty() && self.cancelling.is_empty() && self.retrying.is_empty()
    }

    /// A client without a key does not know whether to try again, and does not.
    fn give_up(&mut self, exchange: u64, scene: &mut Scene) {
        if let Some(n) = self.submitting.remove(&exchange) {
            if self.orders[n].has_key() {
                scene.count("submitted again");
                self.submit(n, scene);
            }
        } else if let Some(job) = self.cancelling.remove(&exchange) {
            self.cancel(job, scene);
        } else if let Some(n) = self.retrying.remove(&exchange) {
            self.retry(n, scene);
        }
    }

    fn retry(&mut self, n: usize, scene: &mut Scene) {
        let Some(ticket) = self.retries[n].send(scene) else { return };
        self.retrying.insert(ticket.exchange, n);
        scene.within(2_000, 6_000, Happening::Client(Duty::GiveUp(ticket.exchange)));
    }

    fn submit(&mut self, n: usize, scene: &mut Scene) {
        let Some(ticket) = send(&self.orders[n].command(), scene) else { return };
        self.submitting.insert(ticket.exchange, n);
        scene.within(2_000, 6_000, Happening::Client(Duty::GiveUp(ticket.exchange)));
    }

    fn cancel(&mut self, job: JobId, scene: &mut Scene) {
        scene.count("cancel asked");
        let Some(ticket) = send(&Command::Cancel { job }, scene) else { return };
        self.cancelling.insert(ticket.exchange, job);
        scene.within(2_000, 6_000, Happening::Client(Duty::GiveUp(ticket.exchange)));
    }
}

/// The part of the fleet that people can see.
pub(crate) struct Fleet {
    pub(crate) workers: Vec<Name>,
    pub(crate) lanes: Vec<Name>,
    pub(crate) failed: Vec<Name>,
    pub(crate) running: Vec<TaskId>,
    pub(crate) schedules: Vec<ScheduleId>,
}

/// One of the labels in use.
fn label(scene: &mut Scene) -> Labels {
    let (key, value) = scene.dice.pick(&LABELS).copied().unwrap_or(LABELS[0]);
    Labels::from([(name(key), name(value))])
}

/// A run that somebody wants, however often it must be asked for.
#[derive(Clone, Debug)]
pub(super) struct Order(Submission);

impl Order {
    pub(super) fn draw(n: usize, scene: &mut Scene, devices: &[Name]) -> Self {
        let key = scene.dice.chance(600).then(|| format!("order-{n}"));
        let queue = QUEUES[scene.dice.below(scene.plan.queues)];
        let attempts = scene.dice.chance(300).then(|| scene.dice.between(1, 4));
        Self(Submission {
            key: key.map(|key| SubmissionKey::new(&key).expect("a plain key")),
            digest: Digest(n as u128),
            queue: name(queue),
            scope: scope(scene, devices),
            max_attempts: attempts.and_then(|attempts| u16::try_from(attempts).ok()),
            payload: JobPayload {
                title: n.is_multiple_of(2).then(|| format!("order {n}").into()),
                workflow: "w".into(),
                params: "{}".into(),
                // The most that there may be; what agents are told is the same without it.
                timeout: n.is_multiple_of(3).then_some(scene.plan.settings.attempt_timeout),
                schedule: None,
            },
        })
    }

    /// Returns the submission; any client may send it.
    pub(super) fn into_submission(self) -> Submission {
        self.0
    }

    pub(super) fn has_key(&self) -> bool {
        self.0.key.is_some()
    }

    pub(super) fn command(&self) -> Command {
        Command::Submit(Box::new(self.0.clone()))
    }
}

/// Mostly everything; else some PCs, some devices (one may not exist), or a label.
fn scope(scene: &mut Scene, devices: &[Name]) -> Scope {
    match scene.dice.below(10) {
        0..5 => Scope::All,
        5..7 => {
            let nodes = 0..scene.plan.nodes;
            let chosen = nodes.filter(|_| scene.dice.chance(500));
            Scope::Workers(chosen.map(Plan::node_name).collect())
        }
        7..9 => {
            let chosen = devices.iter().filter(|_| scene.dice.chance(400));
            Scope::Devices(chosen.cloned().chain([name(NO_DEVICE)]).collect())
        }
        _ => Scope::Labels(label(scene)),
    }
}

impl Clients {
    /// Does one thing, drawn by chance.
    fn operate(&mut self, scene: &mut Scene) {
        let fleet = &scene.checker.fleet();
        if scene.plan.schedules && scene.dice.chance(300) {
            return self.keep_calendar(scene, fleet);
        }
        let worker = scene.dice.pick(&fleet.workers).cloned();
        let lane = scene.dice.pick(&fleet.lanes).cloned();
        let command = match (scene.dice.below(21), worker, lane) {
            (0..5, ..) => return_one(scene, fleet),
            (5..8, ..) => return self.cancel_one(scene),
            (8..10, Some(worker), _) => Some(drain(scene, worker)),
            (10..12, Some(worker), _) => Some(cap(scene, worker)),
            (12..15, _, Some(lane)) => {
                let labels = label(scene);
                Some(Command::Label { lane, labels })
            }
            (15, Some(worker), _) => {
                let hash = scene.dice.bytes();
                Some(Command::RotateSecret { worker, hash })
            }
            (16, ..) => Some(Command::Sweep),
            (17, Some(worker), _) => meddle(scene, fleet, worker),
            (18..20, ..) => return self.order_more(scene, fleet),
            (20.., ..) => return self.retry_one(scene),
            _ => None,
        };
        if let Some(command) = command {
            send(&command, scene);
        }
    }

    /// Lifts whatever would keep runs from ending once the faults have stopped.
    fn put_in_order(&self, scene: &mut Scene) {
        let fleet = &scene.checker.fleet();
        for worker in &fleet.workers {
            send(&Command::Resume { worker: worker.clone() }, scene);
            send(&Command::SetCap { worker: worker.clone(), cap: None }, scene);
        }
        self.clear_calendar(scene, fleet);
    }

    /// A long world needs more runs than it was planned with.
    fn order_more(&mut self, scene: &mut Scene, fleet: &Fleet) {
        let n = self.orders.len();
        if n < ORDERS_MAX {
            self.orders.push(Order::draw(n, scene, &fleet.lanes));
            self.submit(n, scene);
        }
    }

    fn retry_one(&mut self, scene: &mut Scene) {
        let has_failed = |run: &&JobId| scene.checker.failed_rows(**run).next().is_some();
        let failed: Vec<JobId> = self.jobs.iter().filter(has_failed).copied().collect();
        let n = self.retries.len();
        if let Some(run) = scene.dice.pick(&failed).copied().filter(|_| n < RETRIES_MAX) {
            scene.count("retry of a run asked");
            self.retries.push(RetryOrder::draw(n, run, scene));
            self.retry(n, scene);
            if scene.dice.chance(300) {
                // An operator pressed the button twice.
                self.retries[n].clone().send(scene);
            }
        }
    }

    fn cancel_one(&mut self, scene: &mut Scene) {
        if let Some(job) = scene.dice.pick(&self.jobs).copied() {
            self.cancel(job, scene);
        }
    }
}

fn return_one(scene: &mut Scene, fleet: &Fleet) -> Option<Command> {
    let lane = scene.dice.pick(&fleet.failed)?.clone();
    scene.count("return asked");
    let note = Some(format!("well again, {}", scene.now.0).into());
    Some(Command::ReturnToService { lane, note })
}

fn drain(scene: &mut Scene, worker: Name) -> Command {
    match scene.dice.chance(400) {
        true => Command::Drain { worker },
        false => Command::Resume { worker },
    }
}

fn cap(scene: &mut Scene, worker: Name) -> Command {
    let cap = scene.dice.chance(700).then(|| scene.dice.between(0, 4));
    Command::SetCap { worker, cap: cap.and_then(|cap| u32::try_from(cap).ok()) }
}

/// Tries to renew a row that another worker holds, or one that does not exist.
fn meddle(scene: &mut Scene, fleet: &Fleet, worker: Name) -> Option<Command> {
    let task = *scene.dice.pick(&fleet.running)?;
    let task = if scene.dice.chance(300) { TaskId::NIL } else { task };
    Some(Command::Renew { task, worker, lease: Millis(600_000) })
}

/// A device that nobody has.
const NO_DEVICE: &str = "no-such-device";

/// Runs that one world may have.
const ORDERS_MAX: usize = 40;
/// Retries that one world may have.
const RETRIES_MAX: usize = 8;

impl Clients {
    /// Makes a schedule, deletes one, or has somebody fire a slot again that may be long past.
    fn keep_calendar(&mut self, scene: &mut Scene, fleet: &Fleet) {
        let command = match (scene.dice.below(10), scene.dice.pick(&fleet.schedules).copied()) {
            (0, Some(schedule)) => ScheduleCommand::Delete { schedule },
            (1..7, Some(schedule)) => fire_again(scene, schedule),
            (7, Some(schedule)) => skip_again(scene, schedule),
            _ if fleet.schedules.len() < SCHEDULES_MAX => self.plan_runs(scene, fleet),
            _ => return,
        };
        send(&Command::Schedules(command), scene);
    }

    /// Every schedule ends, so that runs can come to an end.
    fn clear_calendar(&self, scene: &mut Scene, fleet: &Fleet) {
        for schedule in &fleet.schedules {
            let command = ScheduleCommand::Delete { schedule: *schedule };
            send(&Command::Schedules(command), scene);
        }
    }

    fn plan_runs(&self, scene: &mut Scene, fleet: &Fleet) -> ScheduleCommand {
        let number = scene.dice.below(1_000);
        let mut run = Order::draw(number, scene, &fleet.lanes).into_submission();
        run.key = scene
            .dice
            .chance(300)
            .then(|| format!("calendar-{number}"))
            .map(|key| SubmissionKey::new(&key).expect("a plain key"));
        let every = scene.dice.pick(&[1, 2, 3]).copied().unwrap_or(1);
        let cron = if every == 1 { "* * * * *".into() } else { format!("*/{every} * * * *") };
        let missed = if scene.dice.chance(500) { Missed::Once } else { Missed::Skip };
        ScheduleCommand::Create(Box::new(ScheduleDraft {
            cron: cron.into(),
            timezone: "Asia/Kathmandu".into(),
            missed,
            next_at: Some(first_slot(scene.now, every)),
            run,
        }))
    }
}

/// The first minute from now on that is a multiple on a clock in Kathmandu, which is ahead by five hours and three quarters.
fn first_slot(now: Timestamp, every: i64) -> Timestamp {
    let minutes = minute(now).0 / MINUTE.0 + 1;
    let left = (minutes + 45).rem_euclid(every);
    Timestamp((minutes + if left == 0 { 0 } else { every - left }) * MINUTE.0)
}

fn fire_again(scene: &mut Scene, schedule: ScheduleId) -> ScheduleCommand {
    let slot = minute(scene.now) - Millis(MINUTE.0 * scene.dice.between(0, 3));
    ScheduleCommand::Fire { schedule, slot, next_at: Some(slot + MINUTE) }
}

fn skip_again(scene: &mut Scene, schedule: ScheduleId) -> ScheduleCommand {
    ScheduleCommand::Skip { schedule, next_at: Some(minute(scene.now)) }
}

fn minute(at: Timestamp) -> Timestamp {
    Timestamp(at.0.div_euclid(MINUTE.0) * MINUTE.0)
}

const MINUTE: Millis = Millis::from_secs(60);
/// At once; each makes a run every few minutes.
const SCHEDULES_MAX: usize = 2;
