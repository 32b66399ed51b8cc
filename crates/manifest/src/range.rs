//! A stretch of frames.

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error, SeqAccess, Visitor},
};
use std::fmt;

/// Frames from `start` up to but not including `end`; never empty. In JSON `[start, end]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FrameRange {
    /// The first frame.
    pub start: u64,
    /// The frame after the last.
    pub end: u64,
}

impl FrameRange {
    /// Makes one; none where it would be empty, reversed, or beyond [`FRAME_MAX`].
    #[must_use]
    pub const fn new(start: u64, end: u64) -> Option<Self> {
        if start < end && end <= FRAME_MAX { Some(Self { start, end }) } else { None }
    }

    /// Returns the number of frames.
    #[must_use]
    pub const fn frames(self) -> u64 {
        self.end - self.start
    }

    /// Returns true if a frame is one of them.
    #[must_use]
    pub const fn has(self, frame: u64) -> bool {
        self.start <= frame && frame < self.end
    }

    /// Returns true if all frames of another are among them.
    #[must_use]
    pub const fn covers(self, other: Self) -> bool {
        self.start <= other.start && other.end <= self.end
    }
}

impl fmt::Display for FrameRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}, {})", self.start, self.end)
    }
}

impl Serialize for FrameRange {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        (self.start, self.end).serialize(to)
    }
}

impl<'de> Deserialize<'de> for FrameRange {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_seq(Pair)
    }
}

struct Pair;

impl<'de> Visitor<'de> for Pair {
    type Value = FrameRange;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a pair [start, end] of whole numbers from 0 on")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<FrameRange, A::Error> {
        let mut bound = |place| items.next_element()?.ok_or_else(|| A::Error::invalid_length(place, &self));
        let (start, end): (u64, u64) = (bound(0)?, bound(1)?);
        if items.next_element::<serde::de::IgnoredAny>()?.is_some() {
            return Err(A::Error::invalid_length(3, &self));
        }
        FrameRange::new(start, end).ok_or_else(|| A::Error::custom(wrong(start, end)))
    }
}

fn wrong(start: u64, end: u64) -> String {
    match start.cmp(&end) {
        std::cmp::Ordering::Less => format!("[{start}, {end}] goes beyond frame {FRAME_MAX}"),
        std::cmp::Ordering::Equal => format!("[{start}, {end}] is empty"),
        std::cmp::Ordering::Greater => format!("[{start}, {end}] is reversed"),
    }
}

/// The largest whole number that every reader of JSON reads exactly.
pub const FRAME_MAX: u64 = (1 << 53) - 1;
