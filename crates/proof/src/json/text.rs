//! Strings: what needs a second look in them, and their escapes.

use super::{Reason, Refused, parse::Parser};
use std::borrow::Cow;

/// Finds the first byte that cannot stand for itself in a string: a quote, a backslash, a control character.
///
/// Eight bytes at a time; most of what is read and written passes through here.
pub(super) fn find_special(bytes: &[u8]) -> Option<usize> {
    let (words, rest) = bytes.as_chunks::<8>();
    for (place, word) in words.iter().enumerate() {
        let found = specials(u64::from_le_bytes(*word));
        if found != 0 {
            return Some(place * 8 + found.trailing_zeros() as usize / 8);
        }
    }
    let is_special = |byte: &u8| *byte < 0x20 || *byte == b'"' || *byte == b'\\';
    rest.iter().position(is_special).map(|place| words.len() * 8 + place)
}

/// Sets the highest bit of every special byte. A borrow may mark bytes above one that is special, never one below, so the
/// lowest mark is right.
const fn specials(word: u64) -> u64 {
    let quote = word ^ (ONES * b'"' as u64);
    let backslash = word ^ (ONES * b'\\' as u64);
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    let equal = (quote.wrapping_sub(ONES) & !quote) | (backslash.wrapping_sub(ONES) & !backslash);
    (control | equal) & (ONES * 0x80)
}

impl<'a> Parser<'a> {
    /// Reads a string that begins here.
    pub(super) fn string(&mut self) -> Result<Cow<'a, str>, Refused> {
        self.at += 1;
        let plain = self.plain()?;
        if self.take(b'"') {
            return Ok(Cow::Borrowed(plain));
        }
        let mut text = plain.to_owned();
        while !self.take(b'"') {
            text.push(self.escape()?);
            text.push_str(self.plain()?);
        }
        Ok(Cow::Owned(text))
    }

    /// Goes up to the next quote or backslash.
    fn plain(&mut self) -> Result<&'a str, Refused> {
        let start = self.at;
        let Some(length) = find_special(self.rest()) else {
            self.at = self.source.len();
            return Err(self.refuse(Reason::End));
        };
        self.at += length;
        match self.peek() {
            Some(b'"' | b'\\') => Ok(&self.source[start..self.at]),
            byte => Err(self.refuse(byte.map_or(Reason::End, |byte| Reason::ControlCharacter(byte.into())))),
        }
    }

    fn escape(&mut self) -> Result<char, Refused> {
        let start = self.at;
        self.at += 1;
        let Some(letter) = self.next_char() else { return Err(self.refuse(Reason::End)) };
        let read = match letter {
            '"' | '\\' | '/' => letter,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => return self.unicode_escape(start),
            other => return Err(Refused { at: start, reason: Reason::Escape(other) }),
        };
        self.at += 1;
        Ok(read)
    }

    /// Reads a code unit, and the second one where it is the first of a pair.
    fn unicode_escape(&mut self, start: usize) -> Result<char, Refused> {
        let first = self.code_unit()?;
        let lone = Refused { at: start, reason: Reason::LoneSurrogate(first) };
        if !(0xd800..0xe000).contains(&first) {
            return char::from_u32(first.into()).ok_or(lone);
        }
        if first >= 0xdc00 || !self.rest().starts_with(b"\\u") {
            return Err(lone);
        }
        self.at += 1;
        let second = self.code_unit()?;
        char::decode_utf16([first, second]).next().and_then(Result::ok).ok_or(lone)
    }

    /// Goes past a `u` and four hexadecimal digits.
    fn code_unit(&mut self) -> Result<u16, Refused> {
        let digits = self.rest().get(1..5).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        let refused = Refused { at: self.at - 1, reason: Reason::UnicodeEscape };
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok()).ok_or(refused.clone())?;
        self.at += 5;
        u16::from_str_radix(digits, 16).map_err(|_| refused)
    }
}

const ONES: u64 = u64::from_le_bytes([1; 8]);

#[cfg(test)]
mod tests {
    use super::*;

    /// P10: every byte is looked at, wherever it stands among eight.
    #[test]
    fn what_is_special_is_found_at_every_place() {
        for place in 0..24 {
            for byte in 0..=u8::MAX {
                for around in [b'a', 0x7f, 0x80, 0xff, b'!', b'#', b'[', b']', 0x20] {
                    let mut bytes = [around; 24];
                    bytes[place] = byte;
                    let is_special = byte < 0x20 || byte == b'"' || byte == b'\\';
                    assert_eq!(
                        find_special(&bytes),
                        is_special.then_some(place),
                        "{byte} at {place} in {around}"
                    );
                }
            }
        }
        assert_eq!(find_special(b"ab\"\\\n"), Some(2), "the first one counts");
        assert_eq!(find_special(b"\n\"\\abcdefgh\""), Some(0));
    }
}
