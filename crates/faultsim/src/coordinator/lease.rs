//! How a leader shows that it lives, and how long it may answer from memory alone (S18).

use super::{
    Coordinator,
    end::Why,
    server::{Chore, Cut, Renewal, RenewalResult},
};
use crate::{checker::Checker, planted::Planted, scene::Scene};
use muster_coordinator::Lease;
use muster_store::{Election, StoreError};

/// A term that a server has, as far as it knows.
pub(crate) struct Tenure {
    pub(super) life: u32,
    pub(super) epoch: u64,
    pub(super) lease: Lease,
}

impl Coordinator {
    /// A leader shows that it lives.
    pub(super) fn renew(&mut self, renewal: Renewal, scene: &mut Scene, checker: &mut Checker) {
        let Renewal { server, life, .. } = renewal;
        let Some(epoch) = self.epoch_of(server, life) else {
            return;
        };
        let is_slow = Self::is_slow(scene);
        if !is_slow && self.reaches(server, Cut::Renewals, scene.now) {
            let result = self.show(epoch, scene, checker);
            return self.shown(renewal, result, scene);
        }
        let delay = Self::delay(scene);
        self.servers[server].plan(delay, Chore::Shows(renewal), scene);
    }

    /// A sign of life that takes its time is at the store.
    pub(super) fn shows_late(&mut self, renewal: Renewal, scene: &mut Scene, checker: &mut Checker) {
        let Renewal { server, life, .. } = renewal;
        let epoch = self.epoch_of(server, life).filter(|_| self.reaches(server, Cut::Renewals, scene.now));
        let result = epoch.map_or(RenewalResult::Nothing, |epoch| self.show(epoch, scene, checker));
        let delay = Self::delay(scene);
        self.servers[server].plan(delay, Chore::Shown(renewal, result), scene);
    }

    /// It hears what became of its sign of life, and plans the next.
    pub(super) fn shown(&mut self, renewal: Renewal, result: RenewalResult, scene: &mut Scene) {
        let Renewal { server, life, sent } = renewal;
        let is_deaf = !self.reaches(server, Cut::Renewals, scene.now);
        let (planted, clock) = (self.planted, self.servers[server].clock(scene.now));
        let Some(tenure) = self.servers[server].tenure.as_mut().filter(|tenure| tenure.life == life) else {
            return;
        };
        let lease = &mut tenure.lease;
        match if is_deaf { RenewalResult::Nothing } else { result } {
            RenewalResult::Taken if planted == Some(Planted::LeaseFromAnswer) => lease.renewed(clock),
            RenewalResult::Taken => lease.renewed(sent),
            RenewalResult::Superseded if planted == Some(Planted::DeposedGoesOn) => lease.failed(clock),
            RenewalResult::Superseded => return self.depose(server, Why::Superseded, scene),
            RenewalResult::Nothing if lease.has_run_out(clock) => {
                return self.depose(server, Why::Silent, scene);
            }
            RenewalResult::Nothing => lease.failed(clock),
        }
        self.plan_renewal(server, scene);
    }

    /// Plans the next sign of life of a leader, by its server's clock.
    pub(super) fn plan_renewal(&self, server: usize, scene: &mut Scene) {
        let place = &self.servers[server];
        let Some(Tenure { life, lease, .. }) = &place.tenure else {
            return;
        };
        let pause = (place.ticker.when(lease.next_renewal()) - scene.now).0.max(0);
        place.plan(pause..=pause, Chore::Renew(*life), scene);
    }

    /// The term of a life, if the server still believes in it.
    fn epoch_of(&self, server: usize, life: u32) -> Option<u64> {
        let tenure = self.servers[server].tenure.as_ref();
        tenure.filter(|tenure| tenure.life == life).map(|tenure| tenure.epoch)
    }

    fn show(&self, epoch: u64, scene: &mut Scene, checker: &mut Checker) -> RenewalResult {
        match self.store.renew(epoch) {
            Ok(()) => {
                checker.terms.shown(scene.now);
                RenewalResult::Taken
            }
            Err(StoreError::Superseded) => {
                scene.count("sign of life refused");
                RenewalResult::Superseded
            }
            Err(_) => RenewalResult::Nothing,
        }
    }
}
