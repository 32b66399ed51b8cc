//! Due times of cron expressions, in a time zone.
//!
//! Five fields (minute, hour, day of month, month, day of week) of numbers, names, `*`, lists, ranges and
//! steps; Sunday is 0 and 7. When both the day of the month and the day of the week are restricted, one of
//! them suffices; a field that begins with `*` (`*/2` as well) does not count as restricted here, and then both
//! must match, as in Vixie's cron.
//!
//! Clock changes:
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

use calendar::Calendar;
use jiff::{
    Timestamp as Instant,
    tz::{TimeZone, TimeZoneDatabase},
};
use muster_model::{Millis, Timestamp};
use std::sync::LazyLock;

/// A cron expression in a time zone.
#[derive(Clone, Debug)]
pub struct Cron {
    calendar: Calendar,
    zone: TimeZone,
}

impl Cron {
    /// Reads an expression of five fields, and the IANA name of the zone it is meant in, in any case.
    ///
    /// # Errors
    /// When either is not what it should be; the text names the field and says what is expected.
    pub fn parse(expression: &str, timezone: &str) -> Result<Self, CronError> {
        Ok(Self { calendar: Calendar::parse(expression)?, zone: zone(timezone)? })
    }

    /// The first slot strictly after an instant; `None` when there never is one (31 February).
    #[must_use]
    pub fn next_after(&self, instant: Timestamp) -> Option<Timestamp> {
        // A slot lies on a whole second, so the first one after an instant is after the second it falls in.
        let second = self.next_second_after(instant.0.div_euclid(1000))?;
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
        let at = Instant::from_millisecond(instant.0).ok()?;
        Some(at.display_with_offset(self.zone.to_offset(at)).to_string())
    }

    /// The zone's name, in the spelling of the zone database.
    #[must_use]
    pub fn timezone(&self) -> &str {
        self.zone.iana_name().expect("zones are found by name")
    }

    /// The first second after `instant` that the calendar names here.
    ///
    /// Within a stretch local time runs evenly; what is skipped or comes twice shows at the seams.
    fn next_second_after(&self, instant: i64) -> Option<i64> {
        let by_elapsed_time = self.calendar.names_every_hour();
        let mut from = instant.checked_add(1)?;
        let mut stretch = Stretch::around(&self.zone, instant)?;
        loop {
            let local = from + stretch.offset;
            let fresh = if by_elapsed_time { local } else { stretch.first_fresh().max(local) };
            let named = self.calendar.first_from(fresh)?;
            match stretch.end {
                Some((seam, next_offset)) if named - stretch.offset >= seam => {
                    if named < seam + next_offset && !by_elapsed_time {
                        return Some(seam);
                    }
                    from = seam;
                    stretch = Stretch::around(&self.zone, seam)?;
                }
                _ => return Some(named - stretch.offset),
            }
        }
    }
}

/// Seconds in which the zone's offset stays the same.
struct Stretch {
    offset: i64,
    /// Its first second, and the offset before.
    begin: Option<(i64, i64)>,
    /// The first second of the next one, and its offset.
    end: Option<(i64, i64)>,
}

impl Stretch {
    fn around(zone: &TimeZone, second: i64) -> Option<Self> {
        let at = Instant::from_second(second).ok()?;
        let offset_at = |at: Instant| i64::from(zone.to_offset(at).seconds());
        let begin = zone.preceding(Instant::from_second(second + 1).ok()?).next();
        let begin = begin.map(|seam| seam.timestamp().as_second());
        let before = |seam: i64| Some((seam, offset_at(Instant::from_second(seam - 1).ok()?)));
        let end = zone.following(at).next();
        let end = end.map(|seam| (seam.timestamp().as_second(), i64::from(seam.offset().seconds())));
        Some(Self { offset: offset_at(at), begin: begin.and_then(before), end })
    }

    /// The first local second that did not come in the stretch before.
    fn first_fresh(&self) -> i64 {
        self.begin.map_or(i64::MIN, |(seam, offset_before)| seam + self.offset.max(offset_before))
    }
}

fn zone(name: &str) -> Result<TimeZone, CronError> {
    let known = if name.len() <= NAME_MAX { ZONES.get(name).ok() } else { None };
    let known = known.filter(|zone| !zone.is_unknown() && zone.iana_name().is_some());
    known.ok_or_else(|| CronError::Timezone { name: name.chars().take(NAME_MAX).collect() })
}

/// A mistake in an expression or a zone, in words for its author.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CronError {
    /// It is longer than anybody writes one.
    #[error("cron expression has {length} characters, at most {max} are accepted")]
    TooLong {
        /// The text.
        length: usize,
        /// The accepted forms.
        max: usize,
    },
    /// It does not have five fields.
    #[error("cron expression has {found} fields, expected 5: minute hour day-of-month month day-of-week")]
    FieldCount {
        /// The text.
        found: usize,
    },
    /// One part of one field cannot be read.
    #[error("{field} {part:?}: {expected}")]
    Field {
        /// The field.
        field: &'static str,
        /// The part of it.
        part: Box<str>,
        /// The expected form.
        expected: Box<str>,
    },
    /// No such zone.
    #[error("unknown time zone {name:?}, expected an IANA name such as UTC or Europe/Vienna")]
    Timezone {
        /// As it was given, cut short if it is long.
        name: Box<str>,
    },
}

impl CronError {
    /// True if the zone is wrong, not the expression.
    #[must_use]
    pub fn is_about_timezone(&self) -> bool {
        matches!(self, Self::Timezone { .. })
    }
}

/// One for all, because it remembers the zones it has unpacked.
static ZONES: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);
const NAME_MAX: usize = 64;
