//! One life: a write path over a restored engine, and the batch that is with the store.

mod commit;

use super::errand::Errands;
use crate::{
    checker::{Broken, Verdict, broken},
    coordinator::server::TermClock,
    network::{Ticket, Token},
    planted::Planted,
    scene::{Happening, Scene},
};
use commit::Committing;
pub(super) use commit::{CommitResult, OrphanedBatch};
use muster_coordinator::{Request, WritePath, hand_over};
use muster_engine::{Engine, Restoring, Waiter};
use muster_model::{
    Change, Command, FrameChange, FrameCommand, Millis, Name, PoolCause, PoolJobId, Settings, Timestamp,
};
use muster_store::{Loaded, Lookup, Reader, StoreError, Term, Writer};
use std::{collections::BTreeMap, sync::Arc};

/// One life of a coordinator: a term that it leads.
pub(crate) struct Life {
    pub(crate) number: u32,
    pub(super) server: usize,
    pub(super) epoch: u64,
    clock: TermClock,
    ticked_at: Timestamp,
    write_path: WritePath<Ticket>,
    writer: Box<dyn Writer>,
    lookup: Box<dyn Lookup>,
    pub(super) reader: Arc<dyn Reader>,
    door: HttpState,
    pub(super) errands: Errands,
    inbox: Vec<Ticket>,
    /// Until then no timer is followed, and whatever comes in waits.
    stalled_until: Timestamp,
    committing: Option<Committing>,
    /// When the last batch was sealed, in the world's time.
    opened: Timestamp,
    /// Batches that were handed to the store.
    handed: u64,
    /// True if nobody else can lead: what needs no commit may be answered at once.
    pub(super) is_fresh: bool,
    /// Since when nothing has kept it from deciding and committing.
    pub(super) well_since: Timestamp,
    wakes_at: Option<Timestamp>,
    /// Ticks in a row after which something was due at once.
    rounds: u32,
    planted: Option<Planted>,
}

/// The leading server, the number of its life, and what a life borrows from the world.
pub(super) struct LifeSetup {
    pub(super) server: usize,
    pub(super) number: u32,
    pub(super) clock: TermClock,
    pub(super) reader: Arc<dyn Reader>,
    pub(super) planted: Option<Planted>,
}

impl Life {
    /// Begins with what the store kept, as the driver does.
    pub(super) fn begin(term: Term, memory: Restoring, office: LifeSetup, scene: &mut Scene) -> Self {
        let LifeSetup { server, number, clock, reader, planted } = office;
        let now = clock.at(scene.now);
        let engine = memory.finish(term.epoch, now);
        let mut door = HttpState::default();
        door.follow(&engine.live_rows());
        let reused = u64::from(planted == Some(Planted::FeedNumberReused) && number > 1);
        let mut seeds = scene.dice.fork();
        let write_path =
            WritePath::new(engine, term.feed_seq.saturating_sub(reused), Box::new(move || seeds.bytes()));
        Self {
            number,
            server,
            epoch: term.epoch,
            clock,
            ticked_at: now,
            write_path: write_path.with_senders(|ticket: &Ticket| !ticket.broken.get(), |_| ()),
            writer: term.writer,
            lookup: term.lookup,
            reader,
            door,
            errands: Errands::default(),
            inbox: Vec::new(),
            stalled_until: scene.now,
            committing: None,
            opened: scene.now,
            handed: 0,
            is_fresh: true,
            well_since: scene.now,
            wakes_at: None,
            rounds: 0,
            planted,
        }
    }

    /// Time by its own clock.
    pub(crate) fn now(&self, scene: &Scene) -> Timestamp {
        self.clock.at(scene.now)
    }

    /// Its first look round.
    pub(super) fn settle_in(&mut self, store: Timestamp, scene: &mut Scene) -> Verdict {
        if scene.checker.terms.leads(self.epoch) {
            let now = self.now(scene);
            scene.checker.terms.opens(now, store)?;
            scene.checker.life_begins(now);
        }
        self.look_round(scene)
    }

    /// Checks that its memory equals the state that the store would load now.
    pub(super) fn check_memory(&mut self, scene: &mut Scene) -> Verdict {
        let (now, held) = (self.now(scene), self.write_path.engine().live_rows());
        match scene.checker.terms.leads(self.epoch) {
            true => scene.checker.rows_are(&held, &mut self.loader(now)),
            false => Ok(()),
        }
    }

    /// True if nothing is under way here.
    pub(crate) fn is_idle(&self) -> bool {
        self.committing.is_none() && self.inbox.is_empty()
    }

    /// Reason why a job of the pool is not done yet.
    pub(crate) fn explain_pool(&self, job: PoolJobId) -> Option<PoolCause> {
        self.write_path.engine().explain_pool(job)
    }

    /// Loads the engine as a life that began now would, from the store.
    fn loader(&mut self, now: Timestamp) -> impl FnMut(Settings) -> Result<Engine, Broken> + '_ {
        let (planted, epoch) = (self.planted, self.epoch);
        move |settings| {
            let (memory, ()) = load(settings, planted, |sink| self.writer.load(sink))?;
            Ok(memory.finish(epoch, now))
        }
    }

    /// True if a request does not get past the HTTP layer.
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

    /// True if the store must be asked before what came in can be decided.
    pub(super) fn needs_facts(&self) -> bool {
        !self.write_path.keys(self.inbox.iter().map(|ticket| &*ticket.command)).is_empty()
    }

    /// Decides nothing for a while: it waits for something.
    pub(super) fn block(&mut self, until: Timestamp, scene: &mut Scene) {
        self.stalled_until = self.stalled_until.max(until);
        scene.agenda.plan(self.stalled_until, Happening::Serve { life: self.number });
    }

    pub(crate) fn serve(&mut self, scene: &mut Scene) -> Verdict {
        if scene.now < self.stalled_until {
            scene.agenda.plan(self.stalled_until, Happening::Serve { life: self.number });
            return Ok(());
        }
        let now = self.now(scene);
        let group = std::mem::take(&mut self.inbox);
        let keys = self.write_path.keys(group.iter().map(|ticket| &*ticket.command));
        let facts = self.lookup.facts(&keys).map_err(store_broke)?;
        let leads = scene.checker.terms.leads(self.epoch);
        for ticket in group {
            if leads {
                scene.checker.takes(&ticket, now)?;
            }
            let request = Request {
                actor: None,
                command: (*ticket.command).clone(),
                wait_until: ticket.wait.map(|wait| now + wait),
                handle: ticket,
            };
            self.write_path.take(request, now, &facts);
        }
        self.look_round(scene)
    }

    pub(crate) fn wake(&mut self, scene: &mut Scene) -> Verdict {
        if self.wakes_at.is_some_and(|at| at <= scene.now) {
            self.wakes_at = None;
            if self.stalls(scene) {
                return Ok(());
            }
            return self.look_round(scene);
        }
        Ok(())
    }

    /// Does the driver's work after every group: the timers, the next batch; then runs the checks.
    pub(crate) fn look_round(&mut self, scene: &mut Scene) -> Verdict {
        let now = self.now(scene);
        let leads = scene.checker.terms.leads(self.epoch);
        if scene.now >= self.stalled_until {
            self.write_path.tick(now);
            self.ticked_at = now;
            if leads {
                scene.checker.frames.ticked(now);
            }
        }
        self.hand_over(scene)?;
        self.check()?;
        if leads {
            let members = self.write_path.waiters().filter_map(|waiter| match waiter {
                Waiter::Member(worker) => Some(*worker),
                Waiter::Node(_) | Waiter::Renderer(_) => None,
            });
            scene.checker.pool.waiting(members, now);
        }
        self.plan_wake(scene)
    }

    fn plan_wake(&mut self, scene: &mut Scene) -> Verdict {
        let Some(next) = self.write_path.next_deadline() else {
            return Ok(());
        };
        let next = self.clock.when(next).max(scene.now).max(self.stalled_until);
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

    /// True if it stands still when a timer is due: whatever comes in meanwhile is decided before that is looked at.
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

    /// The engine's own invariants, and that nobody waits while there is work for them.
    fn check(&self) -> Verdict {
        let engine = self.write_path.engine();
        engine.check_invariants().or_else(|broke| broken("engine_invariant", || broke))?;
        for waiter in self.write_path.waiters() {
            let (rule, is_served) = match waiter {
                Waiter::Node(worker) => ("waits_beside_work", engine.has_supply_for(worker, self.ticked_at)),
                Waiter::Renderer(worker) => {
                    ("waits_beside_frames", engine.has_frames_for(worker, self.ticked_at))
                }
                Waiter::Member(worker) => ("waits_beside_jobs", engine.has_pool_supply_for(*worker)),
            };
            if is_served {
                return broken(rule, || format!("{waiter:?} waits while there is work for it"));
            }
        }
        Ok(())
    }
}

/// Loads the initial memory of a term from the store as the driver does, now or before the term.
pub(super) fn load<T>(
    settings: Settings,
    planted: Option<Planted>,
    read: impl FnOnce(&mut dyn FnMut(Loaded)) -> Result<T, StoreError>,
) -> Result<(Restoring, T), Broken> {
    let mut engine = Restoring::new(settings);
    plant(&mut engine, planted);
    let done = read(&mut |loaded| hand_over(loaded, &mut engine));
    Ok((engine, done.map_err(store_broke)?))
}

#[cfg(feature = "mutants")]
fn plant(engine: &mut Restoring, planted: Option<Planted>) {
    if let Some(Planted::Engine(mutant)) = planted {
        engine.plant(mutant);
    }
}

#[cfg(not(feature = "mutants"))]
fn plant(_: &mut Restoring, _: Option<Planted>) {}

/// A store that fails without having been told to is broken.
pub(super) fn store_broke(error: StoreError) -> Broken {
    Broken::new("store", error.to_string())
}

/// The tokens of the workers of sessions.
#[derive(Default)]
pub(super) struct HttpState(BTreeMap<Name, Token>);

impl HttpState {
    /// Takes over rows that are durable; a new token of a worker ends the one before.
    pub(super) fn follow<'a>(&mut self, rows: impl IntoIterator<Item = &'a Change>) {
        for row in rows {
            match row {
                Change::Frames(FrameChange::Renderer(record)) => {
                    self.0.insert(record.id.clone(), record.token_hash);
                }
                Change::Frames(FrameChange::RendererGone(worker)) => drop(self.0.remove(worker)),
                _ => {}
            }
        }
    }

    /// True if a request shows a token that is nobody's, or another's than it speaks for.
    pub(super) fn refuses(&self, ticket: &Ticket) -> bool {
        let (Command::Frames(command), Some(token)) = (&*ticket.command, ticket.token) else {
            return false;
        };
        speaker(command).is_some_and(|worker| self.0.get(worker) != Some(&token))
    }
}

/// The worker that a request speaks for, where its token must tell.
fn speaker(command: &FrameCommand) -> Option<&Name> {
    match command {
        FrameCommand::Heartbeat(heartbeat) => Some(&heartbeat.worker),
        FrameCommand::Progress(progress) => Some(&progress.worker),
        FrameCommand::Complete(completion) => completion.worker.as_ref(),
        FrameCommand::Fail { worker, .. } => worker.as_ref(),
        FrameCommand::Ask { worker, .. }
        | FrameCommand::Remove { worker, itself: true }
        | FrameCommand::MoreIds { worker, .. }
        | FrameCommand::Rebind { worker, .. } => Some(worker),
        _ => None,
    }
}

/// Ticks at one moment that are not a loop.
const ROUNDS_MAX: u32 = 20;
/// The longest that the coordinator stands still.
const STALL_MS_MAX: i64 = 1_200;
/// Minimum time between two stalls.
const STALLS_APART: Millis = Millis(2_000);
