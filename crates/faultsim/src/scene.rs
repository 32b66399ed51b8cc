//! What everybody in a world shares: the time, the dice, the agenda and the wire.

use crate::{
    agenda::{Agenda, Happening},
    coverage::Coverage,
    dice::Dice,
    network::Network,
    plan::{BEGINNING, Plan},
    trace::Trace,
};
use muster_model::{Completion, Millis, PoolHandout, Timestamp};

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
