//! JSON that is passed on as it came.

use serde::{Deserialize, Serialize, Serializer, ser::Error};
use serde_json::value::RawValue;
use std::{borrow::Cow, sync::Arc};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{RefOr, Schema},
};

/// A JSON text, written out letter by letter; cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonText(Arc<str>);

impl From<Arc<str>> for JsonText {
    fn from(text: Arc<str>) -> Self {
        Self(text)
    }
}

impl From<&str> for JsonText {
    fn from(text: &str) -> Self {
        Self(Arc::from(text))
    }
}

impl Serialize for JsonText {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        // Only a damaged store can hold what is no JSON; it must not break the answer around it.
        let raw = <&RawValue>::deserialize(&mut serde_json::Deserializer::from_str(&self.0));
        raw.map_err(S::Error::custom)?.serialize(to)
    }
}

impl PartialSchema for JsonText {
    fn schema() -> RefOr<Schema> {
        muster_http::schema::schema(muster_http::schema::any())
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

    /// P6: what a client wrote is what a worker reads, letter by letter.
    #[test]
    fn text_is_passed_on_as_it_came() {
        let text = "{\"a\": 1.50, \"b\":[ 99999999999999999999999 ], \"c\":\"\\u00e9\"}";
        assert_eq!(serde_json::to_string(&JsonText::from(text)).unwrap(), text);
        assert!(serde_json::to_string(&JsonText::from("{")).is_err());
    }
}
