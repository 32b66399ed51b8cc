//! How a life of an agent ends when nobody asked it to.

use super::Agent;
use crate::{checker::Checker, fault::Fault, scene::Scene};
use std::ops::RangeInclusive;

/// The moment at which a life ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Doom {
    /// Instead of the next sync.
    Sync,
    /// While something that was killed dies.
    Kill,
}

impl Agent {
    /// The process dies, or the power goes; what the disk then keeps of what was not synced is left to the dice.
    ///
    /// In half of all cases that happens at the next moment at which something waits for the disk, or for its death.
    pub(in crate::node) fn crash(&mut self, scene: &mut Scene, checker: &mut Checker) {
        match (&mut self.life, scene.dice.below(4)) {
            (Some(life), 0) => life.doom = Some(Doom::Sync),
            (Some(life), 1) => life.doom = Some(Doom::Kill),
            _ => self.end_badly(scene, checker),
        }
    }

    pub(super) fn meet_doom(&mut self, scene: &mut Scene, checker: &mut Checker) {
        if !scene.calm {
            scene.count("node crashed at a chosen moment");
            self.end_badly(scene, checker);
            self.start_again(scene, 500..=60_000);
        }
    }

    fn end_badly(&mut self, scene: &mut Scene, checker: &mut Checker) {
        if scene.dice.chance(500) {
            self.lose_power(scene, checker);
        } else {
            self.die(scene, checker);
        }
    }

    /// Ends the life without a word; what was written to the disk stays.
    pub(super) fn die(&mut self, scene: &mut Scene, checker: &mut Checker) {
        for request in self.life.take().into_iter().flat_map(|life| life.requests.into_values()) {
            request.ticket.broken.set(scene.dice.chance(500));
        }
        self.site.go_down();
        checker.agent(&self.site).died();
    }

    pub(super) fn lose_power(&mut self, scene: &mut Scene, checker: &mut Checker) {
        scene.count("node lost power");
        scene.note(|| format!("{}: loses power", self.site.name));
        self.die(scene, checker);
        self.disk.crash(&mut |limit| scene.dice.below(limit));
    }

    pub(super) fn start_again(&self, scene: &mut Scene, ms: RangeInclusive<i64>) {
        self.site.plan_fault(scene, ms, Fault::Restart);
    }
}
