//! Numbers of statistics: how they are read out of nested objects, and their sums. Whole numbers stay whole and exact.

use crate::{
    json::{Opaque, members},
    paths::Paths,
};
use serde::{
    Serialize,
    de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Unexpected, Visitor},
};
use std::{cmp::Ordering, fmt};

/// A number of a fragment.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Number {
    Whole(u64),
    Negative(i64),
    Fraction(f64),
}

impl Number {
    pub(crate) fn whole(self) -> Option<i128> {
        match self {
            Self::Whole(value) => Some(value.into()),
            Self::Negative(value) => Some(value.into()),
            Self::Fraction(_) => None,
        }
    }

    #[allow(clippy::cast_precision_loss, reason = "a number beside fractions is one of them")]
    pub(crate) fn approximate(self) -> f64 {
        match self {
            Self::Whole(value) => value as f64,
            Self::Negative(value) => value as f64,
            Self::Fraction(value) => value,
        }
    }
}

/// The exact order. Comparing whole numbers with fractions as floats would be no order: two large whole numbers may
/// equal one float and still differ. JSON has no NaN.
impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.whole(), other.whole()) {
            (Some(one), Some(another)) => one.cmp(&another),
            (Some(whole), None) => compare(whole, other.approximate()),
            (None, Some(whole)) => compare(whole, self.approximate()).reverse(),
            (None, None) => self.approximate().partial_cmp(&other.approximate()).unwrap_or(Ordering::Equal),
        }
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Number {}

fn compare(whole: i128, fraction: f64) -> Ordering {
    #[allow(
        clippy::cast_possible_truncation,
        reason = "a cast of floats saturates, beyond any whole number here"
    )]
    let below = fraction.floor() as i128;
    // If the whole parts are equal, any fraction makes the other number larger.
    whole.cmp(&below).then(if fraction > fraction.floor() { Ordering::Less } else { Ordering::Equal })
}

/// A sum of numbers. Whole numbers are summed exactly, fractions in the order of their addition.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sum {
    whole: i128,
    fractions: Option<f64>,
}

impl Sum {
    pub(crate) fn add(&mut self, number: Number) {
        match number.whole() {
            Some(whole) => self.whole += whole,
            None => self.add_fraction(number.approximate()),
        }
    }

    pub(crate) fn add_sum(&mut self, other: &Self) {
        self.whole += other.whole;
        if let Some(fractions) = other.fractions {
            self.add_fraction(fractions);
        }
    }

    /// Adds the share that `frames` of `all` frames have in a number. A whole number that divides evenly stays whole.
    #[allow(clippy::cast_precision_loss, reason = "it is an estimate")]
    pub(crate) fn add_share(&mut self, number: Number, frames: u64, all: u64) {
        let Some(whole) = number.whole() else {
            return self.add_fraction(number.approximate() * frames as f64 / all as f64);
        };
        // 64 bits times the 53 of a frame number.
        let product = whole * i128::from(frames);
        if product % i128::from(all) == 0 {
            self.whole += product / i128::from(all);
        } else {
            self.add_fraction(product as f64 / all as f64);
        }
    }

    /// Returns the sum; none if it is too large for a number.
    pub(crate) fn total(&self) -> Option<Total> {
        match self.fractions {
            None => Some(Total::Whole(self.whole)),
            Some(_) => Some(self.approximate()).filter(|sum| sum.is_finite()).map(Total::Fraction),
        }
    }

    /// Returns the sum as a number; infinite if it is too large for one.
    pub(crate) fn number(&self) -> Number {
        let Some(Total::Whole(whole)) = self.total() else {
            return Number::Fraction(self.approximate());
        };
        let (positive, negative) = (u64::try_from(whole).ok(), i64::try_from(whole).ok());
        let whole = positive.map(Number::Whole).or(negative.map(Number::Negative));
        whole.unwrap_or_else(|| Number::Fraction(self.approximate()))
    }

    #[allow(clippy::cast_precision_loss, reason = "a number beside fractions is one of them")]
    fn approximate(&self) -> f64 {
        self.whole as f64 + self.fractions.unwrap_or(0.0)
    }

    fn add_fraction(&mut self, fraction: f64) {
        *self.fractions.get_or_insert(0.0) += fraction;
    }
}

/// A sum in a manifest.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub(crate) enum Total {
    Whole(i128),
    Fraction(f64),
}

/// A number, or an object of such trees. `take` gets each number with its path.
pub(crate) struct NumberTree<'a, T> {
    pub(crate) paths: &'a mut Paths,
    /// The path of this value.
    pub(crate) path: u32,
    pub(crate) take: &'a mut T,
    pub(crate) others: Others,
}

/// The treatment of values that are neither numbers nor objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Others {
    Refuse,
    Skip,
}

impl<'de, T: FnMut(u32, Number)> DeserializeSeed<'de> for NumberTree<'_, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de, T: FnMut(u32, Number)> Visitor<'de> for NumberTree<'_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number or an object of numbers")
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        (self.take)(self.path, Number::Whole(value));
        Ok(())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        (self.take)(self.path, Number::Negative(value));
        Ok(())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        if !value.is_finite() {
            return Err(E::custom("number out of range"));
        }
        (self.take)(self.path, Number::Fraction(value));
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self { paths, path: parent, take, others } = self;
        members(&mut map, |key, map| {
            let path = paths.number(parent, key);
            map.next_value_seed(NumberTree { paths: &mut *paths, path, take: &mut *take, others })
        })
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.other(Unexpected::Unit)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.other(Unexpected::Bool(value))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        self.other(Unexpected::Str(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        self.other(Unexpected::Seq)?;
        while items.next_element::<Opaque>()?.is_some() {}
        Ok(())
    }
}

impl<T: FnMut(u32, Number)> NumberTree<'_, T> {
    fn other<E: Error>(&self, found: Unexpected<'_>) -> Result<(), E> {
        match self.others {
            Others::Skip => Ok(()),
            Others::Refuse => Err(E::invalid_type(found, &"a number or an object of numbers")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(sum: &Sum) -> String {
        serde_json::to_string(&sum.total().unwrap()).unwrap()
    }

    /// S22: whole numbers are summed exactly, whatever their size.
    #[test]
    fn whole_numbers_stay_exact() {
        let mut sum = Sum::default();
        (0..3).for_each(|_| sum.add(Number::Whole(u64::MAX)));
        sum.add(Number::Negative(-1));
        assert_eq!(text(&sum), "55340232221128654844");
        sum.add(Number::Fraction(0.5));
        assert_eq!(sum.total(), Some(Total::Fraction(55_340_232_221_128_654_844.5)));
    }

    /// S22: a share that divides evenly is a whole number, another is a fraction.
    #[test]
    fn a_share_is_in_proportion() {
        let mut sum = Sum::default();
        sum.add_share(Number::Whole(100), 3, 10);
        assert_eq!(text(&sum), "30");
        sum.add_share(Number::Whole(1), 1, 4);
        sum.add_share(Number::Fraction(8.0), 1, 4);
        assert_eq!(text(&sum), "32.25");
    }

    /// S23: numbers have one order, also whole numbers that no float can hold beside fractions.
    #[test]
    fn numbers_have_one_order() {
        let sorted = [
            Number::Fraction(-1e300),
            Number::Negative(i64::MIN),
            Number::Fraction(-1.5),
            Number::Negative(-1),
            Number::Fraction(-0.5),
            Number::Whole(0),
            Number::Fraction(0.5),
            Number::Whole(9_007_199_254_740_992),
            Number::Whole(9_007_199_254_740_993),
            Number::Fraction(9_007_199_254_740_994.0),
            Number::Whole(u64::MAX),
            Number::Fraction(18_446_744_073_709_551_616.0),
            Number::Fraction(1e300),
        ];
        for (place, one) in sorted.iter().enumerate() {
            for (another_place, another) in sorted.iter().enumerate() {
                assert_eq!(one.cmp(another), place.cmp(&another_place), "{one:?} {another:?}");
            }
        }
        assert_eq!(Number::Whole(2), Number::Fraction(2.0));
        assert_eq!(Number::Fraction(-0.0), Number::Whole(0));
    }

    /// S22: a sum that no number can hold is none.
    #[test]
    fn a_sum_can_be_too_large() {
        let mut sum = Sum::default();
        (0..2).for_each(|_| sum.add(Number::Fraction(f64::MAX)));
        assert_eq!(sum.total(), None);
    }
}
