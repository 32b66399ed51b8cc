//! JSON that is passed on without being read.

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use std::{borrow::Cow, sync::Arc};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{Object, RefOr, Schema, schema::SchemaType},
};

/// A JSON text of the store, written out letter by letter; cheap to clone.
#[derive(Clone, Debug)]
pub struct JsonText(Arc<RawValue>);

impl JsonText {
    /// Takes a text.
    ///
    /// # Errors
    /// When it is not JSON, which only a damaged store can bring about.
    pub fn new(text: &str) -> Result<Self, serde_json::Error> {
        RawValue::from_string(text.to_owned()).map(|raw| Self(Arc::from(raw)))
    }
}

impl Serialize for JsonText {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(to)
    }
}

impl PartialSchema for JsonText {
    fn schema() -> RefOr<Schema> {
        RefOr::T(Schema::Object(Object::builder().schema_type(SchemaType::AnyValue).build()))
    }
}

impl ToSchema for JsonText {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("AnyJson")
    }
}
