//! Slots in time: what an expression means where clocks are changed, and everywhere else.

use jiff::{Timestamp as Instant, ToSpan, civil::DateTime, tz::TimeZone};
use muster_cron::Cron;
use muster_model::{Millis, Timestamp};

fn instant(text: &str) -> Timestamp {
    Timestamp(text.parse::<Instant>().expect("an instant").as_millisecond())
}

fn cron(expression: &str, zone: &str) -> Cron {
    Cron::parse(expression, zone).expect("an expression")
}

/// The first slots after an instant, in UTC.
fn slots(cron: &Cron, after: &str, count: usize) -> Vec<String> {
    let mut at = instant(after);
    let mut step = || {
        at = cron.next_after(at)?;
        Some(Instant::from_millisecond(at.0).expect("in range").to_string())
    };
    std::iter::from_fn(&mut step).take(count).collect()
}

/// Q17: the next slot lies strictly after the instant.
#[test]
fn the_next_slot_is_strictly_after() {
    let quarter = &cron("*/15 * * * *", "UTC");
    assert_eq!(slots(quarter, "2026-01-01T00:00:00Z", 2), ["2026-01-01T00:15:00Z", "2026-01-01T00:30:00Z"]);
    assert_eq!(slots(quarter, "2026-01-01T00:14:59.999Z", 1), ["2026-01-01T00:15:00Z"]);
    assert_eq!(slots(quarter, "1969-12-31T23:59:59.999Z", 1), ["1970-01-01T00:00:00Z"]);
}

/// Q17: with both kinds of day restricted, one suffices; with one restricted, that one counts.
#[test]
fn either_day_suffices() {
    let both = slots(&cron("0 12 13 * FRI", "UTC"), "2026-02-10T00:00:00Z", 4);
    assert_eq!(
        both,
        ["2026-02-13T12:00:00Z", "2026-02-20T12:00:00Z", "2026-02-27T12:00:00Z", "2026-03-06T12:00:00Z"]
    );
    let odd_mondays = slots(&cron("0 12 */2 * MON", "UTC"), "2026-02-01T00:00:00Z", 2);
    assert_eq!(odd_mondays, ["2026-02-09T12:00:00Z", "2026-02-23T12:00:00Z"]);
}

/// Q17: a day that is rare comes; a day that does not exist never does.
#[test]
fn rare_days_come_and_others_never() {
    assert_eq!(slots(&cron("0 0 29 2 *", "UTC"), "2096-03-01T00:00:00Z", 1), ["2104-02-29T00:00:00Z"]);
    let sunday = slots(&cron("0 0 29 2 */7", "Europe/Vienna"), "2026-01-01T00:00:00Z", 1);
    assert_eq!(sunday, ["2032-02-28T23:00:00Z"]);
    assert!(slots(&cron("0 0 31 2 *", "UTC"), "2026-01-01T00:00:00Z", 1).is_empty());
    assert!(slots(&cron("0 0 31 4,6,9,11 *", "America/New_York"), "2026-01-01T00:00:00Z", 1).is_empty());
}

/// Q17: a time that is skipped is due once, when the skipped stretch ends.
#[test]
fn what_is_skipped_is_due_once_when_the_gap_ends() {
    let daily = slots(&cron("30 2 * * *", "Europe/Vienna"), "2026-03-28T00:00:00Z", 3);
    assert_eq!(daily, ["2026-03-28T01:30:00Z", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"]);
    let many = slots(&cron("*/10 2,3 * * *", "Europe/Vienna"), "2026-03-29T00:00:00Z", 2);
    assert_eq!(many, ["2026-03-29T01:00:00Z", "2026-03-29T01:10:00Z"]);
    let just_before = slots(&cron("30 2 * * *", "Europe/Vienna"), "2026-03-29T00:59:59.999Z", 1);
    assert_eq!(just_before, ["2026-03-29T01:00:00Z"]);
    let a_day = slots(&cron("0 12 * * *", "Pacific/Apia"), "2011-12-30T00:00:00Z", 2);
    assert_eq!(a_day, ["2011-12-30T10:00:00Z", "2011-12-30T22:00:00Z"]);
}

/// Q17: a time that comes twice is due the first time only.
#[test]
fn what_comes_twice_is_due_once() {
    let daily = slots(&cron("30 2 * * *", "Europe/Vienna"), "2026-10-24T12:00:00Z", 2);
    assert_eq!(daily, ["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]);
    let within = slots(&cron("30 2 * * *", "Europe/Vienna"), "2026-10-25T01:10:00Z", 1);
    assert_eq!(within, ["2026-10-26T01:30:00Z"]);
}

/// Q17: what happens every hour goes by elapsed time.
#[test]
fn every_hour_means_every_hour() {
    let autumn = slots(&cron("30 * * * *", "Europe/Vienna"), "2026-10-25T00:00:00Z", 3);
    assert_eq!(autumn, ["2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z", "2026-10-25T02:30:00Z"]);
    let spring = slots(&cron("30 * * * *", "Europe/Vienna"), "2026-03-29T00:00:00Z", 2);
    assert_eq!(spring, ["2026-03-29T00:30:00Z", "2026-03-29T01:30:00Z"]);
}

/// Q17: zones come with the binary, and only by their names.
#[test]
fn zones_are_found_by_name() {
    let zone = |name: &str| Cron::parse("* * * * *", name).map(|cron| cron.timezone().to_owned());
    assert_eq!(zone("UTC").as_deref(), Ok("UTC"));
    assert_eq!(zone("europe/vienna").as_deref(), Ok("Europe/Vienna"));
    let long = "Z".repeat(100_000);
    for wrong in ["", "Mars/Olympus", "+02:00", "CET-1CEST,M3.5.0,M10.5.0/3", "../UTC", "Etc/Unknown", &long]
    {
        let fault = zone(wrong).expect_err(wrong);
        assert!(fault.is_about_timezone() && fault.to_string().len() < 200, "{fault}");
    }
}

/// Q17: of the slots in a stretch of time the latest is found, however many there are.
#[test]
fn the_latest_of_many_is_found() {
    let latest = |expression: &str, first: &str, last: &str| {
        cron(expression, "UTC").latest_between(instant(first), instant(last))
    };
    let (first, last) = ("1970-01-01T00:00:00Z", "2026-05-05T05:05:05.005Z");
    assert_eq!(latest("* * * * *", first, last), Some(instant("2026-05-05T05:05:00Z")));
    assert_eq!(latest("0 0 29 2 *", first, last), Some(instant("2024-02-29T00:00:00Z")));
    let only = "2024-02-29T00:00:00Z";
    assert_eq!(latest("0 0 29 2 *", only, only), Some(instant(only)));
    assert_eq!(latest("0 0 29 2 *", "2024-02-29T00:00:00.001Z", last), None);
    assert_eq!(latest("0 0 29 2 *", last, first), None);
}

/// Q17: instants at the ends of time are answered, not fallen over.
#[test]
fn no_instant_is_too_far() {
    let cron = cron("0 0 1 1 *", "Asia/Tokyo");
    for far in [i64::MIN, -400_000_000_000_000, 253_402_300_799_999, i64::MAX] {
        assert_eq!(cron.next_after(Timestamp(far)), None, "{far}");
    }
    assert_eq!(cron.latest_between(Timestamp(i64::MIN), Timestamp(i64::MAX)), None);
}

/// Q17: three years, minute by minute, in zones with whole, half and unusual changes.
#[test]
fn every_slot_of_three_years_is_where_a_walk_finds_it() {
    let zones = [
        "UTC",
        "Europe/Vienna",
        "America/New_York",
        "Australia/Lord_Howe",
        "Africa/Casablanca",
        "America/St_Johns",
        "Asia/Kathmandu",
    ];
    let expressions = [
        "30 2 * * *",
        "*/20 1-3 * * *",
        "7 * * * *",
        "0 0 1,15 * MON",
        "59 23 28-31 */2 *",
        "0 2 * 3,10-11 SUN",
    ];
    for zone in zones {
        let walked = walk(zone, "2024-01-01T00:00:00Z", &expressions);
        for (expression, walked) in expressions.into_iter().zip(walked) {
            let cron = cron(expression, zone);
            let mut at = instant("2024-01-01T00:00:00Z") - Millis(1);
            for expected in &walked {
                at = cron.next_after(at).expect("there is a next");
                assert_eq!(at.0, *expected, "{expression} in {zone}");
            }
            assert!(walked.len() > 8, "{expression} in {zone}: only {} slots", walked.len());
        }
    }
}

/// Finds slots the slow way: looks at every minute, and asks the zone whether it came before or follows a gap.
fn walk(zone: &str, from: &str, expressions: &[&str]) -> Vec<Vec<i64>> {
    let zone = TimeZone::get(zone).expect("a zone");
    let start: Instant = from.parse().expect("an instant");
    let rules: Vec<Rule> = expressions.iter().map(|expression| Rule::read(expression)).collect();
    let mut found = vec![Vec::new(); rules.len()];
    let mut before = zone.to_offset(start);
    for minute in 0..3 * 366 * 24 * 60 {
        let now = Instant::from_second(start.as_second() + minute * 60).expect("in range");
        let offset = zone.to_offset(now);
        let local = offset.to_datetime(now);
        let jumped = offset > before;
        let expected = if jumped { before.to_datetime(now) } else { local };
        let first_time = || zone.to_ambiguous_timestamp(local).earlier().expect("in range") == now;
        for (rule, found) in rules.iter().zip(&mut found) {
            let once = || jumped && rule.names_one_between(expected, local);
            let due = match rule.every_hour {
                true => rule.names(local),
                false => (rule.names(local) && first_time()) || once(),
            };
            if due {
                found.push(now.as_millisecond());
            }
        }
        before = offset;
    }
    found
}

/// An expression as lists of numbers.
struct Rule {
    fields: [Vec<i8>; 5],
    either_day: bool,
    every_hour: bool,
}

impl Rule {
    fn read(expression: &str) -> Self {
        let texts: &Vec<&str> = &expression.split(' ').collect();
        let bounds = [(0, 59), (0, 23), (1, 31), (1, 12), (0, 6)];
        let list =
            |ix: usize| (bounds[ix].0..=bounds[ix].1).filter(move |v| holds(texts[ix], *v, bounds[ix].0));
        Self {
            fields: std::array::from_fn(|ix| list(ix).collect()),
            either_day: !texts[2].starts_with('*') && !texts[4].starts_with('*'),
            every_hour: texts[1] == "*",
        }
    }

    fn names(&self, local: DateTime) -> bool {
        let [minutes, hours, days, months, weekdays] = &self.fields;
        let of_week = || weekdays.contains(&local.weekday().to_sunday_zero_offset());
        let of_month = || days.contains(&local.day());
        minutes.contains(&local.minute())
            && hours.contains(&local.hour())
            && months.contains(&local.month())
            && if self.either_day { of_month() || of_week() } else { of_month() && of_week() }
    }

    fn names_one_between(&self, from: DateTime, to: DateTime) -> bool {
        std::iter::successors(Some(from), |at| Some(*at + 1.minute()))
            .take_while(|at| *at < to)
            .any(|at| self.names(at))
    }
}

fn holds(field: &str, value: i8, first: i8) -> bool {
    let number = |text: &str| match text {
        "SUN" => 0,
        "MON" => 1,
        digits => digits.parse().expect("a number"),
    };
    field.split(',').any(|part| {
        let (values, step) = part.split_once('/').map_or((part, 1), |(values, step)| (values, number(step)));
        let (from, to) = match values.split_once('-') {
            Some((from, to)) => (number(from), number(to)),
            None if values == "*" => (first, 99),
            None => (number(values), number(values)),
        };
        (from..=to).contains(&value) && (value - from) % step == 0
    })
}

/// Q17: an instant is told by the clocks of the zone, before and after they are changed.
#[test]
fn instants_are_told_by_the_clocks_of_the_zone() {
    let cron = cron("0 6 * * *", "Europe/Vienna");
    let told = |text: &str| cron.local(instant(text)).unwrap();
    assert_eq!(told("2026-10-25T00:30:00Z"), "2026-10-25T02:30:00+02:00");
    assert_eq!(told("2026-10-25T01:30:00Z"), "2026-10-25T02:30:00+01:00");
    assert_eq!(cron.local(Timestamp(i64::MAX)), None);
}
