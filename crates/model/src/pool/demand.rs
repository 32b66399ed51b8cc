//! Demands of jobs and specs of workers (P14).

use alloc::{boxed::Box, vec::Vec};

/// A quality that a worker has, or a job asks for, under one name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Quality {
    /// A number: at least this much is asked for.
    Amount(Scale),
    /// Anything else, as canonical JSON: exactly this is asked for.
    Exactly(Box<str>),
}

/// A number, ordered as numbers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Scale(i64);

/// Qualities by name, sorted, each name once.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Specs(Vec<(Box<str>, Quality)>);

/// Demand of a job: region and qualities of its worker.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Demand {
    /// Only workers of this region.
    pub region: Option<Box<str>>,
    /// Only workers that have these.
    pub requires: Specs,
}

impl Scale {
    /// Takes a number; infinities and what is no number stand at the ends of the order.
    #[must_use]
    pub fn new(number: f64) -> Self {
        // Adding zero makes -0 and 0 one; then the bits of a number sort as it does, but for those below zero.
        let bits = (number + 0.0).to_bits().cast_signed();
        Self(bits ^ ((bits >> 63).cast_unsigned() >> 1).cast_signed())
    }

    /// Its place in the order of numbers, for a store.
    #[must_use]
    pub const fn place(self) -> i64 {
        self.0
    }

    /// The number at a place that [`Self::place`] gave.
    #[must_use]
    pub const fn at(place: i64) -> Self {
        Self(place)
    }
}

impl Specs {
    /// Takes qualities in any order; of those under one name the last counts.
    #[must_use]
    pub fn new(mut qualities: Vec<(Box<str>, Quality)>) -> Self {
        qualities.reverse();
        qualities.sort_by(|a, b| a.0.cmp(&b.0));
        qualities.dedup_by(|a, b| a.0 == b.0);
        Self(qualities)
    }

    /// Each with its name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Quality)> {
        self.0.iter().map(|(name, quality)| (&**name, quality))
    }

    /// The quality under a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Quality> {
        let place = self.0.binary_search_by(|(known, _)| (**known).cmp(name)).ok()?;
        Some(&self.0[place].1)
    }

    /// True if everything asked for is there: numbers at least, anything else equal.
    #[must_use]
    pub fn meet(&self, asked: &Self) -> bool {
        asked.0.iter().all(|(name, asked)| match (asked, self.get(name)) {
            (Quality::Amount(least), Some(Quality::Amount(there))) => there >= least,
            (Quality::Exactly(wanted), Some(Quality::Exactly(there))) => there == wanted,
            _ => false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn specs(amounts: &[(&str, f64)]) -> Specs {
        Specs::new(amounts.iter().map(|(n, v)| (Box::from(*n), Quality::Amount(Scale::new(*v)))).collect())
    }

    /// P14: numbers at least, anything else equal; what is not there is not met.
    #[test]
    fn numbers_are_met_by_more() {
        let has = specs(&[("vram", 24.0), ("debt", -3.5)]);
        for (asked, met) in [
            (specs(&[("vram", 24.0)]), true),
            (specs(&[("vram", 24.5)]), false),
            (specs(&[("debt", -4.0)]), true),
            (specs(&[("debt", -3.0)]), false),
            (specs(&[("vram", 1.0), ("cores", 1.0)]), false),
            (specs(&[]), true),
        ] {
            assert_eq!(has.meet(&asked), met, "{asked:?}");
        }
        let text = Specs::new(Vec::from([(Box::from("vram"), Quality::Exactly("\"24\"".into()))]));
        assert!(!has.meet(&text) && !text.meet(&specs(&[("vram", 1.0)])));
        assert!(specs(&[("x", -0.0)]).meet(&specs(&[("x", 0.0)])));
    }
}
