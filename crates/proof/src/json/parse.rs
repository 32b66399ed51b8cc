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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn refusal(document: &[u8]) -> (usize, Reason) {
        let refused = parse(document).expect_err(&String::from_utf8_lossy(document));
        (refused.at, refused.reason)
    }

    /// P10: each refusal says what is wrong and where.
    #[test]
    fn a_refusal_names_the_reason_and_the_byte() {
        for (document, at, reason) in [
            (&b"[NaN]"[..], 1, Reason::NotANumber("NaN")),
            (b" Infinity", 1, Reason::NotANumber("Infinity")),
            (b"{\"a\":-Infinity}", 5, Reason::NotANumber("-Infinity")),
            (b"[1,1e999]", 3, Reason::BeyondFloat),
            (b"-1.7976931348623159e308", 0, Reason::BeyondFloat),
            (b"[\"a\\ud800\"]", 3, Reason::LoneSurrogate(0xd800)),
            (b"\"\\udc00\\ud800\"", 1, Reason::LoneSurrogate(0xdc00)),
            (b"\"\\ud800\\ud800\\udc00\"", 1, Reason::LoneSurrogate(0xd800)),
            (b"\"\\ud83d\\n\"", 1, Reason::LoneSurrogate(0xd83d)),
            (b"{\"\\udbff\":1}", 2, Reason::LoneSurrogate(0xdbff)),
            (b"\"a\xed\xa0\x80\"", 2, Reason::NotUtf8),
            (b"\"\xc0\xaf\"", 1, Reason::NotUtf8),
            (b"\xff\xfe1\0", 0, Reason::NotUtf8),
            (b"\xef\xbb\xbf1", 0, Reason::ByteOrderMark),
            (b"{\"a\":1,\"b\":2,\"\\u0061\":3}", 13, Reason::DuplicateKey("a".to_owned())),
            (b"\"\n\"", 1, Reason::ControlCharacter('\n')),
            (b"\"abcdefgh\0\"", 9, Reason::ControlCharacter('\0')),
            (b"\"\\x\"", 1, Reason::Escape('x')),
            (b"\"\\\xc3\xa9\"", 1, Reason::Escape('\u{e9}')),
            (b"\"\\u12g4\"", 1, Reason::UnicodeEscape),
            (b"\"\\u+123\"", 1, Reason::UnicodeEscape),
            (b"\"\\ud83d\\u12\"", 7, Reason::UnicodeEscape),
            (b"\"\\u12", 1, Reason::UnicodeEscape),
            (b"1 2", 2, Reason::Trailing('2')),
            (b"01", 1, Reason::Trailing('1')),
            (b"1\xc2\xa0", 1, Reason::Trailing('\u{a0}')),
            (b"\x0c1", 0, Reason::Unexpected('\u{c}')),
            (b"nul", 0, Reason::Unexpected('n')),
            (b"'a'", 0, Reason::Unexpected('\'')),
            (b"[1,]", 3, Reason::Unexpected(']')),
            (b"{\"a\":1,}", 7, Reason::Unexpected('}')),
            (b"{1:2}", 1, Reason::Unexpected('1')),
            (b"{\"a\" 1}", 5, Reason::Unexpected('1')),
            (b"[1 2]", 3, Reason::Unexpected('2')),
            (b"-", 1, Reason::End),
            (b"+1", 0, Reason::Unexpected('+')),
            (b".5", 0, Reason::Unexpected('.')),
            (b"1.", 2, Reason::End),
            (b"1.e5", 2, Reason::Unexpected('e')),
            (b"1e+]", 3, Reason::Unexpected(']')),
            (b"", 0, Reason::End),
            (b" \n", 2, Reason::End),
            (b"[", 1, Reason::End),
            (b"{\"a\":", 5, Reason::End),
            (b"\"a", 2, Reason::End),
            (b"\"a\\", 3, Reason::End),
        ] {
            assert_eq!(refusal(document), (at, reason), "{}", String::from_utf8_lossy(document));
        }
    }

    /// P10: 128 levels are taken and 129 are not, whatever they are made of; a million overflow nothing.
    #[test]
    fn nesting_ends_at_128() {
        let nested = |open: &str, close: &str, depth: usize| open.repeat(depth) + "1" + &close.repeat(depth);
        for (open, close) in [("[", "]"), ("{\"a\":", "}"), ("[ {\"a\":[", "]} ]")] {
            let levels = open.bytes().filter(|byte| b"[{".contains(byte)).count();
            let (fits, over) = (DEPTH_MAX / levels, DEPTH_MAX / levels + 1);
            assert!(parse(nested(open, close, fits).as_bytes()).is_ok(), "{open}");
            assert_eq!(refusal(nested(open, close, over).as_bytes()).1, Reason::TooDeep, "{open}");
        }
        assert_eq!(refusal("[".repeat(1_000_000).as_bytes()), (DEPTH_MAX, Reason::TooDeep));
        assert_eq!(refusal("{\"\":".repeat(1_000_000).as_bytes()).1, Reason::TooDeep);
        assert!(
            parse(format!("[{}1]", "[],{},".repeat(1000)).as_bytes()).is_ok(),
            "what is closed is not nested"
        );
    }

    /// P10: integers of any size that Python reads; the sign is no digit.
    #[test]
    fn integers_keep_their_digits() {
        let longest = "9".repeat(INTEGER_DIGITS_MAX);
        for (text, digits) in [("0", "0"), ("-0", "0"), ("-12", "-12"), (&longest, &longest)] {
            assert_eq!(parse(text.as_bytes()).unwrap().as_integer(), Some(digits));
        }
        assert!(parse(format!("-{longest}").as_bytes()).is_ok());
        assert_eq!(refusal(format!("[-{longest}9]").as_bytes()), (1, Reason::IntegerTooLong(4301)));
        assert!(parse(format!("{longest}9.0e-4000").as_bytes()).is_ok(), "a float may be long");
    }

    /// P10: every value knows its own text, which is kept as it was sent.
    #[test]
    fn a_value_knows_where_it_stands() {
        let source = "{ \"output\" : {\"b\": [1.50, \"\\u00e9\"], \"a\":null} , \"n\":-0}";
        let document = parse(source.as_bytes()).unwrap();
        let output = document.get("output").unwrap();
        assert_eq!(document.text(), source);
        assert_eq!(output.text(), "{\"b\": [1.50, \"\\u00e9\"], \"a\":null}");
        assert_eq!(&source[output.span()], output.text());
        let list = output.get("b").and_then(Value::as_array).unwrap();
        assert_eq!((list[0].text(), list[0].as_f64()), ("1.50", Some(1.5)));
        assert_eq!((list[1].text(), list[1].as_str()), ("\"\\u00e9\"", Some("\u{e9}")));
        assert_eq!((document.get("n").unwrap().text(), document.get("n").unwrap().as_u64()), ("-0", Some(0)));
        assert!(output.get("a").unwrap().is_null() && output.get("c").is_none());
    }

    proptest! {
        /// P10: no bytes make it panic, and what is taken is taken again in its canonical form.
        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>, text in "[\\[\\]{}:,\"\\\\u0-9a-fE.+ -]{0,40}") {
            for document in [&bytes, text.as_bytes()] {
                if let Ok(form) = super::super::canonical(document) {
                    prop_assert_eq!(super::super::canonical(&form), Ok(form.clone()));
                }
            }
        }

        /// P10: strings of any length and content are found to end where they do.
        #[test]
        fn strings_come_back(text: String, padding in 0..20_usize) {
            let text = "x".repeat(padding) + &text;
            let mut written = Vec::new();
            super::super::write_text(&text, &mut written);
            let document = parse(&written).unwrap();
            prop_assert_eq!(document.as_str(), Some(text.as_str()));
        }
    }
}
