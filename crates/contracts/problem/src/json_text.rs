//! JSON that is passed on without being read.

use crate::schema::{any, schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{
    Value,
    value::{RawValue, to_raw_value},
};
use std::{borrow::Cow, sync::Arc};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{RefOr, Schema},
};

/// A JSON text, read and written letter by letter; cheap to clone.
#[derive(Clone, Debug)]
pub struct JsonText(Arc<RawValue>);

impl JsonText {
    /// Takes a text.
    ///
    /// # Errors
    /// When it is not JSON, which only a damaged store can bring about.
    pub fn new(text: &str) -> Result<Self, serde_json::Error> {
        RawValue::from_string(text.to_owned()).map(Self::from)
    }

    /// `null`.
    #[must_use]
    pub fn null() -> Self {
        Self::from(RawValue::NULL.to_owned())
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.get()
    }
}

impl PartialEq for JsonText {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for JsonText {}

impl From<Box<RawValue>> for JsonText {
    fn from(raw: Box<RawValue>) -> Self {
        Self(Arc::from(raw))
    }
}

impl Serialize for JsonText {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(to)
    }
}

impl<'de> Deserialize<'de> for JsonText {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(from).map(Self::from)
    }
}

impl From<&Value> for JsonText {
    fn from(value: &Value) -> Self {
        to_raw_value(value).expect("a value has only text keys").into()
    }
}

impl PartialSchema for JsonText {
    fn schema() -> RefOr<Schema> {
        schema(any())
    }
}

impl ToSchema for JsonText {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("AnyJson")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// S3, Q1: a text is passed on letter by letter; it can also be read from a document in memory.
    #[test]
    fn a_text_is_passed_on_as_it_came() {
        let text = r#"{"b": 1.50, "a":[ 99999999999999999999999 ]}"#;
        let read: JsonText = serde_json::from_str(text).unwrap();
        assert_eq!((read.as_str(), serde_json::to_string(&read).unwrap().as_str()), (text, text));
        assert_eq!(JsonText::deserialize(&json!({"a": 1})).unwrap(), JsonText::from(&json!({"a": 1})));
        assert!(JsonText::new("{").is_err());
    }
}
