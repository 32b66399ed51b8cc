//! What every worker of sessions has: a name, a place on the wire, a token, lives.

use super::{
    Chore,
    wire::{self, Endpoint, Request},
};
use crate::{
    checker::{Broken, Verdict},
    network::{Sender, Ticket, Token},
    plan::name,
    scene::{Happening, Scene},
};
use muster_model::{Command, FrameCommand, Millis, Name, Timestamp};
use muster_problem::Problem;
use std::cell::RefCell;

/// A machine that renders, whatever runs on it.
pub(crate) struct Rig {
    pub(super) number: usize,
    pub(crate) name: Name,
    /// Tasks are pushed to it (S3).
    pub(super) takes_pushes: bool,
    pub(super) slots: u32,
    pub(crate) up: bool,
    /// Counts its lives; what an earlier one had planned does not happen.
    pub(super) incarnation: u32,
    /// The token of its last registration that was answered.
    pub(super) token: Token,
    /// The newest term that it was told of in this life (S18).
    pub(super) epoch: u64,
    /// Until then nothing happens here, and what arrives waits.
    pub(crate) frozen_until: Timestamp,
    /// Until then no task can be pushed here.
    pub(crate) deaf_until: Timestamp,
    /// The first request or response that did not arrive as it was meant.
    misunderstood: RefCell<Option<Broken>>,
}

impl Rig {
    pub(super) fn new(number: usize, scene: &mut Scene) -> Self {
        let (pushed, slots_max) =
            scene.plan.frames.as_ref().map_or((0, 1), |plan| (plan.pushed, plan.slots_max));
        Self {
            number,
            name: name(&format!("GPU-{:02}", number + 1)),
            takes_pushes: scene.dice.chance(pushed),
            slots: u32::try_from(scene.dice.between(1, slots_max)).unwrap_or(1),
            up: false,
            incarnation: 0,
            token: [0; 32],
            epoch: 0,
            frozen_until: Timestamp(0),
            deaf_until: Timestamp(0),
            misunderstood: RefCell::new(None),
        }
    }

    /// Asks the coordinator, with the token. A command that has a body travels as one.
    pub(super) fn ask(&self, scene: &mut Scene, command: FrameCommand, wait: Option<Millis>) -> Ticket {
        let Some(request) = wire::request_of(&command) else {
            let ticket = scene.ticket(self.place(), Command::Frames(command));
            return scene.send(Ticket { token: Some(self.token), wait, ..ticket });
        };
        let understood = wire::receive(&request, &self.name);
        if let Ok(understood) = &understood {
            self.note(wire::check_understood(&command, understood));
        }
        self.send(scene, understood, &command)
    }

    /// Sends a request as it is, with the token.
    pub(super) fn post(&self, scene: &mut Scene, request: &Request) -> Ticket {
        let nothing = FrameCommand::Ask { worker: self.name.clone(), supply: false };
        self.send(scene, wire::receive(request, &self.name), &nothing)
    }

    /// Enrols; the response brings a token.
    pub(super) fn register(&self, scene: &mut Scene) -> Ticket {
        let endpoint = self.takes_pushes.then(|| self.number.to_string());
        let body = wire::register_body(&self.name, self.slots, endpoint.clone());
        match wire::receive(&Request { endpoint: Endpoint::Register, body }, &self.name) {
            Ok(command) => {
                if let Command::Frames(FrameCommand::Register(read)) = &command {
                    let is_same = read.worker == self.name && read.slots == self.slots;
                    let is_reached = read.endpoint.as_deref() == endpoint.as_deref();
                    self.note(if is_same && is_reached {
                        Ok(())
                    } else {
                        Err(Broken::new("request_misunderstood", format!("{read:?}")))
                    });
                }
                scene.ask(self.place(), command, None)
            }
            Err(problem) => {
                self.note(Err(Broken::new("request_refused_by_its_form", problem.detail().to_owned())));
                let nothing = FrameCommand::Ask { worker: self.name.clone(), supply: false };
                scene.ticket(self.place(), Command::Frames(nothing))
            }
        }
    }

    /// Whether everything was understood since this was asked last.
    pub(super) fn verdict(&self) -> Verdict {
        self.misunderstood.borrow_mut().take().map_or(Ok(()), Err)
    }

    /// Remembers what was misunderstood until somebody asks for the verdict.
    pub(super) fn note(&self, verdict: Verdict) {
        if let Err(broken) = verdict {
            self.misunderstood.borrow_mut().get_or_insert(broken);
        }
    }

    /// Every request of this world is well formed; one that is refused by its form shows a fault of the parser.
    fn send(&self, scene: &mut Scene, understood: Result<Command, Problem>, meant: &FrameCommand) -> Ticket {
        match understood {
            Ok(command) => {
                let ticket = scene.ticket(self.place(), command);
                scene.send(Ticket { token: Some(self.token), ..ticket })
            }
            Err(problem) => {
                self.note(Err(Broken::new("request_refused_by_its_form", problem.detail().to_owned())));
                scene.ticket(self.place(), Command::Frames(meant.clone()))
            }
        }
    }

    /// Takes the token that an answer brings.
    pub(super) fn enrolled(&mut self, answer: &Ticket) {
        self.token = answer.token.unwrap_or(self.token);
    }

    pub(super) fn plan(&self, scene: &mut Scene, (low, high): (i64, i64), chore: impl Into<Chore>) {
        let chore = chore.into();
        let happening = Happening::Renderer { renderer: self.number, incarnation: self.incarnation, chore };
        scene.within(low, high, happening);
    }

    /// Whatever was planned or under way here is over.
    pub(super) fn go_down(&mut self) {
        self.up = false;
        self.epoch = 0;
        self.incarnation += 1;
    }

    pub(super) fn place(&self) -> Sender {
        Sender::Renderer(self.number)
    }
}
