//! What leaves for the coordinator, and what comes back.

use super::{Chore, Real, translate};
use crate::{
    checker::{Verdict, broken},
    network::Ticket,
    pool::PATIENCE_MS,
    scene::Scene,
};
use muster_model::{Millis, PoolCommand, PoolWorkerId, Reply};
use muster_workers::pool::core::{Action, Trouble};

/// A request under way.
pub(super) struct Asked {
    pub(super) ticket: Ticket,
    about: About,
}

/// What it is about, by the core's numbers.
#[derive(Clone, Copy)]
enum About {
    Register(u64),
    Key(u64),
    Beat(u64),
    Resume(u64),
    Poll(u64),
    Result(u64),
}

/// What came back of it.
pub(super) type Answer = Result<Reply, Trouble>;

impl Real {
    /// Sends what the core wants sent.
    pub(super) fn send(&mut self, action: Action, scene: &mut Scene) -> Verdict {
        let owner = self.rig.owner;
        let (about, command, wait) = match action {
            Action::Register(number) => {
                let key = self.settings.next_key.as_deref().unwrap_or(&self.settings.key);
                (About::Register(number), self.rig.registration(key.into()), None)
            }
            Action::GiveKey { number, worker, key } => {
                self.disk.sync_acks();
                let (worker, public_key) = (PoolWorkerId(worker), Box::from(&*key));
                (About::Key(number), PoolCommand::SetKey { worker, owner, public_key }, None)
            }
            Action::Beat { number, worker } => {
                (About::Beat(number), PoolCommand::Beat { worker: PoolWorkerId(worker), owner }, None)
            }
            Action::Resume { number, worker, .. } => {
                (About::Resume(number), PoolCommand::Resume { worker: PoolWorkerId(worker), owner }, None)
            }
            Action::Poll { number, worker, wait } => {
                let worker = PoolWorkerId(worker);
                let command = PoolCommand::Poll { worker, owner, start: true, supply: true };
                (About::Poll(number), command, Some(wait))
            }
            Action::Submit(entry) => {
                let (Some(result), Some(worker)) = (self.disk.read(entry), self.disk.worker_of(entry)) else {
                    return broken("sent_before_durable", || format!("{}: {entry}", self.rig.name));
                };
                (About::Result(entry), PoolCommand::HandIn { worker, owner, result }, None)
            }
            other => return broken("worker_speaks_strangely", || format!("{other:?} is no call")),
        };
        let ticket = self.rig.ask(scene, command, wait);
        self.await_answer(ticket, (about, wait), scene);
        Ok(())
    }

    pub(super) fn answered(&mut self, ticket: &Ticket, answer: Answer, scene: &Scene) {
        if let Some(asked) = self.life().asked.remove(&ticket.exchange) {
            self.tell(asked.about, answer, scene);
        }
    }

    /// No answer came in time.
    pub(super) fn give_up(&mut self, exchange: u64, scene: &mut Scene) {
        if let Some(asked) = self.life().asked.remove(&exchange) {
            asked.ticket.broken.set(scene.dice.chance(700));
            self.tell(asked.about, Err(translate::nobody(None)), scene);
        }
    }

    /// Nobody waits for the answer to this poll any more.
    pub(super) fn take_back(&mut self, number: u64) {
        let is_it = |asked: &Asked| matches!(asked.about, About::Poll(poll) if poll == number);
        let gone = self.life().asked.extract_if(.., |_, asked| is_it(asked));
        gone.for_each(|(_, asked)| asked.ticket.broken.set(true));
    }

    /// What is asked beside the coordinator is answered, or is not.
    pub(super) fn chance(&self, scene: &mut Scene) -> Result<(), Trouble> {
        let is_lost = !scene.calm && scene.dice.chance(scene.plan.lost);
        if is_lost { Err(translate::nobody(None)) } else { Ok(()) }
    }

    fn tell(&mut self, about: About, answer: Answer, scene: &Scene) {
        let now = scene.now;
        let core = &mut self.life().core;
        match about {
            About::Register(number) => core.registered(number, answer.map(translate::registered), now),
            About::Key(number) => core.key_given(number, answer.map(drop), now),
            About::Beat(number) => core.beaten(number, answer.map(|_| None), now),
            About::Resume(number) => core.resumed(number, answer.map(translate::started), now),
            About::Poll(number) => core.polled(number, answer.map(translate::polled), now),
            About::Result(entry) => core.submitted(entry, translate::submitted(answer), now),
        }
    }

    fn await_answer(&mut self, ticket: Ticket, (about, wait): (About, Option<Millis>), scene: &mut Scene) {
        let waits = wait.map_or(0, |wait| wait.0);
        let patience = (waits + PATIENCE_MS.0, waits + PATIENCE_MS.1);
        self.rig.plan(scene, patience, Chore::GiveUp(ticket.exchange));
        self.life().asked.insert(ticket.exchange, Asked { ticket, about });
    }
}
