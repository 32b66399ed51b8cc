//! How a leader shows that it lives, and how long it may answer from memory alone (S18).

use super::{
    Coordinator,
    end::Why,
    server::{Chore, Cut, Heard},
};
use crate::{checker::Checker, planted::Planted, scene::Scene};
use muster_coordinator::Lease;
use muster_model::Timestamp;
use muster_store::{Election, StoreError};

/// A term that a server has, as far as it knows.
pub(crate) struct Tenure {
    pub(super) life: u32,
    pub(super) epoch: u64,
    pub(super) lease: Lease,
}

impl Coordinator {
    /// A leader shows that it lives.
    pub(super) fn renew(&mut self, (server, life): (usize, u32), scene: &mut Scene, checker: &mut Checker) {
        let Some(epoch) = self.epoch_of(server, life) else {
            return;
        };
        let is_slow = Self::is_slow(scene);
        let sent = self.servers[server].clock(scene.now);
        if !is_slow && self.reaches(server, Cut::Renewals, scene.now) {
            let heard = self.show(epoch, scene, checker);
            return self.shown((server, life), (sent, heard), scene);
        }
        let delay = Self::delay(scene);
        self.servers[server].plan(delay, Chore::Shows(life, sent), scene);
    }

    /// A sign of life that takes its time is at the store.
    pub(super) fn shows_late(
        &mut self,
        (server, life): (usize, u32),
        sent: Timestamp,
        (scene, checker): (&mut Scene, &mut Checker),
    ) {
        let epoch = self.epoch_of(server, life).filter(|_| self.reaches(server, Cut::Renewals, scene.now));
        let heard = epoch.map_or(Heard::Nothing, |epoch| self.show(epoch, scene, checker));
        let delay = Self::delay(scene);
        self.servers[server].plan(delay, Chore::Shown(life, sent, heard), scene);
    }

    /// It hears what became of its sign of life, and plans the next.
    pub(super) fn shown(
        &mut self,
        (server, life): (usize, u32),
        (sent, heard): (Timestamp, Heard),
        scene: &mut Scene,
    ) {
        let is_deaf = !self.reaches(server, Cut::Renewals, scene.now);
        let (planted, clock) = (self.planted, self.servers[server].clock(scene.now));
        let Some(tenure) = self.servers[server].tenure.as_mut().filter(|tenure| tenure.life == life) else {
            return;
        };
        let lease = &mut tenure.lease;
        match if is_deaf { Heard::Nothing } else { heard } {
            Heard::Taken if planted == Some(Planted::LeaseFromAnswer) => lease.renewed(clock),
            Heard::Taken => lease.renewed(sent),
            Heard::Superseded if planted == Some(Planted::DeposedGoesOn) => lease.failed(clock),
            Heard::Superseded => return self.depose(server, Why::Superseded, scene),
            Heard::Nothing if lease.has_run_out(clock) => return self.depose(server, Why::Silent, scene),
            Heard::Nothing => lease.failed(clock),
        }
        let next = lease.next_renewal();
        self.plan_renewal(server, (life, next), scene);
    }

    /// Plans a sign of life for when a server's clock shows this.
    pub(super) fn plan_renewal(&self, server: usize, (life, next): (u32, Timestamp), scene: &mut Scene) {
        let place = &self.servers[server];
        let pause = (place.ticker.when(next) - scene.now).0.max(0);
        place.plan((pause, pause), Chore::Renew(life), scene);
    }

    /// The term of a life, if the server still believes in it.
    fn epoch_of(&self, server: usize, life: u32) -> Option<u64> {
        let tenure = self.servers[server].tenure.as_ref();
        tenure.filter(|tenure| tenure.life == life).map(|tenure| tenure.epoch)
    }

    fn show(&self, epoch: u64, scene: &mut Scene, checker: &mut Checker) -> Heard {
        match self.store.renew(epoch) {
            Ok(()) => {
                checker.terms.shown(scene.now);
                Heard::Taken
            }
            Err(StoreError::Superseded) => {
                scene.count("sign of life refused");
                Heard::Superseded
            }
            Err(_) => Heard::Nothing,
        }
    }
}
