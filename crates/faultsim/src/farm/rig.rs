//! What every worker of sessions has: a name, a place on the wire, a token, lives.

use super::Chore;
use crate::{
    network::{Sender, Ticket, Token},
    plan::name,
    scene::{Happening, Scene},
};
use muster_model::{Command, FrameCommand, Millis, Name, Registration, Timestamp};

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
        }
    }

    /// Asks the coordinator, with the token.
    pub(super) fn ask(&self, scene: &mut Scene, command: FrameCommand, wait: Option<Millis>) -> Ticket {
        let ticket = scene.ticket(self.place(), Command::Frames(command));
        scene.send(Ticket { token: Some(self.token), wait, ..ticket })
    }

    /// Enrols; the answer brings a token.
    pub(super) fn register(&self, scene: &mut Scene) -> Ticket {
        let registration = Registration {
            worker: self.name.clone(),
            token_hash: [0; 32],
            endpoint: self.takes_pushes.then(|| self.number.to_string().into()),
            slots: self.slots,
            description: "{}".into(),
        };
        let command = Command::Frames(FrameCommand::Register(Box::new(registration)));
        scene.ask(self.place(), command, None)
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
