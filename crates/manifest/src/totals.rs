//! Sums of statistics and validation summaries, nested in the same way as the numbers that were summed (S21, S22).

use crate::{
    json,
    number::{NumberTree, Others, Sum, Total},
    paths::{Paths, TOP},
    recall::Recalled,
    sweep::Piece,
    table::Table,
};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap, HashSet};

/// The sums of numbers in nested objects, in the order of their keys.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    pub(crate) members: BTreeMap<Box<str>, Member>,
    /// Members that are left out: a number in one place and an object in another.
    pub(crate) mixed: Vec<String>,
    /// Members that are left out: no number can hold their sum.
    pub(crate) too_large: Vec<String>,
}

/// A member of an object of sums.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Member {
    Total(Total),
    Object(BTreeMap<Box<str>, Member>),
}

impl Totals {
    /// Nests sums again. An object without any sum is left out.
    pub(crate) fn of(paths: &Paths, sums: &BTreeMap<u32, Sum>) -> Self {
        let mut builder = Builder { paths, sums, children: children(paths, sums), totals: Self::default() };
        let members = builder.members(TOP);
        let mut totals = Self { members, ..builder.totals };
        totals.mixed.sort_unstable();
        totals.too_large.sort_unstable();
        totals
    }

    /// Describes the members that were left out of `field`.
    pub(crate) fn warnings(&self, field: &str) -> impl Iterator<Item = String> {
        let mixed = self.mixed.iter().map(move |name| {
            format!(
                "{field}: {name} is a number in one place and an object in another; it was left out of the totals"
            )
        });
        let too_large = self.too_large.iter().map(move |name| {
            format!("{field}: the sum of {name} is too large for a number; it was left out of the totals")
        });
        mixed.chain(too_large)
    }
}

/// Lists the children of each path that has a sum or lies above one.
fn children(paths: &Paths, sums: &BTreeMap<u32, Sum>) -> HashMap<u32, Vec<u32>> {
    let (mut children, mut seen) = (HashMap::<u32, Vec<u32>>::new(), HashSet::new());
    for path in sums.keys() {
        let mut path = *path;
        while path != TOP && seen.insert(path) {
            let parent = paths.parent(path);
            children.entry(parent).or_default().push(path);
            path = parent;
        }
    }
    children
}

struct Builder<'a> {
    paths: &'a Paths,
    sums: &'a BTreeMap<u32, Sum>,
    children: HashMap<u32, Vec<u32>>,
    totals: Totals,
}

impl Builder<'_> {
    /// Builds one object. Nesting ends where that of fragments does.
    fn members(&mut self, parent: u32) -> BTreeMap<Box<str>, Member> {
        let mut members = BTreeMap::new();
        for path in self.children.remove(&parent).unwrap_or_default() {
            if let Some(member) = self.member(path) {
                members.insert(self.paths.key(path).into(), member);
            }
        }
        members
    }

    fn member(&mut self, path: u32) -> Option<Member> {
        match (self.sums.get(&path), self.children.contains_key(&path)) {
            (Some(_), true) => {
                self.totals.mixed.push(self.paths.shown(path));
                None
            }
            (Some(sum), false) => {
                let total = sum.total();
                if total.is_none() {
                    self.totals.too_large.push(self.paths.shown(path));
                }
                total.map(Member::Total)
            }
            (None, _) => Some(self.members(path)).filter(|members| !members.is_empty()).map(Member::Object),
        }
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::Number;

    fn totals(numbers: &[(&[&str], f64)]) -> (String, Totals) {
        let (mut paths, mut sums) = (Paths::default(), BTreeMap::<u32, Sum>::new());
        for (keys, number) in numbers {
            let path = keys.iter().fold(TOP, |parent, key| paths.number(parent, key));
            sums.entry(path).or_default().add(Number::Fraction(*number));
        }
        let totals = Totals::of(&paths, &sums);
        (serde_json::to_string(&totals.members).unwrap(), totals)
    }

    /// S21: a member that is a number here and an object there is left out and named, whatever lies below it.
    #[test]
    fn a_mixed_member_is_left_out() {
        let numbers: &[(&[&str], f64)] = &[
            (&["a"], 1.5),
            (&["a", "b"], 1.5),
            (&["a", "b", "c"], 1.5),
            (&["d", "e"], 1.5),
            (&["d", "e", "f"], 1.5),
            (&["d", "g"], 1.5),
        ];
        let (text, totals) = totals(numbers);
        assert_eq!(text, r#"{"d":{"g":1.5}}"#);
        assert_eq!(totals.mixed, [r#""a""#, r#""d"."e""#]);
        assert_eq!(totals.warnings("statistics").count(), 2);
    }

    /// S22: a sum that no number can hold is left out and named.
    #[test]
    fn a_sum_that_is_too_large_is_left_out() {
        let (text, totals) = totals(&[(&["a", "b"], f64::MAX), (&["a", "b"], f64::MAX)]);
        assert_eq!((text.as_str(), &totals.too_large[..]), ("{}", &[r#""a"."b""#.to_owned()][..]));
    }
}
