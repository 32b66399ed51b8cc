//! Sessions of frames in the world: their workers, and the people who want them.

mod director;
mod plain;
mod real;
mod rig;
mod wire;

pub(crate) use director::{Director, FarmView, respond};
pub(crate) use plain::Chore as PlainChore;
pub(crate) use real::Chore as RendererChore;
pub(crate) use rig::Rig;
pub(crate) use wire::push_body;

use crate::{
    checker::{Broken, Verdict},
    coordinator::Push,
    machine::{self, Program},
    planted::Planted,
    scene::Scene,
};
use muster_contract_simulation::Task;
use muster_model::FrameRange;
use plain::Plain;
use real::Real;
use std::ops::RangeInclusive;

/// A worker of sessions.
pub(crate) trait Renderer: Program {
    fn rig(&self) -> &Rig;

    fn rig_mut(&mut self) -> &mut Rig;

    /// Takes a task that was pushed, or does not, or does not answer.
    fn offer(&mut self, task: Task, scene: &mut Scene) -> Result<Option<bool>, Broken>;
}

/// All that the world has of sessions.
#[derive(Default)]
pub(crate) struct Farm {
    pub(crate) renderers: Vec<Box<dyn Renderer>>,
    pub(crate) director: Director,
    /// True if the workers are no longer needed.
    pub(crate) closed: bool,
}

impl Farm {
    pub(crate) fn new(scene: &mut Scene, planted: Option<Planted>) -> Self {
        let count = scene.plan.frames.as_ref().map_or(0, |plan| plan.renderers);
        let renderers = (0..count).map(|number| renderer(number, scene, planted)).collect();
        Self { renderers, director: Director::default(), closed: false }
    }

    pub(crate) fn begin(&mut self, scene: &mut Scene) -> Verdict {
        self.renderers.iter_mut().try_for_each(|renderer| renderer.begin(scene))?;
        self.director.begin(scene);
        Ok(())
    }

    /// Switches the workers off, because they are no longer needed.
    pub(crate) fn close(&mut self, scene: &mut Scene) {
        self.closed = true;
        for renderer in self.renderers.iter_mut().filter(|renderer| renderer.machine().up) {
            machine::crash(&mut **renderer, scene);
        }
    }

    /// A task is pushed to a worker; tells whether it is taken, where anybody says so.
    pub(crate) fn pushed(&mut self, push: &Push, scene: &mut Scene) -> Result<Option<bool>, Broken> {
        let renderer = &mut self.renderers[push.renderer];
        if !renderer.machine().up || renderer.rig().deaf_until > scene.now {
            return Ok(None);
        }
        if renderer.rig().token != push.token {
            return Ok(Some(false));
        }
        let Ok(task) = Task::read(&push.body) else { return Ok(Some(false)) };
        wire::check_pushed(&task, &push.handout)?;
        renderer.offer(task, scene)
    }
}

fn renderer(number: usize, scene: &mut Scene, planted: Option<Planted>) -> Box<dyn Renderer> {
    let rig = Rig::new(number, scene);
    let real = scene.plan.frames.as_ref().map_or(0, |plan| plan.real);
    match scene.dice.chance(real) {
        true => Box::new(Real::new(rig, scene, planted)),
        false => Box::new(Plain::new(rig)),
    }
}

/// Kind of end of a work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Succeeds,
    Fails,
    /// Not at all.
    Hangs,
    /// It was killed, and something of it runs for a while yet.
    Dies,
}

impl Fate {
    fn draw(session: &str, frames: FrameRange, scene: &mut Scene) -> Self {
        if director::is_poison(session, frames) {
            return Self::Fails;
        }
        let (fails, hangs) = scene.plan.frames.as_ref().map_or((0, 0), |plan| (plan.fails, plan.hangs));
        match () {
            () if scene.calm => Self::Succeeds,
            () if scene.dice.chance(fails) => Self::Fails,
            () if scene.dice.chance(hangs) => Self::Hangs,
            () => Self::Succeeds,
        }
    }
}

/// Duration of a part of a work, in milliseconds.
fn pause(scene: &Scene) -> RangeInclusive<i64> {
    scene.plan.frames.as_ref().map_or(100..=1_000, |plan| plan.work_ms.clone())
}
