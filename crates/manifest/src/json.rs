//! Strict JSON: no key twice in one object, and a limit on nesting.

use serde::{
    Deserialize,
    de::{DeserializeOwned, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor},
};
use serde_json::value::RawValue;
use std::{borrow::Cow, collections::BTreeSet, fmt, marker::PhantomData};

/// The reason why a text cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum JsonError {
    #[error("not UTF-8")]
    NotText,
    #[error("nested deeper than {0}")]
    TooDeep(u32),
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

/// Reads a text that consists of one document.
///
/// # Errors
/// If it is not strict JSON, or not what `seed` expects.
pub(crate) fn read<'de, T>(
    bytes: &'de [u8],
    seed: impl DeserializeSeed<'de, Value = T>,
) -> Result<T, JsonError> {
    read_nested(bytes, DEPTH_MAX, seed)
}

/// Reads an object, strictly, into a type that serde derives.
///
/// # Errors
/// Describes the fault: it is not strict JSON, or a field is wrong.
pub(crate) fn read_object<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    if !bytes.trim_ascii_start().starts_with(b"{") {
        // serde would read a list as the fields in their order.
        return Err("it must be an object".to_owned());
    }
    read(bytes, PhantomData::<Opaque>)
        .and_then(|_| serde_json::from_slice(bytes).map_err(JsonError::from))
        .map_err(|error| error.to_string())
}

/// Reads a document like [`read`], with a limit on nesting of its own.
///
/// # Errors
/// If it is not strict JSON, or not what `seed` expects.
pub(crate) fn read_nested<'de, T>(
    bytes: &'de [u8],
    depth_max: u32,
    seed: impl DeserializeSeed<'de, Value = T>,
) -> Result<T, JsonError> {
    let text = std::str::from_utf8(bytes).map_err(|_| JsonError::NotText)?;
    if is_too_deep(text.as_bytes(), depth_max) {
        return Err(JsonError::TooDeep(depth_max));
    }
    let mut from = serde_json::Deserializer::from_str(text);
    // The depth was checked above; the limit of serde_json is one less.
    from.disable_recursion_limit();
    let value = seed.deserialize(&mut from)?;
    from.end()?;
    Ok(value)
}

/// Calls `each` for the members of an object.
///
/// # Errors
/// If a key occurs twice: two readers of such a text may see different things.
pub(crate) fn members<'de, A: MapAccess<'de>>(
    map: &mut A,
    mut each: impl FnMut(&str, &mut A) -> Result<(), A::Error>,
) -> Result<(), A::Error> {
    let mut seen = BTreeSet::new();
    while let Some(Key(key)) = map.next_key()? {
        if seen.contains(&key) {
            return Err(A::Error::custom(format_args!("the key {key:?} occurs twice in one object")));
        }
        each(&key, map)?;
        seen.insert(key);
    }
    Ok(())
}

/// Checks the value of a member and drops it.
pub(crate) fn skip_value<'de, A: MapAccess<'de>>(map: &mut A) -> Result<(), A::Error> {
    map.next_value().map(|Opaque| ())
}

/// Reads the value of a member as text, in its own words but without white space between tokens. None for `null`.
///
/// # Errors
/// If the value is not strict JSON.
pub(crate) fn member_text<'de, A: MapAccess<'de>>(map: &mut A) -> Result<Option<Box<str>>, A::Error> {
    let text = map.next_value::<&'de RawValue>()?.get();
    let mut from = serde_json::Deserializer::from_str(text);
    // The depth of the whole document was checked before.
    from.disable_recursion_limit();
    if let Err(error) = Opaque::deserialize(&mut from) {
        let problem = error.to_string();
        // The position in the document follows; the one in the value would only confuse.
        return Err(A::Error::custom(
            problem.rsplit_once(" at line ").map_or(&*problem, |(problem, _)| problem),
        ));
    }
    Ok((text != "null").then(|| compact(text).into()))
}

/// Removes the white space between the tokens of a JSON text, so that it fits on one line.
pub(crate) fn compact(text: &str) -> String {
    let (mut in_string, mut is_escaped) = (false, false);
    let is_kept = |character: char| {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' if in_string => is_escaped = true,
            '"' => in_string = !in_string,
            _ => {}
        }
        in_string || !character.is_ascii_whitespace()
    };
    let mut text = text.to_owned();
    text.retain(is_kept);
    text
}

/// Any JSON value, checked and dropped.
pub(crate) struct Opaque;

impl<'de> Deserialize<'de> for Opaque {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for Opaque {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self, A::Error> {
        while items.next_element::<Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self, A::Error> {
        members(&mut map, |_, map| skip_value(map))?;
        Ok(self)
    }
}

/// A key, borrowed from the text where it has no escapes.
#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

/// Counts brackets outside strings. A parser sees the same brackets, up to the first fault, where it stops.
fn is_too_deep(text: &[u8], depth_max: u32) -> bool {
    let (mut depth, mut in_string, mut is_escaped) = (0_u32, false, false);
    for byte in text {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_string => is_escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => depth += 1,
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > depth_max {
            return true;
        }
    }
    false
}

/// The limit on nesting of what workers and the server write (S25).
pub(crate) const DEPTH_MAX: u32 = 128;

#[cfg(test)]
mod tests {
    use super::*;

    fn is_read(text: &str) -> bool {
        read(text.as_bytes(), PhantomData::<Opaque>).is_ok()
    }

    /// S25: 128 levels are fine, 129 are not; brackets in strings are none.
    #[test]
    fn nesting_has_an_end() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(is_read(&nested(128)));
        assert!(!is_read(&nested(129)));
        assert!(!is_read(&"[".repeat(1_000_000)));
        assert!(is_read(&format!(r#"["\"{}", 1]"#, "[".repeat(500))));
    }

    /// S21: a text loses the white space between its tokens and nothing else.
    #[test]
    fn a_compact_text_is_one_line() {
        let text = "{ \"a b\" :\r\n[ 1.50 ,\t\"\\\" \\\\\" , \"\\n \u{a0}\" ] }";
        assert_eq!(compact(text), "{\"a b\":[1.50,\"\\\" \\\\\",\"\\n \u{a0}\"]}");
    }

    /// S25: one document, each key once, and no number that JSON does not know.
    #[test]
    fn only_strict_json_is_read() {
        for fine in ["{}", r#" {"a": {"a": [1, -1, 1.5, "x", null, true]}} "#] {
            assert!(is_read(fine), "{fine}");
        }
        for bad in [
            "",
            "{",
            "{} {}",
            "[1,]",
            "{'a':1}",
            "NaN",
            "[NaN]",
            "[Infinity]",
            "[-Infinity]",
            "[1e400]",
            "[01]",
            r#"{"a":1,"a":1}"#,
            r#"{"a":[{"b":1,"b":2}]}"#,
            r#"{"a":1,"\u0061":1}"#,
            r#""\ud800""#,
            "\u{feff}{}",
        ] {
            assert!(!is_read(bad), "{bad}");
        }
        assert!(read(b"\"\xff\"", PhantomData::<Opaque>).is_err());
    }
}
