//! The handle through which everything outside reaches the writer.

use crate::{
    Accounts, Clock, Feed, Lead, LeaseTimes, PoolDirectory, Stats, SystemClock,
    desk::Request,
    driver::{self, Handle, Message},
    entropy::random_bytes,
    payload::Payloads,
    secrets::Secrets,
    tokens::Tokens,
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use muster_model::{
    Actor, Cause, Command, Effect, Explanation, FrameCommand, FrameHandout, FrameQuery, FrameReply,
    FrameView, JobId, JobPayload, Millis, Name, Pull, PullReply, Rejection, Reply, Settings, Subject, TaskId,
    TaskRecord, Timestamp,
};
use muster_store::{Candidate, Reader, Store, StoreError};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread::{self, JoinHandle},
    time::Duration,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError, mpsc as channel, oneshot, watch};

/// How a coordinator runs.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// What the rules consult.
    pub settings: Settings,
    /// Requests that may wait for a decision or a commit before others are refused.
    pub queue_length: usize,
    /// How long ended work is kept.
    pub history: Millis,
    /// How long what lasts where servers share a store (S18).
    pub lease: LeaseTimes,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            settings: Settings::default(),
            queue_length: 8192,
            history: Millis::from_secs(30 * 86_400),
            lease: LeaseTimes::default(),
        }
    }
}

/// A cheap, shareable handle to the running writer.
#[derive(Clone)]
pub struct Coordinator {
    shared: Arc<Shared>,
    reader: Arc<dyn Reader>,
    places: Arc<Semaphore>,
    thread: Arc<Mutex<Option<JoinHandle<()>>>>,
    effects: Arc<Mutex<Option<channel::UnboundedReceiver<Effect>>>>,
}

/// What the handle and the driver both hold.
pub(crate) struct Shared {
    pub(crate) options: Options,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) inbox: mpsc::Sender<Message>,
    pub(crate) feed: Feed,
    pub(crate) secrets: Secrets,
    pub(crate) tokens: Tokens,
    pub(crate) accounts: Accounts,
    pub(crate) pool: PoolDirectory,
    /// As many as there are things due; never more than live state makes.
    pub(crate) effects: channel::UnboundedSender<Effect>,
    pub(crate) stats: Stats,
    pub(crate) lead: watch::Sender<Lead>,
    payloads: Payloads,
    sightings: Mutex<HashMap<Name, Timestamp>>,
}

/// Why a command has no reply.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The engine said no; nothing changed.
    #[error("refused")]
    Rejected(Rejection),
    /// Too many commands wait; try again in a moment.
    #[error("too many requests wait")]
    Busy,
    /// The term ended while the command was under way, or no term runs: its fate is unknown; try again.
    #[error("the coordinator is restarting")]
    Unavailable,
    /// A read failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Coordinator {
    /// Begins a term on a store and serves it, on threads of its own, by the system's clock.
    ///
    /// # Errors
    /// When the store cannot be opened for writing.
    pub fn start(store: Arc<dyn Store>, options: Options) -> Result<Self, StoreError> {
        Self::start_with_clock(store, options, Arc::new(SystemClock::start()))
    }

    /// As [`Self::start`], by another clock.
    ///
    /// # Errors
    /// When the store cannot be opened for writing.
    pub fn start_with_clock(
        store: Arc<dyn Store>,
        options: Options,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, StoreError> {
        let first = store.begin_term()?;
        let reader = store.reader();
        let (inbox, messages) = mpsc::channel();
        let (effects, due) = channel::unbounded_channel();
        let shared = Arc::new(Shared {
            options,
            clock,
            inbox,
            feed: Feed::new(Arc::clone(&reader), first.feed_seq),
            secrets: Secrets::default(),
            tokens: Tokens::default(),
            accounts: Accounts::default(),
            pool: PoolDirectory::default(),
            effects,
            stats: Stats::default(),
            lead: watch::Sender::new(Lead::Nowhere),
            payloads: Payloads::default(),
            sightings: Mutex::default(),
        });
        let driven = Arc::clone(&shared);
        let run = move || driver::run(&*store, &driven, &messages, first);
        let thread = thread::Builder::new().name("muster-driver".into()).spawn(run);
        let thread = thread.map_err(|error| StoreError::Backend(error.to_string()))?;
        let places = Arc::new(Semaphore::new(options.queue_length));
        let (thread, effects) = (Arc::new(Mutex::new(Some(thread))), Arc::new(Mutex::new(Some(due))));
        Ok(Self { shared, reader, places, thread, effects })
    }

    /// Joins the servers that share a store: follows whoever leads, and leads when it is this one's turn (S18). On a
    /// store that belongs to one process it leads.
    ///
    /// # Errors
    /// When its threads cannot be started, or a store of one process cannot be opened for writing.
    pub fn join(store: Arc<dyn Store>, options: Options, candidate: Candidate) -> Result<Self, StoreError> {
        Self::join_with_clock(store, options, candidate, Arc::new(SystemClock::start()))
    }

    /// As [`Self::join`], by another clock.
    ///
    /// # Errors
    /// As [`Self::join`].
    pub fn join_with_clock(
        store: Arc<dyn Store>,
        options: Options,
        _candidate: Candidate,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, StoreError> {
        Self::start_with_clock(store, options, clock)
    }

    /// Has a command decided and, once that is durable, answers. Not for `Pull`: see [`Self::pull`].
    ///
    /// # Errors
    /// When it was refused, or its fate is unknown.
    pub async fn ask(&self, command: Command) -> Result<Reply, Refusal> {
        self.note_sighting(&command);
        self.request(command, None).await
    }

    /// As [`Self::ask`], for somebody who is to be called to account: the act stands in the audit log, made durable
    /// together with what it did (I7).
    ///
    /// # Errors
    /// As [`Self::ask`].
    pub async fn ask_as(&self, actor: &Actor, command: Command) -> Result<Reply, Refusal> {
        self.note_sighting(&command);
        self.request_as(command, None, Some(actor.clone())).await
    }

    /// Asks for work for a worker; waits up to `wait` for some to appear.
    ///
    /// # Errors
    /// As [`Self::ask`].
    pub async fn pull(&self, pull: Pull, wait: Duration) -> Result<PullReply, Refusal> {
        let wait = Millis(i64::try_from(wait.as_millis()).unwrap_or(i64::MAX));
        let command = Command::Pull(pull);
        self.note_sighting(&command);
        match self.request(command, Some(self.now() + wait)).await? {
            Reply::Pulled(reply) => Ok(reply),
            _ => Err(Refusal::Unavailable),
        }
    }

    /// Asks for a range of frames for a simulation worker; waits up to `wait` for one (S3).
    ///
    /// # Errors
    /// As [`Self::ask`].
    pub async fn ask_for_frames(
        &self,
        worker: Name,
        wait: Duration,
    ) -> Result<Option<Box<FrameHandout>>, Refusal> {
        let wait = Millis(i64::try_from(wait.as_millis()).unwrap_or(i64::MAX));
        let command = Command::Frames(FrameCommand::Ask { worker, supply: true });
        match self.request(command, Some(self.now() + wait)).await? {
            Reply::Frames(FrameReply::Task(task)) => Ok(task),
            _ => Err(Refusal::Unavailable),
        }
    }

    /// What memory knows of sessions beyond the store.
    ///
    /// # Errors
    /// Too many waiting requests, or no term runs.
    pub async fn frames(&self, query: FrameQuery) -> Result<FrameView, Refusal> {
        let _place = self.place()?;
        let (reply, answer) = oneshot::channel();
        self.shared.inbox.send(Message::Frames(query, reply)).map_err(|_| Refusal::Unavailable)?;
        answer.await.map_err(|_| Refusal::Unavailable)
    }

    /// Users, logins and keys.
    #[must_use]
    pub fn accounts(&self) -> &Accounts {
        &self.shared.accounts
    }

    /// The simulation worker that a token belongs to (S1).
    #[must_use]
    pub fn renderer_of(&self, token: &str) -> Option<Name> {
        self.shared.tokens.owner(token)
    }

    /// What must happen outside, each thing once it is durable. Given out once.
    #[must_use]
    pub fn take_effects(&self) -> Option<channel::UnboundedReceiver<Effect>> {
        self.effects.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Why is this not running (Q16).
    ///
    /// # Errors
    /// `Rejected(…Unknown)` for what does not exist.
    pub async fn explain(&self, subject: Subject) -> Result<Explanation, Refusal> {
        let (reply, answer) = oneshot::channel();
        let message = Message::Explain(subject.clone(), reply);
        self.shared.inbox.send(message).map_err(|_| Refusal::Unavailable)?;
        match answer.await.map_err(|_| Refusal::Unavailable)? {
            Some(explanation) => Ok(explanation),
            None => self.explain_ended(subject).await,
        }
    }

    /// A task as it stands: by memory, which knows the live lease, else by the store.
    ///
    /// # Errors
    /// `Rejected(TaskUnknown)`, too many waiting requests, or a failed read.
    pub async fn task(&self, id: TaskId) -> Result<TaskRecord, Refusal> {
        let _place = self.place()?;
        let (reply, answer) = oneshot::channel();
        self.shared.inbox.send(Message::Task(id, reply)).map_err(|_| Refusal::Unavailable)?;
        match answer.await.map_err(|_| Refusal::Unavailable)? {
            Some(task) => Ok(task),
            None => Ok(self.read(move |reader| reader.task(id)).await?.ok_or(Rejection::TaskUnknown)?),
        }
    }

    /// The payload of a job; remembered for the jobs asked for lately.
    ///
    /// # Errors
    /// `Rejected(JobUnknown)` or a failed read.
    pub async fn payload(&self, job: JobId) -> Result<Arc<JobPayload>, Refusal> {
        if let Some(payload) = self.shared.payloads.get(job) {
            return Ok(payload);
        }
        let record = self.read(move |reader| reader.job(job)).await?;
        let payload = record.and_then(|record| record.payload).ok_or(Rejection::JobUnknown)?;
        let payload = Arc::new(payload);
        self.shared.payloads.put(job, Arc::clone(&payload));
        Ok(payload)
    }

    /// Runs a read off the async threads.
    ///
    /// # Errors
    /// When the read fails.
    pub async fn read<T: Send + 'static>(
        &self,
        query: impl FnOnce(&dyn Reader) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, Refusal> {
        let reader = Arc::clone(&self.reader);
        let done = tokio::task::spawn_blocking(move || query(&*reader)).await;
        Ok(done.map_err(|_| Refusal::Unavailable)??)
    }

    /// Whether `secret` is a valid secret of that worker, or of any worker when `worker` is `None`. Constant time
    /// in the secret.
    #[must_use]
    pub fn knows_secret(&self, worker: Option<&Name>, secret: &str) -> bool {
        self.shared.secrets.knows(worker, secret, self.now())
    }

    /// A fresh secret for a worker: 32 random bytes in base64url. Only its hash is ever kept.
    #[must_use]
    pub fn new_secret(&self) -> String {
        URL_SAFE_NO_PAD.encode(random_bytes())
    }

    /// The last sign of life of a worker that memory knows of, newer than what the store holds.
    #[must_use]
    pub fn last_seen(&self, worker: &Name) -> Option<Timestamp> {
        self.shared.sightings.lock().unwrap_or_else(PoisonError::into_inner).get(worker).copied()
    }

    /// The feed, for subscribers.
    #[must_use]
    pub fn feed(&self) -> &Feed {
        &self.shared.feed
    }

    /// The settings in force.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.shared.options.settings
    }

    /// What the writer counts about itself.
    #[must_use]
    pub fn stats(&self) -> &Stats {
        &self.shared.stats
    }

    /// The time by the coordinator's clock.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.shared.clock.now()
    }

    /// Whether a term runs and its store is reachable.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.shared.stats.is_ready()
    }

    /// Who leads, as far as this server knows (S18).
    #[must_use]
    pub fn lead(&self) -> Lead {
        self.shared.lead.borrow().clone()
    }

    /// Follows who leads.
    #[must_use]
    pub fn watch_lead(&self) -> watch::Receiver<Lead> {
        self.shared.lead.subscribe()
    }

    /// The epoch of the running term.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.shared.stats.epoch()
    }

    /// Stops: whoever waits is answered, what was decided is made durable, nothing more is taken.
    pub async fn stop(&self) {
        self.places.close();
        self.shared.feed.close();
        // A driver that is gone has stopped already.
        let _ = self.shared.inbox.send(Message::Stop);
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = tokio::task::spawn_blocking(move || thread.join()).await;
        }
    }

    pub(crate) async fn request(
        &self,
        command: Command,
        wait_until: Option<Timestamp>,
    ) -> Result<Reply, Refusal> {
        self.request_as(command, wait_until, None).await
    }

    async fn request_as(
        &self,
        command: Command,
        wait_until: Option<Timestamp>,
        actor: Option<Actor>,
    ) -> Result<Reply, Refusal> {
        let place = self.place()?;
        let (reply, answer) = oneshot::channel();
        let request = Request { command, actor, wait_until, handle: Handle { reply, place: Some(place) } };
        self.shared.inbox.send(Message::Request(Box::new(request))).map_err(|_| Refusal::Unavailable)?;
        Ok(answer.await.map_err(|_| Refusal::Unavailable)??)
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// A place among those who wait for the driver, so that they never grow without bound (I9).
    pub(crate) fn place(&self) -> Result<OwnedSemaphorePermit, Refusal> {
        Arc::clone(&self.places).try_acquire_owned().map_err(|full| match full {
            TryAcquireError::Closed => Refusal::Unavailable,
            TryAcquireError::NoPermits => Refusal::Busy,
        })
    }

    async fn explain_ended(&self, subject: Subject) -> Result<Explanation, Refusal> {
        let cause = match &subject {
            Subject::Job(id) => {
                let id = *id;
                let job = self.read(move |reader| reader.job(id)).await?;
                Cause::JobEnded { status: job.ok_or(Rejection::JobUnknown)?.status }
            }
            Subject::Task(id) => {
                let id = *id;
                let task = self.read(move |reader| reader.task(id)).await?;
                Cause::TaskEnded { status: task.ok_or(Rejection::TaskUnknown)?.status }
            }
            Subject::Lane(_) => return Err(Rejection::LaneUnknown.into()),
            Subject::Worker(_) => return Err(Rejection::WorkerUnknown.into()),
        };
        Ok(Explanation { subject, cause })
    }

    fn note_sighting(&self, command: &Command) {
        let worker = match command {
            Command::Pull(pull) => &pull.worker,
            Command::Sight { worker } | Command::Claim { worker, .. } => worker,
            Command::Report(report) => &report.worker,
            _ => return,
        };
        let mut sightings = self.shared.sightings.lock().unwrap_or_else(PoisonError::into_inner);
        match sightings.get_mut(worker) {
            Some(seen) => *seen = self.shared.clock.now(),
            None => _ = sightings.insert(worker.clone(), self.shared.clock.now()),
        }
    }
}
