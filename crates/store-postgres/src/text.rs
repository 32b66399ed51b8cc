//! Texts as PostgreSQL can hold them: all of Unicode but NUL.
//!
//! NUL is written as U+F8FF and `0`, U+F8FF itself as U+F8FF and `1`. Hardly any text has either.

use std::borrow::Cow;

/// A text as it is stored.
pub(crate) fn stored(text: &str) -> Cow<'_, str> {
    if !text.as_bytes().contains(&0) && !text.contains(MARK) {
        return Cow::Borrowed(text);
    }
    let mut stored = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        match character {
            '\0' => stored.extend([MARK, '0']),
            MARK => stored.extend([MARK, '1']),
            other => stored.push(other),
        }
    }
    Cow::Owned(stored)
}

/// A text that was stored; `None`: it stands for none.
pub(crate) fn original(stored: &str) -> Option<Cow<'_, str>> {
    if !stored.contains(MARK) {
        return Some(Cow::Borrowed(stored));
    }
    let mut text = String::with_capacity(stored.len());
    let mut characters = stored.chars();
    while let Some(character) = characters.next() {
        text.push(match character {
            MARK => match characters.next()? {
                '0' => '\0',
                '1' => MARK,
                _ => return None,
            },
            other => other,
        });
    }
    Some(Cow::Owned(text))
}

/// For private use: no text in any language has it.
const MARK: char = '\u{F8FF}';

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_comes_back_and_none_holds_nul() {
        for text in
            ["", "plain", "\0", "\u{F8FF}", "\u{F8FF}0", "a\0\0b\u{F8FF}1", "\u{F8FE}\u{F900}", "ä€😀"]
        {
            let stored = stored(text);
            assert!(!stored.contains('\0'));
            assert_eq!(original(&stored).as_deref(), Some(text));
        }
    }

    #[test]
    fn plain_texts_are_stored_as_they_are() {
        assert!(matches!(stored("ä€😀"), Cow::Borrowed("ä€😀")));
    }

    #[test]
    fn what_nobody_stored_stands_for_nothing() {
        for stored in ["\u{F8FF}", "a\u{F8FF}2"] {
            assert_eq!(original(stored), None);
        }
    }
}
