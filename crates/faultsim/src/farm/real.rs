//! A machine that runs muster's own worker: the real core. Its wire, its programs and its clock are played.

mod render;

use super::{
    Renderer,
    rig::Rig,
    wire::{self, Endpoint, Request},
};
use crate::{
    checker::{Broken, Verdict, broken},
    machine::{self, Calls, Machine, PATIENCE_MS, Program, patience},
    network::Ticket,
    planted::Planted,
    scene::Scene,
};
use muster_contract_simulation::{HeartbeatResponse, PullReply, RegisterResponse, ResponseError, Task};
use muster_model::{FrameCommand, FrameTaskId, Millis, Ratio, Rejection, Reply};
use muster_workers::simulation::core::{
    Action, Core, Note, Offer, Refusal, Registration, Report, Settings, Trouble,
};
use render::Render;
use std::collections::{BTreeMap, BTreeSet};

/// Actions of the worker itself.
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
    machine: Machine,
    rig: Rig,
    settings: Settings,
    /// It is not told whose term it is.
    is_blind: bool,
    /// Ids that were ever rendered with here.
    begun: BTreeSet<u64>,
    life: Option<Life>,
}

/// State that a crash destroys.
struct Life {
    core: Core,
    calls: Calls<About>,
    works: BTreeMap<u64, Render>,
    pace: Ratio,
    /// The newest term that it was told of (S18).
    epoch: u64,
}

/// The subject of a request, by the core's numbers.
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
    pub(super) fn new(rig: Rig, scene: &mut Scene, planted: Option<Planted>) -> Self {
        let wait = (!rig.takes_pushes).then(|| Millis(scene.dice.between(500, 15_000)));
        let settings = Settings { slots: rig.slots, pull_wait: wait, output_root: None };
        let is_blind = planted == Some(Planted::OlderTermObeyed);
        let machine = Machine::new(rig.place());
        Self { machine, rig, settings, is_blind, begun: BTreeSet::new(), life: None }
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
            self.machine.plan_restart(scene, 500..=10_000);
            return Ok(());
        }
        self.machine.plan_wake(life.core.next_wake(), Chore::Wake, scene)
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

    /// Sends what the core wants sent.
    fn send(&mut self, action: Action, scene: &mut Scene) -> Verdict {
        let worker = self.rig.name.clone();
        let mut waits = None;
        let (about, ticket) = match action {
            Action::Register(number) => (About::Register(number), self.rig.register(scene)),
            Action::Pull { number, wait } => {
                waits = Some(wait);
                let command = FrameCommand::Ask { worker, supply: true };
                (About::Pull(number), self.rig.ask(scene, command, waits))
            }
            Action::Unregister(number) => {
                let command = FrameCommand::Remove { worker, itself: true };
                (About::Leave(number), self.rig.ask(scene, command, None))
            }
            Action::Beat(beat) => {
                let request = Request { endpoint: Endpoint::Heartbeat, body: beat.request.to_bytes() };
                (About::Beat(beat.number), self.rig.post(scene, &request))
            }
            Action::Rebind(rebind) => {
                // The contract has room for one task only: the oldest.
                let body = rebind.request(worker.as_str().into(), rebind.tasks.first().cloned()).to_bytes();
                let request = Request { endpoint: Endpoint::Rebind, body };
                (About::Rebind(rebind.number), self.rig.post(scene, &request))
            }
            Action::Progress(progress) => {
                let request = Request { endpoint: Endpoint::Progress, body: progress.request.to_bytes() };
                (About::Progress(progress.number), self.rig.post(scene, &request))
            }
            Action::Send { work, report } => {
                let endpoint = match &report {
                    Report::Complete { task, .. } => Endpoint::Complete(task_id(task)),
                    Report::Fail { task, .. } => Endpoint::Fail(task_id(task)),
                };
                let body = report.body(&worker.as_str().into());
                (About::Result(work), self.rig.post(scene, &Request { endpoint, body }))
            }
            Action::Begin(_) | Action::Kill(_) | Action::Pace(_) | Action::Note(_) => {
                return broken("worker_speaks_strangely", || "that is no call".into());
            }
        };
        self.machine.plan(scene, patience(PATIENCE_MS, waits), Chore::GiveUp(ticket.exchange));
        self.life().calls.insert(ticket, about);
        Ok(())
    }

    fn answered(&mut self, ticket: &Ticket, answer: Answer, scene: &mut Scene) -> Verdict {
        let Some(about) = self.life().calls.remove(ticket.exchange) else {
            return self.follow(scene);
        };
        if let (About::Register(_), Ok(_)) = (about, &answer) {
            self.rig.enrolled(ticket);
        }
        self.note_epoch(ticket.way.epoch, scene);
        match self.tell(about, answer, scene) {
            Ok(()) => self.follow(scene),
            Err(error) => broken("response_not_understood", || error.to_string()),
        }
    }

    /// No answer came in time.
    fn give_up(&mut self, exchange: u64, scene: &mut Scene) {
        if let Some(about) = self.life().calls.give_up(exchange, scene) {
            // There is nothing to read, and so nothing that cannot be understood.
            _ = self.tell(about, Err(Trouble::NoAnswer(None)), scene);
        }
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
        let is_blind = self.is_blind;
        let life = self.life();
        life.epoch = life.epoch.max(epoch);
        if !is_blind {
            life.core.heard_of(epoch, scene.now);
        }
    }

    fn life(&mut self) -> &mut Life {
        self.life.as_mut().expect("only a worker that is up acts")
    }
}

impl Program for Real {
    fn machine(&self) -> &Machine {
        &self.machine
    }

    fn machine_mut(&mut self) -> &mut Machine {
        &mut self.machine
    }

    fn begin(&mut self, scene: &mut Scene) -> Verdict {
        self.machine.up = true;
        self.life = Some(Life {
            core: Core::new(self.settings.clone(), scene.now),
            calls: Calls::new(),
            works: BTreeMap::new(),
            pace: Ratio(1_000_000),
            epoch: 0,
        });
        self.follow(scene)
    }

    fn crash(&mut self, scene: &mut Scene) {
        self.machine.go_down();
        self.life.take().into_iter().for_each(|life| life.calls.break_off(scene));
    }

    fn act(&mut self, chore: machine::Chore, scene: &mut Scene) -> Verdict {
        let machine::Chore::Renderer(chore) = chore else { return Ok(()) };
        match chore {
            Chore::Wake if self.machine.must_wake(scene.now) => self.life().core.wake(scene.now),
            Chore::Wake => {}
            Chore::Advance { work, turn } => self.advance(work, turn, scene),
            Chore::GiveUp(exchange) => self.give_up(exchange, scene),
        }
        self.follow(scene)
    }

    fn hear(&mut self, ticket: &Ticket, result: Result<Reply, Rejection>, scene: &mut Scene) -> Verdict {
        let answer = wire::respond(ticket, &result, scene)?.map_err(|problem| {
            let status = problem.status().as_u16();
            Trouble::Refused(Refusal { status, detail: problem.detail().into() })
        });
        self.answered(ticket, answer, scene)
    }

    fn turned_away(&mut self, ticket: &Ticket, scene: &mut Scene) -> Verdict {
        let patience = scene.dice.chance(300).then(|| Millis(scene.dice.between(1, 20_000)));
        self.answered(ticket, Err(Trouble::NoAnswer(patience)), scene)
    }

    fn turned_out(&mut self, ticket: &Ticket, scene: &mut Scene) -> Verdict {
        self.answered(ticket, Err(Trouble::Unauthorized), scene)
    }

    fn leave(&mut self, scene: &mut Scene) -> Verdict {
        scene.count("renderer leaves");
        self.life().core.leave(scene.now);
        self.follow(scene)
    }

    fn recover(&mut self, scene: &mut Scene) -> Verdict {
        self.mend(scene);
        self.follow(scene)
    }

    fn unrest(&self) -> String {
        self.life.as_ref().map_or("down".into(), |life| format!("{:?}", life.core.status()))
    }
}

impl Renderer for Real {
    fn rig(&self) -> &Rig {
        &self.rig
    }

    fn rig_mut(&mut self) -> &mut Rig {
        &mut self.rig
    }

    fn offer(&mut self, task: Task, scene: &mut Scene) -> Result<Option<bool>, Broken> {
        let offer = self.life().core.offered(task, scene.now);
        self.follow(scene)?;
        if matches!(offer, Offer::Stale { .. }) {
            scene.count("task of an older term refused");
        }
        Ok(Some(offer == Offer::Taken))
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
