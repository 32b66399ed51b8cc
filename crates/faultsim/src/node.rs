//! A PC with devices: one that runs muster's agent, or a plain model of one that does not.

mod agent;
mod plain;
mod wire;

use crate::{
    checker::{Checker, Verdict},
    fault::Fault,
    network::{Returned, Sender, Ticket},
    plan::{Plan, name},
    planted::Planted,
    scene::{Happening, Scene},
};
use agent::Agent;
use muster_agent::core::Status;
use muster_model::{Attachment, Command, DeviceReport, Millis, Name};
use plain::{Plain, Style};
use std::{collections::BTreeMap, ops::RangeInclusive};

/// A node.
pub(crate) enum Node {
    /// The real agent.
    Agent(Box<Agent>),
    /// A model of somebody else's.
    Plain(Box<Plain>),
}

/// What a node does by itself.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Chore {
    /// As the agent.
    Agent(agent::Chore),
    /// As a model.
    Plain(plain::Chore),
}

/// Something that a node planned in one of its lives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Planned {
    pub(crate) chore: Chore,
    pub(crate) incarnation: u32,
}

impl Node {
    pub(crate) fn new(number: usize, scene: &mut Scene, planted: Option<Planted>) -> Self {
        let site = Site::new(number, scene);
        match scene.dice.below(10) {
            5..8 if !scene.plan.agents_only => Self::Plain(Box::new(Plain::new(site, Style::Foreign))),
            8.. if !scene.plan.agents_only => Self::Plain(Box::new(Plain::new(site, Style::Rpc))),
            _ => Self::Agent(Box::new(Agent::new(site, scene, planted))),
        }
    }

    /// What does not depend on what runs here.
    pub(crate) fn site(&self) -> &Site {
        match self {
            Self::Agent(agent) => &agent.site,
            Self::Plain(plain) => &plain.site,
        }
    }

    /// Begins its rounds, at first and after a crash.
    pub(crate) fn begin(&mut self, scene: &mut Scene, checker: &mut Checker) -> Verdict {
        match self {
            Self::Agent(agent) => agent.begin(scene, checker),
            Self::Plain(plain) => {
                plain.begin(scene);
                Ok(())
            }
        }
    }

    /// Loses everything but what it had written down.
    pub(crate) fn crash(&mut self, scene: &mut Scene, checker: &mut Checker) {
        scene.count("node crashed");
        match self {
            Self::Agent(agent) => agent.crash(scene, checker),
            Self::Plain(plain) => plain.crash(scene),
        }
    }

    /// Does something by itself; one that has crashed meanwhile does not.
    pub(crate) fn act(
        &mut self,
        Planned { chore, incarnation }: Planned,
        scene: &mut Scene,
        checker: &mut Checker,
    ) -> Verdict {
        if !self.site().up || incarnation != self.site().incarnation {
            return Ok(());
        }
        match (self, chore) {
            (Self::Agent(agent), Chore::Agent(chore)) => agent.act(chore, scene, checker),
            (Self::Plain(plain), Chore::Plain(chore)) => plain.act(chore, scene),
            _ => Ok(()),
        }
    }

    /// An answer reaches it; one it no longer waits for is nothing to it.
    pub(crate) fn hear(&mut self, answer: Returned<'_>, scene: &mut Scene, checker: &mut Checker) -> Verdict {
        match self {
            _ if !self.site().up => Ok(()),
            Self::Agent(agent) => agent.hear(answer, scene, checker),
            Self::Plain(plain) => plain.hear(answer, scene),
        }
    }

    /// It is told that the coordinator is away; a model does not understand.
    pub(crate) fn turned_away(
        &mut self,
        ticket: &Ticket,
        scene: &mut Scene,
        checker: &mut Checker,
    ) -> Verdict {
        match self {
            Self::Agent(agent) if agent.site.up => agent.turned_away(ticket, scene, checker),
            _ => Ok(()),
        }
    }

    /// A device is pulled out; what ran on it will fail.
    pub(crate) fn unplug(&mut self, device: &Name, scene: &mut Scene) -> Option<Attached> {
        let attached = self.site_mut().devices.remove(device)?;
        self.device_lost(device, scene);
        Some(attached)
    }

    /// A device is plugged in.
    pub(crate) fn plug(&mut self, device: Name, attached: Attached, scene: &mut Scene) {
        self.site_mut().devices.insert(device, attached);
        self.device_found(scene);
    }

    /// A device's condition changes while it stays attached (N1b).
    pub(crate) fn disturb(&mut self, device: &Name, attachment: Attachment, scene: &mut Scene) {
        let Some(attached) = self.site_mut().devices.get_mut(device) else {
            return;
        };
        attached.attachment = attachment;
        match attachment {
            Attachment::Online => self.device_found(scene),
            _ => self.device_lost(device, scene),
        }
    }

    /// Every device and the disk are well again.
    pub(crate) fn recover(&mut self, scene: &mut Scene) {
        for attached in self.site_mut().devices.values_mut() {
            attached.attachment = Attachment::Online;
        }
        self.device_found(scene);
        if let Self::Agent(agent) = self {
            agent.heal_disk();
        }
    }

    /// The agent's disk begins to go wrong.
    pub(crate) fn spoil_disk(&mut self, scene: &mut Scene) {
        if let Self::Agent(agent) = self {
            agent.spoil_disk(scene);
        }
    }

    /// There is room on the agent's disk again.
    pub(crate) fn make_room(&self) {
        if let Self::Agent(agent) = self {
            agent.make_room();
        }
    }

    /// The agent is asked to end in order.
    pub(crate) fn ask_to_leave(&self, scene: &mut Scene) {
        if let Self::Agent(agent) = self {
            agent.ask_to_leave(scene);
        }
    }

    /// Whether muster's agent runs here.
    pub(crate) fn is_agent(&self) -> bool {
        matches!(self, Self::Agent(_))
    }

    /// How the agent is, where one runs.
    pub(crate) fn status(&self) -> Option<Status> {
        match self {
            Self::Agent(agent) => agent.status(),
            Self::Plain(_) => None,
        }
    }

    /// Whether nothing is left to do or to say here.
    pub(crate) fn is_quiet(&self) -> bool {
        match self {
            Self::Agent(agent) => agent.is_quiet(),
            Self::Plain(plain) => plain.is_quiet(),
        }
    }

    /// The last look, once all is quiet.
    pub(crate) fn at_rest(&self, checker: &mut Checker) -> Verdict {
        match self {
            Self::Agent(agent) => agent.at_rest(checker),
            Self::Plain(_) => Ok(()),
        }
    }

    /// What keeps it from being quiet.
    pub(crate) fn unrest(&self) -> String {
        let words = match self {
            Self::Agent(agent) => agent.unrest(),
            Self::Plain(plain) => plain.unrest(),
        };
        format!("{}: {words}", self.site().name)
    }

    fn site_mut(&mut self) -> &mut Site {
        match self {
            Self::Agent(agent) => &mut agent.site,
            Self::Plain(plain) => &mut plain.site,
        }
    }

    fn device_lost(&mut self, device: &Name, scene: &mut Scene) {
        match self {
            Self::Agent(agent) => {
                agent.interrupt(device, scene);
                agent.devices_changed(scene);
            }
            Self::Plain(plain) => plain.interrupt(device, scene),
        }
    }

    fn device_found(&mut self, scene: &mut Scene) {
        match self {
            Self::Agent(agent) => agent.devices_changed(scene),
            Self::Plain(plain) => plain.begin_work(scene),
        }
    }
}

impl From<agent::Chore> for Chore {
    fn from(chore: agent::Chore) -> Self {
        Self::Agent(chore)
    }
}

impl From<plain::Chore> for Chore {
    fn from(chore: plain::Chore) -> Self {
        Self::Plain(chore)
    }
}

/// How long a sender waits for an answer that should come at once.
const PATIENCE_MS: RangeInclusive<i64> = 3_000..=8_000;

/// A PC, whatever runs on it.
pub(crate) struct Site {
    number: usize,
    pub(crate) name: Name,
    pub(crate) slots: u32,
    pub(crate) up: bool,
    /// Counts its lives; what an earlier one had planned does not happen.
    incarnation: u32,
    pub(crate) devices: BTreeMap<Name, Attached>,
}

/// A device as its node sees it.
#[derive(Clone, Debug)]
pub(crate) struct Attached {
    pub(crate) handle: Name,
    pub(crate) attachment: Attachment,
}

impl Site {
    fn new(number: usize, scene: &mut Scene) -> Self {
        let name = Plan::node_name(number);
        let slots = scene.dice.between(scene.plan.slots.0, scene.plan.slots.1);
        let devices = (0..scene.plan.devices_per_node).map(|n| device(&name, n));
        Self {
            number,
            devices: devices.collect(),
            name,
            slots: u32::try_from(slots).map_or(1, |slots| slots.min(scene.plan.settings.slots)),
            up: true,
            incarnation: 0,
        }
    }

    fn ask(&self, scene: &mut Scene, command: Command, wait: Option<Millis>) -> Ticket {
        scene.ask(Sender::Node(self.number), command, wait)
    }

    fn plan(&self, scene: &mut Scene, ms: RangeInclusive<i64>, chore: impl Into<Chore>) {
        let happening =
            Happening::Node { node: self.number, incarnation: self.incarnation, chore: chore.into() };
        scene.within(*ms.start(), *ms.end(), happening);
    }

    /// Plans something that the world does to this PC.
    fn plan_fault(&self, scene: &mut Scene, ms: RangeInclusive<i64>, fault: fn(usize) -> Fault) {
        scene.within(*ms.start(), *ms.end(), Happening::Fault(Box::new(fault(self.number))));
    }

    /// Whatever was planned or under way here is over.
    fn go_down(&mut self) {
        self.up = false;
        self.incarnation += 1;
    }

    fn is_usable(&self, device: &Name) -> bool {
        self.devices.get(device).is_some_and(|attached| attached.attachment == Attachment::Online)
    }

    fn report_of_devices(&self) -> Vec<DeviceReport> {
        let report = |(device, attached): (&Name, &Attached)| DeviceReport {
            device: device.clone(),
            handle: attached.handle.clone(),
            attachment: attached.attachment,
        };
        self.devices.iter().map(report).collect()
    }
}

/// The nth device of a node, as the world begins.
fn device(node: &Name, n: usize) -> (Name, Attached) {
    let serial = name(&format!("{node}-d{}", n + 1));
    let attached = Attached { handle: serial.clone(), attachment: Attachment::Online };
    (serial, attached)
}
