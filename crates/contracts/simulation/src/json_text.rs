//! JSON that is passed on without being read.

use muster_problem::schema::{any, schema};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use std::{borrow::Cow, sync::Arc};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{RefOr, Schema},
};

/// A JSON text, written out letter by letter; cheap to clone.
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
