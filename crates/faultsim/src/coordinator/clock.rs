//! What servers go by: a clock that only runs forward, at a rate of its own, and one on the wall that nobody may trust.

use crate::{dice::Dice, plan::BEGINNING};
use muster_model::{Millis, Timestamp};

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

    /// What it shows at a moment of the world.
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
    /// How far it is ahead of the server's clock.
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

    /// What it shows at a moment of the world.
    pub(super) fn at(self, moment: Timestamp) -> Timestamp {
        self.ticker.map_or(moment, |ticker| ticker.at(moment) + self.ahead)
    }

    /// The first moment of the world at which it shows this much.
    pub(super) fn when(self, shown: Timestamp) -> Timestamp {
        self.ticker.map_or(shown, |ticker| ticker.when(shown - self.ahead))
    }
}

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
