//! The validation summaries of the surviving fragments (S21).

use crate::{
    json,
    number::Sum,
    number_tree::{NumberTree, Others},
    paths::{Paths, TOP},
    table::Table,
    totals::Totals,
};
use std::collections::BTreeMap;

/// The validation summaries of a session.
#[derive(Debug, Default)]
pub(crate) struct Validation {
    /// The sums of their numbers.
    pub(crate) totals: Totals,
    /// The places of the surviving fragments that have a summary, in the order of their frames.
    pub(crate) fragments: Vec<u32>,
}

impl Validation {
    /// Collects the summaries. A fragment that survives in part counts whole: a summary cannot be divided.
    pub(crate) fn of(table: &Table, surviving_frames: &[u64]) -> Self {
        let (mut paths, mut sums) = (Paths::default(), BTreeMap::<u32, Sum>::new());
        let mut fragments = Vec::new();
        let entries = (0_u32..).zip(table.entries().iter().zip(surviving_frames));
        for (place, (entry, _)) in entries.filter(|(_, (_, frames))| **frames > 0) {
            let Some(text) = table.validation_summary(entry) else { continue };
            fragments.push(place);
            add_numbers(text, &mut paths, &mut sums);
        }
        Self { totals: Totals::of(&paths, &sums), fragments }
    }
}

/// Adds every number of a summary. Lists and other values are left out, and so is a summary that is just a number.
fn add_numbers(text: &str, paths: &mut Paths, sums: &mut BTreeMap<u32, Sum>) {
    let mut take = |path, number| {
        if path != TOP {
            sums.entry(path).or_default().add(number);
        }
    };
    let tree = NumberTree { paths, path: TOP, take: &mut take, others: Others::Skip };
    json::read(text.as_bytes(), tree).expect("the text was checked when its fragment was read");
}
