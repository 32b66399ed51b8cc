//! What a world has seen: counts of each kind of happening, and the last steps where somebody will read them.

use muster_model::Timestamp;
use std::collections::{BTreeMap, VecDeque};

/// A window on the last steps.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    kept: VecDeque<String>,
    lines_max: usize,
}

impl Trace {
    /// One that keeps so many lines; with none it costs nothing.
    pub(crate) fn new(lines_max: usize) -> Self {
        Self { kept: VecDeque::new(), lines_max }
    }

    pub(crate) fn note(&mut self, at: Timestamp, line: impl FnOnce() -> String) {
        if self.lines_max == 0 {
            return;
        }
        if self.kept.len() == self.lines_max {
            self.kept.pop_front();
        }
        self.kept.push_back(format!("{:>10.3}s  {}", seconds(at), line()));
    }

    pub(crate) fn into_lines(self) -> Vec<String> {
        self.kept.into()
    }
}

/// Seconds since the world began, for people.
pub(crate) fn seconds(at: Timestamp) -> f64 {
    (at - crate::plan::BEGINNING).0 as f64 / 1000.0
}

/// How often each kind of thing happened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage(BTreeMap<&'static str, u64>);

impl Coverage {
    /// Counts one more.
    pub(crate) fn count(&mut self, what: &'static str) {
        *self.0.entry(what).or_default() += 1;
    }

    /// Adds what another world has seen.
    pub fn add(&mut self, other: &Self) {
        for (what, count) in &other.0 {
            *self.0.entry(what).or_default() += count;
        }
    }

    /// How often a kind of thing happened.
    #[must_use]
    pub fn of(&self, what: &str) -> u64 {
        self.0.get(what).copied().unwrap_or(0)
    }

    /// All counts, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.0.iter().map(|(what, count)| (*what, *count))
    }
}
