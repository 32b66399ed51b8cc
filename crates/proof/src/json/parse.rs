//! Reads a document from a stranger.

use super::{DEPTH_MAX, Entry, INTEGER_DIGITS_MAX, Kind, Object, Reason, Refused, Value, beginning};

/// Reads one document; what is refused is listed at [`Reason`] (P10).
///
/// The grammar is that of Python's `json.loads`. The tree borrows from the source: only strings with escapes are copied.
pub fn parse(document: &[u8]) -> Result<Value<'_>, Refused> {
    let source = std::str::from_utf8(document)
        .map_err(|error| Refused { at: error.valid_up_to(), reason: Reason::NotUtf8 })?;
    if source.starts_with('\u{feff}') {
        return Err(Refused { at: 0, reason: Reason::ByteOrderMark });
    }
    let mut parser = Parser { source, at: 0, depth: 0 };
    parser.skip_space();
    let value = parser.value()?;
    parser.skip_space();
    match parser.next_char() {
        None => Ok(value),
        Some(next) => Err(parser.refuse(Reason::Trailing(next))),
    }
}

/// A place in the source. The functions call each other at most [`DEPTH_MAX`] deep, so no document overflows the stack.
pub(super) struct Parser<'a> {
    pub(super) source: &'a str,
    pub(super) at: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn value(&mut self) -> Result<Value<'a>, Refused> {
        let at = self.at;
        let kind = match self.peek() {
            Some(b'"') => Kind::String(self.string()?),
            Some(b'{') => self.nested(Self::object)?,
            Some(b'[') => self.nested(Self::array)?,
            Some(b'-' | b'0'..=b'9') => self.number()?,
            _ => self.word()?,
        };
        Ok(Value { kind, text: &self.source[at..self.at], at })
    }

    fn nested(&mut self, read: fn(&mut Self) -> Result<Kind<'a>, Refused>) -> Result<Kind<'a>, Refused> {
        if self.depth == DEPTH_MAX {
            return Err(self.refuse(Reason::TooDeep));
        }
        self.depth += 1;
        self.at += 1;
        self.skip_space();
        let kind = read(self)?;
        self.depth -= 1;
        Ok(kind)
    }

    fn array(&mut self) -> Result<Kind<'a>, Refused> {
        let mut elements = Vec::new();
        if self.take(b']') {
            return Ok(Kind::Array(elements));
        }
        loop {
            elements.push(self.value()?);
            if self.is_last(b']')? {
                return Ok(Kind::Array(elements));
            }
        }
    }

    fn object(&mut self) -> Result<Kind<'a>, Refused> {
        let mut entries = Vec::new();
        if self.take(b'}') {
            return Ok(Kind::Object(Object { entries }));
        }
        loop {
            entries.push(self.entry()?);
            if self.is_last(b'}')? {
                return in_order(entries).map(Kind::Object);
            }
        }
    }

    fn entry(&mut self) -> Result<Entry<'a>, Refused> {
        let at = self.at;
        if self.peek() != Some(b'"') {
            return Err(self.unexpected());
        }
        let key = self.string()?;
        self.skip_space();
        if !self.take(b':') {
            return Err(self.unexpected());
        }
        self.skip_space();
        Ok(Entry { key, value: self.value()?, at })
    }

    /// Goes past what separates two elements, or ends them.
    fn is_last(&mut self, end: u8) -> Result<bool, Refused> {
        self.skip_space();
        if self.take(b',') {
            self.skip_space();
            return Ok(false);
        }
        if self.take(end) { Ok(true) } else { Err(self.unexpected()) }
    }

    fn number(&mut self) -> Result<Kind<'a>, Refused> {
        let start = self.at;
        let is_negative = self.take(b'-');
        if is_negative && self.rest().starts_with(b"Infinity") {
            return Err(Refused { at: start, reason: Reason::NotANumber("-Infinity") });
        }
        let digits = if self.take(b'0') { 1 } else { self.digits()? };
        let is_float = self.fraction_and_exponent()?;
        let text = &self.source[start..self.at];
        if is_float {
            let number: f64 = text.parse().expect("the grammar of JSON's numbers is part of Rust's");
            let beyond = Refused { at: start, reason: Reason::BeyondFloat };
            return if number.is_finite() { Ok(Kind::Float(number)) } else { Err(beyond) };
        }
        if digits > INTEGER_DIGITS_MAX {
            return Err(Refused { at: start, reason: Reason::IntegerTooLong(digits) });
        }
        Ok(Kind::Integer(if text == "-0" { "0" } else { text }))
    }

    fn fraction_and_exponent(&mut self) -> Result<bool, Refused> {
        let has_fraction = self.take(b'.');
        if has_fraction {
            self.digits()?;
        }
        let has_exponent = self.take(b'e') || self.take(b'E');
        if has_exponent {
            let _sign = self.take(b'+') || self.take(b'-');
            self.digits()?;
        }
        Ok(has_fraction || has_exponent)
    }

    /// Goes past digits, at least one.
    fn digits(&mut self) -> Result<usize, Refused> {
        let rest = self.rest();
        let count = rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len());
        self.at += count;
        if count == 0 { Err(self.unexpected()) } else { Ok(count) }
    }

    fn word(&mut self) -> Result<Kind<'a>, Refused> {
        if self.take_word("null") {
            return Ok(Kind::Null);
        }
        if self.take_word("true") {
            return Ok(Kind::Bool(true));
        }
        if self.take_word("false") {
            return Ok(Kind::Bool(false));
        }
        match ["NaN", "Infinity"].into_iter().find(|word| self.rest().starts_with(word.as_bytes())) {
            Some(word) => Err(self.refuse(Reason::NotANumber(word))),
            None => Err(self.unexpected()),
        }
    }

    fn take_word(&mut self, word: &str) -> bool {
        let is_there = self.rest().starts_with(word.as_bytes());
        self.at += if is_there { word.len() } else { 0 };
        is_there
    }

    pub(super) fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    pub(super) fn take(&mut self, byte: u8) -> bool {
        let is_there = self.peek() == Some(byte);
        self.at += usize::from(is_there);
        is_there
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.source.as_bytes().get(self.at).copied()
    }

    pub(super) fn rest(&self) -> &'a [u8] {
        &self.source.as_bytes()[self.at..]
    }

    pub(super) fn next_char(&self) -> Option<char> {
        self.source.get(self.at..).and_then(|rest| rest.chars().next())
    }

    pub(super) fn unexpected(&self) -> Refused {
        self.refuse(self.next_char().map_or(Reason::End, Reason::Unexpected))
    }

    pub(super) fn refuse(&self, reason: Reason) -> Refused {
        Refused { at: self.at, reason }
    }
}

/// Sorts entries once, which finds what stands twice and is the order that is written.
///
/// UTF-8 has the order of code points (UTF-16 has not), so comparing bytes is enough.
fn in_order(mut entries: Vec<Entry<'_>>) -> Result<Object<'_>, Refused> {
    entries.sort_unstable_by(|one, other| one.key.cmp(&other.key).then(one.at.cmp(&other.at)));
    let twice = entries.iter().zip(entries.iter().skip(1)).find(|(one, other)| one.key == other.key);
    match twice {
        Some((_, again)) => {
            Err(Refused { at: again.at, reason: Reason::DuplicateKey(beginning(&again.key)) })
        }
        None => Ok(Object { entries }),
    }
}
