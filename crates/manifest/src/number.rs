//! Numbers of statistics, and sums of them: what is whole stays whole and exact.

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error, Visitor},
};
use std::{cmp::Ordering, fmt};

/// A number as it stands in a fragment.
#[derive(Clone, Copy, Debug, PartialEq)]
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

    /// Which is larger. JSON knows no NaN, so one always is, or they are equal.
    pub(crate) fn order(self, other: Self) -> Ordering {
        match (self.whole(), other.whole()) {
            (Some(one), Some(another)) => one.cmp(&another),
            _ => self.approximate().partial_cmp(&other.approximate()).unwrap_or(Ordering::Equal),
        }
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(AnyNumber)
    }
}

struct AnyNumber;

impl Visitor<'_> for AnyNumber {
    type Value = Number;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number")
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Number, E> {
        Ok(Number::Whole(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Number, E> {
        Ok(Number::Negative(value))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Number, E> {
        if value.is_finite() { Ok(Number::Fraction(value)) } else { Err(E::custom("number out of range")) }
    }
}

/// A sum of numbers. Whole ones are summed exactly; fractions in the order in which they are added.
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

    /// Adds the part of a number that falls on `frames` of `all` frames. A whole number that divides evenly stays whole.
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

    /// What it came to; none when that is beyond what a number can say.
    pub(crate) fn total(&self) -> Option<Total> {
        match self.fractions {
            None => Some(Total::Whole(self.whole)),
            Some(_) => Some(self.approximate()).filter(|sum| sum.is_finite()).map(Total::Fraction),
        }
    }

    /// The sum as one number, infinite where no number can say it.
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

/// A sum as it stands in a manifest.
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

    #[test]
    fn what_no_number_can_say_is_not_said() {
        let mut sum = Sum::default();
        (0..2).for_each(|_| sum.add(Number::Fraction(f64::MAX)));
        assert_eq!(sum.total(), None);
    }
}
