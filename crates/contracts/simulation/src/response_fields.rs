//! The fields of a response, read one by one so that an error names the field. Unknown fields are ignored.

use crate::TaskError;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// The reason why a body is not the expected one.
#[derive(Debug, thiserror::Error)]
pub enum ResponseError {
    /// The body is not a JSON object.
    #[error("not a JSON object: {0}")]
    NotAnObject(serde_json::Error),
    /// A field is missing, or not of the kind it should be.
    #[error("{field}: {why}")]
    Field {
        /// Its name.
        field: &'static str,
        /// The fault.
        why: String,
    },
    /// The task in it makes no sense.
    #[error(transparent)]
    Task(#[from] TaskError),
}

/// The fields of a JSON object. Of two with one name the last counts.
pub(crate) struct ResponseFields<'a>(BTreeMap<String, &'a RawValue>);

impl<'a> ResponseFields<'a> {
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Self, ResponseError> {
        serde_json::from_slice(bytes).map(Self).map_err(ResponseError::NotAnObject)
    }

    /// A field that must be there.
    pub(crate) fn get<T: Deserialize<'a>>(&self, field: &'static str) -> Result<T, ResponseError> {
        self.find(field)?.ok_or_else(|| ResponseError::Field { field, why: "is missing".to_owned() })
    }

    /// A field that may be missing, or null.
    pub(crate) fn find<T: Deserialize<'a>>(&self, field: &'static str) -> Result<Option<T>, ResponseError> {
        let read = |value: &&'a RawValue| {
            let value: Option<T> = serde_json::from_str(value.get())
                .map_err(|error| ResponseError::Field { field, why: error.to_string() })?;
            Ok(value)
        };
        self.0.get(field).map(read).transpose().map(Option::flatten)
    }

    /// A field that is an object.
    pub(crate) fn object(&self, field: &'static str) -> Result<Option<Self>, ResponseError> {
        Ok(self.find::<BTreeMap<String, &'a RawValue>>(field)?.map(Self))
    }

    /// A field as it was written.
    pub(crate) fn raw(&self, field: &str) -> Option<&'a str> {
        self.0.get(field).map(|value| value.get())
    }
}
