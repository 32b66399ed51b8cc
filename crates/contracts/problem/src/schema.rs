//! Schemas of single values, for contracts whose descriptions are as exact as their checks.

use utoipa::openapi::{
    Object, RefOr, Schema,
    schema::{AdditionalProperties, ArrayBuilder, ObjectBuilder, SchemaType, Type},
};

/// Declares types that stand for what clients send in the description of an API. Bodies are read field by field, so that a
/// refusal names the field; a type here only has the schema.
#[macro_export]
macro_rules! described {
    ($($(#[$doc:meta])* $vis:vis struct $name:ident => $schema:expr;)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug)]
            $vis struct $name;
        )*

        $crate::schemas! { $($name => $schema;)* }
    };
}

/// Declares pages of lists that derive these traits.
#[macro_export]
macro_rules! lists {
    ($traits:tt $($(#[$meta:meta])* $name:ident { $items:ident: $item:ty })*) => {$(
        $(#[$meta])*
        #[derive $traits]
        pub struct $name {
            /// This page.
            pub $items: Vec<$item>,
            /// Give it as `after` to see the next page; absent on the last.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub next: Option<String>,
        }
    )*};
}

/// Gives types the schemas by which they stand in the description of an API.
#[macro_export]
macro_rules! schemas {
    ($($name:ident => $schema:expr;)*) => {$(
        impl ::utoipa::PartialSchema for $name {
            fn schema() -> ::utoipa::openapi::RefOr<::utoipa::openapi::Schema> {
                $schema
            }
        }

        impl ::utoipa::ToSchema for $name {}
    )*};
}

/// Text of a pattern.
#[must_use]
pub fn matching(pattern: &str) -> ObjectBuilder {
    string().pattern(Some(pattern))
}

/// Text without NUL.
#[must_use]
pub fn text(chars_max: usize) -> ObjectBuilder {
    matching(r"^[^\u0000]*$").max_length(Some(chars_max))
}

/// One of a few words.
#[must_use]
pub fn one_of(words: &[&str]) -> ObjectBuilder {
    string().enum_values(Some(words.iter().copied()))
}

/// A whole number within bounds.
#[must_use]
pub fn between(least: i64, most: i64) -> ObjectBuilder {
    Object::builder().schema_type(Type::Integer).minimum(Some(least)).maximum(Some(most))
}

/// A name: see [`muster_model::Name`].
#[must_use]
pub fn name() -> ObjectBuilder {
    matching(crate::NAME_PATTERN).min_length(Some(1)).max_length(Some(128))
}

/// A name, or `null`.
#[must_use]
pub fn name_or_null() -> ObjectBuilder {
    name().schema_type(nullable(Type::String))
}

/// A report's id: see [`muster_model::ReportId`].
#[must_use]
pub fn event_id() -> ObjectBuilder {
    matching(r"^[^\u0000-\u001F\u007F-\u009F]+$").min_length(Some(1)).max_length(Some(128))
}

/// Text without NUL, or `null`.
#[must_use]
pub fn text_or_null(chars_max: usize) -> ObjectBuilder {
    text(chars_max).schema_type(nullable(Type::String))
}

/// A whole number that every JSON reader holds exactly.
#[must_use]
pub fn whole() -> ObjectBuilder {
    between(0, WHOLE_MAX)
}

/// A whole number within bounds, or `null`.
#[must_use]
pub fn between_or_null(least: i64, most: i64) -> ObjectBuilder {
    between(least, most).schema_type(nullable(Type::Integer))
}

/// A time in milliseconds since 1970, before the year 10000.
#[must_use]
pub fn timestamp() -> ObjectBuilder {
    between(0, 253_402_300_799_999)
}

/// Yes or no, or `null`.
#[must_use]
pub fn boolean_or_null() -> ObjectBuilder {
    Object::builder().schema_type(nullable(Type::Boolean))
}

/// Only `null`, for a field that must not be given.
#[must_use]
pub fn null() -> ObjectBuilder {
    Object::builder().schema_type(Type::Null)
}

/// A number from 0 on.
#[must_use]
pub fn non_negative() -> ObjectBuilder {
    Object::builder().schema_type(Type::Number).minimum(Some(0))
}

/// Anything.
#[must_use]
pub fn any() -> ObjectBuilder {
    Object::builder().schema_type(SchemaType::AnyValue)
}

/// An object; fields that are not known are kept.
#[must_use]
pub fn object() -> ObjectBuilder {
    Object::builder().schema_type(Type::Object)
}

/// An object that has known fields only.
#[must_use]
pub fn closed() -> ObjectBuilder {
    object().additional_properties(Some(AdditionalProperties::<Schema>::FreeForm(false)))
}

/// A list of at most so many items.
#[must_use]
pub fn list(items: ObjectBuilder, len_max: usize) -> RefOr<Schema> {
    RefOr::T(Schema::Array(array(items, len_max).build()))
}

/// The same, or `null`.
#[must_use]
pub fn list_or_null(items: ObjectBuilder, len_max: usize) -> RefOr<Schema> {
    RefOr::T(Schema::Array(array(items, len_max).schema_type(nullable(Type::Array)).build()))
}

/// Either the type or `null`.
#[must_use]
pub fn nullable(of: Type) -> SchemaType {
    SchemaType::from_iter([of, Type::Null])
}

/// Adds a field that must be there.
#[must_use]
pub fn must(object: ObjectBuilder, field: &str, value: ObjectBuilder) -> ObjectBuilder {
    may(object, field, value).required(field)
}

/// Adds a field that may be there.
#[must_use]
pub fn may(object: ObjectBuilder, field: &str, value: ObjectBuilder) -> ObjectBuilder {
    object.property(field, schema(value))
}

/// Finishes a value's schema.
#[must_use]
pub fn schema(builder: ObjectBuilder) -> RefOr<Schema> {
    RefOr::T(Schema::Object(builder.build()))
}

fn array(items: ObjectBuilder, len_max: usize) -> ArrayBuilder {
    ArrayBuilder::new().items(schema(items)).max_items(Some(len_max))
}

fn string() -> ObjectBuilder {
    Object::builder().schema_type(Type::String)
}

/// The largest whole number that a double holds exactly.
pub const WHOLE_MAX: i64 = (1 << 53) - 1;
