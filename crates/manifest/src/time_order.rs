//! The order of ranges by time (S23).
//!
//! Workers have clocks of their own. Ranges whose time spans follow each other in another order than their frames are
//! put in the order of time. A range whose time span interleaves with that of an earlier range has no place in that
//! order and is skipped.

use crate::{number::Number, range::FrameRange, recall::Recalled, sweep::Piece, table::Table};
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{Error, Visitor},
};
use std::{cmp::Ordering, collections::BTreeMap, fmt};

/// Frames that the manifest leaves out: their times interleave with others (S23), or the server gave them up (S26b).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Skipped {
    /// The frames.
    pub frame_range: FrameRange,
    /// The reason.
    pub reason: String,
    /// The chunk of the fragment that has these frames; none if the server gave them up.
    #[serde(skip)]
    pub chunk_id: Option<u64>,
}

/// A range that is not at its place in the order of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReorderedRange {
    /// The frames.
    pub frame_range: FrameRange,
    /// The chunk of the fragment that has these frames.
    pub chunk_id: u64,
}

/// Shows the reason without control characters: the server may have it from a worker.
impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.frame_range)?;
        self.reason.chars().try_for_each(|character| match character {
            '"' | '\'' | '\\' => write!(f, "{character}"),
            other => write!(f, "{}", other.escape_debug()),
        })
    }
}

impl fmt::Display for ReorderedRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of chunk {}", self.frame_range, self.chunk_id)
    }
}

/// The time spans of pieces.
pub(crate) struct TimeSpans<'a> {
    pub(crate) table: &'a Table,
    pub(crate) recalled: &'a Recalled,
}

impl TimeSpans<'_> {
    /// Describes the pieces that begin before an earlier piece of the same kind ended; none if there are none.
    pub(crate) fn backwards(&self, pieces: &[Piece]) -> Option<String> {
        let (mut latest_number, mut latest_instant) = (None, None);
        let is_backwards = |piece: &&Piece| {
            let Some(span) = self.span(piece) else { return false };
            let latest = match span.last {
                Moment::Number(_) => &mut latest_number,
                Moment::Instant(_) => &mut latest_instant,
            };
            let before = *latest;
            *latest = before.max(Some(span.last));
            before.is_some_and(|before| span.first < before)
        };
        let backwards: Vec<&Piece> = pieces.iter().filter(is_backwards).collect();
        let named: Vec<String> =
            backwards.iter().take(NAMED_MAX).map(|piece| self.named(piece).to_string()).collect();
        let more = match backwards.len().saturating_sub(NAMED_MAX) {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        let named = named.join(", ");
        (!backwards.is_empty()).then(|| {
            format!("timestamps go backwards between ranges; these begin before an earlier range ends: {named}{more}")
        })
    }

    /// Removes each piece whose span interleaves with that of a piece before it that is kept.
    ///
    /// Spans that are kept follow each other in time. So of those that begin before a new span ends, the one that
    /// begins last also ends last, and it alone must be checked.
    pub(crate) fn skip_interleaved(&self, pieces: &mut Vec<Piece>) -> Vec<Skipped> {
        let mut kept: BTreeMap<Moment, (Moment, Piece)> = BTreeMap::new();
        let mut skipped = Vec::new();
        pieces.retain(|piece| {
            let Some(span) = self.span(piece) else { return true };
            let last_before = kept.range(..span.last).next_back();
            if let Some((first, (last, other))) = last_before.filter(|(_, (last, _))| span.first < *last) {
                skipped.push(self.skip(
                    TimedPiece { piece, span },
                    TimedPiece { piece: other, span: Span { first: *first, last: *last } },
                ));
                return false;
            }
            let longest = kept.entry(span.first).or_insert((span.last, *piece));
            if longest.0 < span.last {
                *longest = (span.last, *piece);
            }
            true
        });
        skipped
    }

    /// Sorts pieces by time. Numbers and instants cannot be compared: each kind is sorted among its own places, and
    /// pieces without timestamps keep theirs. Ties keep the order of frames.
    pub(crate) fn reorder(&self, pieces: &mut [Piece]) -> Vec<ReorderedRange> {
        let (mut numbers, mut instants) = (Vec::new(), Vec::new());
        for (place, piece) in pieces.iter().enumerate() {
            match self.span(piece) {
                Some(span @ Span { first: Moment::Number(_), .. }) => numbers.push((span, place, *piece)),
                Some(span @ Span { first: Moment::Instant(_), .. }) => instants.push((span, place, *piece)),
                None => {}
            }
        }
        let mut moved = Vec::new();
        for mut spans in [numbers, instants] {
            let places: Vec<usize> = spans.iter().map(|(_, place, _)| *place).collect();
            spans.sort_unstable_by_key(|(span, place, _)| (*span, *place));
            for (place, (_, old_place, piece)) in places.into_iter().zip(spans) {
                pieces[place] = piece;
                if place != old_place {
                    moved.push((place, self.named(&piece)));
                }
            }
        }
        moved.sort_unstable_by_key(|(place, _)| *place);
        moved.into_iter().map(|(_, range)| range).collect()
    }

    fn skip(&self, later: TimedPiece<'_>, other: TimedPiece<'_>) -> Skipped {
        let ReorderedRange { frame_range, chunk_id } = self.named(later.piece);
        let (span, other_span) = (later.span, other.span);
        let reason = format!(
            "the timestamps of chunk {chunk_id} ({span}) interleave with those of chunk {} in frames {} ({other_span})",
            self.named(other.piece).chunk_id,
            other.piece.range
        );
        Skipped { frame_range, reason, chunk_id: Some(chunk_id) }
    }

    fn named(&self, piece: &Piece) -> ReorderedRange {
        let chunk_id = self.table.entries()[piece.entry as usize].chunk;
        ReorderedRange { frame_range: piece.range, chunk_id }
    }

    fn span(&self, piece: &Piece) -> Option<Span> {
        let entry = &self.table.entries()[piece.entry as usize];
        if piece.range == entry.range {
            return entry.span.as_deref().copied();
        }
        self.recalled.detail(piece)?.span
    }
}

/// A surviving piece and the time that its frames span.
#[derive(Clone, Copy)]
struct TimedPiece<'a> {
    piece: &'a Piece,
    span: Span,
}

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

/// A warning names no more ranges; `reordered[]` and `skipped[]` have them all.
const NAMED_MAX: usize = 8;
