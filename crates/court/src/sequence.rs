//! Numbers of the day, each given out once, by whichever process asks (C9, C10).

use crate::{
    Fault, Folder, Id, Kind, Place,
    layout::{ATTEMPTS, REJECTED, SEQUENCES},
};
use jiff::{SignedDuration, Timestamp, tz::TimeZone};
use std::{
    collections::BTreeSet,
    fs::{File, OpenOptions},
    path::PathBuf,
    sync::Mutex,
};

/// The series of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Series {
    /// `task-{YYYYMMDD}-{seq}`
    Task,
    /// `msg-{YYYYMMDD}-{seq}`
    Message,
}

/// The days whose largest number this process has looked for.
#[derive(Default)]
pub(crate) struct Sequences {
    seen: Mutex<BTreeSet<(Series, String)>>,
}

impl Series {
    const fn name(self) -> &'static str {
        match self {
            Self::Task => "task",
            Self::Message => "msg",
        }
    }

    /// The directories in which a number of this series may have left a file.
    fn places(self) -> impl Iterator<Item = Place> {
        let (own, more): (_, &[Place]) = match self {
            Self::Task => (
                Kind::Task,
                &[Place::Results, Place::QuestionsOpen, Place::QuestionsAnswered, Place::Threads],
            ),
            Self::Message => (Kind::Message, &[]),
        };
        own.places().iter().chain(more).copied()
    }
}

impl Folder {
    /// Takes the next number of a series; nobody else will get it, whatever dies meanwhile.
    pub fn next_id(&self, series: Series, now: Timestamp) -> Result<Id, Fault> {
        let day = day(now);
        let _alone = self.alone(series)?;
        let mut last = self.counted(series, &day)?;
        let is_new =
            !self.sequences.seen.lock().expect("nobody panics in here").contains(&(series, day.clone()));
        if is_new {
            last = last.max(self.largest(series, &day)?);
            self.forget_old_days(series, now)?;
        }
        let (id, number) = self.free_after(series, &day, last)?;
        self.replace(&self.counter(series, &day), format!("{number}\n").as_bytes())?;
        self.sequences.seen.lock().expect("nobody panics in here").insert((series, day));
        Ok(id)
    }

    /// The first number after `last` that no file has; somebody may have put one there by hand.
    fn free_after(&self, series: Series, day: &str, last: u64) -> Result<(Id, u64), Fault> {
        for number in last.saturating_add(1)..u64::MAX {
            let text = format!("{}-{day}-{number:03}", series.name());
            let id = Id::parse(&text).map_err(|error| Fault::Invalid(error.to_string()))?;
            if !series.places().any(|place| self.has(place, &id)) {
                return Ok((id, number));
            }
        }
        Err(Fault::Invalid(format!("the numbers of {day} are used up")))
    }

    /// The last number that was given out on a day, as it was written down. Each day has its own: around midnight, and
    /// when a clock is set back, two days are under way at once.
    fn counted(&self, series: Series, day: &str) -> Result<u64, Fault> {
        match self.bytes(&self.counter(series, day)) {
            Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).trim().parse().unwrap_or(0)),
            Err(Fault::Gone(_)) => Ok(0),
            Err(other) => Err(other),
        }
    }

    /// The largest number of the day among the files there are: a court may have been copied without its counters.
    fn largest(&self, series: Series, day: &str) -> Result<u64, Fault> {
        let prefix = format!("{}-{day}-", series.name());
        let mut largest = 0;
        let places = series.places().map(Place::path).chain([REJECTED, ATTEMPTS]);
        for name in places.map(|path| self.names_in(path)).collect::<Result<Vec<_>, _>>()?.concat() {
            let number = name.to_str().and_then(|name| name.strip_prefix(&prefix));
            let number = number.and_then(|rest| rest.split('.').next()?.parse().ok());
            largest = largest.max(number.filter(|number| *number < FOUND_MAX).unwrap_or(0));
        }
        Ok(largest)
    }

    /// Removes the counters of days that nobody comes back to.
    fn forget_old_days(&self, series: Series, now: Timestamp) -> Result<(), Fault> {
        let oldest = day(now.checked_sub(KEPT).unwrap_or(now));
        let prefix = format!("{}-", series.name());
        for name in self.names_in(SEQUENCES)? {
            let of_day = name.to_str().and_then(|name| name.strip_prefix(&prefix));
            if of_day.is_some_and(|of_day| of_day < oldest.as_str()) {
                let path = self.path(SEQUENCES).join(&name);
                self.disk.remove(&path).map_err(|error| Fault::Io(path, error))?;
            }
        }
        Ok(())
    }

    fn counter(&self, series: Series, day: &str) -> PathBuf {
        self.path(SEQUENCES).join(format!("{}-{day}", series.name()))
    }

    /// One process at a time; held for the few operations of one number.
    fn alone(&self, series: Series) -> Result<File, Fault> {
        let path = self.path(SEQUENCES).join(format!("{}.lock", series.name()));
        let open = || {
            let file = OpenOptions::new().write(true).create(true).truncate(false).open(&path)?;
            file.lock()?;
            Ok(file)
        };
        open().map_err(|error| Fault::Io(path.clone(), error))
    }
}

fn day(now: Timestamp) -> String {
    now.to_zoned(TimeZone::UTC).strftime("%Y%m%d").to_string()
}

const KEPT: SignedDuration = SignedDuration::from_hours(7 * 24);
/// A file of a larger number is a stranger's joke: to go on after it would use the numbers up.
const FOUND_MAX: u64 = 1_000_000_000_000_000;

#[cfg(test)]
mod tests;
