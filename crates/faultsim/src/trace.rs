//! The last steps of a world, kept only where somebody will read them.

use muster_model::Timestamp;
use std::collections::VecDeque;

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
