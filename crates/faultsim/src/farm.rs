//! Sessions of frames in the world: their workers, and the people who want them.

mod director;
mod plain;
mod real;
mod rig;
mod wire;

pub(crate) use director::{Director, Duty, FarmView};
pub(crate) use rig::Rig;
pub(crate) use wire::push_body;

use crate::{
    checker::{Broken, Verdict},
    coordinator::Push,
    network::{Sender, Ticket},
    planted::Planted,
    scene::Scene,
};
use muster_contract_simulation::Task;
use muster_model::{Millis, Rejection, Reply, Timestamp};
use plain::Plain;
use real::Real;

/// A worker of sessions.
pub(crate) enum Renderer {
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

/// All that the world has of sessions.
#[derive(Default)]
pub(crate) struct Farm {
    pub(crate) renderers: Vec<Renderer>,
    pub(crate) director: Director,
    /// Nobody wants anything of the workers any more.
    pub(crate) closed: bool,
}

impl Farm {
    pub(crate) fn new(scene: &mut Scene, planted: Option<Planted>) -> Self {
        let count = scene.plan.frames.as_ref().map_or(0, |plan| plan.renderers);
        let renderers = (0..count).map(|number| Renderer::new(number, scene, planted)).collect();
        Self { renderers, director: Director::default(), closed: false }
    }

    pub(crate) fn begin(&mut self, scene: &mut Scene) -> Verdict {
        self.renderers.iter_mut().try_for_each(|renderer| renderer.begin(scene))?;
        self.director.begin(scene);
        Ok(())
    }

    /// Until when a worker is frozen, where it is.
    pub(crate) fn thaws_at(&self, renderer: usize, now: Timestamp) -> Option<Timestamp> {
        Some(self.renderers[renderer].rig().frozen_until).filter(|until| *until > now)
    }

    /// The faults stop: everybody is up and well again.
    pub(crate) fn recover(&mut self, scene: &mut Scene) -> Verdict {
        for (number, renderer) in self.renderers.iter_mut().enumerate() {
            scene.network.set_cut(Sender::Renderer(number), false);
            let rig = renderer.rig_mut();
            (rig.frozen_until, rig.deaf_until) = (scene.now, scene.now);
            match renderer.rig().up {
                true => renderer.recover(scene)?,
                false => renderer.begin(scene)?,
            }
        }
        Ok(())
    }

    /// Nobody wants anything of the workers any more: they are switched off.
    pub(crate) fn close(&mut self, scene: &mut Scene) {
        self.closed = true;
        for renderer in self.renderers.iter_mut().filter(|renderer| renderer.rig().up) {
            renderer.crash(scene);
        }
    }

    pub(crate) fn unrest(&self) -> String {
        let renderers: Vec<String> = self.renderers.iter().map(Renderer::unrest).collect();
        format!("{}; {}", self.director.unrest(), renderers.join("; "))
    }
}

impl Renderer {
    fn new(number: usize, scene: &mut Scene, planted: Option<Planted>) -> Self {
        let rig = Rig::new(number, scene);
        let real = scene.plan.frames.as_ref().map_or(0, |plan| plan.real);
        match scene.dice.chance(real) {
            true => Self::Real(Box::new(Real::new(rig, scene, planted))),
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

    /// Loses everything it knew.
    pub(crate) fn crash(&mut self, scene: &mut Scene) {
        scene.count("renderer crashed");
        match self {
            Self::Real(real) => real.crash(scene),
            Self::Plain(plain) => plain.crash(scene),
        }
    }

    /// Stands still for longer than it is waited for, and then goes on as if nothing had been.
    pub(crate) fn freeze(&mut self, span: Millis, scene: &mut Scene) {
        scene.count("renderer frozen");
        self.rig_mut().frozen_until = scene.now + span;
    }

    /// It can be reached by nobody for a while, though it reaches others.
    pub(crate) fn go_deaf(&mut self, span: Millis, scene: &mut Scene) {
        scene.count("renderer cannot be pushed to");
        self.rig_mut().deaf_until = scene.now + span;
    }

    /// It is asked to end in order, or takes its leave.
    pub(crate) fn leave(&mut self, scene: &mut Scene) -> Verdict {
        scene.count("renderer leaves");
        match self {
            Self::Real(real) => real.leave(scene),
            Self::Plain(plain) => {
                plain.leave(scene);
                Ok(())
            }
        }
    }

    /// Does something by itself; one that has crashed meanwhile does not.
    pub(crate) fn act(&mut self, (chore, incarnation): (Chore, u32), scene: &mut Scene) -> Verdict {
        if !self.rig().up || incarnation != self.rig().incarnation {
            return Ok(());
        }
        match (&mut *self, chore) {
            (Self::Real(real), Chore::Real(chore)) => real.act(chore, scene)?,
            (Self::Plain(plain), Chore::Plain(chore)) => plain.act(chore, scene),
            _ => {}
        }
        self.rig().verdict()
    }

    /// A reply reaches it, phrased as the server does; one it no longer waits for is nothing to it.
    pub(crate) fn hear(
        &mut self,
        ticket: &Ticket,
        result: &Result<Reply, Rejection>,
        scene: &mut Scene,
    ) -> Verdict {
        if !self.rig().up {
            return Ok(());
        }
        let response = wire::respond(&ticket.command, result, scene.plan.settings.frames.heartbeat);
        wire::check_told(result, &response)?;
        match self {
            Self::Real(real) => real.hear(ticket, response, scene)?,
            Self::Plain(plain) => plain.hear(ticket, response, scene),
        }
        self.rig().verdict()
    }

    /// It is told that the coordinator is away; a model does not understand.
    pub(crate) fn turned_away(&mut self, ticket: &Ticket, scene: &mut Scene) -> Verdict {
        match self {
            Self::Real(real) if real.rig.up => real.turned_away(ticket, scene),
            _ => Ok(()),
        }
    }

    /// It is told that its token is not known.
    pub(crate) fn turned_out(&mut self, ticket: &Ticket, scene: &mut Scene) -> Verdict {
        match self {
            _ if !self.rig().up => Ok(()),
            Self::Real(real) => real.turned_out(ticket, scene),
            Self::Plain(plain) => {
                plain.turned_out(ticket, scene);
                Ok(())
            }
        }
    }

    /// A task is pushed here; tells whether it is taken, where anybody says so.
    pub(crate) fn pushed(&mut self, push: &Push, scene: &mut Scene) -> Result<Option<bool>, Broken> {
        match self {
            _ if !self.rig().up || self.rig().deaf_until > scene.now => Ok(None),
            _ if self.rig().token != push.token => Ok(Some(false)),
            _ => self.take_pushed(push, scene),
        }
    }

    fn take_pushed(&mut self, push: &Push, scene: &mut Scene) -> Result<Option<bool>, Broken> {
        let Ok(task) = Task::read(&push.body) else { return Ok(Some(false)) };
        wire::check_pushed(&task, &push.handout)?;
        let taken = match self {
            Self::Real(real) => real.pushed(task, scene).map(Some)?,
            Self::Plain(plain) => {
                wire::handout_of(&task).map_or(Some(false), |handout| plain.pushed(&handout, scene))
            }
        };
        self.rig().verdict()?;
        Ok(taken)
    }

    fn recover(&mut self, scene: &mut Scene) -> Verdict {
        match self {
            Self::Real(real) => real.recover(scene),
            Self::Plain(plain) => {
                plain.recover(scene);
                Ok(())
            }
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
