//! The handle through which everything outside reaches the writer.

use crate::{
    Accounts, Effects, Feed, Lead, Stats, TokenHash,
    driver::{Handle, Message},
    entropy::random_bytes,
    shared::Shared,
    write_path::Request,
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use muster_model::{
    Actor, Ask, Command, FrameHandout, JobId, JobPayload, Millis, Name, Pull, PullReply, Rejection, Settings,
    Timestamp, WorkerMessage, ask,
};
use muster_store::{Reader, StoreError};
use std::{
    sync::{Arc, Mutex, PoisonError},
    thread::JoinHandle,
    time::Duration,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError, oneshot, watch};

/// A cheap, shareable handle to the running writer.
#[derive(Clone)]
pub struct Coordinator {
    pub(crate) shared: Arc<Shared>,
    pub(crate) reader: Arc<dyn Reader>,
    pub(crate) places: Arc<Semaphore>,
    pub(crate) thread: Arc<Mutex<Option<JoinHandle<()>>>>,
    pub(crate) effects: Arc<Mutex<Option<Effects>>>,
}

/// Reason why a command has no reply.
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
    /// Has a request decided and, once that is durable, returns its reply. Requests for work do not wait for any: see
    /// [`Self::pull`].
    ///
    /// # Errors
    /// When it was refused, or its fate is unknown.
    pub async fn ask<A: Ask>(&self, request: A) -> Result<A::Reply, Refusal> {
        self.request::<A>(request.into(), None, None).await
    }

    /// As [`Self::ask`], for somebody who is to be called to account: the act stands in the audit log, made durable
    /// together with what it did (I7).
    pub async fn ask_as<A: Ask>(&self, actor: &Actor, request: A) -> Result<A::Reply, Refusal> {
        self.request::<A>(request.into(), None, Some(actor.clone())).await
    }

    /// Asks for work for a worker; waits up to `wait` for some to appear.
    pub async fn pull(&self, pull: Pull, wait: Duration) -> Result<PullReply, Refusal> {
        self.ask_and_wait(pull, wait).await
    }

    /// Asks for a range of frames for a simulation worker; waits up to `wait` for one (S3).
    pub async fn ask_for_frames(
        &self,
        worker: Name,
        wait: Duration,
    ) -> Result<Option<Box<FrameHandout>>, Refusal> {
        self.ask_and_wait(ask::frames::Ask { worker, supply: true }, wait).await
    }

    /// Looks something up in what memory holds. That it is not there counts only if one term ran all the while: what
    /// one forgets and the next loads is not missed (S18).
    ///
    /// # Errors
    /// When nobody can be told that it is not there.
    pub fn look_up<T>(&self, look: impl FnOnce(&Self) -> Option<T>) -> Result<Option<T>, Refusal> {
        let running = || self.is_ready().then(|| self.epoch());
        let before = running();
        let found = look(self);
        if found.is_none() && (before.is_none() || before != running()) {
            return Err(Refusal::Unavailable);
        }
        Ok(found)
    }

    /// Users, logins and keys; nobody while no term runs here or another may.
    #[must_use]
    pub fn accounts(&self) -> &Accounts {
        if self.is_ready() { &self.shared.accounts } else { &self.shared.nobody.0 }
    }

    /// The simulation worker that a token belongs to (S1).
    #[must_use]
    pub fn renderer_of(&self, token: &TokenHash) -> Option<Name> {
        self.is_ready().then(|| self.shared.tokens.owner(token)).flatten()
    }

    /// The receiver of effects, each once it is durable. Given out once.
    #[must_use]
    pub fn take_effects(&self) -> Option<Effects> {
        self.effects.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The payload of a job; remembered for the jobs asked for lately.
    ///
    /// # Errors
    /// `Rejected(JobUnknown)` or a failed read.
    pub async fn payload(&self, job: JobId) -> Result<Arc<JobPayload>, Refusal> {
        if let Some(payload) = self.shared.payloads.get(&job) {
            return Ok(payload);
        }
        let record = self.read(move |reader| reader.job(job)).await?;
        let payload = record.and_then(|record| record.payload).ok_or(Rejection::JobUnknown)?;
        let payload = Arc::new(payload);
        self.shared.payloads.insert(job, Arc::clone(&payload));
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

    /// True if `secret` is a valid secret of that worker, or of any worker when `worker` is `None`. Constant time
    /// in the secret and in the number of workers.
    #[must_use]
    pub fn knows_secret(&self, worker: Option<&Name>, secret: &TokenHash) -> bool {
        self.is_ready() && self.shared.secrets.knows(worker, secret, self.now())
    }

    /// A fresh secret for a worker: 32 random bytes in base64url. Only its hash is ever kept.
    #[must_use]
    pub fn new_secret(&self) -> String {
        URL_SAFE_NO_PAD.encode(random_bytes())
    }

    /// The last sign of life of a worker that memory knows of, newer than what the store holds.
    #[must_use]
    pub fn last_seen(&self, worker: &Name) -> Option<Timestamp> {
        self.shared.sightings.last(worker).filter(|_| self.is_ready())
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

    /// Counts of the writer.
    #[must_use]
    pub fn stats(&self) -> &Stats {
        &self.shared.stats
    }

    /// The time by the coordinator's clock.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.shared.now()
    }

    /// True if a term runs here, and nobody else can lead: what memory says is the truth (S18).
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.shared.is_ready()
    }

    /// The obstacle to leading or following, in words: mostly a database that does not answer.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        self.shared.outage.cause()
    }

    /// True if the store answered when it was last asked who leads.
    #[must_use]
    pub fn reaches_store(&self) -> bool {
        self.shared.outage.is_over()
    }

    /// Number of requests that wait for a decision or a commit.
    #[must_use]
    pub fn queued(&self) -> usize {
        self.shared.options.queue_length.saturating_sub(self.places.available_permits())
    }

    /// Time since the last renewal that the store confirmed; none where no term runs or nobody shares the
    /// store.
    #[must_use]
    pub fn since_renewal(&self) -> Option<Millis> {
        let is_counted = self.shared.has_others && matches!(self.lead(), Lead::Here { .. });
        is_counted.then(|| self.shared.time.local() - self.shared.stats.last_renewal())
    }

    /// The leader, as far as this server knows (S18).
    #[must_use]
    pub fn lead(&self) -> Lead {
        self.shared.lead.borrow().clone()
    }

    /// Advertised URL of the leading server, as the election knows it (S7); `None` while no server leads.
    #[must_use]
    pub fn leader_url(&self) -> Option<String> {
        match self.lead() {
            Lead::Here { .. } => self.shared.address.clone(),
            Lead::There { address, .. } => Some(address),
            Lead::Nowhere => None,
        }
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

    /// As [`Self::ask`], for a request that may wait for work.
    pub(crate) async fn ask_and_wait<A: Ask>(&self, request: A, wait: Duration) -> Result<A::Reply, Refusal> {
        let wait = Millis(i64::try_from(wait.as_millis()).unwrap_or(i64::MAX));
        self.request::<A>(request.into(), Some(self.now() + wait), None).await
    }

    async fn request<A: Ask>(
        &self,
        command: Command,
        wait_until: Option<Timestamp>,
        actor: Option<Actor>,
    ) -> Result<A::Reply, Refusal> {
        self.note_sighting(&command);
        let place = self.place()?;
        let (reply, answer) = oneshot::channel();
        let request = Request { command, actor, wait_until, handle: Handle { reply, place: Some(place) } };
        self.shared.inbox.send(Message::Request(Box::new(request))).map_err(|_| Refusal::Unavailable)?;
        Ok(A::reply(answer.await.map_err(|_| Refusal::Unavailable)?.open()?))
    }

    /// A place among those who wait for the driver, so that they never grow without bound (I9).
    pub(crate) fn place(&self) -> Result<OwnedSemaphorePermit, Refusal> {
        Arc::clone(&self.places).try_acquire_owned().map_err(|full| match full {
            TryAcquireError::Closed => Refusal::Unavailable,
            TryAcquireError::NoPermits => Refusal::Busy,
        })
    }

    fn note_sighting(&self, command: &Command) {
        match command {
            Command::Pull(pull) => self.note_sightings([&pull.worker]),
            Command::Heartbeat { worker } | Command::Claim { worker, .. } => self.note_sightings([worker]),
            Command::Report(report) => self.note_sightings([&report.worker]),
            Command::ReportBatch(batch) => {
                let mut workers: Vec<&Name> = batch.messages.iter().map(WorkerMessage::worker).collect();
                workers.dedup();
                self.note_sightings(workers);
            }
            _ => {}
        }
    }

    fn note_sightings<'a>(&self, workers: impl IntoIterator<Item = &'a Name>) {
        let now = self.now();
        for worker in workers {
            self.shared.sightings.note(worker, now);
        }
    }
}
