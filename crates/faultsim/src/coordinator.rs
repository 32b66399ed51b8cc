//! The coordinator's lives: the real write_path and engine, with time, threads, disk and wire played; one server, or several
//! that share a store.

mod election;
mod end;
mod errand;
mod forward;
mod life;
mod server;
mod trouble;

use crate::{
    checker::{Takeover, Verdict},
    dice::Dice,
    network::Sender,
    planted::Planted,
    scene::{Happening, Scene},
};
pub(crate) use end::{CommitFault, Ending};
pub(crate) use errand::{Errand, Push, PushAnswer};
pub(crate) use life::Life;
use life::{CommitResult, LifeSetup, OrphanedBatch};
use muster_model::{Command, Millis, Name, Timestamp, WorkerMessage};
use muster_store::{Failure, MemoryStore, Store};
use server::{Chore, Renewal, Server, TermClock};
pub(crate) use server::{Cut, RATE_MAX, ServerChore};
use std::collections::BTreeMap;
pub(crate) use trouble::STORE_OFF_MAX;

/// The servers and their store.
pub(crate) struct Coordinator {
    store: MemoryStore,
    pub(crate) servers: Vec<Server>,
    lives: u32,
    /// Batches of lives that are over, on their way to the store, by life.
    orphans: BTreeMap<u32, OrphanedBatch>,
    /// Fault that happens in the middle of the next commit.
    doom: Option<end::CommitFault>,
    /// Whom each sender asks.
    doors: BTreeMap<Sender, usize>,
    /// Until when nobody reaches the store.
    away_until: Timestamp,
    /// By how much the store's clock is off.
    store_off: Millis,
    /// When something last went wrong with a server or the store.
    troubled_at: Timestamp,
    planted: Option<Planted>,
}

impl Coordinator {
    pub(crate) fn new(scene: &Scene, planted: Option<Planted>) -> Self {
        let plan = scene.plan.servers.as_ref();
        // Worlds with one server are what they are without this.
        let mut dice = Dice::new(scene.now.0.unsigned_abs() ^ scene.dice.clone().next());
        let store = if plan.is_some() { MemoryStore::shared() } else { MemoryStore::new() };
        let count = plan.map_or(1, |plan| plan.count);
        Self {
            store,
            servers: (0..count).map(|number| Server::new(number, plan, &mut dice)).collect(),
            lives: 0,
            orphans: BTreeMap::new(),
            doom: None,
            doors: BTreeMap::new(),
            away_until: scene.now,
            store_off: Millis(0),
            troubled_at: scene.now,
            planted,
        }
    }

    /// True if several servers share the store.
    pub(crate) fn is_shared(&self) -> bool {
        self.servers.len() > 1
    }

    /// The life that leads; there may be others which do not know yet that they do not.
    pub(crate) fn life(&self) -> Option<&Life> {
        self.servers.iter().filter_map(|server| server.life.as_ref()).max_by_key(|life| life.epoch)
    }

    /// The server that leads.
    pub(crate) fn leader(&self) -> Option<usize> {
        self.life().map(|life| life.server)
    }

    /// A server comes up.
    pub(crate) fn start(&mut self, server: usize, scene: &mut Scene) -> Verdict {
        if self.is_shared() {
            self.come_up(server, scene);
            return Ok(());
        }
        if self.life().is_some() {
            return Ok(());
        }
        self.lives += 1;
        scene.count("coordinator started");
        scene.note(|| format!("coordinator: life {} begins", self.lives));
        let mut term = self.store.begin_term().map_err(life::store_broke)?;
        let takeover = Takeover::unseen(term.epoch, self.lives, scene.now);
        scene.checker.terms.begins(&takeover)?;
        let (memory, ()) = life::load(scene.plan.settings, self.planted, |sink| term.writer.load(sink))?;
        let office = LifeSetup {
            server,
            number: self.lives,
            clock: TermClock::of_the_world(),
            reader: self.store.reader(),
            planted: self.planted,
        };
        let life = Life::begin(term, memory, office, scene);
        self.defy_the_dead()?;
        let now = scene.now;
        self.servers[server].life.insert(life).settle_in(now, scene)
    }

    pub(crate) fn serve(&mut self, life: u32, scene: &mut Scene) -> Verdict {
        let is_cut = self.server_of(life).is_some_and(|server| !self.reaches(server, Cut::Store, scene.now));
        match self.current(life, scene) {
            Some(life) if is_cut && life.needs_facts() => {
                let server = life.server;
                life.block(scene.now + Millis(100), scene);
                self.loses_patience(server, scene);
                Ok(())
            }
            Some(life) => life.serve(scene),
            None => Ok(()),
        }
    }

    pub(crate) fn wake(&mut self, life: u32, scene: &mut Scene) -> Verdict {
        match self.current(life, scene) {
            Some(life) => life.wake(scene),
            None => Ok(()),
        }
    }

    /// A push was answered.
    pub(crate) fn acked(&mut self, answer: PushAnswer, scene: &mut Scene) {
        let is_heard = self.reaches_out(answer.life);
        if let Some(life) = self.current(answer.life, scene).filter(|_| is_heard) {
            life.pushed(answer.number, answer.acked, scene);
        }
    }

    /// The moment at which the store has the batch, or says that it failed.
    pub(crate) fn durable(&mut self, number: u32, scene: &mut Scene) -> Verdict {
        if let Some(orphan) = self.orphans.remove(&number).filter(|_| self.is_shared()) {
            return if scene.now < self.away_until { Ok(()) } else { orphan.arrives(scene) };
        }
        let is_over = self.server_of(number).is_none();
        if is_over || self.hangs(number, Happening::Durable { life: number }, scene) {
            return Ok(());
        }
        let failure = self.planned_failure(number, scene);
        let Some(life) = self.current(number, scene) else {
            return Ok(());
        };
        match life.commit(failure, scene)? {
            CommitResult::Kept => scene.within(0, 10, Happening::Heard { life: number }),
            CommitResult::Failed => self.fail(number, failure, scene),
            CommitResult::Superseded => return self.superseded(number, scene),
        }
        Ok(())
    }

    pub(crate) fn heard(&mut self, number: u32, scene: &mut Scene) -> Verdict {
        if self.hangs(number, Happening::Heard { life: number }, scene) {
            return Ok(());
        }
        match self.current(number, scene) {
            Some(life) => {
                life.heard(scene)?;
                life.look_round(scene)
            }
            None => Ok(()),
        }
    }

    /// Performs an action of one of several servers. A server that has crashed meanwhile does nothing, but its
    /// takeover request still reaches the store.
    pub(crate) fn act(&mut self, chore: ServerChore, scene: &mut Scene) -> Verdict {
        let ServerChore { server, incarnation, chore } = chore;
        let is_there = self.servers[server].up && self.servers[server].incarnation == incarnation;
        match chore {
            Chore::Take(wish) => return self.take(&wish, scene),
            _ if !is_there => {}
            Chore::Look(round) => self.look(server, round, scene),
            Chore::Sees(view) => self.sees(server, view, scene),
            Chore::Begin(round) if round == self.servers[server].post.round => {
                return self.begin(server, scene);
            }
            Chore::Begin(_) => {}
            Chore::Renew(life) => {
                let sent = self.servers[server].clock(scene.now);
                self.renew(Renewal { server, life, sent }, scene);
            }
            Chore::Shows(renewal) => self.shows_late(renewal, scene),
            Chore::Shown(renewal, result) => self.shown(renewal, result, scene),
        }
        Ok(())
    }

    /// Time by the leader's clock, if a server leads and nothing has kept it from its work for a while.
    pub(crate) fn well_at(&self, scene: &Scene) -> Option<Timestamp> {
        let life = self.life().filter(|life| scene.checker.terms.leads(life.epoch))?;
        let place = &self.servers[life.server];
        let is_well = !self.is_shared()
            || (scene.now >= place.well_since + RECOVERS_WITHIN
                && self.reaches(life.server, Cut::Store, scene.now));
        is_well.then(|| life.now(scene))
    }

    /// True if a server reaches the store now, by one connection or the other.
    fn reaches(&self, server: usize, cut: Cut, now: Timestamp) -> bool {
        let place = &self.servers[server];
        now >= self.away_until && !place.is_cut(Cut::Store) && !place.is_cut(cut)
    }

    fn server_of(&self, life: u32) -> Option<usize> {
        let is_theirs = |server: &&Server| server.life.as_ref().is_some_and(|it| it.number == life);
        self.servers.iter().find(is_theirs).map(|server| server.number)
    }

    /// A life that is not over, as much as its server knows.
    pub(crate) fn current(&mut self, number: u32, scene: &Scene) -> Option<&mut Life> {
        let server = self.server_of(number)?;
        let place = &mut self.servers[server];
        let (is_fresh, well_since) = (place.is_sole(scene.now), place.well_since);
        let life = place.life.as_mut()?;
        (life.is_fresh, life.well_since) = (is_fresh, well_since);
        Some(life)
    }

    fn planned_failure(&self, life: u32, scene: &mut Scene) -> Option<Failure> {
        let leads = self.life().is_some_and(|it| it.number == life && scene.checker.terms.leads(it.epoch));
        let fails = leads && !scene.calm && scene.dice.chance(scene.plan.commit_fails);
        let failure = fails.then_some(match scene.dice.chance(500) {
            true => Failure::Before,
            false => Failure::After,
        });
        failure.into_iter().for_each(|failure| self.store.fail_next(failure));
        failure
    }
}

/// Maximum time to catch up on work that was left undone.
const RECOVERS_WITHIN: Millis = Millis(4_000);

/// Whose sign of life a command is, if it is anybody's (N15).
pub(crate) fn speaker(command: &Command) -> Option<&Name> {
    match command {
        Command::Pull(pull) => Some(&pull.worker),
        Command::Heartbeat { worker } | Command::Claim { worker, .. } => Some(worker),
        Command::Report(report) => Some(&report.worker),
        // Those of one node, in these worlds.
        Command::ReportBatch(batch) => batch.messages.first().map(WorkerMessage::worker),
        _ => None,
    }
}
