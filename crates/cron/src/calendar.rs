//! Reads the five fields of an expression, and finds the minutes of the calendar that they name, whatever the zone.

use crate::CronError;
use jiff::civil::Date;

/// An expression as sets of bits.
#[derive(Clone, Debug)]
pub(crate) struct Calendar {
    /// Bits 0 to 59.
    minutes: u64,
    /// Bits 0 to 23.
    hours: u32,
    /// Bits 1 to 31.
    days: u32,
    /// Bits 1 to 12.
    months: u16,
    /// Bits 0 (Sunday) to 6.
    weekdays: u8,
    /// Both kinds of day are restricted, and one of them suffices.
    either_day: bool,
}

impl Calendar {
    /// Reads an expression.
    pub(crate) fn parse(expression: &str) -> Result<Self, CronError> {
        if expression.len() > LENGTH_MAX {
            return Err(CronError::TooLong { length: expression.chars().count(), max: LENGTH_MAX });
        }
        let fields: Vec<&str> = expression.split([' ', '\t']).filter(|field| !field.is_empty()).collect();
        let &[minutes, hours, days, months, weekdays] = fields.as_slice() else {
            return Err(CronError::FieldCount { found: fields.len() });
        };
        let week = WEEKDAYS.read(weekdays)?;
        Ok(Self {
            minutes: MINUTES.read(minutes)?,
            hours: u32::try_from(HOURS.read(hours)?).expect("24 hours fit"),
            days: u32::try_from(DAYS.read(days)?).expect("31 days and an unused bit fit"),
            months: u16::try_from(MONTHS.read(months)?).expect("12 months and an unused bit fit"),
            // Sunday is 0 and 7.
            weekdays: u8::try_from((week | week >> 7) & 0x7f).expect("seven days fit"),
            either_day: !days.starts_with('*') && !weekdays.starts_with('*'),
        })
    }

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

/// The range of one field.
struct Field {
    name: &'static str,
    first: u8,
    last: u8,
    /// The first stands for `first`.
    names: &'static [&'static str],
}

impl Field {
    /// The values of a field as bits.
    fn read(&self, text: &str) -> Result<u64, CronError> {
        text.split(',').try_fold(0, |bits, part| Ok(bits | self.part(part)?))
    }

    /// One element of a list.
    fn part(&self, part: &str) -> Result<u64, CronError> {
        let (values, step) = match part.split_once('/') {
            Some((values, step)) => (values, Some(step)),
            None => (part, None),
        };
        let (from, to) = match values.split_once('-') {
            _ if values == "*" => (self.first, self.last),
            Some((from, to)) => (self.value(part, from)?, self.range_end(part, to)?),
            None if step.is_some() => return Err(self.wrong(part, "a step needs * or a range before it")),
            None => self.value(part, values).map(|value| (value, value))?,
        };
        if from > to {
            return Err(self.wrong(part, "a range must go from the smaller to the larger value"));
        }
        let step = step.map_or(Ok(1), |step| self.step(part, step))?;
        Ok((from..=to).step_by(step).fold(0, |bits, value| bits | 1 << value))
    }

    fn step(&self, part: &str, text: &str) -> Result<usize, CronError> {
        let step = number(text).filter(|step| *step > 0);
        step.map(usize::from).ok_or_else(|| self.wrong(part, "a step must be a number from 1 to 255"))
    }

    /// The end of a range: a week that ends on SUN ends on the seventh day, not on the day before the first.
    fn range_end(&self, part: &str, text: &str) -> Result<u8, CronError> {
        let value = self.value(part, text)?;
        let ends_the_week = self.last == WEEKDAYS.last && text.eq_ignore_ascii_case(WEEKDAYS.names[0]);
        Ok(if ends_the_week { self.last } else { value })
    }

    fn value(&self, part: &str, text: &str) -> Result<u8, CronError> {
        let named = self.names.iter().position(|name| name.eq_ignore_ascii_case(text));
        let named = named.and_then(|place| u8::try_from(place).ok()).map(|place| self.first + place);
        let value = named.or_else(|| number(text)).filter(|value| (self.first..=self.last).contains(value));
        value.ok_or_else(|| self.wrong(part, &self.expected()))
    }

    fn expected(&self) -> String {
        let numbers = format!("expected a number from {} to {}", self.first, self.last);
        let names = self.names.first().zip(self.names.last());
        let names = names.map(|(first, last)| format!(", or a name from {first} to {last}"));
        format!(
            "{numbers}{}, *, a range a-b, a step */n or a-b/n, or a list of these",
            names.unwrap_or_default()
        )
    }

    fn wrong(&self, part: &str, expected: &str) -> CronError {
        CronError::Field { field: self.name, part: part.into(), expected: expected.into() }
    }
}

/// Digits only: Rust would also read a sign.
fn number(text: &str) -> Option<u8> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

const EPOCH: Date = Date::constant(1970, 1, 1);
const MINUTE: i64 = 60;
const MINUTES_PER_DAY: i64 = 24 * 60;
const LENGTH_MAX: usize = 200;

const MINUTES: Field = Field { name: "minute", first: 0, last: 59, names: &[] };
const HOURS: Field = Field { name: "hour", first: 0, last: 23, names: &[] };
const DAYS: Field = Field { name: "day of month", first: 1, last: 31, names: &[] };
const MONTHS: Field = Field {
    name: "month",
    first: 1,
    last: 12,
    names: &["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"],
};
const WEEKDAYS: Field = Field {
    name: "day of week",
    first: 0,
    last: 7,
    names: &["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"],
};

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(expression: &str) -> String {
        Calendar::parse(expression).expect_err(expression).to_string()
    }

    /// Q17: lists, ranges, steps and names mean what they mean everywhere.
    #[test]
    fn fields_are_sets() {
        let read = Calendar::parse("1,5-7,*/30 0-23/8 1,31 JAN,dec Mon-FRI").expect("an expression");
        assert_eq!(read.minutes, 1 << 1 | 0b111 << 5 | 1 | 1 << 30);
        assert_eq!(read.hours, 1 | 1 << 8 | 1 << 16);
        assert_eq!(read.days, 1 << 1 | 1 << 31);
        assert_eq!(read.months, 1 << 1 | 1 << 12);
        assert_eq!(read.weekdays, 0b011_1110);
        assert!(read.either_day);
        assert!(
            !Calendar::parse("* * */2 * 1").expect("an expression").either_day,
            "a star restricts nothing"
        );
        assert!(!Calendar::parse("* * 1 * *").expect("an expression").either_day);
    }

    /// Q17: Sunday is 0 and 7, alone, in ranges and by name.
    #[test]
    fn sunday_is_both_ends_of_the_week() {
        let week =
            |field: &str| Calendar::parse(&format!("0 0 * * {field}")).expect("an expression").weekdays;
        assert_eq!([week("0"), week("7"), week("sun")], [1; 3]);
        assert_eq!(week("5-7"), 0b110_0001);
        assert_eq!(week("SAT-SUN"), 0b100_0001);
        assert_eq!(week("SUN-TUE"), 0b000_0111);
        assert_eq!(week("*"), 0b111_1111);
    }

    /// Q17: what is not in the contract is refused, and the text names the field.
    #[test]
    fn the_rest_is_refused() {
        let others = "@daily, 0 * * * * *, * * * *, , 0 0 0 12 * ? *";
        for wrong in others.split(", ") {
            assert!(fault(wrong).contains("expected 5: minute hour"), "{wrong:?}: {}", fault(wrong));
        }
        let fields = [
            ("60 * * * *", "minute"),
            ("* 24 * * *", "hour"),
            ("* * 0 * *", "day of month"),
            ("* * 32 * *", "day of month"),
            ("* * L * *", "day of month"),
            ("* * 15W * *", "day of month"),
            ("* * ? * *", "day of month"),
            ("* * * 13 *", "month"),
            ("* * * JANUARY *", "month"),
            ("* * * * 8", "day of week"),
            ("* * * * 5#2", "day of week"),
            ("* * * * FRI#2", "day of week"),
            ("*/0 * * * *", "minute"),
            ("5/15 * * * *", "minute"),
            ("*/ * * * *", "minute"),
            ("1- * * * *", "minute"),
            ("-1 * * * *", "minute"),
            ("+1 * * * *", "minute"),
            ("9-5 * * * *", "minute"),
            ("*-5 * * * *", "minute"),
            ("1-2-3 * * * *", "minute"),
            ("*/2/2 * * * *", "minute"),
            ("1,,2 * * * *", "minute"),
            (", * * * *", "minute"),
            ("999 * * * *", "minute"),
            ("٣ * * * *", "minute"),
            ("1\u{a0} * * * *", "minute"),
            ("*\n * * * *", "minute"),
        ];
        for (wrong, field) in fields {
            assert!(fault(wrong).starts_with(&format!("{field} \"")), "{wrong:?}: {}", fault(wrong));
        }
        assert!(fault(&format!("{} * * * *", "1,".repeat(200))).contains("at most 200"));
    }
}
