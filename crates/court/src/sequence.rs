//! Numbers of the day, each given out once, by whichever process asks (C9, C10).

use crate::{Fault, Folder, Id, Kind, layout::SEQUENCES};
use jiff::{Timestamp, tz::TimeZone};
use std::{
    collections::BTreeSet,
    fs::{File, OpenOptions},
    path::PathBuf,
    sync::Mutex,
};

/// What is numbered.
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

    const fn kind(self) -> Kind {
        match self {
            Self::Task => Kind::Task,
            Self::Message => Kind::Message,
        }
    }
}

impl Folder {
    /// Takes the next number of a series; nobody else will get it, whatever dies meanwhile.
    pub fn next_id(&self, series: Series, now: Timestamp) -> Result<Id, Fault> {
        let day = now.to_zoned(TimeZone::UTC).strftime("%Y%m%d").to_string();
        let _alone = self.alone(series)?;
        let mut last = self.counted(series, &day)?;
        if !self.sequences.seen.lock().expect("nobody panics in here").contains(&(series, day.clone())) {
            last = last.max(self.largest(series, &day)?);
        }
        let id = self.free_after(series, &day, last)?;
        let number = id.as_str().rsplit('-').next().unwrap_or_default();
        self.replace(&self.counter(series), format!("{day} {number}\n").as_bytes())?;
        self.sequences.seen.lock().expect("nobody panics in here").insert((series, day));
        Ok(id)
    }

    /// The first number after `last` that no file has; somebody may have put one there by hand.
    fn free_after(&self, series: Series, day: &str, last: u64) -> Result<Id, Fault> {
        for number in last.saturating_add(1)..u64::MAX {
            let text = format!("{}-{day}-{number:03}", series.name());
            let id = Id::parse(&text).map_err(|error| Fault::Invalid(error.to_string()))?;
            if self.find(series.kind(), &id).is_none() {
                return Ok(id);
            }
        }
        Err(Fault::Invalid(format!("the numbers of {day} are used up")))
    }

    /// The last number that was given out today, as it was written down.
    fn counted(&self, series: Series, day: &str) -> Result<u64, Fault> {
        let text = match self.bytes(&self.counter(series)) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(Fault::Gone(_)) => return Ok(0),
            Err(other) => return Err(other),
        };
        let counted = text.split_once(' ').filter(|(known, _)| *known == day);
        Ok(counted.and_then(|(_, number)| number.trim().parse().ok()).unwrap_or(0))
    }

    /// The largest number of the day among the files there are.
    fn largest(&self, series: Series, day: &str) -> Result<u64, Fault> {
        let prefix = format!("{}-{day}-", series.name());
        let mut largest = 0;
        for place in series.kind().places() {
            for name in self.names(*place)? {
                let number = name.to_str().and_then(|name| name.strip_prefix(&prefix)?.strip_suffix(".json"));
                let number =
                    number.and_then(|number| number.parse().ok()).filter(|number| *number < FOUND_MAX);
                largest = largest.max(number.unwrap_or(0));
            }
        }
        Ok(largest)
    }

    fn counter(&self, series: Series) -> PathBuf {
        self.path(SEQUENCES).join(series.name())
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

/// A file of a larger number is a stranger's joke: to go on after it would use the numbers up.
const FOUND_MAX: u64 = 1_000_000_000_000_000;

#[cfg(test)]
mod tests;
