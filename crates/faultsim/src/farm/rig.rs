//! A worker of sessions on the wire: a name, a token, and requests as bytes.

use super::wire::{self, Endpoint, Request};
use crate::{
    checker::ensure,
    network::{Sender, Ticket, Token},
    plan::name,
    scene::Scene,
};
use muster_model::{Command, FrameCommand, Millis, Name, Timestamp};

/// A worker, whatever runs on it.
pub(crate) struct Rig {
    pub(super) number: usize,
    pub(crate) name: Name,
    /// Tasks are pushed to it (S3).
    pub(super) takes_pushes: bool,
    pub(super) slots: u32,
    /// The token of its last registration that was answered.
    pub(super) token: Token,
    /// Until then no task can be pushed here.
    pub(crate) deaf_until: Timestamp,
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
            token: [0; 32],
            deaf_until: Timestamp(0),
        }
    }

    pub(super) fn place(&self) -> Sender {
        Sender::Renderer(self.number)
    }

    /// Asks the coordinator, with the token. A command that has a body travels as one.
    pub(super) fn ask(&self, scene: &mut Scene, command: FrameCommand, wait: Option<Millis>) -> Ticket {
        let request = wire::request_of(&command);
        let read = request.map(|request| wire::understand(&command, &request, &self.name));
        let read = read.and_then(|read| scene.understood(read));
        self.send(scene, read.unwrap_or(Command::Frames(command)), wait)
    }

    /// Sends a request as it is, with the token.
    pub(super) fn post(&self, scene: &mut Scene, request: &Request) -> Ticket {
        let command = self.receive(scene, request);
        self.send(scene, command, None)
    }

    /// Enrols; the response brings a token.
    pub(super) fn register(&self, scene: &mut Scene) -> Ticket {
        let endpoint = self.takes_pushes.then(|| self.number.to_string());
        let body = wire::register_body(&self.name, self.slots, endpoint.clone());
        let command = self.receive(scene, &Request { endpoint: Endpoint::Register, body });
        if let Command::Frames(FrameCommand::Register(read)) = &command {
            let is_same = read.worker == self.name && read.slots == self.slots;
            let is_reached = read.endpoint.as_deref() == endpoint.as_deref();
            let verdict = ensure(is_same && is_reached, "request_misunderstood", || format!("{read:?}"));
            scene.understood(verdict);
        }
        scene.ask(self.place(), command, None)
    }

    /// Takes the token that an answer brings.
    pub(super) fn enrolled(&mut self, answer: &Ticket) {
        self.token = answer.token.unwrap_or(self.token);
    }

    fn receive(&self, scene: &mut Scene, request: &Request) -> Command {
        let nothing = FrameCommand::Ask { worker: self.name.clone(), supply: false };
        scene.understood(wire::receive(request, &self.name)).unwrap_or(Command::Frames(nothing))
    }

    fn send(&self, scene: &mut Scene, command: Command, wait: Option<Millis>) -> Ticket {
        let ticket = scene.ticket(self.place(), command);
        scene.send(Ticket { token: Some(self.token), wait, ..ticket })
    }
}
