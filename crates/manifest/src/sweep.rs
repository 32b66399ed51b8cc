//! Coverage of frames by fragments: one walk over all beginnings and ends, in the order of the frames (S22, S24). Frames that the
//! server gave up are skipped with the server's reason and are no gap (S26b).
//!
//! At every moment of the walk the fragments that cover the current frame stand in a tree by rank, so that n fragments
//! cost n log n, however many of them overlap. A fragment lost the part of its range that it did not win.

use crate::{
    range::FrameRange,
    session::{GivenUpRange, Replay},
    table::Entry,
    time_order::Skipped,
};
use serde::Serialize;
use std::{
    cmp::Reverse,
    collections::{BTreeSet, BinaryHeap, HashSet},
};

/// The fragments of all frames.
#[derive(Debug, Default)]
pub(crate) struct Coverage {
    /// The surviving pieces, sorted and disjoint.
    pub(crate) pieces: Vec<Piece>,
    /// The superseded parts, sorted.
    pub(crate) drops: Vec<Replay>,
    pub(crate) overlaps: Vec<Overlap>,
    pub(crate) gaps: Vec<FrameRange>,
}

/// Frames of one fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) range: FrameRange,
    /// The place of the fragment in its table.
    pub(crate) entry: u32,
}

/// Frames that several fragments cover.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Overlap {
    /// The frames.
    pub frame_range: FrameRange,
    /// The chunks of those fragments in rising order; of very many only those that rank highest.
    pub chunk_ids: Vec<u64>,
}

/// Walks over fragments that stand in the order of their frames. `end` is the session's, where it is known.
pub(crate) fn sweep(entries: &[Entry], retired: &HashSet<u64>, end: Option<u64>) -> Coverage {
    let mut walk = Walk::new(entries, retired);
    while let Some(boundary) = walk.next_boundary() {
        walk.cover_up_to(boundary);
        walk.turn_at(boundary);
    }
    let Walk { pieces, overlaps, .. } = walk;
    let end = end.or(entries.iter().map(|entry| entry.range.end).max()).unwrap_or(0);
    Coverage { drops: lost(entries, &pieces), gaps: uncovered(&pieces, end), pieces, overlaps }
}

/// The order of fragments that cover one frame: not retired ones first, then replays, then the larger chunk.
/// Chunks differ, so two never rank alike.
type Rank = (bool, bool, u64);

struct Walk<'a> {
    entries: &'a [Entry],
    retired: &'a HashSet<u64>,
    at: u64,
    /// The first entry that has not begun.
    next: usize,
    active: BTreeSet<(Rank, u32)>,
    ends: BinaryHeap<Reverse<(u64, u32)>>,
    pieces: Vec<Piece>,
    overlaps: Vec<Overlap>,
}

impl<'a> Walk<'a> {
    fn new(entries: &'a [Entry], retired: &'a HashSet<u64>) -> Self {
        let (active, ends) = (BTreeSet::new(), BinaryHeap::new());
        // Every piece begins where an entry begins or ends.
        let pieces = Vec::with_capacity(2 * entries.len());
        Self { entries, retired, at: 0, next: 0, active, ends, pieces, overlaps: Vec::new() }
    }

    fn next_boundary(&self) -> Option<u64> {
        let begin = self.entries.get(self.next).map(|entry| entry.range.start);
        let end = self.ends.peek().map(|Reverse((end, _))| *end);
        begin.into_iter().chain(end).min()
    }

    /// Gives the frames up to a boundary to whom they belong.
    fn cover_up_to(&mut self, boundary: u64) {
        let Some(range) = FrameRange::new(self.at, boundary) else { return };
        let Some(((is_valid, ..), entry)) = self.active.last().copied() else { return };
        if self.active.len() > 1 {
            self.overlap(range);
        }
        if !is_valid {
            return;
        }
        match self.pieces.last_mut() {
            // No other entry came in between, so the range adjoins.
            Some(piece) if piece.entry == entry => piece.range.end = range.end,
            _ => self.pieces.push(Piece { range, entry }),
        }
    }

    fn overlap(&mut self, frame_range: FrameRange) {
        let highest = self.active.iter().rev().take(OVERLAP_CHUNKS_MAX);
        let mut chunk_ids: Vec<u64> = highest.map(|((_, _, chunk), _)| *chunk).collect();
        chunk_ids.sort_unstable();
        match self.overlaps.last_mut() {
            Some(last) if last.frame_range.end == frame_range.start && last.chunk_ids == chunk_ids => {
                last.frame_range.end = frame_range.end;
            }
            _ => self.overlaps.push(Overlap { frame_range, chunk_ids }),
        }
    }

    /// Lets those go that end at a boundary, and takes in those that begin there.
    fn turn_at(&mut self, boundary: u64) {
        while let Some(Reverse((_, entry))) = self.ends.peek().filter(|Reverse((end, _))| *end == boundary) {
            self.active.remove(&(self.rank(*entry), *entry));
            self.ends.pop();
        }
        while let Some(entry) = self.entries.get(self.next).filter(|entry| entry.range.start == boundary) {
            let place = u32::try_from(self.next).expect("no memory holds four billion fragments");
            self.ends.push(Reverse((entry.range.end, place)));
            self.active.insert((self.rank(place), place));
            self.next += 1;
        }
        self.at = boundary;
    }

    fn rank(&self, place: u32) -> Rank {
        let entry = &self.entries[place as usize];
        (!self.retired.contains(&entry.chunk), entry.is_replay, entry.chunk)
    }
}

/// Lists the part of every fragment's range that is not among the pieces.
fn lost(entries: &[Entry], pieces: &[Piece]) -> Vec<Replay> {
    let mut drops = Vec::new();
    let mut drop = |entry: &Entry, start, end| {
        let drop = |frame_range| Replay { frame_range, retired_chunk_id: entry.chunk, new_chunk_id: None };
        drops.extend(FrameRange::new(start, end).map(drop));
    };
    let mut settled: Vec<u64> = entries.iter().map(|entry| entry.range.start).collect();
    for Piece { range, entry } in pieces {
        let place = *entry as usize;
        drop(&entries[place], settled[place], range.start);
        settled[place] = range.end;
    }
    for (entry, settled) in entries.iter().zip(settled) {
        drop(entry, settled, entry.range.end);
    }
    drops.sort_unstable();
    drops
}

/// The frames up to `end` that no piece has.
fn uncovered(pieces: &[Piece], end: u64) -> Vec<FrameRange> {
    let ends = std::iter::once(0).chain(pieces.iter().map(|piece| piece.range.end));
    let begins = pieces.iter().map(|piece| piece.range.start).chain(std::iter::once(end));
    ends.zip(begins).filter_map(|(start, end)| FrameRange::new(start, end)).collect()
}

/// Moves the given-up parts of the gaps to the skipped frames. Where entries overlap, the first in frame order counts.
pub(crate) fn skip_given_up(gaps: &mut Vec<FrameRange>, given_up: &[GivenUpRange]) -> Vec<Skipped> {
    let given_up = disjoint(given_up);
    let mut given_up = given_up.iter().peekable();
    let (mut skipped, mut remaining) = (Vec::new(), Vec::new());
    for gap in gaps.iter() {
        let mut at = gap.start;
        while let Some((range, reason)) = given_up.peek() {
            if range.start >= gap.end {
                break;
            }
            if let Some(part) = FrameRange::new(range.start.max(at), range.end.min(gap.end)) {
                remaining.extend(FrameRange::new(at, part.start));
                skipped.push(Skipped { frame_range: part, reason: (*reason).to_owned(), chunk_id: None });
                at = part.end;
            }
            if range.end > gap.end {
                break;
            }
            given_up.next();
        }
        remaining.extend(FrameRange::new(at, gap.end));
    }
    *gaps = remaining;
    skipped
}

/// Sorts the entries and cuts off what an earlier entry already has.
fn disjoint(given_up: &[GivenUpRange]) -> Vec<(FrameRange, &str)> {
    let mut sorted: Vec<&GivenUpRange> = given_up.iter().collect();
    sorted.sort_unstable();
    let mut at = 0;
    let mut cut = |entry: &GivenUpRange| {
        let range = FrameRange::new(entry.frame_range.start.max(at), entry.frame_range.end)?;
        at = range.end;
        Some(range)
    };
    sorted.into_iter().filter_map(|entry| Some((cut(entry)?, entry.reason.as_str()))).collect()
}

/// No session tries a range so often; without a bound, fragments nested in each other would cost their number squared.
pub(crate) const OVERLAP_CHUNKS_MAX: usize = 64;
