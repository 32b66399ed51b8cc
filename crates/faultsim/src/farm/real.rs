//! A machine that runs muster's own worker: the real core. Its wire, its programs and its clock are played.

mod render;

use super::{
    PATIENCE_MS,
    rig::Rig,
    wire::{Endpoint, Request, Response},
};
use crate::{
    checker::{Broken, Verdict, broken},
    fault::Fault,
    network::Ticket,
    planted::Planted,
    scene::{Happening, Scene},
};
use muster_contract_simulation::{HeartbeatResponse, PullReply, RegisterResponse, ResponseError, Task};
use muster_model::{FrameCommand, FrameTaskId, Millis, Ratio, Timestamp};
use muster_workers::simulation::core::{
    Action, Core, Note, Offer, Refusal, Registration, Report, Settings, Trouble,
};
use render::Render;
use std::collections::{BTreeMap, BTreeSet};

/// What it does by itself.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Chore {
    /// The core wants to be woken.
    Wake,
    /// A work gets further, unless it took another turn meanwhile.
    Advance {
        /// Which work.
        work: u64,
        /// Its turn when this was planned.
        turn: u32,
    },
    /// No answer came to this exchange.
    GiveUp(u64),
}

/// The machine.
pub(crate) struct Real {
    pub(super) rig: Rig,
    settings: Settings,
    /// It is not told whose term it is.
    is_blind: bool,
    /// Ids that were ever rendered with here.
    begun: BTreeSet<u64>,
    life: Option<Life>,
}

/// What a crash ends.
struct Life {
    core: Core,
    asked: BTreeMap<u64, Asked>,
    works: BTreeMap<u64, Render>,
    pace: Ratio,
    wakes_at: Option<Timestamp>,
    /// Wakes in a row after which something was due at once.
    rounds: u32,
}

impl Real {
    pub(super) fn new(rig: Rig, scene: &mut Scene, planted: Option<Planted>) -> Self {
        let wait = (!rig.takes_pushes).then(|| Millis(scene.dice.between(500, 15_000)));
        let settings = Settings { slots: rig.slots, pull_wait: wait, output_root: None };
        let is_blind = planted == Some(Planted::OlderTermObeyed);
        Self { rig, settings, is_blind, begun: BTreeSet::new(), life: None }
    }

    pub(super) fn begin(&mut self, scene: &mut Scene) -> Verdict {
        self.rig.up = true;
        self.life = Some(Life {
            core: Core::new(self.settings.clone(), scene.now),
            asked: BTreeMap::new(),
            works: BTreeMap::new(),
            pace: Ratio(1_000_000),
            wakes_at: None,
            rounds: 0,
        });
        self.follow(scene)
    }

    pub(super) fn crash(&mut self, scene: &mut Scene) {
        self.rig.go_down();
        if let Some(life) = self.life.take() {
            for asked in life.asked.values() {
                asked.ticket.broken.set(scene.dice.chance(500));
            }
        }
    }

    pub(super) fn leave(&mut self, scene: &mut Scene) -> Verdict {
        self.life().core.leave(scene.now);
        self.follow(scene)
    }

    pub(super) fn act(&mut self, chore: Chore, scene: &mut Scene) -> Verdict {
        match chore {
            Chore::Wake => self.wake(scene.now),
            Chore::Advance { work, turn } => self.advance((work, turn), scene),
            Chore::GiveUp(exchange) => self.give_up(exchange, scene),
        }
        self.follow(scene)
    }

    /// A response reaches it.
    pub(super) fn hear(&mut self, ticket: &Ticket, response: Response, scene: &mut Scene) -> Verdict {
        let answer = response.map_err(|problem| {
            let status = problem.status().as_u16();
            Trouble::Refused(Refusal { status, detail: problem.detail().into() })
        });
        self.answered(ticket, answer, scene)?;
        self.follow(scene)
    }

    /// Its token is not known.
    pub(super) fn turned_out(&mut self, ticket: &Ticket, scene: &mut Scene) -> Verdict {
        self.answered(ticket, Err(Trouble::Unauthorized), scene)?;
        self.follow(scene)
    }

    /// Something before the coordinator says that there is nobody.
    pub(super) fn turned_away(&mut self, ticket: &Ticket, scene: &mut Scene) -> Verdict {
        let patience = scene.dice.chance(300).then(|| Millis(scene.dice.between(1, 20_000)));
        self.answered(ticket, Err(Trouble::NoAnswer(patience)), scene)?;
        self.follow(scene)
    }

    pub(super) fn pushed(&mut self, task: Task, scene: &mut Scene) -> Result<bool, Broken> {
        let offer = self.life().core.offered(task, scene.now);
        self.follow(scene)?;
        if matches!(offer, Offer::Stale { .. }) {
            scene.count("task of an older term refused");
        }
        Ok(offer == Offer::Taken)
    }

    /// Whatever hung goes on.
    pub(super) fn recover(&mut self, scene: &mut Scene) -> Verdict {
        self.mend(scene);
        self.follow(scene)
    }

    pub(super) fn unrest(&self) -> String {
        self.life.as_ref().map_or("down".into(), |life| format!("{:?}", life.core.status()))
    }

    /// Does what the core wants done, until it wants nothing more.
    fn follow(&mut self, scene: &mut Scene) -> Verdict {
        while let Some(action) = self.life.as_mut().and_then(|life| life.core.next_action()) {
            self.carry_out(action, scene)?;
        }
        let Some(life) = &self.life else {
            return Ok(());
        };
        if life.core.over().is_some() {
            scene.count("worker ends");
            self.crash(scene);
            let back = Fault::RestartRenderer(self.rig.number);
            scene.within(500, 10_000, Happening::Fault(Box::new(back)));
            return Ok(());
        }
        self.plan_wake(scene)
    }

    fn carry_out(&mut self, action: Action, scene: &mut Scene) -> Verdict {
        match action {
            Action::Begin(work) => return self.begin_work(&work, scene),
            Action::Kill(work) => self.kill(work, scene),
            Action::Pace(pace) => self.life().pace = pace,
            Action::Note(Note::Lost(_)) => scene.count("worker gives itself up"),
            Action::Note(Note::StaleMaster { .. }) => scene.count("word of an older term not believed"),
            Action::Note(_) => {}
            call => self.send(call, scene)?,
        }
        Ok(())
    }

    fn wake(&mut self, now: Timestamp) {
        let life = self.life();
        if life.wakes_at.is_some_and(|at| at <= now) {
            life.wakes_at = None;
            life.core.wake(now);
        }
    }

    fn plan_wake(&mut self, scene: &mut Scene) -> Verdict {
        let now = scene.now;
        let life = self.life();
        let Some(next) = life.core.next_wake().map(|next| next.max(now)) else {
            return Ok(());
        };
        life.rounds = if next == now { life.rounds + 1 } else { 0 };
        if life.rounds > ROUNDS_MAX {
            let status = life.core.status();
            return broken("worker_spins", || format!("something is still due at {next:?}: {status:?}"));
        }
        if life.wakes_at.is_none_or(|at| next < at) {
            life.wakes_at = Some(next);
            let pause = (next - now).0;
            self.rig.plan(scene, (pause, pause), Chore::Wake);
        }
        Ok(())
    }

    fn life(&mut self) -> &mut Life {
        self.life.as_mut().expect("only a worker that is up acts")
    }
}

/// Wakes at one moment that are not a loop.
const ROUNDS_MAX: u32 = 200;

/// A request under way.
struct Asked {
    ticket: Ticket,
    about: About,
}

/// What it is about, by the core's numbers.
#[derive(Clone, Copy)]
enum About {
    Register(u64),
    Beat(u64),
    Rebind(u64),
    Pull(u64),
    Progress(u64),
    Result(u64),
    Leave(u64),
}

/// The body of a successful response.
type Answer = Result<Vec<u8>, Trouble>;

impl Real {
    /// Sends what the core wants sent.
    fn send(&mut self, action: Action, scene: &mut Scene) -> Verdict {
        let worker = self.rig.name.clone();
        let (about, endpoint, body) = match action {
            Action::Register(number) => {
                let ticket = self.rig.register(scene);
                self.await_answer(ticket, (About::Register(number), None), scene);
                return Ok(());
            }
            Action::Pull { number, wait } => {
                let command = FrameCommand::Ask { worker, supply: true };
                let ticket = self.rig.ask(scene, command, Some(wait));
                self.await_answer(ticket, (About::Pull(number), Some(wait)), scene);
                return Ok(());
            }
            Action::Unregister(number) => {
                let ticket = self.rig.ask(scene, FrameCommand::Remove { worker, itself: true }, None);
                self.await_answer(ticket, (About::Leave(number), None), scene);
                return Ok(());
            }
            Action::Beat(beat) => (About::Beat(beat.number), Endpoint::Heartbeat, beat.request.to_bytes()),
            Action::Rebind(rebind) => {
                // The contract has room for one task only: the oldest.
                let request = rebind.request(worker.as_str().into(), rebind.tasks.first().cloned());
                (About::Rebind(rebind.number), Endpoint::Rebind, request.to_bytes())
            }
            Action::Progress(progress) => {
                (About::Progress(progress.number), Endpoint::Progress, progress.request.to_bytes())
            }
            Action::Send { work, report } => {
                let endpoint = match &report {
                    Report::Complete { task, .. } => Endpoint::Complete(task_id(task)),
                    Report::Fail { task, .. } => Endpoint::Fail(task_id(task)),
                };
                (About::Result(work), endpoint, report.body(&worker.as_str().into()))
            }
            Action::Begin(_) | Action::Kill(_) | Action::Pace(_) | Action::Note(_) => {
                return broken("worker_speaks_strangely", || "that is no call".into());
            }
        };
        let ticket = self.rig.post(scene, &Request { endpoint, body });
        self.await_answer(ticket, (about, None), scene);
        Ok(())
    }

    fn answered(&mut self, ticket: &Ticket, answer: Answer, scene: &mut Scene) -> Verdict {
        let Some(asked) = self.life().asked.remove(&ticket.exchange) else {
            return Ok(());
        };
        if let (About::Register(_), Ok(_)) = (asked.about, &answer) {
            self.rig.enrolled(ticket);
        }
        self.note_epoch(ticket.way.epoch, scene);
        match self.tell(asked.about, answer, scene) {
            Ok(()) => Ok(()),
            Err(error) => broken("response_not_understood", || error.to_string()),
        }
    }

    /// No answer came in time.
    fn give_up(&mut self, exchange: u64, scene: &mut Scene) {
        let Some(asked) = self.life().asked.remove(&exchange) else {
            return;
        };
        asked.ticket.broken.set(scene.dice.chance(700));
        // There is nothing to read, and so nothing that cannot be understood.
        _ = self.tell(asked.about, Err(Trouble::NoAnswer(None)), scene);
    }

    /// Reads a response as the worker does, and tells the core. Planted, the core does not hear whose term it is.
    fn tell(&mut self, about: About, answer: Answer, scene: &Scene) -> Result<(), ResponseError> {
        let (now, is_blind) = (scene.now, self.is_blind);
        let core = &mut self.life().core;
        match about {
            About::Register(number) => {
                let answer = read(answer, RegisterResponse::read)?.map(|response| Registration {
                    interval: Millis(response.heartbeat_interval_ms),
                    epoch: if is_blind { 0 } else { response.epoch },
                });
                core.registered(number, answer, now);
            }
            About::Beat(number) => core.beaten(number, read_beat(answer, is_blind)?, now),
            About::Rebind(number) => core.rebound(number, read_beat(answer, is_blind)?, now),
            About::Pull(number) => core.pulled(number, read(answer, PullReply::read)?, now),
            About::Progress(number) => core.told(number, answer.map(drop), now),
            About::Result(work) => core.sent(work, answer.map(drop), now),
            About::Leave(number) => core.unregistered(number, answer.map(drop), now),
        }
        Ok(())
    }

    /// Every response tells of which term it is; planted, that does not reach the core.
    fn note_epoch(&mut self, epoch: u64, scene: &Scene) {
        self.rig.epoch = self.rig.epoch.max(epoch);
        if !self.is_blind {
            self.life().core.heard_of(epoch, scene.now);
        }
    }

    fn await_answer(&mut self, ticket: Ticket, (about, wait): (About, Option<Millis>), scene: &mut Scene) {
        let waits = wait.map_or(0, |wait| wait.0);
        let patience = (waits + PATIENCE_MS.0, waits + PATIENCE_MS.1);
        self.rig.plan(scene, patience, Chore::GiveUp(ticket.exchange));
        self.life().asked.insert(ticket.exchange, Asked { ticket, about });
    }
}

fn read<T>(
    answer: Answer,
    reader: impl Fn(&[u8]) -> Result<T, ResponseError>,
) -> Result<Result<T, Trouble>, ResponseError> {
    answer.map_or_else(|trouble| Ok(Err(trouble)), |body| reader(&body).map(Ok))
}

fn read_beat(answer: Answer, is_blind: bool) -> Result<Result<HeartbeatResponse, Trouble>, ResponseError> {
    let read = read(answer, HeartbeatResponse::read)?;
    Ok(read.map(|beat| HeartbeatResponse { epoch: if is_blind { Some(0) } else { beat.epoch }, ..beat }))
}

fn task_id(text: &str) -> FrameTaskId {
    text.parse().expect("the core gives back what it was given")
}
