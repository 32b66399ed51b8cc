//! Reads a body as JSON, more strictly than most.

use crate::Problem;
use serde::{
    Serialize, Serializer,
    de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Number, Value};
use std::{borrow::Cow, fmt};

/// A JSON value that borrows its texts from the body it was read from; written as JSON, its keys are sorted.
#[derive(Clone, Debug, PartialEq)]
pub enum JsonTree<'a> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number.
    Number(Number),
    /// A text; borrowed unless it was written with escapes.
    Text(Cow<'a, str>),
    /// A list.
    Array(Vec<Self>),
    /// An object.
    Object(Members<'a>),
}

/// The members of an object, sorted by key; no key occurs twice.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Members<'a>(Vec<Member<'a>>);

/// One member of an object.
#[derive(Clone, Debug, PartialEq)]
pub struct Member<'a> {
    /// Its name.
    pub key: Cow<'a, str>,
    /// Its value.
    pub value: JsonTree<'a>,
}

/// Reads one JSON document and nothing after it, without copying its texts.
///
/// Keys that stand twice in an object are refused: two readers of such a text may see different things, and
/// what we recorded would then not be what the sender meant.
///
/// # Errors
/// 413 above `limit_bytes`; 400 for what is not UTF-8, not JSON, nested deeper than 128, or ambiguous.
pub fn read_tree(body: &[u8], limit_bytes: usize) -> Result<JsonTree<'_>, Problem> {
    if body.len() > limit_bytes {
        return Err(Problem::too_large(limit_bytes));
    }
    let text = std::str::from_utf8(body).map_err(|_| Problem::bad_json("the body is not UTF-8"))?;
    if text.trim_start().is_empty() {
        return Err(Problem::bad_json("the body is empty"));
    }
    // serde_json's own recursion limit is 128, so no text can exhaust the stack.
    serde_json::from_str(text).map_err(|error| Problem::bad_json(error.to_string()))
}

/// As [`read_tree`], as a value of its own.
///
/// # Errors
/// As [`read_tree`].
pub fn read_json(body: &[u8], limit_bytes: usize) -> Result<Value, Problem> {
    read_tree(body, limit_bytes).map(Value::from)
}

impl<'a> Members<'a> {
    /// The value of a member.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&JsonTree<'a>> {
        self.find(key).ok().map(|place| &self.0[place].value)
    }

    /// Takes a member out.
    pub fn remove(&mut self, key: &str) -> Option<JsonTree<'a>> {
        self.find(key).ok().map(|place| self.0.remove(place).value)
    }

    /// All keys, sorted.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|member| &*member.key)
    }

    /// True if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Sorts members.
    ///
    /// # Errors
    /// A key that occurs twice.
    pub fn sorted(mut members: Vec<Member<'a>>) -> Result<Self, String> {
        members.sort_unstable_by(|one, other| one.key.cmp(&other.key));
        match members.windows(2).find(|pair| pair[0].key == pair[1].key) {
            Some(pair) => Err(pair[0].key.to_string()),
            None => Ok(Self(members)),
        }
    }

    fn find(&self, key: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|member| (*member.key).cmp(key))
    }
}

impl<'a> IntoIterator for Members<'a> {
    type Item = Member<'a>;
    type IntoIter = std::vec::IntoIter<Member<'a>>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl From<JsonTree<'_>> for Value {
    fn from(tree: JsonTree<'_>) -> Self {
        match tree {
            JsonTree::Null => Self::Null,
            JsonTree::Bool(value) => Self::Bool(value),
            JsonTree::Number(number) => Self::Number(number),
            JsonTree::Text(text) => Self::String(text.into_owned()),
            JsonTree::Array(items) => Self::Array(items.into_iter().map(Self::from).collect()),
            JsonTree::Object(members) => {
                let owned = |member: Member<'_>| (member.key.into_owned(), Self::from(member.value));
                Self::Object(members.into_iter().map(owned).collect::<Map<_, _>>())
            }
        }
    }
}

impl<'a> From<&'a Value> for JsonTree<'a> {
    fn from(value: &'a Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::Number(number) => Self::Number(number.clone()),
            Value::String(text) => Self::Text(Cow::Borrowed(text)),
            Value::Array(items) => Self::Array(items.iter().map(Self::from).collect()),
            Value::Object(object) => {
                let member = |(key, value): (&'a String, &'a Value)| Member {
                    key: Cow::Borrowed(key),
                    value: Self::from(value),
                };
                Self::Object(Members(object.iter().map(member).collect()))
            }
        }
    }
}

impl Serialize for JsonTree<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => to.serialize_unit(),
            Self::Bool(value) => to.serialize_bool(*value),
            Self::Number(number) => number.serialize(to),
            Self::Text(text) => to.serialize_str(text),
            Self::Array(items) => to.collect_seq(items),
            Self::Object(members) => members.serialize(to),
        }
    }
}

impl Serialize for Members<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().map(|member| (&member.key, &member.value)))
    }
}

impl<'de> Deserialize<'de> for JsonTree<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Strict)
    }
}

/// Builds a tree without `Value`'s own visitor, which takes the last of two equal keys and gives some key
/// names a meaning of their own.
struct Strict;

impl<'de> Visitor<'de> for Strict {
    type Value = JsonTree<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<JsonTree<'de>, E> {
        Ok(JsonTree::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<JsonTree<'de>, E> {
        Ok(JsonTree::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<JsonTree<'de>, E> {
        Ok(JsonTree::Number(value.into()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<JsonTree<'de>, E> {
        Ok(JsonTree::Number(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<JsonTree<'de>, E> {
        Number::from_f64(value).map(JsonTree::Number).ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_borrowed_str<E: Error>(self, value: &'de str) -> Result<JsonTree<'de>, E> {
        Ok(JsonTree::Text(Cow::Borrowed(value)))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<JsonTree<'de>, E> {
        Ok(JsonTree::Text(Cow::Owned(value.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<JsonTree<'de>, A::Error> {
        let mut array = Vec::new();
        while let Some(item) = items.next_element()? {
            array.push(item);
        }
        Ok(JsonTree::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<JsonTree<'de>, A::Error> {
        let mut members = Vec::with_capacity(MEMBERS_EXPECTED);
        while let Some(Key(key)) = entries.next_key()? {
            members.push(Member { key, value: entries.next_value()? });
        }
        let twice = |key| A::Error::custom(format_args!("the key {key:?} stands twice in one object"));
        Members::sorted(members).map(JsonTree::Object).map_err(twice)
    }
}

/// A key, borrowed where it has no escapes.
struct Key<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_str(KeyVisitor)
    }
}

struct KeyVisitor;

impl<'de> Visitor<'de> for KeyVisitor {
    type Value = Key<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_borrowed_str<E: Error>(self, value: &'de str) -> Result<Key<'de>, E> {
        Ok(Key(Cow::Borrowed(value)))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Key<'de>, E> {
        Ok(Key(Cow::Owned(value.to_owned())))
    }
}

/// As many members as most objects have at most; a vector that grows is copied.
const MEMBERS_EXPECTED: usize = 4;

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

    #[test]
    fn a_tree_borrows_and_is_written_sorted() {
        let text = br#"{"b": "x", "a": {"d": [1.0, null], "c": "\u0041\n"}, "e": 18446744073709551615}"#;
        let tree = read_tree(text, 1000).unwrap();
        let JsonTree::Object(members) = &tree else { panic!("an object") };
        assert!(matches!(members.get("b"), Some(JsonTree::Text(Cow::Borrowed("x")))));
        assert_eq!(members.keys().collect::<Vec<_>>(), ["a", "b", "e"]);
        let value = read_json(text, 1000).unwrap();
        assert_eq!(serde_json::to_string(&tree).unwrap(), value.to_string());
        assert_eq!(JsonTree::from(&value), tree);
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
