//! A machine that runs muster's own worker: the real core. Its wire, its programs and its clock are played.

mod exchange;
mod render;

use super::{rig::Rig, wire::Response};
use crate::{
    checker::{Broken, Verdict, broken},
    fault::Fault,
    network::Ticket,
    planted::Planted,
    scene::{Happening, Scene},
};
use exchange::Asked;
use muster_contract_simulation::Task;
use muster_model::{Millis, Ratio, Timestamp};
use muster_workers::simulation::core::{Action, Core, Note, Offer, Refusal, Settings, Trouble};
use render::Render;
use std::collections::{BTreeMap, BTreeSet};

/// What it does by itself.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Chore {
    /// The core wants to be woken.
    Wake,
    /// A work gets further, unless it took another turn meanwhile.
    Advance {
        /// Which work.
        work: u64,
        /// Its turn when this was planned.
        turn: u32,
    },
    /// No answer came to this exchange.
    GiveUp(u64),
}

/// The machine.
pub(crate) struct Real {
    pub(super) rig: Rig,
    settings: Settings,
    /// It is not told whose term it is.
    is_blind: bool,
    /// Ids that were ever rendered with here.
    begun: BTreeSet<u64>,
    life: Option<Life>,
}

/// What a crash ends.
struct Life {
    core: Core,
    asked: BTreeMap<u64, Asked>,
    works: BTreeMap<u64, Render>,
    pace: Ratio,
    wakes_at: Option<Timestamp>,
    /// Wakes in a row after which something was due at once.
    rounds: u32,
}

impl Real {
    pub(super) fn new(rig: Rig, scene: &mut Scene, planted: Option<Planted>) -> Self {
        let wait = (!rig.takes_pushes).then(|| Millis(scene.dice.between(500, 15_000)));
        let settings = Settings { slots: rig.slots, pull_wait: wait, output_root: None };
        let is_blind = planted == Some(Planted::OlderTermObeyed);
        Self { rig, settings, is_blind, begun: BTreeSet::new(), life: None }
    }

    pub(super) fn begin(&mut self, scene: &mut Scene) -> Verdict {
        self.rig.up = true;
        self.life = Some(Life {
            core: Core::new(self.settings.clone(), scene.now),
            asked: BTreeMap::new(),
            works: BTreeMap::new(),
            pace: Ratio(1_000_000),
            wakes_at: None,
            rounds: 0,
        });
        self.follow(scene)
    }

    pub(super) fn crash(&mut self, scene: &mut Scene) {
        self.rig.go_down();
        if let Some(life) = self.life.take() {
            for asked in life.asked.values() {
                asked.ticket.broken.set(scene.dice.chance(500));
            }
        }
    }

    pub(super) fn leave(&mut self, scene: &mut Scene) -> Verdict {
        self.life().core.leave(scene.now);
        self.follow(scene)
    }

    pub(super) fn act(&mut self, chore: Chore, scene: &mut Scene) -> Verdict {
        match chore {
            Chore::Wake => self.wake(scene.now),
            Chore::Advance { work, turn } => self.advance((work, turn), scene),
            Chore::GiveUp(exchange) => self.give_up(exchange, scene),
        }
        self.follow(scene)
    }

    /// A response reaches it.
    pub(super) fn hear(&mut self, ticket: &Ticket, response: Response, scene: &mut Scene) -> Verdict {
        let answer = response.map_err(|problem| {
            let status = problem.status().as_u16();
            Trouble::Refused(Refusal { status, detail: problem.detail().into() })
        });
        self.answered(ticket, answer, scene)?;
        self.follow(scene)
    }

    /// Its token is not known.
    pub(super) fn turned_out(&mut self, ticket: &Ticket, scene: &mut Scene) -> Verdict {
        self.answered(ticket, Err(Trouble::Unauthorized), scene)?;
        self.follow(scene)
    }

    /// Something before the coordinator says that there is nobody.
    pub(super) fn turned_away(&mut self, ticket: &Ticket, scene: &mut Scene) -> Verdict {
        let patience = scene.dice.chance(300).then(|| Millis(scene.dice.between(1, 20_000)));
        self.answered(ticket, Err(Trouble::NoAnswer(patience)), scene)?;
        self.follow(scene)
    }

    pub(super) fn pushed(&mut self, task: Task, scene: &mut Scene) -> Result<bool, Broken> {
        let offer = self.life().core.offered(task, scene.now);
        self.follow(scene)?;
        if matches!(offer, Offer::Stale { .. }) {
            scene.count("task of an older term refused");
        }
        Ok(offer == Offer::Taken)
    }

    /// Whatever hung goes on.
    pub(super) fn recover(&mut self, scene: &mut Scene) -> Verdict {
        self.mend(scene);
        self.follow(scene)
    }

    pub(super) fn unrest(&self) -> String {
        self.life.as_ref().map_or("down".into(), |life| format!("{:?}", life.core.status()))
    }

    /// Does what the core wants done, until it wants nothing more.
    fn follow(&mut self, scene: &mut Scene) -> Verdict {
        while let Some(action) = self.life.as_mut().and_then(|life| life.core.next_action()) {
            self.carry_out(action, scene)?;
        }
        let Some(life) = &self.life else {
            return Ok(());
        };
        if life.core.over().is_some() {
            scene.count("worker ends");
            self.crash(scene);
            let back = Fault::RestartRenderer(self.rig.number);
            scene.within(500, 10_000, Happening::Fault(Box::new(back)));
            return Ok(());
        }
        self.plan_wake(scene)
    }

    fn carry_out(&mut self, action: Action, scene: &mut Scene) -> Verdict {
        match action {
            Action::Begin(work) => return self.begin_work(&work, scene),
            Action::Kill(work) => self.kill(work, scene),
            Action::Pace(pace) => self.life().pace = pace,
            Action::Note(Note::Lost(_)) => scene.count("worker gives itself up"),
            Action::Note(Note::StaleMaster { .. }) => scene.count("word of an older term not believed"),
            Action::Note(_) => {}
            call => self.send(call, scene)?,
        }
        Ok(())
    }

    fn wake(&mut self, now: Timestamp) {
        let life = self.life();
        if life.wakes_at.is_some_and(|at| at <= now) {
            life.wakes_at = None;
            life.core.wake(now);
        }
    }

    fn plan_wake(&mut self, scene: &mut Scene) -> Verdict {
        let now = scene.now;
        let life = self.life();
        let Some(next) = life.core.next_wake().map(|next| next.max(now)) else {
            return Ok(());
        };
        life.rounds = if next == now { life.rounds + 1 } else { 0 };
        if life.rounds > ROUNDS_MAX {
            let status = life.core.status();
            return broken("worker_spins", || format!("something is still due at {next:?}: {status:?}"));
        }
        if life.wakes_at.is_none_or(|at| next < at) {
            life.wakes_at = Some(next);
            let pause = (next - now).0;
            self.rig.plan(scene, (pause, pause), Chore::Wake);
        }
        Ok(())
    }

    fn life(&mut self) -> &mut Life {
        self.life.as_mut().expect("only a worker that is up acts")
    }
}

/// Wakes at one moment that are not a loop.
const ROUNDS_MAX: u32 = 200;
