//! A PC with devices, and whatever takes work there.

mod plain;
mod site;

use crate::{network::Ticket, scene::Scene};
use muster_model::{Attachment, Name, Rejection, Reply};
use plain::Plain;

pub(crate) use site::{Attached, Site};

/// A node.
pub(crate) struct Node(Plain);

/// What a node does by itself.
pub(crate) type Chore = plain::Chore;

impl Node {
    pub(crate) fn new(number: usize, scene: &mut Scene) -> Self {
        Self(Plain::new(number, scene))
    }

    /// What does not depend on what runs here.
    pub(crate) fn site(&self) -> &Site {
        &self.0.site
    }

    /// Begins its rounds, at first and after a crash.
    pub(crate) fn begin(&mut self, scene: &mut Scene) {
        self.0.begin(scene);
    }

    /// Loses everything but what it had written down.
    pub(crate) fn crash(&mut self, scene: &mut Scene) {
        scene.count("node crashed");
        self.0.crash(scene);
    }

    /// Does something by itself; one that has crashed meanwhile does not.
    pub(crate) fn act(&mut self, chore: Chore, incarnation: u32, scene: &mut Scene) {
        if self.site().up && incarnation == self.site().incarnation {
            self.0.act(chore, scene);
        }
    }

    /// An answer reaches it; one it no longer waits for is nothing to it.
    pub(crate) fn hear(&mut self, ticket: &Ticket, result: Result<Reply, Rejection>, scene: &mut Scene) {
        if self.site().up {
            self.0.hear(ticket, result, scene);
        }
    }

    /// A device is pulled out; what ran on it will fail.
    pub(crate) fn unplug(&mut self, device: &Name, scene: &mut Scene) -> Option<Attached> {
        let attached = self.0.site.devices.remove(device)?;
        self.device_lost(device, scene);
        Some(attached)
    }

    /// A device is plugged in.
    pub(crate) fn plug(&mut self, device: Name, attached: Attached, scene: &mut Scene) {
        self.0.site.devices.insert(device, attached);
        self.device_found(scene);
    }

    /// A device's condition changes while it stays attached (N1b).
    pub(crate) fn disturb(&mut self, device: &Name, attachment: Attachment, scene: &mut Scene) {
        let Some(attached) = self.0.site.devices.get_mut(device) else {
            return;
        };
        attached.attachment = attachment;
        match attachment {
            Attachment::Online => self.device_found(scene),
            _ => self.device_lost(device, scene),
        }
    }

    /// Every device is well again.
    pub(crate) fn recover(&mut self, scene: &mut Scene) {
        for attached in self.0.site.devices.values_mut() {
            attached.attachment = Attachment::Online;
        }
        self.device_found(scene);
    }

    /// Whether nothing is left to do or to say here.
    pub(crate) fn is_quiet(&self) -> bool {
        self.0.is_quiet()
    }

    /// What keeps it from being quiet.
    pub(crate) fn unrest(&self) -> String {
        format!("{}: {}", self.site().name, self.0.unrest())
    }

    fn device_lost(&mut self, device: &Name, scene: &mut Scene) {
        self.0.interrupt(device, scene);
    }

    fn device_found(&mut self, scene: &mut Scene) {
        self.0.begin_work(scene);
    }
}

/// How long a sender waits for an answer that should come at once.
const PATIENCE_MS: (i64, i64) = (3_000, 8_000);
