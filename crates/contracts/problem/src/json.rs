//! Reads a body as JSON, more strictly than most.

use crate::Problem;
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::fmt;

/// Reads one JSON document and nothing after it.
///
/// Keys that stand twice in an object are refused: two readers of such a text may see different things, and
/// what we recorded would then not be what the sender meant.
///
/// # Errors
/// 413 above `limit_bytes`; 400 for what is not UTF-8, not JSON, nested deeper than 128, or ambiguous.
pub fn read_json(body: &[u8], limit_bytes: usize) -> Result<Value, Problem> {
    if body.len() > limit_bytes {
        return Err(Problem::too_large(limit_bytes));
    }
    let text = std::str::from_utf8(body).map_err(|_| Problem::bad_json("the body is not UTF-8"))?;
    if text.trim_start().is_empty() {
        return Err(Problem::bad_json("the body is empty"));
    }
    // serde_json's own recursion limit is 128, so no text can exhaust the stack.
    let document: Document =
        serde_json::from_str(text).map_err(|error| Problem::bad_json(error.to_string()))?;
    Ok(document.0)
}

struct Document(Value);

impl<'de> Deserialize<'de> for Document {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Strict.deserialize(from).map(Self)
    }
}

/// Builds a value without `Value`'s own visitor, which takes the last of two equal keys and gives some key
/// names a meaning of their own.
struct Strict;

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(item) = items.next_element_seed(Self)? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if object.contains_key(&key) {
                return Err(A::Error::custom(format_args!("the key {key:?} stands twice in one object")));
            }
            let value = entries.next_value_seed(Self)?;
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn status(body: &[u8]) -> u16 {
        read_json(body, 1000).expect_err("refused").status().as_u16()
    }

    #[test]
    fn a_document_is_read_as_it_is() {
        let text = br#" {"a": [1, -2, 1.5, 18446744073709551615, "x\u0000", null, true], "b": {}} "#;
        let expected = json!({"a": [1, -2, 1.5, u64::MAX, "x\0", null, true], "b": {}});
        assert_eq!(read_json(text, 1000).unwrap(), expected);
        let magic = br#"{"$serde_json::private::RawValue": "1", "$serde_json::private::Number": "2"}"#;
        assert_eq!(read_json(magic, 1000).unwrap().as_object().unwrap().len(), 2);
    }

    /// N6: what is not JSON is 400, what is too long 413.
    #[test]
    fn what_is_not_one_json_document_is_refused() {
        let deep = "[".repeat(400);
        for bad in [
            "",
            "  ",
            "{",
            "{} x",
            "{\"a\":1,\"a\":2}",
            "{\"a\":{\"b\":1,\"b\":1}}",
            "1e400",
            "NaN",
            "{'a':1}",
            &deep,
        ] {
            assert_eq!(status(bad.as_bytes()), 400, "{bad:.40}");
        }
        assert_eq!(status(b"\"\xff\""), 400);
        assert_eq!(status(b"\"\\ud800\""), 400);
        assert_eq!(status(&[b' '; 1001]), 413);
    }
}
