//! What goes wrong with the workers of the pool.

use super::Fault;
use crate::{
    agenda::Happening,
    checker::Verdict,
    coordinator::{Doom, Ending},
    network::Sender,
    world::World,
};
use muster_model::Millis;

impl World {
    pub(super) fn draw_pool_fault(&mut self) -> Verdict {
        let member = self.scene.dice.below(self.pool.members.len());
        match self.scene.dice.below(20) {
            0..3 => return self.end_coordinator(Ending::Crash),
            3..6 => self.coordinator.doom(Doom::Crash),
            6 => return self.end_coordinator(Ending::Stop),
            7..10 => self.cut(Sender::Member(member)),
            10..14 => self.crash_member(member),
            14..18 => self.freeze_member(member),
            _ => return self.pool.members[member].leave(&mut self.scene),
        }
        Ok(())
    }

    pub(super) fn restart_member(&mut self, member: usize) -> Verdict {
        if self.pool.closed || self.pool.members[member].rig().up {
            return Ok(());
        }
        self.scene.note(|| format!("member {member}: starts again"));
        self.pool.members[member].begin(&mut self.scene)
    }

    fn crash_member(&mut self, member: usize) {
        if self.pool.members[member].rig().up {
            self.scene.note(|| format!("member {member}: crashes"));
            self.pool.members[member].crash(&mut self.scene);
            let back = Fault::RestartMember(member);
            self.scene.within(100, 20_000, Happening::Fault(Box::new(back)));
        }
    }

    /// It falls silent, mostly for longer than its lease, and goes on as if nothing had been.
    fn freeze_member(&mut self, member: usize) {
        let limit = self.scene.plan.settings.pool.lease.0.min(60_000);
        let span = self.scene.dice.between(limit / 2, limit * 2);
        self.scene.note(|| format!("member {member}: stands still for {span} ms"));
        self.pool.members[member].freeze(Millis(span), &mut self.scene);
    }
}
