//! Schemas of single values, as exact as the checks behind them.

use utoipa::openapi::{
    Object, RefOr, Schema,
    schema::{AdditionalProperties, ArrayBuilder, ObjectBuilder, SchemaType, Type},
};

/// A name: see [`muster_model::Name`].
pub(crate) fn name() -> ObjectBuilder {
    string().min_length(Some(1)).max_length(Some(128)).pattern(Some(muster_http::NAME_PATTERN))
}

/// A name, or nothing.
pub(crate) fn name_or_null() -> ObjectBuilder {
    name().schema_type(nullable(Type::String))
}

/// Some names, at least one.
pub(crate) fn names() -> ArrayBuilder {
    ArrayBuilder::new().items(schema(name())).min_items(Some(1)).max_items(Some(ENTRIES_MAX))
}

/// Names with names as values.
pub(crate) fn labels(least: usize, most: usize) -> ObjectBuilder {
    Object::builder()
        .schema_type(Type::Object)
        .property_names(Some(Schema::Object(name().build())))
        .additional_properties(Some(AdditionalProperties::RefOr(schema(name()))))
        .min_properties(Some(least))
        .max_properties(Some(most))
}

/// A whole number within bounds, or nothing.
pub(crate) fn between_or_null(least: i64, most: i64) -> ObjectBuilder {
    Object::builder().schema_type(nullable(Type::Integer)).minimum(Some(least)).maximum(Some(most))
}

/// A lease in minutes, or nothing.
pub(crate) fn minutes_or_null() -> ObjectBuilder {
    Object::builder().schema_type(nullable(Type::Number)).exclusive_minimum(Some(0)).maximum(Some(1440))
}

/// Text without NUL.
pub(crate) fn text(chars_max: usize) -> ObjectBuilder {
    string().max_length(Some(chars_max)).pattern(Some(r"^[^\u0000]*$"))
}

/// Text without NUL, or nothing.
pub(crate) fn text_or_null(chars_max: usize) -> ObjectBuilder {
    text(chars_max).schema_type(nullable(Type::String))
}

/// Yes or no, or nothing.
pub(crate) fn boolean_or_null() -> ObjectBuilder {
    Object::builder().schema_type(nullable(Type::Boolean))
}

/// Either the type or `null`.
pub(crate) fn nullable(of: Type) -> SchemaType {
    SchemaType::from_iter([of, Type::Null])
}

/// Anything.
pub(crate) fn any() -> ObjectBuilder {
    Object::builder().schema_type(SchemaType::AnyValue)
}

/// Only `null`.
pub(crate) fn null() -> ObjectBuilder {
    Object::builder().schema_type(Type::Null)
}

/// Adds a field that must be there.
pub(crate) fn must(object: ObjectBuilder, field: &str, value: ObjectBuilder) -> ObjectBuilder {
    may(object, field, value).required(field)
}

/// Adds a field that may be there.
pub(crate) fn may(object: ObjectBuilder, field: &str, value: ObjectBuilder) -> ObjectBuilder {
    object.property(field, schema(value))
}

/// Finishes a value's schema.
pub(crate) fn schema(builder: ObjectBuilder) -> RefOr<Schema> {
    RefOr::T(Schema::Object(builder.build()))
}

fn string() -> ObjectBuilder {
    Object::builder().schema_type(Type::String)
}

/// The most entries a list or a map from outside may have.
pub(crate) const ENTRIES_MAX: usize = 10_000;
