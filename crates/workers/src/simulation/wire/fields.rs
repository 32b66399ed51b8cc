//! The fields of a JSON object, looked at one by one so that whatever is wrong can be named.

use super::super::TaskError;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// Why a text is not what it should be.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// It is no JSON object.
    #[error("not a JSON object: {0}")]
    NotAnObject(serde_json::Error),
    /// A field is missing, or not of the kind it should be.
    #[error("{field}: {why}")]
    Field {
        /// Which.
        field: &'static str,
        /// What is wrong.
        why: String,
    },
    /// It is a task of which no sense can be made.
    #[error(transparent)]
    Task(#[from] TaskError),
}

/// The fields of a JSON object. Of two with one name the last counts.
pub(super) struct Fields<'a>(BTreeMap<String, &'a RawValue>);

impl<'a> Fields<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self, WireError> {
        serde_json::from_slice(bytes).map(Self).map_err(WireError::NotAnObject)
    }

    /// A field that must be there.
    pub(super) fn get<T: Deserialize<'a>>(&self, field: &'static str) -> Result<T, WireError> {
        self.find(field)?.ok_or_else(|| WireError::Field { field, why: "is missing".to_owned() })
    }

    /// A field that may be missing, or null.
    pub(super) fn find<T: Deserialize<'a>>(&self, field: &'static str) -> Result<Option<T>, WireError> {
        let read = |value: &&'a RawValue| {
            let value: Option<T> = serde_json::from_str(value.get())
                .map_err(|error| WireError::Field { field, why: error.to_string() })?;
            Ok(value)
        };
        self.0.get(field).map(read).transpose().map(Option::flatten)
    }

    /// A field that is an object.
    pub(super) fn object(&self, field: &'static str) -> Result<Option<Self>, WireError> {
        Ok(self.find::<BTreeMap<String, &'a RawValue>>(field)?.map(Self))
    }

    /// A field as it was written.
    pub(super) fn raw(&self, field: &str) -> Option<&'a str> {
        self.0.get(field).map(|value| value.get())
    }
}
