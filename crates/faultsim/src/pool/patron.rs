//! People who hand in jobs, owners who steer their workers, and admins.

mod wire;

use super::{
    rig::{MEMORY, REGIONS},
    wire::PAYLOAD,
};
use crate::{
    checker::{Verdict, ensure},
    client::Duty,
    message::Answer,
    scene::{Happening, Scene},
};
use muster_model::{
    Demand, Digest, Millis, PoolCommand, PoolJobDraft, PoolJobId, PoolSubmission, PoolWorkerRecord, Quality,
    Scale, Specs, SubmissionKey, UserId,
};
use std::collections::BTreeMap;
pub(crate) use wire::respond;
use wire::{PRIORITY_MAX, ids_of, send};

/// All of these people.
#[derive(Default)]
pub(crate) struct Patron {
    orders: Vec<PoolSubmission>,
    /// Those that were not handed in yet.
    unsent: usize,
    /// The jobs of each order, as the first response named them.
    taken: BTreeMap<usize, Vec<u64>>,
    submitting: BTreeMap<u64, usize>,
    cancelling: BTreeMap<u64, Cancellation>,
    /// True if everything was put in order: whatever was under way before has arrived.
    is_in_order: bool,
}

/// A job that is to be cancelled, for its client or (`None`) by an admin.
#[derive(Clone, Copy, Debug)]
struct Cancellation {
    job: PoolJobId,
    client: Option<UserId>,
}

/// The pool as people see it.
pub(crate) struct PoolView {
    pub(crate) workers: Vec<PoolWorkerRecord>,
    /// True if some job has not ended.
    pub(crate) is_open: bool,
}

impl Patron {
    pub(crate) fn begin(&mut self, scene: &mut Scene) {
        let Some(orders) = scene.plan.pool.as_ref().map(|plan| plan.orders) else {
            return;
        };
        self.unsent = orders;
        for n in 0..orders {
            self.orders.push(order(n, scene));
            scene.within(0, 30_000, Happening::Patron(Duty::Submit(n)));
        }
        scene.within(1_000, 8_000, Happening::Patron(Duty::Operate));
    }

    pub(crate) fn act(&mut self, duty: Duty, scene: &mut Scene) {
        match duty {
            Duty::Submit(n) => {
                self.unsent -= 1;
                self.submit(n, scene);
            }
            Duty::Operate if scene.calm => {}
            Duty::Operate => {
                self.operate(scene);
                scene.within(300, 5_000, Happening::Patron(Duty::Operate));
            }
            Duty::PutInOrder => {
                self.is_in_order = true;
                let view = &scene.checker.pool.view();
                put_in_order(scene, view);
                if view.is_open {
                    scene.within(5_000, 15_000, Happening::Patron(Duty::PutInOrder));
                }
            }
            Duty::GiveUp(exchange) => self.give_up(exchange, scene),
        }
    }

    /// Reads the response to a request. One that is not final is as good as none: the request is sent again.
    pub(crate) fn hear(&mut self, exchange: u64, answer: &Answer) -> Verdict {
        if !answer.is_final() {
            return Ok(());
        }
        self.cancelling.remove(&exchange);
        match self.submitting.remove(&exchange) {
            Some(n) if answer.is_done() => self.note_taken(n, answer),
            _ => Ok(()),
        }
    }

    /// P13: a repeat is answered as the first was.
    fn note_taken(&mut self, n: usize, answer: &Answer) -> Verdict {
        let ids = ids_of(answer);
        let first = self.taken.entry(n).or_insert_with(|| ids.clone());
        ensure(*first == ids && ids.len() == self.orders[n].jobs.len(), "repeat_answered_otherwise", || {
            format!("{answer:?} after {first:?}")
        })
    }

    /// Number of jobs that were ever requested.
    pub(crate) fn jobs(&self) -> usize {
        self.orders.iter().map(|order| order.jobs.len()).sum()
    }

    /// True if everything that will be handed in has been.
    pub(crate) fn is_quiet(&self) -> bool {
        self.unsent == 0 && self.submitting.is_empty() && self.cancelling.is_empty()
    }

    /// True if, after the faults, nothing of before is under way any more.
    pub(crate) fn is_in_order(&self) -> bool {
        self.is_in_order
    }

    pub(crate) fn unrest(&self) -> String {
        format!("submitting {:?}, cancelling {:?}", self.submitting, self.cancelling)
    }

    /// Handles a timeout. A client without a key does not retry, because it cannot know if that is safe.
    fn give_up(&mut self, exchange: u64, scene: &mut Scene) {
        if let Some(n) = self.submitting.remove(&exchange) {
            if self.orders[n].key.is_some() {
                self.submit(n, scene);
            }
        } else if let Some(cancellation) = self.cancelling.remove(&exchange) {
            self.cancel(cancellation, scene);
        }
    }

    fn submit(&mut self, n: usize, scene: &mut Scene) {
        let order = PoolCommand::Submit(Box::new(self.orders[n].clone()));
        if self.orders[n].key.is_some() && scene.dice.chance(150) {
            // A user pressed the button twice.
            send(&order, scene);
        }
        let Some(ticket) = send(&order, scene) else { return };
        self.submitting.insert(ticket.exchange, n);
        scene.within(2_000, 6_000, Happening::Patron(Duty::GiveUp(ticket.exchange)));
    }

    fn cancel(&mut self, cancellation: Cancellation, scene: &mut Scene) {
        scene.count("cancel of a pool job asked");
        let Cancellation { job, client } = cancellation;
        let Some(ticket) = send(&PoolCommand::Cancel { job, client }, scene) else { return };
        self.cancelling.insert(ticket.exchange, cancellation);
        scene.within(2_000, 6_000, Happening::Patron(Duty::GiveUp(ticket.exchange)));
    }
}

/// Lifts whatever would keep jobs from ending once the faults have stopped.
fn put_in_order(scene: &mut Scene, view: &PoolView) {
    for row in &view.workers {
        let worker = row.id;
        if row.ban_reason.is_some() {
            send(&PoolCommand::Unban { worker, reason: "forgiven".into() }, scene);
        }
        if row.draining {
            send(&PoolCommand::Drain { worker, owner: None, draining: false }, scene);
        }
    }
}

/// Jobs that somebody wants, one or several at once.
fn order(n: usize, scene: &mut Scene) -> PoolSubmission {
    let clients = scene.plan.pool.as_ref().map_or(1, |plan| plan.clients);
    let key = scene.dice.chance(600).then(|| format!("pool-order-{n}"));
    let client = UserId(FIRST_CLIENT + scene.dice.below(clients) as u64);
    let count = if scene.dice.chance(400) { 1 } else { scene.dice.between(2, 6) };
    let key = key.map(|key| SubmissionKey::new(&key).expect("a plain key"));
    let jobs = (0..count).map(|_| draft(scene)).collect();
    PoolSubmission { client, key, digest: Digest(0), jobs }
}

fn draft(scene: &mut Scene) -> PoolJobDraft {
    let (redundancies, redundant, limited) = scene
        .plan
        .pool
        .as_ref()
        .map_or((&[2u8][..], 0, 0), |plan| (plan.redundancies, plan.redundant, plan.limited));
    let dice = &mut scene.dice;
    let region = match dice.below(12) {
        0..2 => Some(REGIONS[0]),
        2 => Some(REGIONS[1]),
        3 if dice.chance(200) => Some("nowhere"),
        _ => None,
    };
    let memory = dice.chance(250).then(|| dice.pick(&[8.0, 24.0]).copied().unwrap_or(8.0));
    let requires_json = memory.map(|memory| format!("{{\"{MEMORY}\":{memory:?}}}").into());
    let memory = memory.map(|memory| (MEMORY.into(), Quality::Amount(Scale::new(memory))));
    let redundancy = if dice.chance(redundant) { dice.pick(redundancies).copied().unwrap_or(2) } else { 1 };
    // Fewer attempts than workers are refused (P15).
    let attempts = dice.chance(300).then(|| dice.between(1, 5).max(redundancy.into()));
    PoolJobDraft {
        payload: PAYLOAD.into(),
        priority: dice.pick(&[0, 0, 50, 100]).copied().unwrap_or(0),
        demand: Demand { region: region.map(Box::from), requires: Specs::new(memory.into_iter().collect()) },
        requires_json,
        max_attempts: attempts.and_then(|attempts| u8::try_from(attempts).ok()),
        timeout: dice.chance(limited).then(|| Millis(1_000 * dice.between(2, 30))),
        verify_output_hash: dice.chance(300),
        redundancy,
    }
}

const FIRST_CLIENT: u64 = 100;

impl Patron {
    /// Does one thing, drawn by chance.
    fn operate(&mut self, scene: &mut Scene) {
        let view = &scene.checker.pool.view();
        let row = scene.dice.pick(&view.workers);
        let command = match (scene.dice.below(20), row) {
            (0..6, _) => return self.order_more(scene),
            (6..8, _) => return self.cancel_one(scene),
            (8..10, _) => self.order_again(scene),
            (10, Some(row)) => {
                // A request without a reason is refused.
                let reason = if scene.dice.chance(100) { "" } else { "odd" };
                Some(PoolCommand::Ban { worker: row.id, reason: reason.into() })
            }
            (11..14, Some(row)) => Some(PoolCommand::Unban { worker: row.id, reason: "well".into() }),
            (14..16, Some(row)) => Some(drain(row, true, scene)),
            (16..19, Some(row)) => Some(drain(row, false, scene)),
            _ => None,
        };
        if let Some(command) = command {
            send(&command, scene);
        }
    }

    /// A long world needs more jobs than it was planned with.
    fn order_more(&mut self, scene: &mut Scene) {
        let n = self.orders.len();
        if n < ORDERS_MAX {
            self.orders.push(order(n, scene));
            self.submit(n, scene);
        }
    }

    /// Submits an existing order again, perhaps with another body, or with a priority that is none.
    fn order_again(&self, scene: &mut Scene) -> Option<PoolCommand> {
        let mut order = scene.dice.pick(&self.orders).filter(|order| order.key.is_some())?.clone();
        if scene.dice.chance(400) {
            order.jobs[0].payload = "{}".into();
        }
        if scene.dice.chance(100) {
            order.jobs[0].priority = PRIORITY_MAX + 1;
        }
        Some(PoolCommand::Submit(Box::new(order)))
    }

    /// By its client, by an admin, or by somebody whose it is not.
    fn cancel_one(&mut self, scene: &mut Scene) {
        let of_order = |(n, ids): (&usize, &Vec<u64>)| {
            let client = self.orders[*n].client;
            ids.iter().map(|id| (PoolJobId(*id), client)).collect::<Vec<_>>()
        };
        let jobs: Vec<(PoolJobId, UserId)> = self.taken.iter().flat_map(of_order).collect();
        let Some((job, client)) = scene.dice.pick(&jobs).copied() else { return };
        let client = match scene.dice.below(10) {
            0..2 => None,
            2 => Some(UserId(1)),
            _ => Some(client),
        };
        self.cancel(Cancellation { job, client }, scene);
    }
}

/// By its owner, by an admin, or by somebody whose it is not.
fn drain(row: &PoolWorkerRecord, draining: bool, scene: &mut Scene) -> PoolCommand {
    let owner = match scene.dice.below(10) {
        0..2 => None,
        2 => Some(UserId(1)),
        _ => Some(row.owner),
    };
    PoolCommand::Drain { worker: row.id, owner, draining }
}

/// Submissions that one world may have.
const ORDERS_MAX: usize = 14;
