//! The order of ranges by time (S23).
//!
//! Workers have clocks of their own. Ranges whose time spans follow each other in another order than their frames are
//! put in the order of time. A range whose time span interleaves with that of an earlier range has no place in that
//! order and is skipped.

use crate::{
    moment::{Moment, Span},
    range::FrameRange,
    recall::Recalled,
    sweep::Piece,
    table::Table,
};
use serde::Serialize;
use std::{collections::BTreeMap, fmt};

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

/// A warning names no more ranges; `reordered[]` and `skipped[]` have them all.
const NAMED_MAX: usize = 8;
