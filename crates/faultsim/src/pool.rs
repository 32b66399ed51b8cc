//! The pool in the world: owners with workers of every kind, and the people who hand in jobs.

mod forgery;
mod patron;
mod plain;
mod real;
mod rig;
mod wire;

pub(crate) use patron::{Patron, PoolView, respond};
pub(crate) use plain::Chore as PlainChore;
pub(crate) use real::Chore as MemberChore;

use crate::{
    checker::Verdict,
    machine::{self, Program},
    plan::PoolPlan,
    scene::Scene,
};
use plain::Plain;
use real::Real;
use rig::{Nature, Rig};

/// All that the world has of the pool.
#[derive(Default)]
pub(crate) struct Pool {
    pub(crate) members: Vec<Box<dyn Program>>,
    pub(crate) patron: Patron,
    /// True if the workers are no longer needed.
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
                members.push(member(members.len(), owner, &plan, scene));
            }
        }
        Self { members, patron: Patron::default(), closed: false }
    }

    pub(crate) fn begin(&mut self, scene: &mut Scene) -> Verdict {
        self.members.iter_mut().try_for_each(|member| member.begin(scene))?;
        self.patron.begin(scene);
        Ok(())
    }

    /// True if nobody has anything left to tell or to ask for.
    pub(crate) fn is_quiet(&self) -> bool {
        self.patron.is_quiet() && (self.closed || self.members.iter().all(|member| member.is_quiet()))
    }

    /// Switches the workers off, because they are no longer needed.
    pub(crate) fn close(&mut self, scene: &mut Scene) {
        self.closed = true;
        for member in self.members.iter_mut().filter(|member| member.machine().up) {
            machine::crash(&mut **member, scene);
        }
    }
}

/// A worker. One that hands in nothing but what is true must not lose by it where liars are too few to outvote it (P15).
fn member(number: usize, owner: usize, plan: &PoolPlan, scene: &mut Scene) -> Box<dyn Program> {
    let rig = Rig::new(number, owner, scene);
    if rig.nature.is_truthful() && plan.is_pact_small() {
        scene.checker.pool.trust(rig.name.clone());
    }
    match rig.nature == Nature::Honest && scene.dice.chance(plan.real) {
        true => Box::new(Real::new(rig, scene)),
        false => Box::new(Plain::new(rig)),
    }
}
