//! The minutes of the calendar that an expression names, whatever the zone.

use jiff::civil::Date;

/// An expression as sets of bits.
#[derive(Clone, Debug)]
pub(crate) struct Calendar {
    /// Bits 0 to 59.
    pub(crate) minutes: u64,
    /// Bits 0 to 23.
    pub(crate) hours: u32,
    /// Bits 1 to 31.
    pub(crate) days: u32,
    /// Bits 1 to 12.
    pub(crate) months: u16,
    /// Bits 0 (Sunday) to 6.
    pub(crate) weekdays: u8,
    /// Both kinds of day are restricted, and one of them suffices.
    pub(crate) either_day: bool,
}

impl Calendar {
    /// True if every hour is named: then elapsed time counts.
    pub(crate) fn names_every_hour(&self) -> bool {
        self.hours == (1 << 24) - 1
    }

    /// The first named minute from a local time on; both in seconds since 1970-01-01T00:00 local time.
    pub(crate) fn first_from(&self, local: i64) -> Option<i64> {
        let minute = local.checked_add(MINUTE - 1)?.div_euclid(MINUTE);
        let (day, minute) = (minute.div_euclid(MINUTES_PER_DAY), minute.rem_euclid(MINUTES_PER_DAY));
        let day = date(day)?;
        let today = if self.names(day) { self.minute_from(minute) } else { None };
        let (day, minute) = match today {
            Some(minute) => (day, minute),
            None => (self.day_from(day.tomorrow().ok()?)?, self.minute_from(0)?),
        };
        Some((day_number(day)? * MINUTES_PER_DAY + minute) * MINUTE)
    }

    /// The first named minute of a day from one on.
    fn minute_from(&self, minute: i64) -> Option<i64> {
        let (hour, minute) = (minute / 60, minute % 60);
        let in_this_hour = self.hours >> hour & 1 == 1;
        let later = if in_this_hour { next_bit(self.minutes, minute) } else { None };
        match later {
            Some(minute) => Some(hour * 60 + minute),
            None => Some(next_bit(self.hours.into(), hour + 1)? * 60 + next_bit(self.minutes, 0)?),
        }
    }

    /// The first named day from one on. The calendar repeats itself after 400 years, so whoever finds none until
    /// then never will.
    fn day_from(&self, first: Date) -> Option<Date> {
        let mut day = first;
        while day.year() <= first.year().saturating_add(400) {
            if self.months >> day.month() & 1 == 0 {
                day = day.last_of_month().tomorrow().ok()?;
            } else if self.names(day) {
                return Some(day);
            } else {
                day = day.tomorrow().ok()?;
            }
        }
        None
    }

    fn names(&self, day: Date) -> bool {
        let of_month = self.days >> day.day() & 1 == 1;
        let of_week = self.weekdays >> day.weekday().to_sunday_zero_offset() & 1 == 1;
        let named = if self.either_day { of_month || of_week } else { of_month && of_week };
        named && self.months >> day.month() & 1 == 1
    }
}

/// The lowest bit set from one on.
fn next_bit(bits: u64, from: i64) -> Option<i64> {
    let left = bits.checked_shr(u32::try_from(from).ok()?)?;
    (left != 0).then(|| from + i64::from(left.trailing_zeros()))
}

fn date(day_number: i64) -> Option<Date> {
    EPOCH.checked_add(jiff::Span::new().try_days(day_number).ok()?).ok()
}

fn day_number(date: Date) -> Option<i64> {
    EPOCH.until(date).ok().map(|span| i64::from(span.get_days()))
}

const EPOCH: Date = Date::constant(1970, 1, 1);
const MINUTE: i64 = 60;
const MINUTES_PER_DAY: i64 = 24 * 60;
