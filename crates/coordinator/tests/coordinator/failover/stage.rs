//! Servers on one store, each with a clock and a wire of its own.

use muster_coordinator::{Coordinator, Lead, LeaseTimes, ManualClock, Options, Refusal};
use muster_model::{
    Digest, Facts, JobId, JobPayload, Key, Millis, Name, Scope, Submission, SubmissionKey, Timestamp,
};
use muster_store::{
    Batch, Candidate, Cutoffs, Election, Loaded, Lookup, MemoryStore, Reader, Standing, Store, StoreError,
    Term, Writer,
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::task::JoinHandle;

/// Looks follow each other every 20 ms, signs of life every 40, and answers leave memory for 120.
pub(crate) const TIMES: LeaseTimes = LeaseTimes { lease: Millis(240) };

/// A server and what it runs on.
pub(crate) struct Server {
    pub(crate) coordinator: Coordinator,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) wire: Wire,
    pub(crate) address: String,
}

impl Server {
    /// Joins whoever shares the store; its clock shows what nobody else's does.
    pub(crate) fn join(store: &MemoryStore, node: &str, now: i64) -> Self {
        let wire = Wire { store: store.clone(), state: Arc::default() };
        let clock = Arc::new(ManualClock::at(Timestamp(now)));
        let address = format!("http://{node}:7000");
        let candidate = Candidate { node: node.into(), address: address.clone() };
        let options = Options { lease: TIMES, ..Options::default() };
        let by = Arc::clone(&clock);
        let coordinator =
            Coordinator::join_with_clock(Arc::new(wire.clone()), options, candidate, by).expect("it joins");
        Self { coordinator, clock, wire, address }
    }

    /// A server that leads already.
    pub(crate) async fn leading(store: &MemoryStore, node: &str, now: i64) -> Self {
        let server = Self::join(store, node, now);
        until(&format!("{node} leads"), || server.leads().is_some()).await;
        server
    }

    /// The epoch in which it leads.
    pub(crate) fn leads(&self) -> Option<u64> {
        match self.coordinator.lead() {
            Lead::Here { epoch } => Some(epoch),
            _ => None,
        }
    }

    pub(crate) async fn until_follows(&self, other: &Self, epoch: u64) {
        let there = Lead::There { address: other.address.clone(), epoch };
        until("it follows", || self.coordinator.lead() == there).await;
    }

    pub(crate) async fn submit(&self, key: &str) -> Result<JobId, Refusal> {
        self.coordinator.ask(submission(key)).await.map(|reply| reply.job)
    }
}

/// Waits for something that comes by itself.
pub(crate) async fn until(what: &str, holds: impl Fn() -> bool) {
    until_moving(&[], what, holds).await;
}

/// Waits for something while the clocks of servers run, but not so far between two looks that they seem to stand still.
pub(crate) async fn until_moving(servers: &[&Server], what: &str, holds: impl Fn() -> bool) {
    let mut moved = vec![(0, Millis(0)); servers.len()];
    for _ in 0..6_000 {
        if holds() {
            return;
        }
        for (server, (looks, since)) in servers.iter().zip(&mut moved) {
            if server.wire.looks() != *looks {
                (*looks, *since) = (server.wire.looks(), Millis(0));
            }
            if server.leads().is_some() || *since < Millis(60) {
                server.clock.advance(Millis(5));
                since.0 += 5;
            }
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("it never came to this: {what}");
}

/// Result of a task that must end by itself.
pub(crate) async fn ended<T>(task: JoinHandle<T>) -> T {
    let ended = tokio::time::timeout(Duration::from_secs(60), task).await;
    ended.expect("it ends by itself").expect("it does not panic")
}

pub(crate) fn submission(key: &str) -> Submission {
    Submission {
        key: Some(SubmissionKey::new(key).expect("a key")),
        digest: Digest(1),
        queue: name("default"),
        scope: Scope::All,
        max_attempts: None,
        payload: JobPayload {
            title: None,
            workflow: "w".into(),
            params: "{}".into(),
            timeout: None,
            schedule: None,
        },
    }
}

pub(crate) fn name(text: &str) -> Name {
    Name::new(text).expect("a name")
}

/// One server's way to the store.
#[derive(Clone)]
pub(crate) struct Wire {
    store: MemoryStore,
    state: Arc<WireState>,
}

#[derive(Default)]
struct WireState {
    /// Nothing comes through.
    cut: AtomicBool,
    /// Signs of life do not.
    mute: AtomicBool,
    /// Takeovers fail.
    barred: AtomicBool,
    /// Commits wait, and so does whoever has read ahead.
    shut: AtomicBool,
    /// Commits fail.
    full: AtomicBool,
    looks: AtomicUsize,
    takes: AtomicUsize,
    preloads: AtomicUsize,
    loads: AtomicUsize,
}

impl Wire {
    pub(crate) fn cut(&self, cut: bool) {
        self.state.cut.store(cut, Ordering::SeqCst);
    }

    pub(crate) fn mute(&self, mute: bool) {
        self.state.mute.store(mute, Ordering::SeqCst);
    }

    pub(crate) fn bar(&self, barred: bool) {
        self.state.barred.store(barred, Ordering::SeqCst);
    }

    /// Number of tries to take over.
    pub(crate) fn takes(&self) -> usize {
        self.state.takes.load(Ordering::SeqCst)
    }

    pub(crate) fn shut(&self, shut: bool) {
        self.state.shut.store(shut, Ordering::SeqCst);
    }

    pub(crate) fn fill(&self, full: bool) {
        self.state.full.store(full, Ordering::SeqCst);
    }

    /// Number of looks at who leads.
    pub(crate) fn looks(&self) -> usize {
        self.state.looks.load(Ordering::SeqCst)
    }

    /// Number of times everything was read, before a term and in one.
    pub(crate) fn reads(&self) -> (usize, usize) {
        (self.state.preloads.load(Ordering::SeqCst), self.state.loads.load(Ordering::SeqCst))
    }

    fn through(&self) -> Result<&MemoryStore, StoreError> {
        let is_cut = self.state.cut.load(Ordering::SeqCst);
        if is_cut { Err(StoreError::Backend("the wire is cut".into())) } else { Ok(&self.store) }
    }

    fn wait_while_shut(&self) {
        while self.state.shut.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn term(&self, term: Term) -> Term {
        let writer = Box::new(WireWriter { wire: self.clone(), writer: term.writer });
        let lookup = Box::new(WireLookup { wire: self.clone(), lookup: term.lookup });
        Term { writer, lookup, ..term }
    }
}

impl Store for Wire {
    fn begin_term(&self) -> Result<Term, StoreError> {
        Ok(self.term(self.through()?.begin_term()?))
    }

    fn reader(&self) -> Arc<dyn Reader> {
        self.store.reader()
    }

    fn election(&self) -> Option<Arc<dyn Election>> {
        Some(Arc::new(self.clone()))
    }
}

impl Election for Wire {
    fn look(&self) -> Result<Standing, StoreError> {
        self.state.looks.fetch_add(1, Ordering::SeqCst);
        self.through()?.look()
    }

    fn take(&self, seen: &Standing, who: &Candidate, epoch_seen: u64) -> Result<Option<Term>, StoreError> {
        self.state.takes.fetch_add(1, Ordering::SeqCst);
        if self.state.barred.load(Ordering::SeqCst) {
            return Err(StoreError::Backend("the wire is barred".into()));
        }
        Ok(self.through()?.take(seen, who, epoch_seen)?.map(|term| self.term(term)))
    }

    fn renew(&self, epoch: u64) -> Result<(), StoreError> {
        if self.state.mute.load(Ordering::SeqCst) {
            return Err(StoreError::Backend("the wire is mute".into()));
        }
        self.through()?.renew(epoch)
    }

    fn resign(&self, epoch: u64) -> Result<(), StoreError> {
        self.through()?.resign(epoch)
    }

    fn preload(&self, sink: &mut dyn FnMut(Loaded)) -> Result<u64, StoreError> {
        let commits = self.through()?.preload(sink)?;
        self.state.preloads.fetch_add(1, Ordering::SeqCst);
        self.wait_while_shut();
        Ok(commits)
    }
}

struct WireWriter {
    wire: Wire,
    writer: Box<dyn Writer>,
}

impl Writer for WireWriter {
    fn load(&mut self, sink: &mut dyn FnMut(Loaded)) -> Result<(), StoreError> {
        self.wire.through()?;
        self.wire.state.loads.fetch_add(1, Ordering::SeqCst);
        self.writer.load(sink)
    }

    fn commit(&mut self, batch: &Batch) -> Result<(), StoreError> {
        self.wire.wait_while_shut();
        self.wire.through()?;
        if self.wire.state.full.load(Ordering::SeqCst) {
            return Err(StoreError::Backend("no space left on device".into()));
        }
        self.writer.commit(batch)
    }

    fn prune(&mut self, cutoffs: &Cutoffs) -> Result<bool, StoreError> {
        self.wire.through()?;
        self.writer.prune(cutoffs)
    }
}

struct WireLookup {
    wire: Wire,
    lookup: Box<dyn Lookup>,
}

impl Lookup for WireLookup {
    fn facts(&mut self, keys: &[Key]) -> Result<Facts, StoreError> {
        self.wire.through()?;
        self.lookup.facts(keys)
    }
}
