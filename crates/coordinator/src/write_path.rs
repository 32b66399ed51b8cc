//! The write path without threads: what is decided, what is to be made durable, who may be answered.

use crate::{
    audit,
    entropy::Seeds,
    feed_entry,
    parked::{Parked, Waiting, WorkRequest},
    schedules,
};
use muster_engine::{Context, Engine, Waiter};
use muster_model::{
    AccountChange, Actor, Change, Command, Effect, Explanation, Facts, FrameQuery, FrameView, Key, Millis,
    Rejection, Reply, Subject, TaskId, TaskRecord, Timestamp,
};
use muster_store::{Batch, FeedEntry};
use std::sync::Arc;

/// Slots of schedules acted upon at once; the rest is due at once again.
const SLOTS_PER_TICK: usize = 100;
/// Interval at which signs of life are written down.
const SIGHTINGS_EVERY: Millis = Millis::from_secs(5);
/// Interval of the search for waiting requests whose sender went away.
const LOOK_EVERY: Millis = Millis::from_secs(1);

/// A command and the handle by which its sender is answered.
pub struct Request<R> {
    /// The command.
    pub command: Command,
    /// Actor that the audit log names.
    pub actor: Option<Actor>,
    /// For a pull: until when it may wait for work.
    pub wait_until: Option<Timestamp>,
    /// By which the sender is answered.
    pub handle: R,
}

/// An answer that may be given now.
#[derive(Debug)]
pub struct Answer<R> {
    /// Handle of the request.
    pub handle: R,
    /// Response to it.
    pub result: Result<Reply, Rejection>,
}

/// Answers and effects that leave when a batch is durable.
#[derive(Debug)]
pub struct Released<R> {
    /// Answers to give.
    pub answers: Vec<Answer<R>>,
    /// Things to do outside.
    pub effects: Vec<Effect>,
}

/// A batch with the store, and what waits for it.
struct Sealed<R> {
    batch: Arc<Batch>,
    released: Released<R>,
}

/// The write path of one term.
///
/// At most one batch is with the store at a time; everything decided meanwhile gathers in the next one.
/// An answer is released only when the batch it was decided in, and so every batch before it, is durable.
pub struct WritePath<R> {
    engine: Engine,
    seeds: Seeds,
    parked: Parked<R>,
    feed_seq: u64,
    entries: Vec<Arc<FeedEntry>>,
    answers: Vec<Answer<R>>,
    /// Lines of the audit log, for the batch with what they tell of.
    acts: Vec<Change>,
    committing: Option<Sealed<R>>,
    sightings_at: Timestamp,
    looked_at: Timestamp,
    /// True if the sender behind a handle still listens.
    listens: fn(&R) -> bool,
    /// Told of a handle whose request waits for work from now on.
    parks: fn(&mut R),
}

impl<R> WritePath<R> {
    /// a write path over a restored engine; `feed_seq` is the last number the feed has given out.
    #[must_use]
    pub fn new(engine: Engine, feed_seq: u64, seeds: Box<dyn FnMut() -> [u8; 32] + Send>) -> Self {
        Self {
            engine,
            seeds,
            parked: Parked::default(),
            feed_seq,
            entries: Vec::new(),
            answers: Vec::new(),
            acts: Vec::new(),
            committing: None,
            sightings_at: Timestamp(0),
            looked_at: Timestamp(0),
            listens: |_| true,
            parks: |_| (),
        }
    }

    /// Lets the write path ask whether a sender still listens before it gives it work, and tell when one waits.
    #[must_use]
    pub fn with_senders(mut self, listens: fn(&R) -> bool, parks: fn(&mut R)) -> Self {
        self.listens = listens;
        self.parks = parks;
        self
    }

    /// Keys that must be looked up before these commands are decided.
    pub fn keys<'a>(&self, commands: impl Iterator<Item = &'a Command>) -> Vec<Key> {
        let mut keys: Vec<Key> = commands.flat_map(|command| self.engine.keys(command)).collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    /// Decides a request; its answer waits for the batch, or the request waits for work.
    pub fn take(&mut self, request: Request<R>, now: Timestamp, facts: &Facts) {
        let Request { command, actor, wait_until, mut handle } = request;
        let act = actor.and_then(|actor| Some((actor, audit::describe(&command)?)));
        let until = wait_until.filter(|until| *until > now);
        let waits = until.and_then(|until| Some((WorkRequest::of(&command)?, until)));
        let result = self.execute(command, now, facts);
        if let (Some((actor, act)), Ok(reply)) = (act, &result) {
            let record = audit::record(actor, audit::named(act, reply), now);
            self.acts.push(Change::Accounts(AccountChange::Audit(record)));
        }
        match (waits, &result) {
            (Some((work, until)), Ok(reply)) if WorkRequest::is_unmet(reply) => {
                (self.parks)(&mut handle);
                self.park(Waiting { work, until, handle }, now);
            }
            _ => self.answers.push(Answer { handle, result }),
        }
        self.serve_waiting(now);
    }

    /// Does what is due: the engine's timers, slots of schedules, and requests that have waited long enough.
    pub fn tick(&mut self, now: Timestamp) {
        self.let_go_of_the_gone(now);
        if self.engine.next_deadline().is_some_and(|deadline| deadline <= now) {
            // A tick is nobody's request: what it makes true is told by the feed.
            let _ = self.execute(Command::Tick, now, &Facts::default());
        }
        self.follow_schedules(now);
        self.serve_waiting(now);
        self.answer_all(self.parked.expired(now), now);
        // An answer is a sign of life of its worker: what that brings back may be work for others who wait.
        self.serve_waiting(now);
    }

    /// When `tick` must next be called.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Timestamp> {
        let slot = self.engine.first_schedule().map(|(slot, _)| slot);
        [self.engine.next_deadline(), self.parked.next_end(), slot].into_iter().flatten().min()
    }

    /// The batch to make durable next, unless one is with the store or there is nothing to wait for.
    /// An empty batch need not be committed while nobody else can lead ([`crate::Lease::is_sole`]), but
    /// [`Self::committed`] must be called for it as well.
    pub fn seal(&mut self, now: Timestamp) -> Option<Arc<Batch>> {
        if self.committing.is_some() {
            return None;
        }
        let mut batch = Batch { changes: self.engine.take_changes(), ..Batch::default() };
        batch.changes.append(&mut self.acts);
        batch.feed = std::mem::take(&mut self.entries);
        if now >= self.sightings_at + SIGHTINGS_EVERY {
            self.sightings_at = now;
            batch.sightings = self.engine.take_sightings();
            batch.pool_sightings = self.engine.take_pool_sightings();
        }
        let released =
            Released { answers: std::mem::take(&mut self.answers), effects: self.engine.take_effects() };
        if batch.is_empty() && released.answers.is_empty() && released.effects.is_empty() {
            return None;
        }
        let batch = Arc::new(batch);
        self.committing = Some(Sealed { batch: Arc::clone(&batch), released });
        Some(batch)
    }

    /// The sealed batch is durable: its answers may be given and its effects done, and memory may forget what the
    /// store now tells.
    pub fn committed(&mut self) -> Released<R> {
        let Some(Sealed { batch, released }) = self.committing.take() else {
            return Released { answers: Vec::new(), effects: Vec::new() };
        };
        self.engine.forget(&batch.changes);
        released
    }

    /// Answers everybody who waits, so that the server can stop.
    pub fn dismiss_waiting(&mut self, now: Timestamp) {
        self.answer_all(self.parked.numbers(), now);
    }

    /// Reason why something is not running, as far as memory knows.
    #[must_use]
    pub fn explain(&self, subject: Subject, now: Timestamp) -> Option<Explanation> {
        self.engine.explain(subject, now)
    }

    /// A task as it stands, as far as memory knows.
    #[must_use]
    pub fn task(&self, id: TaskId) -> Option<TaskRecord> {
        self.engine.task(id)
    }

    /// Facts about sessions that only memory has.
    #[must_use]
    pub fn frames(&self, query: &FrameQuery, now: Timestamp) -> FrameView {
        self.engine.frame_view(query, now)
    }

    /// Requests that wait for work.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.parked.len()
    }

    /// Workers that wait for work.
    pub fn waiters(&self) -> impl Iterator<Item = &Waiter> {
        self.parked.waiters()
    }

    /// The engine, for checks.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    fn execute(&mut self, command: Command, now: Timestamp, facts: &Facts) -> Result<Reply, Rejection> {
        let seed = (self.seeds)();
        let executed = self.engine.execute(command, &Context { now, seed: &seed, facts });
        for (kind, body) in feed_entry::phrase_all(&executed.events) {
            self.feed_seq += 1;
            self.entries.push(Arc::new(FeedEntry { seq: self.feed_seq, kind: kind.into(), body }));
        }
        executed.result
    }

    /// Submits the runs of slots that are due (Q17).
    fn follow_schedules(&mut self, now: Timestamp) {
        for _ in 0..SLOTS_PER_TICK {
            let Some(command) = schedules::due(&self.engine, now) else {
                return;
            };
            if let Err(refused) = self.execute(Command::Schedules(command), now, &Facts::default()) {
                // A slot that is due can be fired; what cannot must not be tried without end.
                tracing::error!(?refused, "a slot that is due was refused and is passed over");
                let skip =
                    self.engine.first_schedule().map(|(slot, record)| schedules::pass_over(record, slot));
                skip.map(|skip| self.execute(Command::Schedules(skip), now, &Facts::default()));
            }
        }
    }

    /// Ends the waits that the last changes end, and decides again the requests that they concern, until there are none.
    fn serve_waiting(&mut self, now: Timestamp) {
        loop {
            let woken = self.engine.take_woken();
            for waiter in &woken.dismissed {
                self.answer_all(self.parked.of(waiter), now);
            }
            let concerned = self.parked.concerned(&woken);
            if concerned.is_empty() && woken.dismissed.is_empty() {
                return;
            }
            for number in concerned {
                self.retry_waiting(number, now);
            }
        }
    }

    /// Lets a request wait. A worker with too many of them has its oldest answered.
    fn park(&mut self, waiting: Waiting<R>, now: Timestamp) {
        let waiter = waiting.work.waiter();
        self.answer_all(self.parked.surplus(&waiter), now);
        self.engine.begin_waiting(&waiter);
        self.parked.park(waiting);
    }

    fn unpark(&mut self, number: u64, now: Timestamp) -> Option<Waiting<R>> {
        let waiting = self.parked.take(number)?;
        self.engine.end_waiting(&waiting.work.waiter(), now);
        Some(waiting)
    }

    /// A request whose sender went away is no sign of life (N15). Looked for now and then, not at every tick.
    fn let_go_of_the_gone(&mut self, now: Timestamp) {
        if now < self.looked_at + LOOK_EVERY {
            return;
        }
        self.looked_at = now;
        for number in self.parked.numbers() {
            if self.parked.get(number).is_some_and(|waiting| !(self.listens)(&waiting.handle)) {
                self.unpark(number, now);
            }
        }
    }

    fn retry_waiting(&mut self, number: u64, now: Timestamp) {
        let Some(waiting) = self.parked.get(number) else {
            return;
        };
        if !(self.listens)(&waiting.handle) {
            self.unpark(number, now);
            return;
        }
        let again = waiting.work.command(true);
        let result = self.execute(again, now, &Facts::default());
        if result.as_ref().is_ok_and(WorkRequest::is_unmet) {
            return;
        }
        if let Some(waiting) = self.unpark(number, now) {
            self.answers.push(Answer { handle: waiting.handle, result });
        }
    }

    /// Ends waits: what is there is told, nothing is handed out any more.
    fn answer_all(&mut self, numbers: Vec<u64>, now: Timestamp) {
        for number in numbers {
            self.answer_waiting(number, now);
        }
    }

    fn answer_waiting(&mut self, number: u64, now: Timestamp) {
        let Some(waiting) = self.unpark(number, now).filter(|waiting| (self.listens)(&waiting.handle)) else {
            return;
        };
        let result = self.execute(waiting.work.command(false), now, &Facts::default());
        self.answers.push(Answer { handle: waiting.handle, result });
    }
}
