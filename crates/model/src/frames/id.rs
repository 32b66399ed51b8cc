//! Identities and ranges of sessions.

use crate::{IdError, Name};
use alloc::sync::Arc;
use core::{fmt, str::FromStr};

/// Id of a session, chosen by the client: `^[a-z0-9_-]{1,64}$` (S26).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(Arc<str>);

/// Identity of a task: its session and its first frame, written `<session>.<first frame>`.
///
/// Ranges of one session never overlap, so the first frame tells them apart, also before a range is cut.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FrameTaskId {
    /// The session this is a range of.
    pub session: SessionId,
    /// The first frame.
    pub start: u64,
}

/// Frames from `start` up to, not including, `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FrameRange {
    /// The first frame.
    pub start: u64,
    /// The frame after the last.
    pub end: u64,
}

/// Ids granted once and never again (S12): those from `start` up to, not including, `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IdRange {
    /// The number of the grant; counts up from 1.
    pub chunk: u64,
    /// The first id.
    pub start: u64,
    /// The id after the last.
    pub end: u64,
}

/// A non-negative number as reported by a worker, in millionths: comparable and exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ratio(pub u32);

/// Id of an entry of the quarantine: `chunk-7`, `worker-W1.demo`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EntryId {
    /// The files of one grant of ids.
    Chunk(u64),
    /// Files of a worker in a session that belong to no task.
    Worker(Name, SessionId),
}

impl SessionId {
    /// Takes a text from outside as a session's id, if it can be one.
    ///
    /// # Errors
    /// Refuses everything but 1 to 64 of `a–z`, `0–9`, `_`, `-`.
    pub fn new(text: &str) -> Result<Self, IdError> {
        let fits = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-');
        if text.is_empty() || text.len() > 64 || !text.bytes().all(fits) {
            return Err(IdError);
        }
        Ok(Self(Arc::from(text)))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FrameTaskId {
    /// The largest first frame: eight decimal digits, so that text order is numeric order.
    pub const START_MAX: u64 = 99_999_999;
}

impl FrameRange {
    /// Number of frames.
    #[must_use]
    pub const fn len(self) -> u64 {
        self.end - self.start
    }

    /// True if there are none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.end <= self.start
    }
}

impl Ratio {
    /// Takes a number from outside; what is no number or below zero is none, what is too large is the largest.
    #[must_use]
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded before")]
    pub fn new(value: f64) -> Option<Self> {
        (value >= 0.0).then(|| Self((value.min(4000.0) * 1e6 + 0.5) as u32))
    }

    /// The number.
    #[must_use]
    pub fn value(self) -> f64 {
        f64::from(self.0) / 1e6
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for FrameTaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:08}", self.session, self.start)
    }
}

impl FromStr for FrameTaskId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let (session, start) = text.split_once('.').ok_or(IdError)?;
        if start.len() != 8 || !start.bytes().all(|b| b.is_ascii_digit()) {
            return Err(IdError);
        }
        Ok(Self { session: SessionId::new(session)?, start: start.parse().map_err(|_| IdError)? })
    }
}

impl fmt::Display for FrameRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}, {})", self.start, self.end)
    }
}

impl fmt::Display for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Chunk(chunk) => write!(f, "chunk-{chunk}"),
            Self::Worker(worker, session) => write!(f, "worker-{worker}.{session}"),
        }
    }
}

impl FromStr for EntryId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        if let Some(chunk) = text.strip_prefix("chunk-") {
            return chunk.parse().map(Self::Chunk).map_err(|_| IdError);
        }
        // A session's id has no dot, a worker's may.
        let (worker, session) =
            text.strip_prefix("worker-").and_then(|rest| rest.rsplit_once('.')).ok_or(IdError)?;
        Ok(Self::Worker(Name::new(worker).map_err(|_| IdError)?, SessionId::new(session)?))
    }
}

debug_as_display!(SessionId, FrameTaskId, EntryId);

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    /// S26: a session's id is 1 to 64 of a–z, 0–9, _ and -.
    #[test]
    fn a_session_id_can_be_a_directory() {
        for bad in ["", "A", "a.b", "a/b", "..", "ä", &"x".repeat(65)] {
            assert!(SessionId::new(bad).is_err(), "{bad:?}");
        }
        assert!(SessionId::new(&"x".repeat(64)).is_ok());
    }

    #[test]
    fn ids_survive_their_text_form() {
        let session = SessionId::new("night_run-7").expect("an id");
        let task = FrameTaskId { session: session.clone(), start: 1200 };
        assert_eq!(task.to_string(), "night_run-7.00001200");
        assert_eq!(task.to_string().parse(), Ok(task));
        let worker = Name::new("gpu.01").expect("a name");
        for entry in [EntryId::Chunk(7), EntryId::Worker(worker, session)] {
            assert_eq!(entry.to_string().parse(), Ok(entry));
        }
    }

    #[test]
    fn a_ratio_compares_as_it_was_written() {
        assert_eq!(Ratio::new(0.85), Some(Ratio(850_000)));
        assert!(Ratio::new(0.849_999) < Ratio::new(0.85));
        assert_eq!((Ratio::new(f64::NAN), Ratio::new(-0.1)), (None, None));
        assert_eq!(Ratio::new(f64::INFINITY), Some(Ratio(4_000_000_000)));
    }
}
