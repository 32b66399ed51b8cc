//! Timestamps of frames: numbers in any unit, or RFC 3339.

use crate::number::Number;
use serde::{
    Deserialize, Deserializer,
    de::{Error, Visitor},
};
use std::{cmp::Ordering, fmt};

/// The timestamp of a frame. Numbers sort before instants, so that one map can hold both kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Moment {
    Number(Number),
    Instant(jiff::Timestamp),
}

impl Moment {
    /// Compares two timestamps of one kind; none for a number and an instant.
    pub(crate) fn order(self, other: Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Number(one), Self::Number(another)) => Some(one.cmp(&another)),
            (Self::Instant(one), Self::Instant(another)) => Some(one.cmp(&another)),
            (Self::Number(_), Self::Instant(_)) | (Self::Instant(_), Self::Number(_)) => None,
        }
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => match number.whole() {
                Some(whole) => whole.fmt(f),
                None => number.approximate().fmt(f),
            },
            Self::Instant(instant) => instant.fmt(f),
        }
    }
}

/// The earliest and the latest of some moments of one kind. Spans sort by their first moment, then by their last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Span {
    pub(crate) first: Moment,
    pub(crate) last: Moment,
}

impl Span {
    pub(crate) fn of(moments: impl IntoIterator<Item = Moment>) -> Option<Self> {
        moments.into_iter().fold(None, |span, moment| Some(Self::with(span, moment)))
    }

    fn with(span: Option<Self>, moment: Moment) -> Self {
        let Self { first, last } = span.unwrap_or(Self { first: moment, last: moment });
        Self { first: first.min(moment), last: last.max(moment) }
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.first, self.last)
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(AnyMoment)
    }
}

struct AnyMoment;

impl Visitor<'_> for AnyMoment {
    type Value = Moment;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number or an RFC 3339 time")
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Moment, E> {
        Ok(Moment::Number(Number::Whole(value)))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Moment, E> {
        Ok(Moment::Number(Number::Negative(value)))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Moment, E> {
        Ok(Moment::Number(Number::Fraction(value)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Moment, E> {
        text.parse()
            .map(Moment::Instant)
            .map_err(|_| E::invalid_value(serde::de::Unexpected::Str(text), &self))
    }
}
