//! What every PC has: a name, slots, devices that come and go, and a wire to the coordinator.

use crate::{
    fault::Fault,
    network::{Sender, Ticket},
    node::Chore,
    plan::{Plan, name},
    scene::{Happening, Scene},
};
use muster_model::{Attachment, Command, DeviceReport, Millis, Name};
use std::{collections::BTreeMap, ops::RangeInclusive};

/// A PC, whatever runs on it.
pub(crate) struct Site {
    number: usize,
    pub(crate) name: Name,
    pub(crate) slots: u32,
    pub(crate) up: bool,
    /// Counts its lives; what an earlier one had planned does not happen.
    pub(super) incarnation: u32,
    pub(crate) devices: BTreeMap<Name, Attached>,
}

/// A device as its node sees it.
#[derive(Clone, Debug)]
pub(crate) struct Attached {
    pub(crate) handle: Name,
    pub(crate) attachment: Attachment,
}

impl Site {
    pub(super) fn new(number: usize, scene: &mut Scene) -> Self {
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

    pub(super) fn ask(&self, scene: &mut Scene, command: Command, wait: Option<Millis>) -> Ticket {
        scene.ask(Sender::Node(self.number), command, wait)
    }

    pub(super) fn plan(&self, scene: &mut Scene, ms: RangeInclusive<i64>, chore: impl Into<Chore>) {
        let happening =
            Happening::Node { node: self.number, incarnation: self.incarnation, chore: chore.into() };
        scene.within(*ms.start(), *ms.end(), happening);
    }

    /// Plans something that the world does to this PC.
    pub(super) fn plan_fault(&self, scene: &mut Scene, ms: RangeInclusive<i64>, fault: fn(usize) -> Fault) {
        scene.within(*ms.start(), *ms.end(), Happening::Fault(Box::new(fault(self.number))));
    }

    /// Whatever was planned or under way here is over.
    pub(super) fn go_down(&mut self) {
        self.up = false;
        self.incarnation += 1;
    }

    pub(super) fn is_usable(&self, device: &Name) -> bool {
        self.devices.get(device).is_some_and(|attached| attached.attachment == Attachment::Online)
    }

    pub(super) fn report_of_devices(&self) -> Vec<DeviceReport> {
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
