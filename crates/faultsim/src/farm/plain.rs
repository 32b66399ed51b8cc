//! A plain model of a worker that is none of muster's own: it goes its rounds, and now and then it misbehaves.

mod work;

use super::{
    Renderer,
    rig::Rig,
    wire::{self, Content},
};
use crate::{
    checker::{Broken, Verdict, broken},
    machine::{self, Machine, PATIENCE_MS, Program},
    network::Ticket,
    scene::Scene,
};
use muster_contract_simulation::{HeartbeatResponse, Order, Task};
use muster_model::{Completion, FrameCommand, Heartbeat, Held, Millis, Ratio, Rejection, Reply};
use muster_problem::Problem;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use work::Work;

/// Actions of the worker itself. Actions of an earlier registration are skipped.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Chore {
    /// Enrol.
    Register,
    /// Show that it lives.
    Beat(u32),
    /// Ask for a task.
    Ask(u32),
    /// The work with this number gets further.
    Advance(u64),
    /// Hand in what is over long since, or another's.
    Relapse,
    /// No answer came to this exchange.
    GiveUp(u64),
}

/// The model.
pub(crate) struct Plain {
    machine: Machine,
    rig: Rig,
    /// True if it believes to be known.
    bound: bool,
    /// Counts its registrations.
    round: u32,
    epoch: u64,
    paused: bool,
    /// It was told to stand still because its queue is full (S10).
    is_slowed: bool,
    works: BTreeMap<u64, Work>,
    /// The ids of all works that were ever taken in this life.
    seen: BTreeSet<u64>,
    /// Results of works that are over.
    past: VecDeque<Completion>,
    asking: Option<Ticket>,
    calls: BTreeMap<u64, Call>,
    next: u64,
}

/// A response: its content, or a refusal.
type Answer = Result<Content, Problem>;

/// A request under way.
enum Call {
    Register,
    Beat,
    Rebind,
    /// Result of a work; sent until it is answered.
    Result {
        work: u64,
        /// As it is; else what should not be said.
        honest: bool,
    },
    /// It does not care.
    Else,
}

impl Plain {
    pub(super) fn new(rig: Rig) -> Self {
        Self {
            machine: Machine::new(rig.place()),
            rig,
            bound: false,
            round: 0,
            epoch: 0,
            paused: false,
            is_slowed: false,
            works: BTreeMap::new(),
            seen: BTreeSet::new(),
            past: VecDeque::new(),
            asking: None,
            calls: BTreeMap::new(),
            next: 0,
        }
    }

    fn call(&mut self, command: FrameCommand, call: Call, scene: &mut Scene) {
        let ticket = self.rig.ask(scene, command, None);
        self.calls.insert(ticket.exchange, call);
        self.machine.plan(scene, PATIENCE_MS, Chore::GiveUp(ticket.exchange));
    }

    fn give_up(&mut self, exchange: u64, scene: &mut Scene) {
        if let Some(ticket) = self.asking.take_if(|asking| asking.exchange == exchange) {
            ticket.broken.set(scene.dice.chance(700));
            self.want_more(100..=2_000, scene);
        }
        match self.calls.remove(&exchange) {
            Some(Call::Register) => self.machine.plan(scene, 500..=3_000, Chore::Register),
            Some(Call::Rebind) => self.rebind(scene),
            Some(Call::Result { work, .. }) => self.tell(work, scene),
            _ => {}
        }
    }

    /// True if it does now what it should not.
    fn misbehaves(scene: &mut Scene) -> bool {
        let mischief = scene.plan.frames.as_ref().map_or(0, |plan| plan.mischief);
        !scene.calm && scene.dice.chance(mischief)
    }

    fn interval(scene: &Scene) -> Millis {
        scene.plan.settings.frames.heartbeat
    }

    fn holds(&self, task: &str) -> Vec<u64> {
        let is_it = |work: &Work| work.handout.task.to_string() == task;
        self.works.iter().filter(|(_, work)| is_it(work)).map(|(number, _)| *number).collect()
    }

    fn register(&mut self, scene: &mut Scene) {
        if self.calls.values().any(|call| matches!(call, Call::Register)) {
            return;
        }
        let ticket = self.rig.register(scene);
        self.calls.insert(ticket.exchange, Call::Register);
        self.machine.plan(scene, PATIENCE_MS, Chore::GiveUp(ticket.exchange));
    }

    fn registered(&mut self, ticket: &Ticket, answer: Answer, scene: &mut Scene) {
        let Ok(Content::Registered { epoch }) = answer else {
            scene.count("registration refused");
            return self.machine.plan(scene, 2_000..=8_000, Chore::Register);
        };
        self.rig.enrolled(ticket);
        self.epoch = epoch;
        (self.bound, self.paused, self.is_slowed) = (true, false, false);
        self.round += 1;
        self.machine.plan(scene, 0..=200, Chore::Beat(self.round));
        self.want_more(0..=300, scene);
    }

    fn beat(&mut self, scene: &mut Scene) {
        let heartbeat = self.heartbeat(scene);
        self.call(FrameCommand::Heartbeat(heartbeat), Call::Beat, scene);
        let interval = Self::interval(scene).0;
        self.machine.plan(scene, interval * 7 / 10..=interval, Chore::Beat(self.round));
    }

    fn beaten(&mut self, answer: Answer, scene: &mut Scene) {
        match answer {
            Ok(Content::Beat(beat)) => self.obey(beat, scene),
            Err(problem) if problem.status() == 404 => self.lose(scene),
            _ => {}
        }
    }

    /// Tells a new term what it is at (S19).
    fn rebind(&mut self, scene: &mut Scene) {
        let held = self.works.values().find(|work| !work.is_stolen).map(|work| Held {
            task: work.handout.task.clone(),
            attempt: work.handout.attempt,
            chunk: work.handout.ids.chunk,
        });
        let command = FrameCommand::Rebind { worker: self.rig.name.clone(), held };
        self.call(command, Call::Rebind, scene);
    }

    /// It is not what it believed to be: it enrols anew, and mostly lets go of what it is at.
    fn lose(&mut self, scene: &mut Scene) {
        self.bound = false;
        self.abandon_all(scene);
        self.machine.plan(scene, 0..=2_000, Chore::Register);
    }

    fn heartbeat(&self, scene: &mut Scene) -> Heartbeat {
        let queue = match scene.dice.below(100) {
            _ if scene.calm => 100_000,
            0..5 => 1_100_000,
            5..10 => scene.dice.between(850_000, 999_999),
            _ => scene.dice.between(0, 849_999),
        };
        let slow = !scene.calm && scene.dice.chance(30);
        Heartbeat {
            worker: self.rig.name.clone(),
            queue_ratio: Ratio(u32::try_from(queue).unwrap_or(0)),
            gpu_usage: None,
            last_frame: self.works.values().map(|work| work.processed).next(),
            error: !scene.calm && scene.dice.chance(30),
            rtt: Some(Millis(if slow { 700 } else { 30 })),
        }
    }

    fn obey(&mut self, beat: HeartbeatResponse, scene: &mut Scene) {
        self.epoch = self.epoch.max(beat.epoch.unwrap_or_default());
        self.is_slowed = beat.backpressure.is_some_and(|backpressure| backpressure.factor == Ratio(0));
        match beat.state.as_deref() {
            Some("zombie") if self.bound => {
                scene.count("zombie noticed");
                self.bound = Self::misbehaves(scene);
                self.abandon_all(scene);
                return self.machine.plan(scene, 3_000..=20_000, Chore::Register);
            }
            Some("Quarantined") => self.abandon_all(scene),
            _ => {}
        }
        for order in beat.commands {
            match order {
                Order::Rebind => self.rebind(scene),
                Order::Reregister => return self.lose(scene),
                Order::Pause => self.paused = true,
                Order::Resume => {
                    self.paused = false;
                    self.want_more(0..=500, scene);
                }
                Order::Stop(task) => {
                    scene.count("renderer told to stop");
                    for work in self.holds(&task) {
                        self.abandon(work, scene);
                    }
                }
            }
        }
    }
}

impl Program for Plain {
    fn machine(&self) -> &Machine {
        &self.machine
    }

    fn machine_mut(&mut self) -> &mut Machine {
        &mut self.machine
    }

    fn begin(&mut self, scene: &mut Scene) -> Verdict {
        self.machine.up = true;
        self.machine.plan(scene, 0..=1_000, Chore::Register);
        self.machine.plan(scene, 5_000..=20_000, Chore::Relapse);
        Ok(())
    }

    /// Loses everything; what it made is on its disk, and may be handed in later all the same.
    fn crash(&mut self, scene: &mut Scene) {
        self.machine.go_down();
        self.abandon_all(scene);
        self.works.clear();
        if let Some(ticket) = self.asking.take() {
            ticket.broken.set(scene.dice.chance(500));
        }
        (self.bound, self.paused, self.is_slowed, self.epoch) = (false, false, false, 0);
        self.calls.clear();
        self.seen.clear();
    }

    fn act(&mut self, chore: machine::Chore, scene: &mut Scene) -> Verdict {
        let machine::Chore::PlainRenderer(chore) = chore else { return Ok(()) };
        match chore {
            Chore::Register => self.register(scene),
            Chore::Beat(round) if round == self.round && self.bound => self.beat(scene),
            Chore::Ask(round) if round == self.round && self.bound => self.ask(scene),
            Chore::Beat(_) | Chore::Ask(_) => {}
            Chore::Advance(work) => self.advance(work, scene),
            Chore::Relapse => self.relapse(scene),
            Chore::GiveUp(exchange) => self.give_up(exchange, scene),
        }
        Ok(())
    }

    /// Reads a response; one that makes no sense is a fault of the server.
    fn hear(&mut self, ticket: &Ticket, result: Result<Reply, Rejection>, scene: &mut Scene) -> Verdict {
        let response = wire::respond(ticket, &result, scene)?;
        let answer = match response.map(|body| Content::read(&ticket.command, &body)) {
            Ok(Some(content)) => Ok(content),
            Ok(None) => {
                return broken("response_not_understood", || format!("the response to {:?}", ticket.command));
            }
            Err(problem) => Err(problem),
        };
        if self.asking.take_if(|asking| asking.exchange == ticket.exchange).is_some() {
            self.asked(answer, scene);
            return Ok(());
        }
        match (self.calls.remove(&ticket.exchange), answer) {
            (Some(Call::Register), answer) => self.registered(ticket, answer, scene),
            (Some(Call::Beat | Call::Rebind), answer) => self.beaten(answer, scene),
            (Some(Call::Result { work, honest: false }), answer) if !work::are_dropped(&answer) => {
                self.tell(work, scene);
            }
            (Some(Call::Result { work, .. }), answer) => self.told(work, answer, scene),
            _ => {}
        }
        Ok(())
    }

    /// Its token is another's now, or nobody's: it enrols anew.
    fn turned_out(&mut self, ticket: &Ticket, scene: &mut Scene) -> Verdict {
        self.asking.take_if(|asking| asking.exchange == ticket.exchange);
        self.calls.remove(&ticket.exchange);
        if self.bound && ticket.token == Some(self.rig.token) {
            self.lose(scene);
        }
        Ok(())
    }

    /// Takes its leave, and is back after a while; until then it may go on calling (S6).
    fn leave(&mut self, scene: &mut Scene) -> Verdict {
        scene.count("renderer leaves");
        let command = FrameCommand::Remove { worker: self.rig.name.clone(), itself: true };
        self.call(command, Call::Else, scene);
        self.abandon_all(scene);
        self.bound = scene.dice.chance(500);
        self.machine.plan(scene, 3_000..=20_000, Chore::Register);
        Ok(())
    }

    fn recover(&mut self, scene: &mut Scene) -> Verdict {
        for number in self.mend() {
            self.machine.plan(scene, 100..=2_000, Chore::Advance(number));
        }
        Ok(())
    }

    fn unrest(&self) -> String {
        let works: Vec<_> = self.works.values().map(|work| &work.handout).collect();
        let (bound, paused, slowed) = (self.bound, self.paused, self.is_slowed);
        format!("bound {bound}, paused {paused}, slowed {slowed}, works {works:?}")
    }
}

impl Renderer for Plain {
    fn rig(&self) -> &Rig {
        &self.rig
    }

    fn rig_mut(&mut self) -> &mut Rig {
        &mut self.rig
    }

    fn offer(&mut self, task: Task, scene: &mut Scene) -> Result<Option<bool>, Broken> {
        Ok(wire::handout_of(&task).map_or(Some(false), |handout| self.pushed(&handout, scene)))
    }
}
