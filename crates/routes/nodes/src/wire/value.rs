//! Schemas of single values, as exact as the checks behind them.

use utoipa::openapi::{
    Object, RefOr, Schema,
    schema::{ObjectBuilder, SchemaType, Type},
};

/// A name: see [`muster_model::Name`].
pub(crate) fn name() -> ObjectBuilder {
    string().min_length(Some(1)).max_length(Some(128)).pattern(Some(muster_http::NAME_PATTERN))
}

/// A name, or nothing.
pub(crate) fn name_or_null() -> ObjectBuilder {
    name().schema_type(nullable(Type::String))
}

/// A report's id: see [`muster_model::ReportId`].
pub(crate) fn event_id() -> ObjectBuilder {
    string().min_length(Some(1)).max_length(Some(128)).pattern(Some(r"^[^\u0000-\u001F\u007F-\u009F]+$"))
}

/// A whole number that every JSON reader holds exactly.
pub(crate) fn whole() -> ObjectBuilder {
    between(0, WHOLE_MAX)
}

/// A whole number within bounds.
pub(crate) fn between(least: i64, most: i64) -> ObjectBuilder {
    Object::builder().schema_type(Type::Integer).minimum(Some(least)).maximum(Some(most))
}

/// A whole number within bounds, or nothing.
pub(crate) fn between_or_null(least: i64, most: i64) -> ObjectBuilder {
    between(least, most).schema_type(nullable(Type::Integer))
}

/// A time in milliseconds since 1970, before the year 10000.
pub(crate) fn timestamp() -> ObjectBuilder {
    between(0, 253_402_300_799_999)
}

/// Text without NUL.
pub(crate) fn text() -> ObjectBuilder {
    string().max_length(Some(4096)).pattern(Some(r"^[^\u0000]*$"))
}

fn string() -> ObjectBuilder {
    Object::builder().schema_type(Type::String)
}

/// Text without NUL, or nothing.
pub(crate) fn text_or_null() -> ObjectBuilder {
    text().schema_type(nullable(Type::String))
}

/// One of a few words.
pub(crate) fn one_of(words: &[&str]) -> ObjectBuilder {
    string().enum_values(Some(words.iter().copied()))
}

/// Only `null`, for what must not be said.
pub(crate) fn null() -> ObjectBuilder {
    Object::builder().schema_type(Type::Null)
}

/// Either the type or `null`.
pub(crate) fn nullable(of: Type) -> SchemaType {
    SchemaType::from_iter([of, Type::Null])
}

/// Finishes a value's schema.
pub(crate) fn schema(builder: ObjectBuilder) -> RefOr<Schema> {
    RefOr::T(Schema::Object(builder.build()))
}

/// The largest whole number that a double holds exactly.
pub(crate) const WHOLE_MAX: i64 = (1 << 53) - 1;
