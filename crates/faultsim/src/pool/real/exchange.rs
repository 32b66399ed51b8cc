//! Requests of the real worker core and their responses, as bytes.

use super::{Chore, Real};
use crate::{
    checker::{Verdict, broken},
    network::Ticket,
    pool::{PATIENCE_MS, wire},
    scene::Scene,
};
use muster_contract_pool::{Seen, WorkerSummary, refusal::is_identical};
use muster_model::{Millis, PoolCommand, PoolWorkerId, Rejection, Reply};
use muster_worker_kit::call::{self, understand_whole};
use muster_workers::pool::{
    core::{Action, Trouble},
    wire::{Introduction, read_assignment, read_started, understand_submitted, write_poll, write_resume},
};

/// A request whose response has not come.
pub(super) struct PendingCall {
    pub(super) ticket: Ticket,
    about: About,
}

/// The subject of a request, by the core's numbers.
#[derive(Clone, Copy)]
enum About {
    Register(u64),
    Key(u64),
    Beat(u64),
    Resume(u64),
    Poll(u64),
    Result { entry: u64, assignment: u64 },
}

/// A response as the worker's HTTP client understands it.
pub(super) struct Understood {
    body: Result<Vec<u8>, Trouble>,
    /// The header `Muster-Identical` (P8).
    is_identical: bool,
}

/// No response, or one that asks to try again later.
pub(super) const fn no_answer(patience: Option<Millis>) -> Understood {
    Understood { body: Err(Trouble::NoAnswer(patience)), is_identical: false }
}

/// Phrases a reply as the server does, and understands the response as the worker does.
pub(super) fn read(ticket: &Ticket, result: &Result<Reply, Rejection>, scene: &mut Scene) -> Understood {
    wire::hear(ticket, result, scene);
    let Some(response) = wire::respond(&ticket.command, result) else {
        return no_answer(None);
    };
    let is_identical = is_identical(response.status(), response.headers());
    let (parts, body) = response.into_parts();
    Understood { body: understand_whole(parts.status, &parts.headers, body), is_identical }
}

impl Real {
    /// Sends what the core wants sent.
    pub(super) fn send(&mut self, action: Action, scene: &mut Scene) -> Verdict {
        let owner = self.rig.owner;
        let mut waits = 0;
        let (about, said, body) = match action {
            Action::Register(number) => {
                let key = self.settings.next_key.as_deref().unwrap_or(&self.settings.key);
                let (said, body) = (self.rig.registration(key.into()), self.introduction().body(key));
                (About::Register(number), said, body)
            }
            Action::GiveKey { number, worker, key } => {
                self.disk.sync_acks();
                let said =
                    PoolCommand::SetKey { worker: PoolWorkerId(worker), owner, public_key: Box::from(&*key) };
                let body = wire::write(&said, None);
                (About::Key(number), said, body)
            }
            Action::Beat { number, worker } => {
                let said = PoolCommand::Beat { worker: PoolWorkerId(worker), owner };
                let body = wire::write(&said, None);
                (About::Beat(number), said, body)
            }
            Action::Resume { number, worker, .. } => {
                let said = PoolCommand::Resume { worker: PoolWorkerId(worker), owner };
                (About::Resume(number), said, write_resume(worker))
            }
            Action::Poll { number, worker, wait } => {
                waits = wait.0;
                let id = PoolWorkerId(worker);
                let said = PoolCommand::Poll { worker: id, owner, start: true, supply: true };
                (About::Poll(number), said, write_poll(worker, wait))
            }
            Action::Submit(entry) => {
                let Some(spooled) = self.disk.read(entry) else {
                    return broken("sent_before_durable", || format!("{}: {entry}", self.rig.name));
                };
                let (worker, result) = (spooled.worker, spooled.result.clone());
                let about = About::Result { entry, assignment: result.assignment.0 };
                (about, PoolCommand::HandIn { worker, owner, result }, spooled.body.clone())
            }
            other => return broken("worker_speaks_strangely", || format!("{other:?} is no call")),
        };
        let ticket = self.rig.ask_with(scene, said, &body);
        self.rig.plan(scene, (waits + PATIENCE_MS.0, waits + PATIENCE_MS.1), Chore::GiveUp(ticket.exchange));
        self.life().pending.insert(ticket.exchange, PendingCall { ticket, about });
        Ok(())
    }

    fn introduction(&self) -> Introduction {
        let specs = serde_json::from_str(&self.rig.specs_json()).expect("specs are an object");
        Introduction { name: self.rig.name.as_str().into(), region: self.rig.region.map(Into::into), specs }
    }

    pub(super) fn answered(&mut self, ticket: &Ticket, answer: Understood, scene: &Scene) {
        if let Some(call) = self.life().pending.remove(&ticket.exchange) {
            self.tell(call.about, answer, scene);
        }
    }

    /// No answer came in time.
    pub(super) fn give_up(&mut self, exchange: u64, scene: &mut Scene) {
        if let Some(call) = self.life().pending.remove(&exchange) {
            call.ticket.broken.set(scene.dice.chance(700));
            self.tell(call.about, no_answer(None), scene);
        }
    }

    /// Nobody waits for the answer to this poll any more.
    pub(super) fn take_back(&mut self, number: u64) {
        let is_it = |call: &PendingCall| matches!(call.about, About::Poll(poll) if poll == number);
        let gone = self.life().pending.extract_if(.., |_, call| is_it(call));
        gone.for_each(|(_, call)| call.ticket.broken.set(true));
    }

    /// A call beside the coordinator is answered, or is not.
    pub(super) fn chance(&self, scene: &mut Scene) -> Result<(), Trouble> {
        let is_lost = !scene.calm && scene.dice.chance(scene.plan.lost);
        if is_lost { Err(Trouble::NoAnswer(None)) } else { Ok(()) }
    }

    fn tell(&mut self, about: About, answer: Understood, scene: &Scene) {
        let now = scene.now;
        let core = &mut self.life().core;
        let Understood { body, is_identical } = answer;
        match about {
            About::Register(number) => {
                let worker = |body: &[u8]| WorkerSummary::read(body, false);
                core.registered(number, body.and_then(|body| call::read(&body, worker)), now);
            }
            About::Key(number) => core.key_given(number, body.map(drop), now),
            About::Beat(number) => {
                let seen = |body: &[u8]| Seen::read(body, false);
                core.beaten(number, body.and_then(|body| call::read(&body, seen)), now);
            }
            About::Resume(number) => {
                core.resumed(number, body.and_then(|body| call::read(&body, read_started)), now);
            }
            About::Poll(number) => {
                let assignment = body.and_then(|body| call::read(&body, read_assignment));
                core.polled(number, assignment.map(Some), now);
            }
            About::Result { entry, assignment } => {
                core.submitted(entry, understand_submitted(assignment, body, is_identical), now);
            }
        }
    }
}
