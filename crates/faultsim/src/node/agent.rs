//! A PC that runs muster's agent: the real core over the real spool. Its disk, its wire and its devices are played.

mod disk;
mod exchange;
mod execute;
mod life;

use super::Site;
use crate::{
    checker::Verdict,
    machine::{self, Calls, Machine, Program},
    network::Ticket,
    planted::Planted,
    scene::Scene,
};
use disk::News;
use exchange::Request;
use execute::Execution;
use life::{Doom, Leaving};
use muster_agent::{
    Text,
    core::{Action, Core, Drain, Settings, Status},
};
use muster_model::{Attachment, Millis, Name, Rejection, Reply, Timestamp};
use muster_spool::{SimulatedDisk, Spool};
use std::collections::{BTreeMap, VecDeque};

/// Actions of the agent itself.
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
    machine: Machine,
    pub(super) site: Site,
    settings: Settings,
    /// Error of its clock.
    skew: Millis,
    disk: SimulatedDisk,
    life: Option<Life>,
    planted: Option<Planted>,
}

/// State that a crash destroys.
struct Life {
    core: Core,
    spool: Spool<SimulatedDisk>,
    calls: Calls<Request>,
    works: BTreeMap<u64, Execution>,
    is_sync_planned: bool,
    /// Results of syncs that the core has not heard yet.
    news: VecDeque<News>,
    doom: Option<Doom>,
    /// State of the core at the last snapshot, for a planted bug.
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
            batch: 2 + scene.plan.devices_per_node % 7,
            timeouts: BTreeMap::from([(super::wire::WORKFLOW.to_owned(), task_timeout)]),
        };
        let skew = Millis(scene.dice.between(-2_000, 2_000));
        let machine = Machine::new(site.place());
        Self { machine, site, settings, skew, disk: SimulatedDisk::new(), life: None, planted }
    }

    /// Its status, for people.
    pub(super) fn status(&self) -> Option<Status> {
        self.life.as_ref().map(|life| life.core.status())
    }

    /// The devices attached have changed; the agent looks every now and then.
    pub(super) fn devices_changed(&self, scene: &mut Scene) {
        let vain = !scene.calm && scene.dice.chance(50);
        self.machine.plan(scene, 10..=2_000, if vain { Chore::LookInVain } else { Chore::Look });
    }

    /// Does what the core wants done, until it wants nothing more.
    fn follow(&mut self, scene: &mut Scene) -> Verdict {
        while let Some(action) = self.life.as_mut().and_then(|life| life.core.next_action()) {
            self.carry_out(action, scene)?;
        }
        let Some(status) = self.status() else {
            return Ok(());
        };
        let book = scene.checker.agent(&self.site);
        book.has_obeyed()?;
        book.works_at_full_speed(!status.draining && !status.spool_full)?;
        if self.leave_if_due(scene)? {
            return Ok(());
        }
        let next = self.life().core.next_wake() - self.skew;
        self.machine.plan_wake(Some(next), Chore::Wake, scene)
    }

    fn carry_out(&mut self, action: Action, scene: &mut Scene) -> Verdict {
        match action {
            Action::Append(number, event) => self.append(number, &event, scene),
            Action::Ack(number) => self.let_go(number, scene),
            Action::SetAside(number, refusal) => self.set_aside(number, &refusal, scene),
            Action::Send(numbers) => self.send(&numbers, scene),
            Action::Pull(request) => self.pull(request, scene),
            Action::Heartbeat(beat) => self.beat(&beat, scene),
            Action::Begin(work) => self.begin_work(work, scene),
            Action::Kill(work) => {
                self.kill(work, scene);
                Ok(())
            }
        }
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

impl Program for Agent {
    fn machine(&self) -> &Machine {
        &self.machine
    }

    fn machine_mut(&mut self) -> &mut Machine {
        &mut self.machine
    }

    /// Begins a life with what the disk kept.
    fn begin(&mut self, scene: &mut Scene) -> Verdict {
        if !self.open(scene)? {
            return Ok(());
        }
        self.machine.up = true;
        self.machine.plan(scene, 0..=500, Chore::Look);
        self.follow(scene)?;
        if self.life.is_none() {
            return Ok(());
        }
        scene.checker.agent(&self.site).has_answered_for_all_begun()?;
        self.snapshot(scene)
    }

    fn act(&mut self, chore: machine::Chore, scene: &mut Scene) -> Verdict {
        let machine::Chore::Agent(chore) = chore else { return Ok(()) };
        let now = self.now(scene);
        match chore {
            Chore::Wake if self.machine.must_wake(scene.now) => self.life().core.wake(now),
            Chore::Wake => {}
            Chore::Sync => self.sync(scene)?,
            Chore::HearOfDisk => self.hear_of_disk(scene),
            Chore::Look => {
                let devices = self.devices();
                self.life().core.devices_seen(devices, now);
            }
            Chore::LookInVain => {
                self.life().core.devices_unknown(now);
                self.machine.plan(scene, 1_000..=20_000, Chore::Look);
            }
            Chore::Proceed { work, turn } => self.proceed(work, turn, scene)?,
            Chore::GiveUp(exchange) => self.give_up(exchange, scene)?,
            Chore::Leave(drain) => self.begin_to_leave(drain, scene),
            Chore::Crash => self.meet_doom(scene),
            Chore::LoseHope => self.lose_hope(),
        }
        self.follow(scene)
    }

    fn hear(&mut self, ticket: &Ticket, result: Result<Reply, Rejection>, scene: &mut Scene) -> Verdict {
        match self.life().calls.remove(ticket.exchange) {
            Some(request) => self.answered(request, result, scene)?,
            None => return Ok(()),
        }
        self.follow(scene)
    }

    fn turned_away(&mut self, ticket: &Ticket, scene: &mut Scene) -> Verdict {
        match self.life().calls.remove(ticket.exchange) {
            Some(request) => self.nobody_there(request, scene)?,
            None => return Ok(()),
        }
        self.follow(scene)
    }

    fn is_quiet(&self) -> bool {
        self.life.as_ref().is_some_and(|life| {
            life.leaving.is_none()
                && life.works.is_empty()
                && life.core.is_drained()
                && life.spool.depth() == 0
        })
    }

    fn unrest(&self) -> String {
        match &self.life {
            None => "down".into(),
            Some(life) => format!("{:?}, {:?}", life.core.status(), life.spool),
        }
    }

    /// The process dies, or the power goes; what the disk then keeps of what was not synced is left to the dice.
    ///
    /// In half of all cases that happens at the next moment at which something waits for the disk, or for its death.
    fn crash(&mut self, scene: &mut Scene) {
        match (&mut self.life, scene.dice.below(4)) {
            (Some(life), 0) => life.doom = Some(Doom::Sync),
            (Some(life), 1) => life.doom = Some(Doom::Kill),
            _ => self.end_badly(scene),
        }
    }
}

fn text(name: &Name) -> Text {
    name.as_str().into()
}
