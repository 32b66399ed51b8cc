//! Text that needs no heap allocation when it is short.

use alloc::sync::Arc;
use core::{
    cmp::Ordering,
    hash::{Hash, Hasher},
};

/// An immutable text that is cheap to clone: a short one is stored in place, a longer one is shared.
///
/// Names of workers and devices are short, and every command compares, hashes and clones several of them. Stored in
/// place, they need no access to other memory. Equal texts always use the same variant, so the derived `Eq` is correct.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Text {
    /// The bytes after the first `len` are zero.
    Short {
        len: u8,
        bytes: [u8; SHORT_MAX],
    },
    Long(Arc<str>),
}

impl Text {
    pub(crate) fn new(text: &str) -> Self {
        match u8::try_from(text.len()) {
            Ok(len) if text.len() <= SHORT_MAX => {
                let mut bytes = [0; SHORT_MAX];
                bytes[..text.len()].copy_from_slice(text.as_bytes());
                Self::Short { len, bytes }
            }
            _ => Self::Long(text.into()),
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        match self {
            Self::Short { .. } => core::str::from_utf8(self.as_bytes()).expect("made from a str"),
            Self::Long(text) => text,
        }
    }

    fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Short { len, bytes } => &bytes[..usize::from(*len)],
            Self::Long(text) => text.as_bytes(),
        }
    }
}

impl Ord for Text {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_bytes().cmp(other.as_bytes())
    }
}

impl PartialOrd for Text {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Hash for Text {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_bytes().hash(state);
    }
}

/// Longest text stored in place; it makes a `Text` as large as three pointers.
const SHORT_MAX: usize = 22;

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::{string::String, vec::Vec};

    #[test]
    fn a_text_is_what_it_was_made_from() {
        for text in texts() {
            assert_eq!(Text::new(&text).as_str(), text);
        }
        assert_eq!(size_of::<Text>(), 24);
    }

    #[test]
    fn texts_compare_like_strings() {
        for (left, right) in
            texts().iter().flat_map(|left| texts().into_iter().map(move |right| (left.clone(), right)))
        {
            let (a, b) = (Text::new(&left), Text::new(&right));
            assert_eq!(a == b, left == right);
            assert_eq!(a.cmp(&b), left.cmp(&right), "{left} {right}");
        }
    }

    /// Texts around the length at which they move to the heap, some with letters of several bytes.
    fn texts() -> Vec<String> {
        let lengths = [0, 1, 7, 21, 22, 23, 24, 60];
        let alike = lengths.map(|length| "x".repeat(length));
        let korean = lengths.map(|length| "기".repeat(length / 3));
        let last = lengths.map(|length| "x".repeat(length) + "y");
        alike.into_iter().chain(korean).chain(last).collect()
    }
}
