//! Everything that is refused, and why.

use super::{DEPTH_MAX, INTEGER_DIGITS_MAX};

/// A document that is not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason} at byte {at}")]
pub struct Refused {
    /// The offset of the first byte that is wrong.
    pub at: usize,
    /// What is wrong with it.
    pub reason: Reason,
}

/// What is wrong with a document.
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
