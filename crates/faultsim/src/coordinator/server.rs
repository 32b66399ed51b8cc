//! One server of a world: its clocks, its connections, and what it does by itself.

use super::{Life, election::FollowerState};
use crate::{
    coordinator::election::LeaderTerm,
    dice::Dice,
    plan::{BEGINNING, ServerPlan},
    scene::{Happening, Scene},
};
use muster_coordinator::LeaseTimes;
use muster_model::{Millis, Timestamp};
use muster_store::{Candidate, Standing};
use std::ops::RangeInclusive;

/// Action of one of several servers, or one that it has done at the store.
#[derive(Clone, Debug)]
pub(crate) enum Chore {
    /// It asks who leads.
    Look(u32),
    /// It hears who leads.
    Sees(StoreView),
    /// Its wish to lead reaches the store.
    Take(Box<TakeoverRequest>),
    /// It hears that it leads, and has its memory.
    Begin(u32),
    /// It shows that it lives.
    Renew(u32),
    /// That reaches the store.
    Shows(Renewal),
    /// It hears what the store made of it.
    Shown(Renewal, RenewalResult),
}

impl Chore {
    /// True if it happens at the store, whatever became of the server meanwhile.
    pub(super) fn is_at_the_store(&self) -> bool {
        matches!(self, Self::Take(..) | Self::Shows(..))
    }
}

/// A chore of one server; a server that has crashed meanwhile skips it.
#[derive(Clone, Debug)]
pub(crate) struct ServerChore {
    pub(super) server: usize,
    pub(super) incarnation: u32,
    pub(super) chore: Chore,
}

/// The answer of the store to a server that asked who leads.
#[derive(Clone, Debug)]
pub(crate) struct StoreView {
    pub(super) round: u32,
    /// The server's clock when it asked.
    pub(super) asked: Timestamp,
    /// `None`: the store could not be asked.
    pub(super) standing: Option<Box<Standing>>,
}

/// A sign of life that a leader sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Renewal {
    pub(super) server: usize,
    pub(super) life: u32,
    /// The server's clock when it was sent.
    pub(super) sent: Timestamp,
}

/// A wish to lead, if things still stand as they were seen.
#[derive(Clone, Debug)]
pub(crate) struct TakeoverRequest {
    pub(super) server: usize,
    pub(super) round: u32,
    pub(super) seen: Standing,
    pub(super) candidate: Candidate,
    pub(super) epoch_seen: u64,
    /// When it was sent, by the server's clock.
    pub(super) sent: Timestamp,
}

/// Result of a lease renewal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RenewalResult {
    Taken,
    Superseded,
    Nothing,
}

/// Whom a server cannot reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// The store: nothing reaches it, or nothing comes back.
    Store,
    /// The store, by the connection that shows life.
    Renewals,
    /// Clients and workers.
    Outside,
    /// The other servers.
    Others,
}

/// A server.
pub(crate) struct Server {
    pub(super) number: usize,
    pub(crate) up: bool,
    /// Counts its starts.
    pub(super) incarnation: u32,
    pub(super) ticker: Ticker,
    /// Lead of the store's time over its clock, once it has led.
    pub(super) ahead: Option<Millis>,
    /// By how much the clock on its wall is off.
    pub(super) wall_off: Millis,
    /// Until then nothing happens here, and what arrives waits.
    pub(super) stalled_until: Timestamp,
    pub(super) cuts: Vec<Cut>,
    /// When it last lost somebody.
    pub(super) cut_since: Timestamp,
    /// Since when nothing keeps it from deciding and committing.
    pub(super) well_since: Timestamp,
    pub(super) post: FollowerState,
    pub(super) tenure: Option<LeaderTerm>,
    pub(super) life: Option<Life>,
}

impl Server {
    pub(super) fn new(number: usize, plan: Option<&ServerPlan>, dice: &mut Dice) -> Self {
        let times = plan.map_or(LeaseTimes::default(), |plan| plan.times);
        Self {
            number,
            up: plan.is_none(),
            incarnation: 0,
            ticker: Ticker::draw(dice),
            ahead: None,
            wall_off: Millis(dice.between(-WALL_OFF_MAX, WALL_OFF_MAX)),
            stalled_until: BEGINNING,
            cuts: Vec::new(),
            cut_since: BEGINNING,
            well_since: BEGINNING,
            post: FollowerState::new(times, ""),
            tenure: None,
            life: None,
        }
    }

    /// By what the others know it; another with every start.
    pub(super) fn candidate(&self) -> Candidate {
        let node = format!("{}-{}", self.number, self.incarnation);
        Candidate { node, address: self.number.to_string() }
    }

    pub(super) fn is_cut(&self, cut: Cut) -> bool {
        self.cuts.contains(&cut)
    }

    pub(super) fn is_stalled(&self, now: Timestamp) -> bool {
        now < self.stalled_until
    }

    /// True if something keeps it from leading, or from seeing who does.
    pub(super) fn is_hampered(&self) -> bool {
        self.up && (self.is_cut(Cut::Store) || self.is_cut(Cut::Renewals))
    }

    /// Time by its clock.
    pub(super) fn clock(&self, now: Timestamp) -> Timestamp {
        self.ticker.at(now)
    }

    /// True if what it answers from memory alone is what the store says.
    pub(super) fn is_sole(&self, now: Timestamp) -> bool {
        self.tenure.as_ref().is_none_or(|tenure| tenure.lease.is_sole(self.clock(now)))
    }

    pub(super) fn plan(&self, pause: RangeInclusive<i64>, chore: Chore, scene: &mut Scene) {
        let chore = ServerChore { server: self.number, incarnation: self.incarnation, chore };
        scene.within(*pause.start(), *pause.end(), Happening::Server(Box::new(chore)));
    }
}

/// A server's monotonic clock. It counts from a beginning of its own and is compared with no other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ticker {
    origin: i64,
    /// Millionths by which it runs fast, or slow.
    rate: i64,
}

impl Ticker {
    pub(super) fn draw(dice: &mut Dice) -> Self {
        Self { origin: dice.between(0, 1_000_000_000), rate: dice.between(-RATE_MAX, RATE_MAX) }
    }

    /// Time that it shows at a moment of the world.
    pub(super) fn at(self, moment: Timestamp) -> Timestamp {
        let passed = (moment - BEGINNING).0;
        Timestamp(self.origin + passed + (passed * self.rate).div_euclid(MILLION))
    }

    /// The first moment of the world at which it shows this much.
    pub(super) fn when(self, shown: Timestamp) -> Timestamp {
        let passed = shown.0 - self.origin;
        let mut moment = BEGINNING + Millis((passed * MILLION).div_euclid(MILLION + self.rate) - 1);
        while self.at(moment) < shown {
            moment = moment + Millis(1);
        }
        moment
    }
}

/// The time that a term goes by: the store's when it began, carried on by the clock of its server.
#[derive(Clone, Copy, Debug)]
pub(super) struct TermClock {
    /// `None`: the world's time itself.
    ticker: Option<Ticker>,
    /// Lead over the server's clock.
    ahead: Millis,
}

impl TermClock {
    /// The world's own time, for a server that is alone with its store.
    pub(super) fn of_the_world() -> Self {
        Self { ticker: None, ahead: Millis(0) }
    }

    pub(super) fn new(ticker: Ticker, ahead: Millis) -> Self {
        Self { ticker: Some(ticker), ahead }
    }

    /// Time that it shows at a moment of the world.
    pub(super) fn at(self, moment: Timestamp) -> Timestamp {
        self.ticker.map_or(moment, |ticker| ticker.at(moment) + self.ahead)
    }

    /// The first moment of the world at which it shows this much.
    pub(super) fn when(self, shown: Timestamp) -> Timestamp {
        self.ticker.map_or(shown, |ticker| ticker.when(shown - self.ahead))
    }
}

/// An hour.
const WALL_OFF_MAX: i64 = 3_600_000;

/// More than happens: oscillators are off by a hundred millionths, and a clock that is being set right by five hundred.
pub(crate) const RATE_MAX: i64 = 1_000;
const MILLION: i64 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_shows_what_it_is_asked_for_and_not_earlier() {
        let mut dice = Dice::new(3);
        for _ in 0..200 {
            let ahead = Millis(dice.between(-1_000, 2_000_000_000_000));
            let clock = TermClock::new(Ticker::draw(&mut dice), ahead);
            let shown = clock.at(BEGINNING) + Millis(dice.between(1, 10_000_000));
            let when = clock.when(shown);
            assert!(clock.at(when) >= shown && clock.at(when - Millis(1)) < shown);
        }
    }
}
