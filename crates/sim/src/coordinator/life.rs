//! One life: a desk over a restored engine, and the batch that is with the store.

use super::{
    door::Door,
    errand::Errands,
    load::{load, store_broke},
    speaker,
};
use crate::{
    agenda::Happening,
    checker::{Broken, Checker, Verdict, broken},
    network::{Sender, Ticket},
    planted::Planted,
    scene::Scene,
};
use muster_coordinator::{Desk, Request};
use muster_engine::Engine;
use muster_model::{Change, Command, Millis, PoolCause, PoolJobId, Settings, Timestamp};
use muster_store::{Batch, Lookup, MemoryStore, Reader, Store, StoreError, Writer};
use std::sync::Arc;

/// One life of the coordinator.
pub(crate) struct Life {
    pub(crate) number: u32,
    pub(crate) ticked_at: Timestamp,
    desk: Desk<Ticket>,
    writer: Box<dyn Writer>,
    lookup: Box<dyn Lookup>,
    pub(super) reader: Arc<dyn Reader>,
    door: Door,
    pub(super) errands: Errands,
    epoch: u64,
    inbox: Vec<Ticket>,
    /// Until then no timer is followed, and whatever comes in waits.
    stalled_until: Timestamp,
    committing: Option<Committing>,
    wakes_at: Option<Timestamp>,
    /// Ticks in a row after which something was due at once.
    rounds: u32,
    planted: Option<Planted>,
}

/// The batch with the store, and what memory held when it was sealed.
struct Committing {
    batch: Arc<Batch>,
    rows: Option<Vec<Change>>,
    durable: bool,
}

impl Life {
    /// Loads what the store kept, as the driver does.
    pub(crate) fn begin(
        store: &MemoryStore,
        number: u32,
        (scene, planted): (&mut Scene, Option<Planted>),
    ) -> Result<Self, Broken> {
        let mut term = store.begin_term().map_err(store_broke)?;
        let engine = load(&mut *term.writer, (scene.plan.settings, planted), (scene.now, term.epoch))?;
        let mut door = Door::default();
        door.follow(&engine.live_rows());
        let reused = u64::from(planted == Some(Planted::FeedNumberReused) && number > 1);
        let mut seeds = scene.dice.fork();
        let desk = Desk::new(engine, term.feed_seq.saturating_sub(reused), Box::new(move || seeds.bytes()));
        Ok(Self {
            number,
            ticked_at: scene.now,
            desk: desk.with_senders(|ticket: &Ticket| !ticket.broken.get(), |_| ()),
            writer: term.writer,
            lookup: term.lookup,
            reader: store.reader(),
            door,
            errands: Errands::default(),
            epoch: term.epoch,
            inbox: Vec::new(),
            stalled_until: scene.now,
            committing: None,
            wakes_at: None,
            rounds: 0,
            planted,
        })
    }

    pub(crate) fn is_committing(&self) -> bool {
        self.committing.as_ref().is_some_and(|committing| !committing.durable)
    }

    /// Whether nothing is under way here.
    pub(crate) fn is_idle(&self) -> bool {
        self.committing.is_none() && self.inbox.is_empty()
    }

    /// Why a job of the pool is not done yet.
    pub(crate) fn explain_pool(&self, job: PoolJobId) -> Option<PoolCause> {
        self.desk.engine().explain_pool(job)
    }

    /// What the store would hand to a life that began now, as an engine.
    pub(crate) fn loader(&mut self) -> impl FnMut(Settings, Timestamp) -> Result<Engine, Broken> + '_ {
        let (planted, epoch) = (self.planted, self.epoch);
        move |settings, now| load(&mut *self.writer, (settings, planted), (now, epoch))
    }

    /// Whether a request does not get past the door.
    pub(super) fn turns_out(&self, ticket: &Ticket) -> bool {
        self.door.refuses(ticket)
    }

    /// Puts a request into the inbox; a group of them is decided together.
    pub(crate) fn receive(&mut self, ticket: Ticket, scene: &mut Scene) {
        if self.inbox.is_empty() {
            scene.within(0, 3, Happening::Serve { life: self.number });
        }
        self.inbox.push(ticket);
    }

    pub(crate) fn serve(&mut self, scene: &mut Scene, checker: &mut Checker) -> Verdict {
        if scene.now < self.stalled_until {
            scene.agenda.plan(self.stalled_until, Happening::Serve { life: self.number });
            return Ok(());
        }
        let group = std::mem::take(&mut self.inbox);
        let keys = self.desk.keys(group.iter().map(|ticket| &*ticket.command));
        let facts = self.lookup.facts(&keys).map_err(store_broke)?;
        for ticket in group {
            if let Some(worker) = speaker(&ticket.command) {
                checker.heard_of(worker, scene.now);
            }
            match &*ticket.command {
                Command::Report(report) => checker.spoke(report)?,
                Command::Frames(command) => checker.frames.taken(command, ticket.exchange, scene.now),
                Command::Pool(command) => checker.pool.taken(command, ticket.exchange, scene.now),
                _ => {}
            }
            let request = Request {
                actor: None,
                command: (*ticket.command).clone(),
                wait_until: ticket.wait.map(|wait| scene.now + wait),
                handle: ticket,
            };
            self.desk.take(request, scene.now, &facts);
        }
        self.look_round(scene, checker)
    }

    pub(crate) fn wake(&mut self, scene: &mut Scene, checker: &mut Checker) -> Verdict {
        if self.wakes_at.is_some_and(|at| at <= scene.now) {
            self.wakes_at = None;
            if self.stalls(scene) {
                return Ok(());
            }
            return self.look_round(scene, checker);
        }
        Ok(())
    }

    /// What the driver does after every group: the timers, the next batch; and then the checks.
    pub(crate) fn look_round(&mut self, scene: &mut Scene, checker: &mut Checker) -> Verdict {
        if scene.now >= self.stalled_until {
            self.desk.tick(scene.now);
        }
        self.ticked_at = scene.now;
        self.hand_over(scene, checker)?;
        self.check()?;
        checker.pool.waiting(self.desk.waiting_members(), scene.now);
        let Some(next) = self.desk.next_deadline() else {
            return Ok(());
        };
        let next = next.max(scene.now).max(self.stalled_until);
        self.rounds = if next == scene.now { self.rounds + 1 } else { 0 };
        if self.rounds > ROUNDS_MAX {
            return broken("timer_spins", || {
                format!("something is still due after {ROUNDS_MAX} ticks at {next:?}")
            });
        }
        if self.wakes_at.is_none_or(|at| next < at) {
            self.wakes_at = Some(next);
            scene.agenda.plan(next, Happening::Wake { life: self.number });
        }
        Ok(())
    }

    /// Whether it stands still when a timer is due: whatever comes in meanwhile is decided before that is looked at.
    fn stalls(&mut self, scene: &mut Scene) -> bool {
        let is_rested = scene.now > self.stalled_until + STALLS_APART;
        let may = !scene.calm && scene.plan.stalls > 0 && is_rested;
        if !may || !scene.dice.chance(scene.plan.stalls) {
            return false;
        }
        scene.count("coordinator stands still");
        self.stalled_until = scene.now + Millis(scene.dice.between(200, STALL_MS_MAX));
        let wakes_at = self.stalled_until + Millis(2);
        self.wakes_at = Some(wakes_at);
        scene.agenda.plan(wakes_at, Happening::Wake { life: self.number });
        true
    }

    fn hand_over(&mut self, scene: &mut Scene, checker: &mut Checker) -> Verdict {
        if self.committing.is_some() {
            return Ok(());
        }
        let Some(batch) = self.desk.seal(scene.now) else {
            return Ok(());
        };
        if batch.is_empty() {
            return self.release(scene, checker);
        }
        for entry in &batch.feed {
            scene.note(|| format!("coordinator: {} {}", entry.kind, entry.body));
        }
        let sampled = scene.dice.chance(ROWS_PER_MILLE);
        self.committing = Some(Committing {
            batch: Arc::clone(&batch),
            rows: sampled.then(|| self.desk.engine().live_rows()),
            durable: false,
        });
        if self.planted == Some(Planted::FeedBeforeCommit) {
            checker.told(&batch.feed)?;
        }
        if self.planted == Some(Planted::AnswersBeforeCommit) {
            self.release(scene, checker)?;
        }
        let slow = scene.dice.chance(50);
        scene.within(1, if slow { 600 } else { 15 }, Happening::Durable { life: self.number });
        Ok(())
    }

    /// Has the store make the batch durable; a failure that was planned is the caller's.
    pub(crate) fn commit(&mut self) -> Result<Arc<Batch>, Broken> {
        let committing = self.committing.as_mut().expect("a batch is with the store");
        let batch = Arc::clone(&committing.batch);
        match self.writer.commit(&batch) {
            Ok(()) => committing.durable = true,
            Err(StoreError::Backend(_)) => {}
            Err(error) => return Err(store_broke(error)),
        }
        Ok(batch)
    }

    /// The store says that the batch is durable: the feed is told and the answers leave.
    pub(crate) fn heard(&mut self, scene: &mut Scene, checker: &mut Checker) -> Verdict {
        let Some(committing) = self.committing.take() else {
            return Ok(());
        };
        if let Some(rows) = committing.rows {
            checker.rows_are(&rows, &mut self.loader(), scene)?;
        }
        self.door.follow(&committing.batch.changes);
        if self.planted != Some(Planted::FeedBeforeCommit) {
            checker.told(&committing.batch.feed)?;
        }
        self.release(scene, checker)
    }

    /// Stops in order: whoever waits is answered, what was decided is made durable.
    pub(crate) fn stop(&mut self, scene: &mut Scene, checker: &mut Checker) -> Verdict {
        self.finish_commit(scene, checker)?;
        self.desk.dismiss_waiting(scene.now);
        self.hand_over(scene, checker)?;
        self.finish_commit(scene, checker)
    }

    /// What is left of a life whose batch never reached the store.
    pub(crate) fn into_zombie(self) -> Option<(Box<dyn Writer>, Arc<Batch>)> {
        Some((self.writer, self.committing?.batch))
    }

    fn finish_commit(&mut self, scene: &mut Scene, checker: &mut Checker) -> Verdict {
        if self.is_committing() {
            let batch = self.commit()?;
            checker.durable(&batch, scene)?;
        }
        self.heard(scene, checker)
    }

    fn release(&mut self, scene: &mut Scene, checker: &mut Checker) -> Verdict {
        let released = self.desk.committed();
        self.send_out(released.effects, scene);
        for answer in released.answers {
            checker.answered(&answer.handle, &answer.result, scene)?;
            if answer.handle.sender != Sender::Errand {
                scene.answer(answer.handle, answer.result);
            }
        }
        Ok(())
    }

    /// The engine's own invariants, and that nobody waits while there is work for them.
    fn check(&self) -> Verdict {
        let engine = self.desk.engine();
        engine.check_invariants().or_else(|broke| broken("engine_invariant", || broke))?;
        for worker in self.desk.waiting_workers() {
            if engine.has_supply_for(worker, self.ticked_at) {
                return broken("waits_beside_work", || format!("{worker} waits while work for it does"));
            }
        }
        for worker in self.desk.waiting_renderers() {
            if engine.has_frames_for(worker, self.ticked_at) {
                return broken("waits_beside_frames", || format!("{worker} waits while frames for it do"));
            }
        }
        for worker in self.desk.waiting_members() {
            if engine.has_pool_supply_for(worker) {
                return broken("waits_beside_jobs", || format!("worker {worker} waits while jobs for it do"));
            }
        }
        Ok(())
    }
}

/// Ticks at one moment that are not a loop.
const ROUNDS_MAX: u32 = 20;
/// The longest that the coordinator stands still.
const STALL_MS_MAX: i64 = 1_200;
/// What passes between two such moments, at least.
const STALLS_APART: Millis = Millis(2_000);
/// In a thousand: commits after which everything live is compared with the store.
const ROWS_PER_MILLE: u32 = 120;
