//! Maps the minutes of the calendar to moments in time.

use crate::{CronError, calendar::Calendar};
use jiff::{
    Timestamp,
    tz::{TimeZone, TimeZoneDatabase},
};
use std::sync::LazyLock;

/// One for all, because it remembers the zones it has unpacked.
static ZONES: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// A time zone of the bundled database.
#[derive(Clone, Debug)]
pub(crate) struct Zone(TimeZone);

/// Seconds in which the zone's offset stays the same.
struct Stretch {
    offset: i64,
    /// Its first second, and the offset before.
    begin: Option<(i64, i64)>,
    /// The first second of the next one, and its offset.
    end: Option<(i64, i64)>,
}

impl Zone {
    /// Finds a zone by its IANA name, in any case.
    pub(crate) fn named(name: &str) -> Result<Self, CronError> {
        let known = if name.len() <= NAME_MAX { ZONES.get(name).ok() } else { None };
        let known = known.filter(|zone| !zone.is_unknown() && zone.iana_name().is_some());
        let shown = || name.chars().take(NAME_MAX).collect::<String>().into_boxed_str();
        known.map(Self).ok_or_else(|| CronError::Timezone { name: shown() })
    }

    pub(crate) fn name(&self) -> &str {
        self.0.iana_name().expect("zones are found by name")
    }

    /// An instant in milliseconds, as local time with its offset.
    pub(crate) fn local(&self, instant_ms: i64) -> Option<String> {
        let at = Timestamp::from_millisecond(instant_ms).ok()?;
        Some(at.display_with_offset(self.0.to_offset(at)).to_string())
    }

    /// The first second after `instant` that the calendar names here.
    ///
    /// Within a stretch local time runs evenly; what is skipped or comes twice shows at the seams.
    pub(crate) fn next_after(&self, calendar: &Calendar, instant: i64) -> Option<i64> {
        let by_elapsed_time = calendar.names_every_hour();
        let mut from = instant.checked_add(1)?;
        let mut stretch = self.stretch(instant)?;
        loop {
            let local = from + stretch.offset;
            let fresh = if by_elapsed_time { local } else { stretch.first_fresh().max(local) };
            let named = calendar.first_from(fresh)?;
            match stretch.end {
                Some((seam, next_offset)) if named - stretch.offset >= seam => {
                    if named < seam + next_offset && !by_elapsed_time {
                        return Some(seam);
                    }
                    from = seam;
                    stretch = self.stretch(seam)?;
                }
                _ => return Some(named - stretch.offset),
            }
        }
    }

    fn stretch(&self, second: i64) -> Option<Stretch> {
        let at = Timestamp::from_second(second).ok()?;
        let offset_at = |at: Timestamp| i64::from(self.0.to_offset(at).seconds());
        let begin = self.0.preceding(Timestamp::from_second(second + 1).ok()?).next();
        let begin = begin.map(|seam| seam.timestamp().as_second());
        let before = |seam: i64| Some((seam, offset_at(Timestamp::from_second(seam - 1).ok()?)));
        let end = self.0.following(at).next();
        let end = end.map(|seam| (seam.timestamp().as_second(), i64::from(seam.offset().seconds())));
        Some(Stretch { offset: offset_at(at), begin: begin.and_then(before), end })
    }
}

impl Stretch {
    /// The first local second that did not come in the stretch before.
    fn first_fresh(&self) -> i64 {
        self.begin.map_or(i64::MIN, |(seam, offset_before)| seam + self.offset.max(offset_before))
    }
}

const NAME_MAX: usize = 64;
