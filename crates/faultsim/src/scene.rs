//! The part of a world that everybody shares: the time, the dice, the agenda, the wire, the ledger, and the account of what
//! happened: counts of each kind, and the last steps where somebody will read them.

use crate::{
    checker::{Broken, Checker},
    client::Duty,
    coordinator::{Errand, Push, PushAnswer, ServerChore},
    dice::Dice,
    fault::Fault,
    machine::Chore,
    network::{Network, Sender, Ticket},
    plan::{BEGINNING, Plan},
};
use muster_model::{Completion, Millis, PoolHandout, Rejection, Reply, Timestamp};
use std::{
    cell::RefCell,
    collections::{BTreeMap, VecDeque},
    rc::Rc,
};

/// The shared part of a world.
pub(crate) struct Scene {
    pub(crate) now: Timestamp,
    pub(crate) dice: Dice,
    pub(crate) agenda: Agenda,
    pub(crate) network: Network,
    pub(crate) seen: Counts,
    pub(crate) trace: Trace,
    pub(crate) plan: Plan,
    /// The ledger of what was promised and what is durable.
    pub(crate) checker: Checker,
    /// Some of what workers of sessions handed in, for those who hand in what others made.
    pub(crate) gossip: Vec<Completion>,
    /// Assignments that workers of the pool got, for those who hand in what is another's.
    pub(crate) overheard: Vec<PoolHandout>,
    /// The first message in which somebody read something else than was said; the world fails after this step.
    pub(crate) misread: Option<Broken>,
    /// The faults have stopped; what is left must come to its end.
    pub(crate) calm: bool,
}

impl Scene {
    pub(crate) fn new(seed: u64, servers: Option<usize>, trace: usize) -> Self {
        let mut dice = Dice::new(seed);
        let plan = Plan::draw(&mut dice)
            .with_sessions(seed, &mut dice)
            .with_pool(seed, &mut dice)
            .with_schedules(seed)
            .with_batches(seed)
            .with_servers(seed, servers);
        Self::of(plan, dice, trace)
    }

    pub(crate) fn of(plan: Plan, dice: Dice, trace: usize) -> Self {
        let seen = Counts::default();
        let lease = plan.servers.as_ref().map(|servers| servers.times);
        Self {
            checker: Checker::new(plan.settings, lease, &seen),
            seen,
            now: BEGINNING,
            network: Network::default(),
            dice,
            agenda: Agenda::default(),
            trace: Trace::new(trace),
            plan,
            gossip: Vec::new(),
            overheard: Vec::new(),
            misread: None,
            calm: false,
        }
    }

    pub(crate) fn after(&mut self, span: Millis, happening: Happening) {
        self.agenda.plan(self.now + span, happening);
    }

    /// Plans something for a moment between two spans from now.
    pub(crate) fn within(&mut self, low: i64, high: i64, happening: Happening) {
        let span = Millis(self.dice.between(low, high));
        self.after(span, happening);
    }

    /// Maximum duration of an outage: mostly short, now and then until agents are degraded (N20).
    pub(crate) fn outage_ms(&mut self, usual: i64) -> i64 {
        if self.dice.chance(100) { 300_000 } else { usual }
    }

    /// The result of reading a message; a failure is kept until the end of this step.
    pub(crate) fn understood<T>(&mut self, read: Result<T, Broken>) -> Option<T> {
        read.map_err(|broken| self.misread.get_or_insert(broken)).ok()
    }

    pub(crate) fn count(&self, what: &'static str) {
        self.seen.count(what);
    }

    pub(crate) fn note(&mut self, line: impl FnOnce() -> String) {
        self.trace.note(self.now, line);
    }
}

/// One thing that happens in the world.
#[derive(Clone, Debug)]
pub(crate) enum Happening {
    /// A request reaches the coordinator.
    Arrives(Box<Ticket>),
    /// An answer reaches whoever asked.
    Returns(Box<(Ticket, Result<Reply, Rejection>)>),
    /// The sender learns that the coordinator is away.
    TurnedAway(Box<Ticket>),
    /// The sender learns that its token is not known.
    TurnedOut(Box<Ticket>),
    /// The coordinator looks at its inbox.
    Serve { life: u32 },
    /// The store has made the batch durable, or failed to.
    Durable { life: u32 },
    /// The coordinator hears that its batch is durable.
    Heard { life: u32 },
    /// The coordinator's next deadline.
    Wake { life: u32 },
    /// A server starts: alone, it begins its next life; of several, it follows whoever leads.
    Start(usize),
    /// A request reaches the server that another believes to lead.
    Forwarded(Box<Ticket>),
    /// A server of several does something, or has it done at the store.
    Server(Box<ServerChore>),
    /// A machine does something; one that has crashed meanwhile does not.
    Machine { place: Sender, incarnation: u32, chore: Chore },
    /// Something is done beside the coordinator.
    Errand { life: u32, errand: Box<Errand> },
    /// A task that was pushed reaches its worker.
    Pushed(Box<Push>),
    /// The worker's response to a push reaches the coordinator.
    Acked(PushAnswer),
    /// A client of sessions, or an operator of their workers, does something.
    Director(Duty),
    /// A client of the pool, or an operator of its workers, does something.
    Patron(Duty),
    /// A client or operator does something.
    Client(Duty),
    /// Something goes wrong, or right again.
    Fault(Box<Fault>),
}

/// All of them, soonest first; of two at the same moment the one planned first.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    entries: BTreeMap<(Timestamp, u64), Happening>,
    next: u64,
}

impl Agenda {
    pub(crate) fn plan(&mut self, at: Timestamp, happening: Happening) {
        self.next += 1;
        self.entries.insert((at, self.next), happening);
    }

    /// When the next thing happens.
    pub(crate) fn next_at(&self) -> Option<Timestamp> {
        self.entries.first_key_value().map(|((at, _), _)| *at)
    }

    pub(crate) fn next(&mut self) -> Option<(Timestamp, Happening)> {
        self.entries.pop_first().map(|((at, _), happening)| (at, happening))
    }
}

/// A window on the last steps.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    kept: VecDeque<String>,
    lines_max: usize,
}

impl Trace {
    /// Trace that keeps up to this number of lines; with zero it costs nothing.
    pub(crate) fn new(lines_max: usize) -> Self {
        Self { kept: VecDeque::new(), lines_max }
    }

    pub(crate) fn note(&mut self, at: Timestamp, line: impl FnOnce() -> String) {
        if self.lines_max == 0 {
            return;
        }
        if self.kept.len() == self.lines_max {
            self.kept.pop_front();
        }
        self.kept.push_back(format!("{:>10.3}s  {}", seconds(at), line()));
    }

    pub(crate) fn into_lines(self) -> Vec<String> {
        self.kept.into()
    }
}

/// Seconds since the world began, for people.
pub(crate) fn seconds(at: Timestamp) -> f64 {
    (at - BEGINNING).0 as f64 / 1000.0
}

/// A counter of what happens in a world, shared by all who see something happen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts(Rc<RefCell<Coverage>>);

impl Counts {
    /// Counts one more.
    pub(crate) fn count(&self, what: &'static str) {
        *self.0.borrow_mut().0.entry(what).or_default() += 1;
    }

    /// All counts so far.
    pub(crate) fn coverage(&self) -> Coverage {
        self.0.borrow().clone()
    }
}

/// Number of times that each kind of event happened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage(BTreeMap<&'static str, u64>);

impl Coverage {
    /// Adds what another world has seen.
    pub fn add(&mut self, other: &Self) {
        for (what, count) in &other.0 {
            *self.0.entry(what).or_default() += count;
        }
    }

    /// Number of times that a kind of event happened.
    #[must_use]
    pub fn of(&self, what: &str) -> u64 {
        self.0.get(what).copied().unwrap_or(0)
    }

    /// All counts, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.0.iter().map(|(what, count)| (*what, *count))
    }
}
