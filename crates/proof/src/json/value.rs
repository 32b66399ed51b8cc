//! A document as a tree that remembers where it came from.

use std::{borrow::Cow, ops::Range};

/// One value of a document, and where it stands in the source.
#[derive(Clone, Debug, PartialEq)]
pub struct Value<'a> {
    /// What it is.
    pub kind: Kind<'a>,
    pub(super) text: &'a str,
    pub(super) at: usize,
}

/// What a value is.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind<'a> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// An integer of any size: its digits, with a minus where it is negative; `-0` is `0`.
    Integer(&'a str),
    /// A number with a fraction or an exponent; always finite.
    Float(f64),
    /// A string, its escapes read.
    String(Cow<'a, str>),
    /// An array.
    Array(Vec<Value<'a>>),
    /// An object.
    Object(Object<'a>),
}

/// The entries of an object, each key once, in the order of their code points.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Object<'a> {
    pub(super) entries: Vec<Entry<'a>>,
}

/// One key of an object and its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry<'a> {
    /// The key, its escapes read.
    pub key: Cow<'a, str>,
    /// Its value.
    pub value: Value<'a>,
    pub(super) at: usize,
}

impl<'a> Value<'a> {
    /// The value's own text, as it stands in the source.
    pub const fn text(&self) -> &'a str {
        self.text
    }

    /// The bytes of the source that hold the value.
    pub const fn span(&self) -> Range<usize> {
        self.at..self.at + self.text.len()
    }

    /// Whether it is `null`.
    pub const fn is_null(&self) -> bool {
        matches!(self.kind, Kind::Null)
    }

    /// The truth value, if it is one.
    pub const fn as_bool(&self) -> Option<bool> {
        match self.kind {
            Kind::Bool(truth) => Some(truth),
            _ => None,
        }
    }

    /// The integer, if it is one and fits.
    pub fn as_u64(&self) -> Option<u64> {
        self.as_integer()?.parse().ok()
    }

    /// The integer, if it is one and fits.
    pub fn as_i64(&self) -> Option<i64> {
        self.as_integer()?.parse().ok()
    }

    /// The digits of the integer, if it is one.
    pub const fn as_integer(&self) -> Option<&'a str> {
        match self.kind {
            Kind::Integer(digits) => Some(digits),
            _ => None,
        }
    }

    /// The number, if it is one; an integer is rounded, and beyond 64 bits infinite.
    pub fn as_f64(&self) -> Option<f64> {
        match self.kind {
            Kind::Integer(digits) => digits.parse().ok(),
            Kind::Float(number) => Some(number),
            _ => None,
        }
    }

    /// The string, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match &self.kind {
            Kind::String(text) => Some(text),
            _ => None,
        }
    }

    /// The elements, if it is an array.
    pub fn as_array(&self) -> Option<&[Self]> {
        match &self.kind {
            Kind::Array(elements) => Some(elements),
            _ => None,
        }
    }

    /// The entries, if it is an object.
    pub const fn as_object(&self) -> Option<&Object<'a>> {
        match &self.kind {
            Kind::Object(object) => Some(object),
            _ => None,
        }
    }

    /// The value of a key, if this is an object that has it.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.as_object()?.get(key)
    }
}

impl<'a> Object<'a> {
    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Value<'a>> {
        let place = self.entries.binary_search_by(|entry| entry.key.as_ref().cmp(key)).ok()?;
        self.entries.get(place).map(|entry| &entry.value)
    }

    /// All entries in the order of their keys' code points.
    pub fn entries(&self) -> &[Entry<'a>] {
        &self.entries
    }

    /// How many entries there are.
    pub const fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}
