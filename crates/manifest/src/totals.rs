//! Sums as the manifest shows them: nested in the same way as the numbers that were summed.

use crate::{
    number::{Sum, Total},
    paths::{Paths, TOP},
};
use serde::{Serialize, Serializer};
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
#[derive(Debug)]
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

impl Serialize for Member {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Total(total) => total.serialize(to),
            Self::Object(members) => members.serialize(to),
        }
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

    /// S21: sums are shown nested again, in the order of their keys.
    #[test]
    fn sums_are_nested_again() {
        let numbers: &[(&[&str], f64)] = &[
            (&["b", "y"], 1.5),
            (&["b", "x", "z"], 2.5),
            (&["a"], 3.5),
            (&["b", "y"], 1.0),
            (&["b.y"], 0.5),
        ];
        assert_eq!(totals(numbers).0, r#"{"a":3.5,"b":{"x":{"z":2.5},"y":2.5},"b.y":0.5}"#);
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
