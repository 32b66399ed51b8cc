//! A JSON object whose members stay as they were written: numbers, order, and what nobody here knows (C7, C13).

use crate::HELD_BYTES_MAX;
use muster_proof::json::{self, Kind};
use serde::{Serialize, Serializer, ser::Error};
use serde_json::value::RawValue;

/// An object, each member as its own text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document {
    members: Vec<(String, String)>,
}

/// The reason why bytes are not a document.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    /// Too much.
    #[error("it has {0} bytes; at most {HELD_BYTES_MAX} are read")]
    TooLarge(usize),
    /// No JSON.
    #[error("it is not valid JSON: {0}")]
    Json(String),
    /// Not an object.
    #[error("it must be a JSON object")]
    NotAnObject,
}

impl Document {
    /// An object without members.
    #[must_use]
    pub const fn new() -> Self {
        Self { members: Vec::new() }
    }

    /// Reads an object.
    pub fn parse(bytes: &[u8]) -> Result<Self, DocumentError> {
        Self::parse_as(bytes, |_| Ok(()))
    }

    /// Reads an object that something more is asked of.
    pub(crate) fn parse_as<E: From<DocumentError>>(
        bytes: &[u8],
        check: impl FnOnce(&json::Value<'_>) -> Result<(), E>,
    ) -> Result<Self, E> {
        if bytes.len() > HELD_BYTES_MAX {
            return Err(DocumentError::TooLarge(bytes.len()).into());
        }
        let value = json::parse(bytes).map_err(|refused| DocumentError::Json(refused.to_string()))?;
        let Kind::Object(object) = &value.kind else { return Err(DocumentError::NotAnObject.into()) };
        let mut entries: Vec<_> = object.entries().iter().collect();
        entries.sort_by_key(|entry| entry.value.span().start);
        let member = |entry: &&json::Entry<'_>| (entry.key.to_string(), entry.value.text().to_owned());
        let members = entries.iter().map(member).collect();
        check(&value)?;
        Ok(Self { members })
    }

    /// True if there is such a member, `null` included.
    #[must_use]
    pub fn has(&self, key: &str) -> bool {
        self.raw(key).is_some()
    }

    /// A member's own text.
    #[must_use]
    pub fn raw(&self, key: &str) -> Option<&str> {
        self.members.iter().find(|(known, _)| known == key).map(|(_, text)| text.as_str())
    }

    /// A member that is a string.
    #[must_use]
    pub fn text(&self, key: &str) -> Option<String> {
        let value = json::parse(self.raw(key)?.as_bytes()).ok()?;
        value.as_str().map(str::to_owned)
    }

    /// A member that is a small integer.
    #[must_use]
    pub fn number(&self, key: &str) -> Option<u64> {
        json::parse(self.raw(key)?.as_bytes()).ok()?.as_u64()
    }

    /// A member that is an object.
    #[must_use]
    pub fn object(&self, key: &str) -> Option<Self> {
        Self::parse(self.raw(key)?.as_bytes()).ok()
    }

    /// A member that is an array of objects; what is no object in it is left out.
    #[must_use]
    pub fn objects(&self, key: &str) -> Vec<Self> {
        let Some(Ok(value)) = self.raw(key).map(|text| json::parse(text.as_bytes())) else {
            return Vec::new();
        };
        let elements = value.as_array().unwrap_or_default().iter();
        elements.filter_map(|element| Self::parse(element.text().as_bytes()).ok()).collect()
    }

    /// Sets a member to JSON text, which must be valid; it keeps its place where it was there before.
    pub fn set_raw(&mut self, key: &str, raw: impl Into<String>) -> &mut Self {
        let raw = raw.into();
        match self.members.iter_mut().find(|(known, _)| known == key) {
            Some((_, text)) => *text = raw,
            None => self.members.push((key.to_owned(), raw)),
        }
        self
    }

    /// Sets a member to a text, a number, another document and the like.
    pub fn set(&mut self, key: &str, value: &(impl Serialize + ?Sized)) -> &mut Self {
        self.set_raw(key, serde_json::to_string(value).expect("texts, numbers and documents are JSON"))
    }

    /// Sets a member to an array of objects.
    pub fn set_objects(&mut self, key: &str, objects: &[Self]) -> &mut Self {
        let objects: Vec<String> = objects.iter().map(Self::to_json).collect();
        self.set_raw(key, format!("[{}]", objects.join(", ")))
    }

    /// Takes a member away.
    pub fn remove(&mut self, key: &str) {
        self.members.retain(|(known, _)| known != key);
    }

    /// The keys, in the order of the source.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.members.iter().map(|(key, _)| key.as_str())
    }

    /// The object on one line, but for what its members bring along.
    #[must_use]
    pub fn to_json(&self) -> String {
        let members: Vec<String> =
            self.members.iter().map(|(key, raw)| format!("{}: {raw}", quoted(key))).collect();
        format!("{{{}}}", members.join(", "))
    }

    /// The object as a file: one member per line, for whoever looks with `cat`.
    #[must_use]
    pub fn to_file(&self) -> String {
        let members: Vec<String> =
            self.members.iter().map(|(key, raw)| format!("  {}: {raw}", quoted(key))).collect();
        format!("{{\n{}\n}}\n", members.join(",\n"))
    }
}

impl Serialize for Document {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        RawValue::from_string(self.to_json()).map_err(S::Error::custom)?.serialize(serializer)
    }
}

/// Makes a [`Document`] of its members, in this order.
macro_rules! document {
    ($($key:literal: $value:expr),* $(,)?) => {{
        let mut document = $crate::Document::new();
        $(document.set($key, &$value);)*
        document
    }};
}

pub(crate) use document;

/// A string as JSON.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// C7, C13: what is not changed stays as it was, to the digit.
    #[test]
    fn members_are_carried_verbatim() {
        let source = br#"{"z": 123456789012345678901234567890, "payload": {"a":1.0,"b":1e2,"s":"\u00e9\/"}, "a": null}"#;
        let mut document = Document::parse(source).unwrap();
        document.set("a", "x\"\n");
        assert_eq!(
            document.to_json(),
            r#"{"z": 123456789012345678901234567890, "payload": {"a":1.0,"b":1e2,"s":"\u00e9\/"}, "a": "x\"\n"}"#
        );
        assert_eq!(Document::parse(document.to_file().as_bytes()).unwrap(), document);
        assert_eq!(document.object("payload").unwrap().text("s").as_deref(), Some("é/"));
    }

    /// C12, C23: what is no document is refused, with a reason.
    #[test]
    fn other_things_are_refused() {
        assert!(matches!(Document::parse(b"[]"), Err(DocumentError::NotAnObject)));
        assert!(matches!(Document::parse(b"{\"a\":"), Err(DocumentError::Json(_))));
        assert!(matches!(Document::parse(b"{\"a\":1,\"a\":2}"), Err(DocumentError::Json(_))));
        assert!(matches!(Document::parse(b"\xff"), Err(DocumentError::Json(_))));
        assert!(matches!(Document::parse(&vec![b' '; HELD_BYTES_MAX + 1]), Err(DocumentError::TooLarge(_))));
    }
}
