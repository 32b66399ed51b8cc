//! Time must not go backwards from one range to the next (S23).

use crate::{
    moment::{Moment, Span},
    range::FrameRange,
    recall::Recalled,
    sweep::Piece,
    table::Table,
};
use serde::Serialize;

/// Frames that are there and were left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Skipped {
    /// The frames.
    pub frame_range: FrameRange,
    /// Why.
    pub reason: String,
}

/// Takes out the pieces that begin before an earlier one ended.
pub(crate) fn skip_backwards(table: &Table, recalled: &Recalled, pieces: &mut Vec<Piece>) -> Vec<Skipped> {
    let mut latest = Latest::default();
    let mut skipped = Vec::new();
    pieces.retain(|piece| {
        let entry = &table.entries()[piece.entry as usize];
        let Some(span) = span(table, recalled, piece) else { return true };
        let Some((moment, chunk)) = latest.later_than(span.first) else {
            latest.move_to(span.last, entry.chunk);
            return true;
        };
        let reason = format!(
            "the timestamps of chunk {} begin at {}, before those of chunk {chunk} ended at {moment}",
            entry.chunk, span.first
        );
        skipped.push(Skipped { frame_range: piece.range, reason });
        false
    });
    skipped
}

fn span(table: &Table, recalled: &Recalled, piece: &Piece) -> Option<Span> {
    let entry = &table.entries()[piece.entry as usize];
    if piece.range == entry.range {
        return entry.span.as_deref().copied();
    }
    recalled.detail(piece)?.span
}

/// The latest timestamp so far and its chunk; numbers and instants do not compare, so each kind has its own.
#[derive(Default)]
struct Latest {
    number: Option<(Moment, u64)>,
    instant: Option<(Moment, u64)>,
}

impl Latest {
    fn later_than(&mut self, moment: Moment) -> Option<(Moment, u64)> {
        self.of_kind(moment).filter(|(latest, _)| moment.is_before(*latest))
    }

    fn move_to(&mut self, moment: Moment, chunk: u64) {
        *self.of_kind(moment) = Some((moment, chunk));
    }

    fn of_kind(&mut self, moment: Moment) -> &mut Option<(Moment, u64)> {
        match moment {
            Moment::Number(_) => &mut self.number,
            Moment::Instant(_) => &mut self.instant,
        }
    }
}
