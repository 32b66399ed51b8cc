//! I11: an agent that ends in order, and is started again later.

use super::{Agent, Chore};
use crate::{
    checker::{Broken, Checker},
    scene::Scene,
};
use muster_agent::core::Drain;

/// How far it has come with it.
pub(super) struct Leaving {
    /// It no longer waits for events to be taken.
    is_hopeless: bool,
}

impl Agent {
    /// Asks it to end.
    pub(in crate::node) fn ask_to_leave(&self, scene: &mut Scene) {
        let drain = if scene.dice.chance(500) { Drain::Finish } else { Drain::HandBack };
        self.site.plan(scene, 0..=100, Chore::Leave(drain));
    }

    pub(super) fn begin_to_leave(&mut self, drain: Drain, scene: &mut Scene, checker: &mut Checker) {
        scene.count("agent drained");
        scene.note(|| format!("{}: is asked to end ({drain:?})", self.site.name));
        let now = self.now(scene);
        checker.agent(&self.site).drains();
        let life = self.life();
        life.core.drain(drain, now);
        life.leaving.get_or_insert(Leaving { is_hopeless: false });
        self.site.plan(scene, 2_000..=40_000, Chore::LoseHope);
    }

    pub(super) fn lose_hope(&mut self) {
        if let Some(leaving) = &mut self.life().leaving {
            leaving.is_hopeless = true;
        }
    }

    /// Ends once nothing runs and everything was taken, or is not worth waiting for.
    pub(super) fn leave_if_due(&mut self, scene: &mut Scene, checker: &mut Checker) -> Result<bool, Broken> {
        let life = self.life();
        let is_due = life
            .leaving
            .as_ref()
            .is_some_and(|leaving| life.core.is_drained() || (leaving.is_hopeless && life.core.is_idle()));
        if !is_due {
            return Ok(false);
        }
        if let Ok(last) = life.spool.sync() {
            checker.agent(&self.site).synced(last)?;
        }
        scene.count("agent left");
        scene.note(|| format!("{}: has ended in order", self.site.name));
        let has_power = !self.disk.is_powerless();
        self.die(scene, checker);
        if !has_power {
            self.disk.crash(&mut |limit| scene.dice.below(limit));
        }
        self.start_again(scene, if scene.calm { 100..=1_000 } else { 500..=60_000 });
        Ok(true)
    }
}
