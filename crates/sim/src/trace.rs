//! The last steps of a world, kept only where somebody will read them.

use muster_model::Timestamp;
use std::collections::VecDeque;

/// Lines kept.
const LINES_MAX: usize = 30;

/// A window on the last steps.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    kept: Option<VecDeque<String>>,
}

impl Trace {
    /// One that keeps lines, or one that costs nothing.
    pub(crate) fn new(keep: bool) -> Self {
        Self { kept: keep.then(VecDeque::new) }
    }

    pub(crate) fn note(&mut self, at: Timestamp, line: impl FnOnce() -> String) {
        let Some(kept) = &mut self.kept else { return };
        if kept.len() == LINES_MAX {
            kept.pop_front();
        }
        kept.push_back(format!("{:>10.3}s  {}", seconds(at), line()));
    }

    pub(crate) fn into_lines(self) -> Vec<String> {
        self.kept.into_iter().flatten().collect()
    }
}

/// Seconds since the world began, for people.
pub(crate) fn seconds(at: Timestamp) -> f64 {
    (at - crate::plan::BEGINNING).0 as f64 / 1000.0
}
