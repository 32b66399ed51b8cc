//! The part of a world that everybody shares: the time, the dice, the agenda and the wire.

use crate::{
    client,
    coordinator::{Errand, Push, PushAnswer, ServerChore},
    dice::Dice,
    farm,
    fault::Fault,
    network::{Network, Ticket},
    node,
    plan::{BEGINNING, Plan},
    pool,
};
use muster_model::{Completion, Millis, PoolHandout, Rejection, Reply, Timestamp};
use std::collections::{BTreeMap, VecDeque};

/// The shared part of a world.
pub(crate) struct Scene {
    pub(crate) now: Timestamp,
    pub(crate) dice: Dice,
    pub(crate) agenda: Agenda,
    pub(crate) network: Network,
    pub(crate) coverage: Coverage,
    pub(crate) trace: Trace,
    pub(crate) plan: Plan,
    /// Some of what workers of sessions handed in, for those who hand in what others made.
    pub(crate) gossip: Vec<Completion>,
    /// Assignments that workers of the pool got, for those who hand in what is another's.
    pub(crate) overheard: Vec<PoolHandout>,
    /// Set when somebody read something else in a message than was said.
    pub(crate) misread: Option<String>,
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
            .with_servers(seed, servers);
        Self::of(plan, dice, trace)
    }

    pub(crate) fn of(plan: Plan, dice: Dice, trace: usize) -> Self {
        Self {
            now: BEGINNING,
            network: Network::default(),
            dice,
            agenda: Agenda::default(),
            coverage: Coverage::default(),
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

    /// How long something may be away: mostly not for long, now and then until agents are degraded (N20).
    pub(crate) fn outage_ms(&mut self, usual: i64) -> i64 {
        if self.dice.chance(100) { 300_000 } else { usual }
    }

    /// Notes that a message was misread; the world fails after this step.
    pub(crate) fn misread(&mut self, what: impl FnOnce() -> String) {
        self.misread.get_or_insert_with(what);
    }

    pub(crate) fn count(&mut self, what: &'static str) {
        self.coverage.count(what);
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
    /// Whoever asked is told that the coordinator is away.
    TurnedAway(Box<Ticket>),
    /// Whoever asked is told that its token is not known.
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
    /// A node does something; one that has crashed meanwhile does not.
    Node { node: usize, incarnation: u32, chore: node::Chore },
    /// Something is done beside the coordinator.
    Errand { life: u32, errand: Box<Errand> },
    /// A task that was pushed reaches its worker.
    Pushed(Box<Push>),
    /// What the worker says to it reaches the coordinator.
    Acked(PushAnswer),
    /// A worker of sessions does something; one that has crashed meanwhile does not.
    Renderer { renderer: usize, incarnation: u32, chore: farm::Chore },
    /// Somebody who wants sessions, or looks after their workers, does something.
    Director(farm::Duty),
    /// A worker of the pool does something; one that has crashed meanwhile does not.
    Member { member: usize, incarnation: u32, chore: pool::Chore },
    /// Somebody who hands in jobs to the pool, or looks after its workers, does something.
    Patron(pool::Duty),
    /// A client or operator does something.
    Client(client::Chore),
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
    /// One that keeps so many lines; with none it costs nothing.
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
    (at - crate::plan::BEGINNING).0 as f64 / 1000.0
}

/// How often each kind of thing happened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage(BTreeMap<&'static str, u64>);

impl Coverage {
    /// Counts one more.
    pub(crate) fn count(&mut self, what: &'static str) {
        *self.0.entry(what).or_default() += 1;
    }

    /// Adds what another world has seen.
    pub fn add(&mut self, other: &Self) {
        for (what, count) in &other.0 {
            *self.0.entry(what).or_default() += count;
        }
    }

    /// How often a kind of thing happened.
    #[must_use]
    pub fn of(&self, what: &str) -> u64 {
        self.0.get(what).copied().unwrap_or(0)
    }

    /// All counts, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.0.iter().map(|(what, count)| (*what, *count))
    }
}
