//! What every worker of the pool has: a name, an owner, a place on the wire, lives.

use super::{
    Chore,
    keys::key_named,
    nature::Nature,
    wire::{self, Parsed},
};
use crate::{
    network::{Sender, Ticket},
    scene::{Happening, Scene},
};
use muster_model::{
    Command, Millis, PoolCommand, PoolRegistration, Quality, Scale, Specs, Timestamp, UserId,
};

/// A machine that works for the pool, whatever runs on it.
pub(crate) struct Rig {
    pub(super) number: usize,
    pub(super) name: String,
    pub(super) owner: UserId,
    pub(super) nature: Nature,
    pub(super) slots: u32,
    pub(super) region: Option<&'static str>,
    memory: Option<f64>,
    pub(crate) up: bool,
    /// Counts its lives; what an earlier one had planned does not happen.
    pub(super) incarnation: u32,
    /// Until then nothing happens here, and what arrives waits.
    pub(crate) frozen_until: Timestamp,
}

impl Rig {
    pub(super) fn new(number: usize, owner: usize, scene: &mut Scene) -> Self {
        let pact = scene.plan.pool.as_ref().map_or(0, |plan| plan.pact);
        let nature = Nature::draw(owner < pact, scene);
        Self {
            number,
            name: format!("member-{number}"),
            owner: UserId(FIRST_OWNER + owner as u64),
            nature,
            slots: u32::try_from(scene.dice.between(1, 3)).unwrap_or(1),
            region: scene.dice.pick(&[None, Some(REGIONS[0]), Some(REGIONS[1])]).copied().flatten(),
            memory: scene.dice.pick(&[None, Some(8.0), Some(24.0)]).copied().flatten(),
            up: false,
            incarnation: 0,
            frozen_until: Timestamp(0),
        }
    }

    /// The nth key that it has.
    pub(super) fn key(&self, n: u32) -> Box<str> {
        key_named(&format!("{}-key-{n}", self.name)).text.clone()
    }

    pub(super) fn registration(&self, public_key: Box<str>) -> PoolCommand {
        let amount = |name: &str, amount: f64| (Box::from(name), Quality::Amount(Scale::new(amount)));
        let memory = self.memory.map(|memory| amount(MEMORY, memory));
        let slots = amount("slots", f64::from(self.slots));
        PoolCommand::Register(Box::new(PoolRegistration {
            owner: self.owner,
            name: self.name.as_str().into(),
            region: self.region.map(Box::from),
            specs: Specs::new([slots].into_iter().chain(memory).collect()),
            specs_json: Some(self.specs_json().into()),
            public_key: Some(public_key),
            slots: self.slots,
        }))
    }

    /// Its specs, as it registers them.
    pub(super) fn specs_json(&self) -> String {
        let memory = self.memory.map_or_else(String::new, |memory| format!(",\"{MEMORY}\":{memory:?}"));
        format!("{{\"slots\":{}{memory}}}", self.slots)
    }

    /// Sends a request to the server.
    pub(super) fn ask(&self, scene: &mut Scene, said: PoolCommand, wait: Option<Millis>) -> Ticket {
        let body = wire::write(&said, wait);
        self.ask_with(scene, said, &body)
    }

    /// As [`Self::ask`], with a body that somebody else wrote.
    pub(super) fn ask_with(&self, scene: &mut Scene, said: PoolCommand, body: &[u8]) -> Ticket {
        let parsed = wire::parse(&said, body, scene);
        let Parsed { command, wait } = parsed.unwrap_or(Parsed { command: said, wait: None });
        scene.ask(Sender::Member(self.number), Command::Pool(command), wait)
    }

    pub(super) fn plan(&self, scene: &mut Scene, (low, high): (i64, i64), chore: impl Into<Chore>) {
        let chore = chore.into();
        let happening = Happening::Member { member: self.number, incarnation: self.incarnation, chore };
        scene.within(low, high, happening);
    }

    /// Whatever was planned or under way here is over.
    pub(super) fn go_down(&mut self) {
        self.up = false;
        self.incarnation += 1;
    }
}

/// Where workers stand, and where jobs want them.
pub(super) const REGIONS: [&str; 2] = ["eu", "us"];
/// What jobs ask for.
pub(super) const MEMORY: &str = "vram";
const FIRST_OWNER: u64 = 500;
