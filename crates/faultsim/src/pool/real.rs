//! A machine that runs muster's own worker of the pool: the real core. Its wire, disk, programs and clock are played.

mod disk;

use super::{
    rig::{Content, Rig, key_of_text},
    wire,
};
use crate::{
    checker::{Verdict, broken},
    machine::{self, Calls, Machine, PATIENCE_MS, Program, patience},
    network::Ticket,
    scene::Scene,
};
use disk::Disk;
use muster_agent::Text;
use muster_contract_pool::{Seen, WorkerSummary, refusal::is_identical};
use muster_model::{AssignmentId, Millis, PoolCommand, PoolResult, PoolWork, PoolWorkerId, Rejection, Reply};
use muster_worker_kit::call::{self, understand_whole};
use muster_workers::pool::{
    core::{Action, Core, End, Outcome, Over, Refusal, Settings, Trouble, Work},
    wire::{
        Introduction, read_assignment, read_started, understand_batch, understand_submitted, write_batch,
        write_poll, write_resume,
    },
};
use std::{collections::BTreeMap, sync::Arc};

/// Actions of the worker itself, and messages from its surroundings.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Chore {
    /// The core wants to be woken.
    Wake,
    /// A login or a renewal is answered.
    Admit(u64),
    /// The list of the owner's workers is answered.
    List(u64),
    /// The next key is in the place of the old one.
    Replace(u64),
    /// A work is over.
    Done(u64),
    /// A work that was killed is over.
    Killed(u64),
    /// A result is on the disk.
    Stored(u64),
    /// No answer came to this exchange.
    GiveUp(u64),
}

/// The machine.
pub(crate) struct Real {
    machine: Machine,
    rig: Rig,
    settings: Settings,
    disk: Disk,
    life: Option<Life>,
}

/// State that a crash destroys.
struct Life {
    core: Core,
    calls: Calls<About>,
    /// Assignments in execution, by the number of the work.
    works: BTreeMap<u64, u64>,
}

impl Real {
    pub(super) fn new(rig: Rig, scene: &mut Scene) -> Self {
        let key = |n| Text::from(&*rig.key(n));
        let settings = Settings {
            name: rig.name.as_str().into(),
            slots: rig.slots,
            heartbeat: Millis(scene.plan.settings.pool.offline_after.0 / 3),
            poll_wait: Millis(scene.dice.between(500, 15_000)),
            grace: Millis(scene.dice.between(500, 10_000)),
            can_log_in: scene.dice.chance(700),
            key: key(0),
            next_key: None,
        };
        Self { machine: Machine::new(rig.place()), rig, settings, disk: Disk::default(), life: None }
    }

    /// Does what the core wants done, until it wants nothing more.
    fn follow(&mut self, scene: &mut Scene) -> Verdict {
        while let Some(action) = self.life.as_mut().and_then(|life| life.core.next_action()) {
            self.carry_out(action, scene)?;
        }
        let Some(life) = &self.life else { return Ok(()) };
        let Some(over) = life.core.over() else {
            return self.machine.plan_wake(life.core.next_wake(), Chore::Wake, scene);
        };
        if *over != Over::Left {
            return broken("pool_worker_gives_up", || format!("{}: {over:?}", self.rig.name));
        }
        scene.count("member ends");
        self.crash(scene);
        self.machine.plan_restart(scene, 500..=10_000);
        Ok(())
    }

    fn carry_out(&mut self, action: Action, scene: &mut Scene) -> Verdict {
        match action {
            Action::LogIn(number) | Action::Renew(number) => {
                self.machine.plan(scene, 5..=50, Chore::Admit(number))
            }
            Action::List(number) => self.machine.plan(scene, 5..=200, Chore::List(number)),
            Action::ReplaceKey(number) => self.machine.plan(scene, 1..=50, Chore::Replace(number)),
            Action::Begin(work) => return self.begin_work(&work, scene),
            Action::Kill(work) => self.machine.plan(scene, 5..=2_000, Chore::Killed(work)),
            Action::Store(submission) => {
                let entry = submission.entry;
                self.disk.write(&submission, &self.settings.key);
                self.machine.plan(scene, 1..=100, Chore::Stored(entry));
            }
            Action::Ack(entry) => self.disk.ack(entry),
            Action::SetAside { entry, .. } => {
                scene.count("result set aside");
                self.disk.set_aside(entry);
            }
            Action::TakeBack(number) => self.take_back(number),
            Action::Note(_) => {}
            call => return self.send(call, scene),
        }
        Ok(())
    }

    /// P16: an assignment is not executed beside itself, nor again once its result is on disk.
    fn begin_work(&mut self, work: &Work, scene: &mut Scene) -> Verdict {
        let assignment = work.assignment.id;
        if self.disk.holds(assignment) || self.life().works.values().any(|other| *other == assignment) {
            return broken("assignment_executed_again", || format!("{}: {work:?}", self.rig.name));
        }
        self.life().works.insert(work.number, assignment);
        if self.life().works.len() > self.rig.slots as usize {
            return broken("more_works_than_slots", || format!("{}: {work:?}", self.rig.name));
        }
        let span = scene.plan.pool.as_ref().map_or(200..=2_000, |plan| plan.work_ms.clone());
        self.machine.plan(scene, span, Chore::Done(work.number));
        Ok(())
    }

    fn finish(&mut self, work: u64, scene: &mut Scene) {
        let fails = scene.plan.pool.as_ref().map_or(0, |plan| plan.fails);
        let has_failed = !scene.calm && scene.dice.chance(fails);
        if let Some(assignment) = self.life().works.remove(&work) {
            let truth = Content::truth(AssignmentId(assignment).job()).output.unwrap_or_default();
            let outcome = match has_failed {
                true => Outcome::Error("it broke".into()),
                false => Outcome::Output(Text::from(truth)),
            };
            self.life().core.ended(work, End::Done(outcome), scene.now);
        }
    }

    fn life(&mut self) -> &mut Life {
        self.life.as_mut().expect("only a worker that is up acts")
    }
}

/// The subject of a request, by the core's numbers.
enum About {
    Register(u64),
    Key(u64),
    Beat(u64),
    Resume(u64),
    Poll(u64),
    Result { entry: u64, assignment: u64 },
    Batch { entries: Vec<u64>, assignments: Vec<u64> },
}

/// A response as the worker's HTTP client understands it.
struct Understood {
    body: Result<Vec<u8>, Trouble>,
    /// The header `Muster-Identical` (P8).
    is_identical: bool,
}

/// No response, or one that asks to try again later.
const fn no_answer(patience: Option<Millis>) -> Understood {
    Understood { body: Err(Trouble::NoAnswer(patience)), is_identical: false }
}

/// Phrases a reply as the server does, and understands the response as the worker does.
fn read(ticket: &Ticket, result: &Result<Reply, Rejection>, scene: &mut Scene) -> Understood {
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
    fn send(&mut self, action: Action, scene: &mut Scene) -> Verdict {
        let owner = self.rig.owner;
        let mut waits = None;
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
                waits = Some(wait);
                let id = PoolWorkerId(worker);
                let said = PoolCommand::Poll { worker: id, owner, start: true, supply: true };
                (About::Poll(number), said, write_poll(worker, wait))
            }
            Action::SubmitBatch { worker, entries } => return self.send_batch(worker, entries, scene),
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
        self.machine.plan(scene, patience(PATIENCE_MS, waits), Chore::GiveUp(ticket.exchange));
        self.life().calls.insert(ticket, about);
        Ok(())
    }

    /// Submits results under one signature, by the key that the worker has now; a server of an older version refuses that.
    fn send_batch(&mut self, worker: u64, entries: Vec<u64>, scene: &mut Scene) -> Verdict {
        if scene.dice.chance(100) {
            scene.count("batch refused by an older version");
            let refusal = Refusal { status: 422, detail: "body.submit.0.signature: Field required".into() };
            self.life().core.submitted_batch(&entries, Err(Trouble::Refused(refusal)), scene.now);
            return Ok(());
        }
        let spooled: Option<Vec<_>> = entries.iter().map(|entry| self.disk.read(*entry)).collect();
        let Some(spooled) = spooled else {
            return broken("sent_before_durable", || format!("{}: {entries:?}", self.rig.name));
        };
        let public_key = Box::<str>::from(&*self.settings.key);
        let signed = |result: &PoolResult| PoolResult { public_key: public_key.clone(), ..result.clone() };
        let results = spooled.iter().map(|spooled| Arc::new(signed(&spooled.result))).collect();
        let assignments = spooled.iter().map(|spooled| spooled.result.assignment.0).collect();
        let bodies: Vec<&[u8]> = spooled.iter().map(|spooled| &*spooled.body).collect();
        let key = key_of_text(&public_key).expect("a worker signs with a key of its own");
        let body = write_batch(worker, &bodies, &key.pair).expect("a worker reads what it wrote");
        scene.count("batch of muster's own worker");
        let (worker, owner) = (PoolWorkerId(worker), self.rig.owner);
        let work = PoolWork { worker, owner, results, max: 0, start: false, supply: false };
        let ticket = self.rig.ask_with(scene, PoolCommand::Work(Box::new(work)), &body);
        self.machine.plan(scene, PATIENCE_MS, Chore::GiveUp(ticket.exchange));
        self.life().calls.insert(ticket, About::Batch { entries, assignments });
        Ok(())
    }

    fn introduction(&self) -> Introduction {
        let specs = serde_json::from_str(&self.rig.specs_json()).expect("specs are an object");
        Introduction { name: self.rig.name.as_str().into(), region: self.rig.region.map(Into::into), specs }
    }

    fn answered(&mut self, ticket: &Ticket, answer: Understood, scene: &mut Scene) -> Verdict {
        if let Some(about) = self.life().calls.remove(ticket.exchange) {
            self.tell(about, answer, scene);
        }
        self.follow(scene)
    }

    /// No answer came in time.
    fn give_up(&mut self, exchange: u64, scene: &mut Scene) {
        if let Some(about) = self.life().calls.give_up(exchange, scene) {
            self.tell(about, no_answer(None), scene);
        }
    }

    /// Gives up waiting for the response to this poll.
    fn take_back(&mut self, number: u64) {
        self.life().calls.take_back(|about| matches!(about, About::Poll(poll) if *poll == number));
    }

    /// A call beside the coordinator is answered, or is not.
    fn chance(&self, scene: &mut Scene) -> Result<(), Trouble> {
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
            About::Batch { entries, assignments } => {
                core.submitted_batch(&entries, understand_batch(&assignments, body), now);
            }
        }
    }
}

impl Program for Real {
    fn machine(&self) -> &Machine {
        &self.machine
    }

    fn machine_mut(&mut self) -> &mut Machine {
        &mut self.machine
    }

    /// Starts on what the disk kept; now and then somebody has given it another key meanwhile.
    fn begin(&mut self, scene: &mut Scene) -> Verdict {
        self.machine.up = true;
        let (first, second) = (self.rig.key(0), self.rig.key(1));
        let may_change = *self.settings.key == *first && self.settings.next_key.is_none();
        if may_change && self.machine.incarnation > 0 && scene.dice.chance(300) {
            scene.count("key of muster's own worker changed");
            self.settings.next_key = Some(Text::from(&*second));
        }
        let spooled = self.disk.recover(scene);
        self.life = Some(Life {
            core: Core::new(self.settings.clone(), spooled, scene.now),
            calls: Calls::new(),
            works: BTreeMap::new(),
        });
        self.follow(scene)
    }

    fn crash(&mut self, scene: &mut Scene) {
        self.machine.go_down();
        self.life.take().into_iter().for_each(|life| life.calls.break_off(scene));
    }

    fn leave(&mut self, scene: &mut Scene) -> Verdict {
        scene.count("member leaves");
        self.life().core.leave(scene.now);
        self.follow(scene)
    }

    fn act(&mut self, chore: machine::Chore, scene: &mut Scene) -> Verdict {
        let machine::Chore::Member(chore) = chore else { return Ok(()) };
        let now = scene.now;
        match chore {
            Chore::Wake if self.machine.must_wake(now) => self.life().core.wake(now),
            Chore::Wake => {}
            Chore::Admit(number) => {
                let lasts = Millis(scene.dice.between(5_000, 900_000));
                let answer = self.chance(scene).map(|()| Some(lasts));
                self.life().core.admitted(number, answer, now);
            }
            Chore::List(number) => {
                let owner = self.rig.owner;
                let answer = self.chance(scene).map(|()| {
                    wire::list_workers(scene.checker.pool.workers().filter(|row| row.owner == owner))
                });
                self.life().core.listed(number, answer, now);
            }
            Chore::Replace(number) => {
                self.settings.key = self.settings.next_key.take().unwrap_or(self.settings.key.clone());
                self.life().core.replaced(number, Ok(()), now);
            }
            Chore::Done(work) => self.finish(work, scene),
            Chore::Killed(work) => {
                if self.life().works.remove(&work).is_some() {
                    self.life().core.ended(work, End::Stopped, now);
                }
            }
            Chore::Stored(entry) => {
                self.disk.sync(entry);
                self.life().core.stored(entry, now);
            }
            Chore::GiveUp(exchange) => self.give_up(exchange, scene),
        }
        self.follow(scene)
    }

    fn hear(&mut self, ticket: &Ticket, result: Result<Reply, Rejection>, scene: &mut Scene) -> Verdict {
        let answer = read(ticket, &result, scene);
        self.answered(ticket, answer, scene)
    }

    fn turned_away(&mut self, ticket: &Ticket, scene: &mut Scene) -> Verdict {
        let patience = scene.dice.chance(300).then(|| Millis(scene.dice.between(1, 20_000)));
        self.answered(ticket, no_answer(patience), scene)
    }

    /// True if every result is where it belongs.
    fn is_quiet(&self) -> bool {
        self.machine.up
            && self.disk.is_empty()
            && self.life.as_ref().is_some_and(|life| life.works.is_empty())
    }

    fn unrest(&self) -> String {
        let status = self.life.as_ref().map_or("down".into(), |life| format!("{:?}", life.core.status()));
        format!("{status}, {:?}", self.disk)
    }
}
