//! A document as a tree that remembers where it came from, and why a text is none.

use crate::json::{DEPTH_MAX, INTEGER_DIGITS_MAX};
use std::{borrow::Cow, ops::Range};

/// One value of a document, and where it stands in the source.
#[derive(Clone, Debug, PartialEq)]
pub struct Value<'a> {
    /// Kind of the value.
    pub kind: Kind<'a>,
    pub(super) text: &'a str,
    pub(super) at: usize,
}

/// Kinds of values.
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

    /// True if it is `null`.
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

    /// Number of entries.
    pub const fn len(&self) -> usize {
        self.entries.len()
    }

    /// True if there are none.
    pub const fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

/// A document that is not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason} at byte {at}")]
pub struct Refused {
    /// The offset of the first byte that is wrong.
    pub at: usize,
    /// Its defect.
    pub reason: Reason,
}

/// Defects of a document.
///
/// The first variants are what Python's `json.loads` refuses, too; from [`Reason::NotANumber`] on it would take them, and
/// P10 does not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// The document ends before its value does.
    #[error("the document ends too early")]
    End,
    /// A byte that cannot stand here.
    #[error("unexpected {0:?}")]
    Unexpected(char),
    /// Something after the value other than white space.
    #[error("the document goes on with {0:?} after its value")]
    Trailing(char),
    /// Bytes that are no UTF-8; a surrogate spelled as three bytes is none, either.
    #[error("the document is not UTF-8")]
    NotUtf8,
    /// A byte order mark before the document.
    #[error("the document begins with a byte order mark")]
    ByteOrderMark,
    /// A control character in a string that is not escaped.
    #[error("the control character U+{:04X} must be escaped", *.0 as u32)]
    ControlCharacter(char),
    /// A backslash with something after it that is no escape.
    #[error("there is no escape \\{}", .0.escape_debug())]
    Escape(char),
    /// An escape `\u` that four hexadecimal digits do not follow.
    #[error("the escape \\u needs four hexadecimal digits")]
    UnicodeEscape,
    /// An integer with more digits than Python reads.
    #[error("the integer has {0} digits, at most {max} are read", max = INTEGER_DIGITS_MAX)]
    IntegerTooLong(usize),
    /// NaN, Infinity or -Infinity.
    #[error("{0} is no JSON")]
    NotANumber(&'static str),
    /// A float that is beyond what 64 bits hold, and would be infinite.
    #[error("the number is beyond a 64-bit float")]
    BeyondFloat,
    /// Half of a surrogate pair.
    #[error("the escape \\u{0:04x} is half of a surrogate pair")]
    LoneSurrogate(u16),
    /// Arrays and objects too deep inside each other.
    #[error("nested deeper than {max}", max = DEPTH_MAX)]
    TooDeep,
    /// A key that stands in the same object before, once its escapes are read.
    #[error("the key {0:?} stands twice in one object")]
    DuplicateKey(String),
}

/// Gives the beginning of a key: a message need not be as long as a document.
pub(crate) fn beginning(key: &str) -> String {
    key.chars().take(KEY_CHARS_SHOWN).collect()
}

const KEY_CHARS_SHOWN: usize = 60;
