//! Due times of cron expressions, in a time zone.
//!
//! Five fields (minute, hour, day of month, month, day of week) of numbers, names, `*`, lists, ranges and
//! steps; Sunday is 0 and 7. When both the day of the month and the day of the week are restricted, one of
//! them suffices; a field that begins with `*` (`*/2` as well) does not count as restricted here, and then both
//! must match, as in Vixie's cron.
//!
//! Where clocks are changed:
//! - A time that the zone skips is due once, at the moment the skipped stretch ends; several in one stretch are
//!   one slot.
//! - A time that comes twice is due the first time only.
//! - An expression that names every hour (`*/10 * * * *`) goes by elapsed time instead: nothing is made up for
//!   after a skipped stretch, and a repeated one is served like any other. Otherwise what is to happen every
//!   ten minutes would pause for an hour each autumn.
//!
//! The zones are part of the binary, so a machine without a zone database knows the same times as any other.
//! Everything here is a function of its arguments.

mod calendar;
mod error;
mod expression;
mod zone;

pub use error::CronError;

use calendar::Calendar;
use muster_model::{Millis, Timestamp};
use zone::Zone;

/// A cron expression in a time zone.
#[derive(Clone, Debug)]
pub struct Cron {
    calendar: Calendar,
    zone: Zone,
}

impl Cron {
    /// Reads an expression of five fields, and the IANA name of the zone it is meant in.
    ///
    /// # Errors
    /// When either is not what it should be; the text names the field and says what is expected.
    pub fn parse(expression: &str, timezone: &str) -> Result<Self, CronError> {
        Ok(Self { calendar: expression::parse(expression)?, zone: Zone::named(timezone)? })
    }

    /// The first slot strictly after an instant; `None` when there never is one (31 February).
    #[must_use]
    pub fn next_after(&self, instant: Timestamp) -> Option<Timestamp> {
        // A slot lies on a whole second, so the first one after an instant is after the second it falls in.
        let second = self.zone.next_after(&self.calendar, instant.0.div_euclid(1000))?;
        Some(Timestamp(second.checked_mul(1000)?))
    }

    /// The latest slot from `first` to `last`, both included; costs no more when there are many between.
    #[must_use]
    pub fn latest_between(&self, first: Timestamp, last: Timestamp) -> Option<Timestamp> {
        let due_after = |instant: Timestamp| self.next_after(instant).filter(|slot| *slot <= last);
        let (mut before, mut beyond) = (first - Millis(1), last);
        let mut latest = due_after(before)?;
        // Of the instants after which a slot is still due, the last one is just before the latest slot.
        while beyond - before > Millis(1) {
            let middle = before + Millis((beyond - before).0 / 2);
            match due_after(middle) {
                Some(slot) => (before, latest) = (middle, slot),
                None => beyond = middle,
            }
        }
        Some(latest)
    }

    /// An instant as clocks in the zone show it, in ISO 8601; `None` beyond the years that there are.
    #[must_use]
    pub fn local(&self, instant: Timestamp) -> Option<String> {
        self.zone.local(instant.0)
    }

    /// The zone's name, in the spelling of the zone database.
    #[must_use]
    pub fn timezone(&self) -> &str {
        self.zone.name()
    }
}
