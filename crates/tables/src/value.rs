//! What stands in a column.

use muster_model::Timestamp;

/// What a column holds. All numbers are 64 bits wide; yes and no are 1 and 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// Nothing.
    Null,
    /// A whole number, a moment in milliseconds, or 1 and 0.
    Integer(i64),
    /// A text.
    Text(&'a str),
    /// Bytes.
    Blob(&'a [u8]),
}

impl From<i64> for Value<'_> {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

macro_rules! from_small {
    ($($type:ty),*) => {
        $(impl From<$type> for Value<'_> {
            fn from(number: $type) -> Self {
                Self::Integer(number.into())
            }
        })*
    };
}

from_small!(bool, u8, u16, u32);

impl From<Timestamp> for Value<'_> {
    fn from(at: Timestamp) -> Self {
        Self::Integer(at.0)
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

impl<'a> From<&'a [u8]> for Value<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self::Blob(bytes)
    }
}

impl<'a, const N: usize> From<&'a [u8; N]> for Value<'a> {
    fn from(bytes: &'a [u8; N]) -> Self {
        Self::Blob(bytes)
    }
}

impl<'a, T: Into<Value<'a>>> From<Option<T>> for Value<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}
