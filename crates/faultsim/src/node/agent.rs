//! A PC that runs muster's agent: the real core over the real spool. Its disk, its wire and its devices are played.

mod disk;
mod exchange;
mod execute;
mod life;

use super::Site;
use crate::{
    checker::{Checker, Verdict, broken},
    network::Returned,
    planted::Planted,
    scene::Scene,
};
use disk::{Appended, News, SetAside};
use exchange::Request;
use execute::{Execution, Turn};
use life::{Doom, Leaving};
use muster_agent::{
    Text,
    core::{Action, Core, Drain, Settings, Status},
};
use muster_model::{Attachment, Millis, Name, Timestamp};
use muster_spool::{SimulatedDisk, Spool};
use std::collections::{BTreeMap, VecDeque};

/// What it does by itself.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Chore {
    /// The core wants to be woken.
    Wake,
    /// Make what was appended durable.
    Sync,
    /// Hear what became of a sync.
    HearOfDisk,
    /// Look which devices are attached.
    Look,
    /// Nothing can be said about devices at the moment.
    LookInVain,
    /// A work goes on, unless it took another turn meanwhile.
    Proceed {
        /// Which work.
        work: u64,
        /// Its turn when this was planned.
        turn: u32,
    },
    /// No answer came to this exchange.
    GiveUp(u64),
    /// End in order.
    Leave(Drain),
    /// The moment has come at which it crashes.
    Crash,
    /// Events that nobody takes are not waited for any longer.
    LoseHope,
}

/// The PC.
pub(crate) struct Agent {
    pub(super) site: Site,
    settings: Settings,
    /// How far its clock is off.
    skew: Millis,
    disk: SimulatedDisk,
    life: Option<Life>,
    planted: Option<Planted>,
}

/// What a crash ends.
struct Life {
    core: Core,
    spool: Spool<SimulatedDisk>,
    /// Requests under way, by exchange.
    requests: BTreeMap<u64, Request>,
    works: BTreeMap<u64, Execution>,
    wakes_at: Option<Timestamp>,
    /// Wakes in a row after which something was due at once.
    rounds: u32,
    is_sync_planned: bool,
    /// What the core has not heard yet.
    news: VecDeque<News>,
    doom: Option<Doom>,
    /// What the core knew at the last snapshot, for a planted bug.
    state_before: Option<Vec<u8>>,
    leaving: Option<Leaving>,
}

impl Agent {
    pub(super) fn new(site: Site, scene: &mut Scene, planted: Option<Planted>) -> Self {
        let task_timeout = scene.plan.task_timeout;
        let more = u32::from(planted == Some(Planted::OneSlotTooMany));
        let settings = Settings {
            slots: site.slots + more,
            wait: Millis(scene.dice.between(1_000, crate::plan::WAIT_MAX.0)),
            sends: 1 + scene.dice.below(4),
            timeouts: BTreeMap::from([(super::wire::WORKFLOW.to_owned(), task_timeout)]),
        };
        let skew = Millis(scene.dice.between(-2_000, 2_000));
        Self { site, settings, skew, disk: SimulatedDisk::new(), life: None, planted }
    }

    /// Begins a life with what the disk kept.
    pub(super) fn begin(&mut self, scene: &mut Scene, checker: &mut Checker) -> Verdict {
        if !self.open(scene, checker)? {
            return Ok(());
        }
        self.site.up = true;
        self.site.plan(scene, 0..=500, Chore::Look);
        self.follow(scene, checker)?;
        if self.life.is_none() {
            return Ok(());
        }
        checker.agent(&self.site).has_answered_for_all_begun()?;
        self.snapshot(scene, checker)
    }

    pub(super) fn act(&mut self, chore: Chore, scene: &mut Scene, checker: &mut Checker) -> Verdict {
        let now = self.now(scene);
        match chore {
            Chore::Wake => self.wake(scene),
            Chore::Sync => self.sync(scene, checker)?,
            Chore::HearOfDisk => self.hear_of_disk(scene),
            Chore::Look => {
                let devices = self.devices();
                self.life().core.devices_seen(devices, now);
            }
            Chore::LookInVain => {
                self.life().core.devices_unknown(now);
                self.site.plan(scene, 1_000..=20_000, Chore::Look);
            }
            Chore::Proceed { work, turn } => self.proceed(Turn { work, turn }, scene, checker)?,
            Chore::GiveUp(exchange) => self.give_up(exchange, scene, checker)?,
            Chore::Leave(drain) => self.begin_to_leave(drain, scene, checker),
            Chore::Crash => self.meet_doom(scene, checker),
            Chore::LoseHope => self.lose_hope(),
        }
        self.follow(scene, checker)
    }

    pub(super) fn hear(&mut self, answer: Returned<'_>, scene: &mut Scene, checker: &mut Checker) -> Verdict {
        if !self.life().requests.contains_key(&answer.ticket.exchange) {
            return Ok(());
        }
        self.answered(answer, scene, checker)?;
        self.follow(scene, checker)
    }

    /// Whether nothing is left to do or to say here.
    pub(super) fn is_quiet(&self) -> bool {
        self.life.as_ref().is_some_and(|life| {
            life.leaving.is_none()
                && life.works.is_empty()
                && life.core.is_drained()
                && life.spool.depth() == 0
        })
    }

    pub(super) fn unrest(&self) -> String {
        match &self.life {
            None => "down".into(),
            Some(life) => format!("{:?}, {:?}", life.core.status(), life.spool),
        }
    }

    /// How it is, for people.
    pub(super) fn status(&self) -> Option<Status> {
        self.life.as_ref().map(|life| life.core.status())
    }

    /// The devices attached have changed; the agent looks every now and then.
    pub(super) fn devices_changed(&self, scene: &mut Scene) {
        let vain = !scene.calm && scene.dice.chance(50);
        self.site.plan(scene, 10..=2_000, if vain { Chore::LookInVain } else { Chore::Look });
    }

    /// Does what the core wants done, until it wants nothing more.
    fn follow(&mut self, scene: &mut Scene, checker: &mut Checker) -> Verdict {
        while let Some(action) = self.life.as_mut().and_then(|life| life.core.next_action()) {
            self.carry_out(action, scene, checker)?;
        }
        let Some(status) = self.status() else {
            return Ok(());
        };
        let book = checker.agent(&self.site);
        book.has_obeyed()?;
        book.works_at_full_speed(!status.draining && !status.spool_full)?;
        if self.leave_if_due(scene, checker)? { Ok(()) } else { self.plan_wake(scene) }
    }

    fn carry_out(&mut self, action: Action, scene: &mut Scene, checker: &mut Checker) -> Verdict {
        match action {
            Action::Append(number, event) => self.append(Appended { number, event: &event }, scene, checker),
            Action::Ack(number) => self.let_go(number, checker),
            Action::SetAside(number, refusal) => {
                self.set_aside(SetAside { number, refusal: &refusal }, scene, checker)
            }
            Action::Send(number) => self.send(number, scene, checker),
            Action::Pull(request) => self.pull(request, scene, checker),
            Action::Heartbeat(beat) => self.beat(&beat, scene),
            Action::Begin(work) => self.begin_work(work, scene, checker),
            Action::Kill(work) => {
                self.kill(work, scene, checker);
                Ok(())
            }
        }
    }

    fn wake(&mut self, scene: &Scene) {
        let now = self.now(scene);
        let life = self.life();
        if life.wakes_at.is_some_and(|at| at <= now) {
            life.wakes_at = None;
            life.core.wake(now);
        }
    }

    fn plan_wake(&mut self, scene: &mut Scene) -> Verdict {
        let now = self.now(scene);
        let life = self.life();
        let next = life.core.next_wake().max(now);
        life.rounds = if next == now { life.rounds + 1 } else { 0 };
        if life.rounds > ROUNDS_MAX {
            let status = life.core.status();
            return broken("agent_spins", || format!("something is still due at {next:?}: {status:?}"));
        }
        if life.wakes_at.is_none_or(|at| next < at) {
            life.wakes_at = Some(next);
            let pause = (next - now).0;
            self.site.plan(scene, pause..=pause, Chore::Wake);
        }
        Ok(())
    }

    fn life(&mut self) -> &mut Life {
        self.life.as_mut().expect("only an agent that is up acts")
    }

    fn now(&self, scene: &Scene) -> Timestamp {
        scene.now + self.skew
    }

    fn devices(&self) -> Vec<muster_agent::Attached> {
        let attached = |(device, attached): (&Name, &super::Attached)| muster_agent::Attached {
            device: text(device),
            handle: text(&attached.handle),
            attachment: attached.attachment,
        };
        let devices = self.site.devices.iter();
        devices.filter(|(_, attached)| attached.attachment != Attachment::Absent).map(attached).collect()
    }
}

fn text(name: &Name) -> Text {
    name.as_str().into()
}

/// Wakes at one moment that are not a loop.
const ROUNDS_MAX: u32 = 200;
