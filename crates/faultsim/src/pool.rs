//! The pool in the world: owners with workers of every kind, and the people who hand in jobs.

mod patron;
mod plain;
mod real;
mod rig;
mod wire;

use crate::{
    checker::Verdict,
    network::{Sender, Ticket},
    scene::Scene,
};
use muster_model::{Millis, Rejection, Reply, Timestamp};
pub(crate) use patron::{Duty, Patron, PoolView};
use plain::Plain;
use real::Real;
use rig::Nature;
pub(crate) use rig::Rig;

/// A worker of the pool.
pub(crate) enum Member {
    /// Muster's own: the real core.
    Real(Box<Real>),
    /// A model of somebody else's.
    Plain(Box<Plain>),
}

/// What a worker does by itself.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Chore {
    /// As muster's own.
    Real(real::Chore),
    /// As a model.
    Plain(plain::Chore),
}

/// All that the world has of the pool.
#[derive(Default)]
pub(crate) struct Pool {
    pub(crate) members: Vec<Member>,
    pub(crate) patron: Patron,
    /// Nobody wants anything of the workers any more.
    pub(crate) closed: bool,
}

impl Pool {
    pub(crate) fn new(scene: &mut Scene) -> Self {
        let Some(plan) = scene.plan.pool.clone() else {
            return Self::default();
        };
        let mut members = Vec::new();
        for owner in 0..plan.owners {
            let workers = 1 + usize::from(scene.dice.chance(plan.seconds));
            for _ in 0..workers {
                let rig = Rig::new(members.len(), owner, scene);
                members.push(Member::new(rig, scene));
            }
        }
        Self { members, patron: Patron::default(), closed: false }
    }

    /// Names of the workers that hand in nothing but what is true, where liars are too few to outvote them (P15).
    pub(crate) fn innocent<'a>(&'a self, scene: &Scene) -> impl Iterator<Item = String> + use<'a> {
        let is_safe = scene.plan.pool.as_ref().is_some_and(crate::plan::PoolPlan::is_pact_small);
        let truthful = self.members.iter().map(Member::rig).filter(|rig| rig.nature.is_truthful());
        truthful.filter(move |_| is_safe).map(|rig| rig.name.clone())
    }

    pub(crate) fn begin(&mut self, scene: &mut Scene) -> Verdict {
        self.members.iter_mut().try_for_each(|member| member.begin(scene))?;
        self.patron.begin(scene);
        Ok(())
    }

    /// Until when a worker is frozen, where it is.
    pub(crate) fn thaws_at(&self, member: usize, now: Timestamp) -> Option<Timestamp> {
        Some(self.members[member].rig().frozen_until).filter(|until| *until > now)
    }

    /// The faults stop: everybody is up and well again, and does what it should.
    pub(crate) fn recover(&mut self, scene: &mut Scene) -> Verdict {
        for (number, member) in self.members.iter_mut().enumerate() {
            scene.network.set_cut(Sender::Member(number), false);
            member.rig_mut().frozen_until = scene.now;
            match (member.rig().up, &mut *member) {
                (false, member) => member.begin(scene)?,
                (true, Member::Plain(plain)) => plain.recover(scene),
                (true, Member::Real(_)) => {}
            }
        }
        Ok(())
    }

    /// Whether nobody has anything left to tell or to ask for.
    pub(crate) fn is_quiet(&self) -> bool {
        self.patron.is_quiet() && (self.closed || self.members.iter().all(Member::is_quiet))
    }

    /// Nobody wants anything of the workers any more: they are switched off.
    pub(crate) fn close(&mut self, scene: &mut Scene) {
        self.closed = true;
        for member in self.members.iter_mut().filter(|member| member.rig().up) {
            member.crash(scene);
        }
    }

    pub(crate) fn unrest(&self) -> String {
        let members: Vec<String> = self.members.iter().map(Member::unrest).collect();
        format!("{}; {}", self.patron.unrest(), members.join("; "))
    }
}

impl Member {
    fn new(rig: Rig, scene: &mut Scene) -> Self {
        let real = scene.plan.pool.as_ref().map_or(0, |plan| plan.real);
        match rig.nature == Nature::Honest && scene.dice.chance(real) {
            true => Self::Real(Box::new(Real::new(rig, scene))),
            false => Self::Plain(Box::new(Plain::new(rig))),
        }
    }

    /// What does not depend on what runs here.
    pub(crate) fn rig(&self) -> &Rig {
        match self {
            Self::Real(real) => &real.rig,
            Self::Plain(plain) => &plain.rig,
        }
    }

    /// Begins its rounds, at first and after a crash.
    pub(crate) fn begin(&mut self, scene: &mut Scene) -> Verdict {
        match self {
            Self::Real(real) => real.begin(scene),
            Self::Plain(plain) => {
                plain.begin(scene);
                Ok(())
            }
        }
    }

    /// Loses everything that is not on its disk.
    pub(crate) fn crash(&mut self, scene: &mut Scene) {
        scene.count("member crashed");
        match self {
            Self::Real(real) => real.crash(scene),
            Self::Plain(plain) => plain.crash(scene),
        }
    }

    /// Stands still for longer than it is waited for, and then goes on as if nothing had been.
    pub(crate) fn freeze(&mut self, span: Millis, scene: &mut Scene) {
        scene.count("member frozen");
        self.rig_mut().frozen_until = scene.now + span;
    }

    /// It is asked to end in order; a model does not understand.
    pub(crate) fn leave(&mut self, scene: &mut Scene) -> Verdict {
        match self {
            Self::Real(real) if real.rig.up => real.leave(scene),
            _ => Ok(()),
        }
    }

    /// Does something by itself; one that has crashed meanwhile does not.
    pub(crate) fn act(
        &mut self,
        (chore, incarnation): (Chore, u32),
        scene: &mut Scene,
        view: &PoolView<'_>,
    ) -> Verdict {
        if !self.rig().up || incarnation != self.rig().incarnation {
            return Ok(());
        }
        match (self, chore) {
            (Self::Real(real), Chore::Real(chore)) => real.act(chore, scene, view),
            (Self::Plain(plain), Chore::Plain(chore)) => {
                plain.act(chore, scene, view);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// An answer reaches it; one it no longer waits for is nothing to it.
    pub(crate) fn hear(
        &mut self,
        (ticket, result): (&Ticket, Result<Reply, Rejection>),
        scene: &mut Scene,
    ) -> Verdict {
        match self {
            _ if !self.rig().up => Ok(()),
            Self::Real(real) => real.hear(ticket, result, scene),
            Self::Plain(plain) => {
                plain.hear(ticket, result, scene);
                Ok(())
            }
        }
    }

    /// It is told that the coordinator is away; a model does not understand.
    pub(crate) fn turned_away(&mut self, ticket: &Ticket, scene: &mut Scene) -> Verdict {
        match self {
            Self::Real(real) if real.rig.up => real.turned_away(ticket, scene),
            _ => Ok(()),
        }
    }

    fn is_quiet(&self) -> bool {
        match self {
            Self::Real(real) => real.is_quiet(),
            Self::Plain(_) => true,
        }
    }

    fn unrest(&self) -> String {
        let words = match self {
            Self::Real(real) => real.unrest(),
            Self::Plain(plain) => plain.unrest(),
        };
        format!("{}: {words}", self.rig().name)
    }

    fn rig_mut(&mut self) -> &mut Rig {
        match self {
            Self::Real(real) => &mut real.rig,
            Self::Plain(plain) => &mut plain.rig,
        }
    }
}

impl From<real::Chore> for Chore {
    fn from(chore: real::Chore) -> Self {
        Self::Real(chore)
    }
}

impl From<plain::Chore> for Chore {
    fn from(chore: plain::Chore) -> Self {
        Self::Plain(chore)
    }
}

/// How long a sender waits for an answer that should come at once.
const PATIENCE_MS: (i64, i64) = (2_000, 5_000);
