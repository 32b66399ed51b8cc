//! Clients that submit and cancel runs, and operators who turn the knobs.

mod operate;

use crate::{
    network::{Sender, Ticket},
    plan::{LABELS, Plan, QUEUES, name},
    scene::{Happening, Scene},
};
use muster_model::{
    Command, Digest, JobId, JobPayload, JobReply, Labels, Name, Rejection, Reply, Scope, Submission,
    SubmissionKey,
};
use std::collections::BTreeMap;

/// What people do.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Chore {
    /// Submit the nth run.
    Submit(usize),
    /// Turn some knob.
    Operate,
    /// Lift whatever would keep runs from ending.
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
    jobs: Vec<JobId>,
}

impl Clients {
    pub(crate) fn begin(&mut self, scene: &mut Scene, devices: &[Name]) {
        for n in 0..scene.plan.jobs {
            let order = Order::draw(n, scene, devices);
            self.orders.push(order);
            scene.within(0, 60_000, Happening::Client(Chore::Submit(n)));
        }
        scene.within(1_000, 10_000, Happening::Client(Chore::Operate));
    }

    pub(crate) fn act(&mut self, chore: Chore, scene: &mut Scene, fleet: &Fleet<'_>) {
        match chore {
            Chore::Submit(n) => self.submit(n, scene),
            Chore::PutInOrder => self.put_in_order(scene, fleet),
            Chore::GiveUp(exchange) => self.give_up(exchange, scene),
            Chore::Operate if !scene.calm => {
                self.operate(scene, fleet);
                scene.within(500, 10_000, Happening::Client(Chore::Operate));
            }
            Chore::Operate => {}
        }
    }

    pub(crate) fn hear(&mut self, ticket: &Ticket, result: &Result<Reply, Rejection>) {
        self.cancelling.remove(&ticket.exchange);
        let submitted = self.submitting.remove(&ticket.exchange);
        if let (Some(_), Ok(Reply::Job(JobReply { job, .. }))) = (submitted, result) {
            self.jobs.push(*job);
        }
    }

    /// How many runs were ever wanted.
    pub(crate) fn orders(&self) -> usize {
        self.orders.len()
    }

    /// Whether everything that will be submitted has been.
    pub(crate) fn is_quiet(&self) -> bool {
        self.submitting.is_empty() && self.cancelling.is_empty()
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
        }
    }

    fn submit(&mut self, n: usize, scene: &mut Scene) {
        let command = self.orders[n].command();
        let ticket = scene.ask(Sender::Client, command, None);
        self.submitting.insert(ticket.exchange, n);
        scene.within(2_000, 6_000, Happening::Client(Chore::GiveUp(ticket.exchange)));
    }

    fn cancel(&mut self, job: JobId, scene: &mut Scene) {
        scene.count("cancel asked");
        let ticket = scene.ask(Sender::Client, Command::Cancel { job }, None);
        self.cancelling.insert(ticket.exchange, job);
        scene.within(2_000, 6_000, Happening::Client(Chore::GiveUp(ticket.exchange)));
    }
}

/// What people can see of the fleet.
pub(crate) struct Fleet<'a> {
    pub(crate) workers: Vec<&'a Name>,
    pub(crate) lanes: Vec<&'a Name>,
    pub(crate) failed: Vec<&'a Name>,
    pub(crate) running: Vec<muster_model::TaskId>,
    pub(crate) schedules: Vec<muster_model::ScheduleId>,
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
                title: None,
                workflow: "w".into(),
                params: "{}".into(),
                timeout: None,
                schedule: None,
            },
        })
    }

    /// What is submitted, by whomever.
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
            Scope::Devices(chosen.cloned().chain([name("no-such-device")]).collect())
        }
        _ => Scope::Labels(label(scene)),
    }
}
