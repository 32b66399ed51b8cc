//! A PC with devices: one that runs muster's agent, or a plain model of one that does not.

mod agent;
mod plain;
mod wire;

pub(crate) use agent::Chore as AgentChore;
pub(crate) use plain::Chore as NodeChore;

use crate::{
    checker::Verdict,
    machine::Program,
    network::{Sender, Ticket},
    plan::{Plan, name},
    planted::Planted,
    scene::Scene,
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

impl Node {
    pub(crate) fn new(number: usize, scene: &mut Scene, planted: Option<Planted>) -> Self {
        let site = Site::new(number, scene);
        match scene.dice.below(10) {
            5..8 if !scene.plan.agents_only => Self::Plain(Box::new(Plain::new(site, Style::Foreign))),
            8.. if !scene.plan.agents_only => Self::Plain(Box::new(Plain::new(site, Style::Rpc))),
            _ => Self::Agent(Box::new(Agent::new(site, scene, planted))),
        }
    }

    /// The part of a node that does not depend on the program that runs there.
    pub(crate) fn site(&self) -> &Site {
        match self {
            Self::Agent(agent) => &agent.site,
            Self::Plain(plain) => &plain.site,
        }
    }

    pub(crate) fn program(&self) -> &dyn Program {
        match self {
            Self::Agent(agent) => &**agent,
            Self::Plain(plain) => &**plain,
        }
    }

    pub(crate) fn program_mut(&mut self) -> &mut dyn Program {
        match self {
            Self::Agent(agent) => &mut **agent,
            Self::Plain(plain) => &mut **plain,
        }
    }

    /// The real agent, where one runs.
    pub(crate) fn agent(&mut self) -> Option<&mut Agent> {
        match self {
            Self::Agent(agent) => Some(agent),
            Self::Plain(_) => None,
        }
    }

    /// True if muster's agent runs here.
    pub(crate) fn is_agent(&self) -> bool {
        matches!(self, Self::Agent(_))
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

    /// Status of the agent, if one runs here.
    pub(crate) fn status(&self) -> Option<Status> {
        match self {
            Self::Agent(agent) => agent.status(),
            Self::Plain(_) => None,
        }
    }

    /// The last look, once all is quiet.
    pub(crate) fn at_rest(&self, scene: &mut Scene) -> Verdict {
        match self {
            Self::Agent(agent) => agent.at_rest(scene),
            Self::Plain(_) => Ok(()),
        }
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

/// A PC, whatever runs on it.
pub(crate) struct Site {
    number: usize,
    pub(crate) name: Name,
    pub(crate) slots: u32,
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
        }
    }

    fn ask(&self, scene: &mut Scene, command: Command, wait: Option<Millis>) -> Ticket {
        scene.ask(self.place(), command, wait)
    }

    fn place(&self) -> Sender {
        Sender::Node(self.number)
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

/// Timeout of a request that should be answered at once.
const PATIENCE_MS: RangeInclusive<i64> = 3_000..=8_000;
