//! JSON, read more strictly than most: a key stands once in its object, and nesting has an end.

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::{borrow::Cow, collections::BTreeSet, fmt};

/// Why a text is not what was asked for.
#[derive(Debug, thiserror::Error)]
pub(crate) enum JsonError {
    #[error("not UTF-8")]
    NotText,
    #[error("nested deeper than {DEPTH_MAX}")]
    TooDeep,
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

/// Reads one document and nothing after it.
pub(crate) fn read<'de, T>(
    bytes: &'de [u8],
    seed: impl DeserializeSeed<'de, Value = T>,
) -> Result<T, JsonError> {
    let text = std::str::from_utf8(bytes).map_err(|_| JsonError::NotText)?;
    if is_too_deep(text.as_bytes()) {
        return Err(JsonError::TooDeep);
    }
    let mut from = serde_json::Deserializer::from_str(text);
    // The depth was counted above; serde_json's own limit would be one less.
    from.disable_recursion_limit();
    let value = seed.deserialize(&mut from)?;
    from.end()?;
    Ok(value)
}

/// Walks through an object's members and refuses a key that stands twice: two readers of such a text may see
/// different things.
pub(crate) fn members<'de, A: MapAccess<'de>>(
    map: &mut A,
    mut each: impl FnMut(&str, &mut A) -> Result<(), A::Error>,
) -> Result<(), A::Error> {
    let mut seen = BTreeSet::new();
    while let Some(Key(key)) = map.next_key()? {
        if seen.contains(&key) {
            return Err(A::Error::custom(format_args!("the key {key:?} stands twice in one object")));
        }
        each(&key, map)?;
        seen.insert(key);
    }
    Ok(())
}

/// Reads past a member of which nothing is wanted.
pub(crate) fn skip_value<'de, A: MapAccess<'de>>(map: &mut A) -> Result<(), A::Error> {
    map.next_value().map(|Opaque| ())
}

/// Anything, checked as strictly and then forgotten.
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
struct Key<'de>(Cow<'de, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_str(KeyText)
    }
}

struct KeyText;

impl<'de> Visitor<'de> for KeyText {
    type Value = Key<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_borrowed_str<E: Error>(self, key: &'de str) -> Result<Key<'de>, E> {
        Ok(Key(Cow::Borrowed(key)))
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<Key<'de>, E> {
        Ok(Key(Cow::Owned(key.to_owned())))
    }
}

/// Counts brackets outside strings. Up to where a text stops being JSON this is what a parser sees, and there it stops.
fn is_too_deep(text: &[u8]) -> bool {
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
        if depth > DEPTH_MAX {
            return true;
        }
    }
    false
}

const DEPTH_MAX: u32 = 128;

#[cfg(test)]
mod tests {
    use super::*;
    use std::marker::PhantomData;

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
