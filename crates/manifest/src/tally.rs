//! The statistics of the surviving frames (S22).

use crate::{number::Sum, recall::Recalled, sweep::Piece, table::Table, totals::Totals};
use std::collections::BTreeMap;

/// The statistics of the surviving frames.
#[derive(Debug)]
pub(crate) struct Tally {
    pub(crate) totals: Totals,
    /// True if any of them is not exact.
    pub(crate) is_estimated: bool,
}

/// Sums the statistics. A whole fragment counts with its own statistics. A part counts with those of its listed frames;
/// a statistic that no frame has counts in proportion to the surviving frames.
///
/// Fractions are added in the order of the table and then of the pieces. Both orders follow from the frames alone, so
/// the sums do not depend on the order of the input, to the last bit.
pub(crate) fn tally(table: &Table, recalled: &Recalled, pieces: &[Piece], surviving_frames: &[u64]) -> Tally {
    let mut sums: BTreeMap<u32, Sum> = BTreeMap::new();
    let mut is_estimated = false;
    for (place, surviving) in
        (0_u32..).zip(surviving_frames.iter().copied()).filter(|(_, frames)| *frames > 0)
    {
        let entry = &table.entries()[place as usize];
        is_estimated |= entry.is_estimated;
        for (path, number) in table.values(entry) {
            let sum = sums.entry(path).or_default();
            if surviving == entry.range.frames() {
                sum.add(number);
            } else if !recalled.has_frames_with(place, path) {
                sum.add_share(number, surviving, entry.range.frames());
                is_estimated = true;
            }
        }
    }
    for detail in pieces.iter().filter_map(|piece| recalled.detail(piece)) {
        for (path, sum) in &detail.sums {
            sums.entry(*path).or_default().add_sum(sum);
        }
    }
    Tally { totals: Totals::of(&table.paths, &sums), is_estimated }
}

/// Counts the surviving frames of each entry.
pub(crate) fn surviving_frames(table: &Table, pieces: &[Piece]) -> Vec<u64> {
    let mut frames = vec![0; table.entries().len()];
    for piece in pieces {
        frames[piece.entry as usize] += piece.range.frames();
    }
    frames
}
