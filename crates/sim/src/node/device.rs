//! Devices come, go and move to another PC.

use super::{Chore, Node};
use crate::{plan::name, scene::Scene};
use muster_model::{Attachment, DeviceReport, Name};

/// A device as its node sees it.
#[derive(Clone, Debug)]
pub(crate) struct Attached {
    pub(crate) handle: Name,
    pub(crate) attachment: Attachment,
}

/// The nth device of a node, as the world begins.
pub(super) fn new(node: &Name, n: usize) -> (Name, Attached) {
    let serial = name(&format!("{node}-d{}", n + 1));
    let attached = Attached { handle: serial.clone(), attachment: Attachment::Online };
    (serial, attached)
}

impl Node {
    /// A device is pulled out, or another one is plugged in; what ran on it will fail.
    pub(crate) fn unplug(&mut self, device: &Name, scene: &mut Scene) -> Option<Attached> {
        let attached = self.devices.remove(device)?;
        self.interrupt(device, scene);
        Some(attached)
    }

    pub(crate) fn plug(&mut self, device: Name, attached: Attached, scene: &mut Scene) {
        self.devices.insert(device, attached);
        self.begin_work(scene);
    }

    /// A device's condition changes while it stays attached (N1b).
    pub(crate) fn disturb(&mut self, device: &Name, attachment: Attachment, scene: &mut Scene) {
        let Some(attached) = self.devices.get_mut(device) else {
            return;
        };
        attached.attachment = attachment;
        if attachment == Attachment::Online {
            self.begin_work(scene);
        } else {
            self.interrupt(device, scene);
        }
    }

    /// Every device is well again.
    pub(crate) fn recover(&mut self, scene: &mut Scene) {
        for attached in self.devices.values_mut() {
            attached.attachment = Attachment::Online;
        }
        self.begin_work(scene);
    }

    pub(super) fn report_of_devices(&self) -> Vec<DeviceReport> {
        let report = |(device, attached): (&Name, &Attached)| DeviceReport {
            device: device.clone(),
            handle: attached.handle.clone(),
            attachment: attached.attachment,
        };
        self.devices.iter().map(report).collect()
    }

    /// Work on a device that is gone fails soon.
    fn interrupt(&mut self, device: &Name, scene: &mut Scene) {
        let Some(work) = self.running.get_mut(device) else {
            return;
        };
        work.fails = true;
        let number = work.number;
        self.plan(scene, (50, 3_000), Chore::Finish(number));
    }
}
