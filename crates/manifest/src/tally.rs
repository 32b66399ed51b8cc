//! The statistics of what survived (S22).

use crate::{
    number::{Sum, Total},
    recall::Recalled,
    sweep::Piece,
    table::Table,
};
use std::collections::BTreeMap;

/// Sums over the surviving frames.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// In the order of their names.
    pub(crate) totals: BTreeMap<String, Total>,
    /// Those whose sum no number can say.
    pub(crate) unsayable: Vec<String>,
    pub(crate) is_estimated: bool,
}

/// Sums up. A whole fragment counts as it says; of a part count the frames it lists or, where they say nothing, its share.
///
/// Fractions are added in the order of the table and then of the pieces, both of which follow from the frames alone:
/// the sum is the same to the last bit whatever the order of the input.
pub(crate) fn tally(table: &Table, recalled: &Recalled, pieces: &[Piece]) -> Tally {
    let mut sums: BTreeMap<u32, Sum> = BTreeMap::new();
    let mut is_estimated = false;
    for (place, surviving) in (0_u32..).zip(survivors(table, pieces)).filter(|(_, surviving)| *surviving > 0)
    {
        let entry = &table.entries()[place as usize];
        is_estimated |= entry.is_estimated;
        for (key, number) in table.values(entry) {
            let sum = sums.entry(key).or_default();
            if surviving == entry.range.frames() {
                sum.add(number);
            } else if !recalled.is_spoken(place, key) {
                sum.add_share(number, surviving, entry.range.frames());
                is_estimated = true;
            }
        }
    }
    for detail in pieces.iter().filter_map(|piece| recalled.detail(piece)) {
        for (key, sum) in &detail.sums {
            sums.entry(*key).or_default().add_sum(sum);
        }
    }
    Tally { is_estimated, ..named(table, &sums) }
}

/// How many frames of each entry survive.
fn survivors(table: &Table, pieces: &[Piece]) -> Vec<u64> {
    let mut frames = vec![0; table.entries().len()];
    for piece in pieces {
        frames[piece.entry as usize] += piece.range.frames();
    }
    frames
}

fn named(table: &Table, sums: &BTreeMap<u32, Sum>) -> Tally {
    let mut tally = Tally::default();
    for (key, sum) in sums {
        let name = table.keys.text(*key).to_owned();
        match sum.total() {
            Some(total) => drop(tally.totals.insert(name, total)),
            None => tally.unsayable.push(name),
        }
    }
    tally.unsayable.sort_unstable();
    tally
}
