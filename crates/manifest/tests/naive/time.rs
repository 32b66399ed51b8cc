//! The order of time (S23), every range compared with every other.

use super::Made;
use std::collections::BTreeMap;

/// (start, end, chunk)
pub(crate) type Kept = Vec<(u64, u64, u64)>;

pub(super) struct Timeline {
    /// In the order of `ranges[]`.
    pub(super) kept: Kept,
    /// (start, end, no reason)
    pub(super) skipped: Vec<(u64, u64, Option<String>)>,
    pub(super) reordered: Kept,
    pub(super) is_backwards: bool,
}

/// The kind, the earliest and the latest time.
type Span = (bool, i64, i64);

pub(super) fn in_time(ranges: Kept, by_chunk: &BTreeMap<u64, &Made>) -> Timeline {
    let span = |range: &(u64, u64, u64)| span(by_chunk[&range.2], range);
    let is_late = |place: usize| {
        let before = ranges[..place].iter().filter_map(span);
        span(&ranges[place]).is_some_and(|(kind, first, _)| {
            before.filter(|(other, _, _)| *other == kind).any(|(_, _, last)| first < last)
        })
    };
    if !(0..ranges.len()).any(is_late) {
        return Timeline { kept: ranges, skipped: Vec::new(), reordered: Vec::new(), is_backwards: false };
    }
    let (mut kept, mut skipped): (Kept, Vec<_>) = (Vec::new(), Vec::new());
    for range in &ranges {
        let mut spans = kept.iter().filter_map(span);
        if span(range).is_some_and(|one| spans.any(|other| interleave(one, other))) {
            skipped.push((range.0, range.1, None));
        } else {
            kept.push(*range);
        }
    }
    let in_frame_order = kept.clone();
    for kind in [false, true] {
        let is_kind = |range: &(u64, u64, u64)| span(range).is_some_and(|(found, _, _)| found == kind);
        let places: Vec<usize> = (0..kept.len()).filter(|place| is_kind(&in_frame_order[*place])).collect();
        let mut sorted: Kept = places.iter().map(|place| in_frame_order[*place]).collect();
        sorted.sort_by_key(|range| span(range));
        places.into_iter().zip(sorted).for_each(|(place, range)| kept[place] = range);
    }
    let moved = kept.iter().zip(&in_frame_order).filter(|(now, before)| now != before);
    let reordered = moved.map(|(now, _)| *now).collect();
    Timeline { kept, skipped, reordered, is_backwards: true }
}

fn span(fragment: &Made, (start, end, _): &(u64, u64, u64)) -> Option<Span> {
    let frames = fragment.frames.iter().filter(|frame| *start <= frame.id && frame.id < *end);
    let times: Vec<i64> = frames.filter_map(|frame| frame.timestamp).collect();
    Some((fragment.has_instants, *times.iter().min()?, *times.iter().max()?))
}

fn interleave(one: Span, other: Span) -> bool {
    one.0 == other.0 && !(one.2 <= other.1 || other.2 <= one.1)
}
