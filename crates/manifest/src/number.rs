//! Numbers of statistics and their sums. Whole numbers stay whole and exact.

use serde::{Serialize, Serializer};
use std::cmp::Ordering;

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
    // Where the whole parts are equal, any fraction makes the other one larger.
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
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Total {
    Whole(i128),
    Fraction(f64),
}

impl Serialize for Total {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Whole(value) => to.serialize_i128(*value),
            Self::Fraction(value) => to.serialize_f64(*value),
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
