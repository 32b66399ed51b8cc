//! The words that parameters may take.

use super::value;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{Object, RefOr, Schema, schema::Type},
};

/// Where a run stands, synonyms included (Q2, Q8).
#[derive(Clone, Copy, Debug)]
pub struct RunStatusWord;

/// Where a row stands, synonyms included (Q8).
#[derive(Clone, Copy, Debug)]
pub struct RowStatusWord;

/// Where a device stands (Q15).
#[derive(Clone, Copy, Debug)]
pub struct DeviceStatusWord;

/// A name: of a PC, a queue.
#[derive(Clone, Copy, Debug)]
pub struct NameWord;

/// What may be explained (Q16).
#[derive(Clone, Copy, Debug)]
pub struct KindWord;

impl PartialSchema for RunStatusWord {
    fn schema() -> RefOr<Schema> {
        one_of(&crate::translate::RUN_WORDS)
    }
}

impl PartialSchema for RowStatusWord {
    fn schema() -> RefOr<Schema> {
        one_of(&crate::translate::ROW_WORDS)
    }
}

impl PartialSchema for DeviceStatusWord {
    fn schema() -> RefOr<Schema> {
        one_of(&crate::translate::DEVICE_WORDS)
    }
}

impl PartialSchema for KindWord {
    fn schema() -> RefOr<Schema> {
        one_of(&crate::translate::EXPLAINED_KINDS)
    }
}

impl PartialSchema for NameWord {
    fn schema() -> RefOr<Schema> {
        value::schema(value::name())
    }
}

impl ToSchema for RunStatusWord {}
impl ToSchema for RowStatusWord {}
impl ToSchema for DeviceStatusWord {}
impl ToSchema for KindWord {}
impl ToSchema for NameWord {}

fn one_of(words: &[&str]) -> RefOr<Schema> {
    value::schema(Object::builder().schema_type(Type::String).enum_values(Some(words.iter().copied())))
}
