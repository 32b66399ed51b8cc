//! The JSON Schemas that ship, and their enforcement (C7, C9–C12).
//!
//! The printed schema is the one that is enforced: the check reads the shipped texts, once, and refuses a keyword that
//! it would not obey. It knows just the keywords that they use. A validator for all of JSON Schema would be many times the
//! code of this crate, and would lose the digits of large numbers on the way.

mod check;

use crate::{Kind, words::words};
use muster_proof::{
    Value,
    json::{self, Entry},
};
use regex_lite::Regex;
use std::sync::LazyLock;

/// The first mistake in a document, in one sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Violation(pub String);

/// Holds a document against the schema of its kind; records have none.
pub fn check(kind: Kind, value: &Value<'_>) -> Result<(), Violation> {
    match kind {
        Kind::Event => EVENT.check(value),
        Kind::Task => TASK.check(value),
        Kind::Message => MESSAGE.check(value),
        Kind::Result => RESULT.check(value),
        Kind::Record => Ok(()),
    }
}

/// The schema of a kind as it ships; that of records admits everything.
#[must_use]
pub const fn text(kind: Kind) -> &'static str {
    match kind {
        Kind::Event => include_str!("../schemas/event.schema.json"),
        Kind::Task => include_str!("../schemas/task.schema.json"),
        Kind::Message => include_str!("../schemas/message.schema.json"),
        Kind::Result => include_str!("../schemas/soldier-result.schema.json"),
        Kind::Record => "true\n",
    }
}

fn compiled(kind: Kind) -> Node {
    Node::compile(text(kind)).expect("a unit test compiles every schema that ships")
}

/// A compiled schema or subschema. Absent members demand nothing.
#[derive(Debug, Default)]
struct Node {
    /// A description in words, where a pattern would tell people little.
    title: Option<String>,
    types: Vec<Type>,
    words: Option<Vec<String>>,
    text: Text,
    minimum: Option<f64>,
    required: Vec<String>,
    /// In the order of the file, so that the first thing that is wrong is told first.
    properties: Vec<(String, Node)>,
    items: Option<Box<Node>>,
    all_of: Vec<Node>,
    condition: Option<Box<Node>>,
    consequence: Option<Box<Node>>,
}

/// Demands on strings.
#[derive(Debug, Default)]
struct Text {
    chars_min: Option<usize>,
    chars_max: Option<usize>,
    pattern: Option<Regex>,
    /// True if it must be an existing date and time.
    is_time: bool,
}

words! {
    /// The types of JSON Schema.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Type {
        Null = "null",
        Boolean = "boolean",
        Integer = "integer",
        Number = "number",
        String = "string",
        Array = "array",
        Object = "object",
    }
}

impl Node {
    /// The schema of a member.
    fn property(&self, key: &str) -> Option<&Self> {
        self.properties.iter().find(|(known, _)| known == key).map(|(_, node)| node)
    }
}

impl Type {
    /// True if a value is of this type; `1.0` is an integer, as JSON Schema has it.
    fn admits(self, value: &Value<'_>) -> bool {
        match &value.kind {
            json::Kind::Null => self == Self::Null,
            json::Kind::Bool(_) => self == Self::Boolean,
            json::Kind::Integer(_) => matches!(self, Self::Integer | Self::Number),
            json::Kind::Float(number) => {
                self == Self::Number || (self == Self::Integer && number.fract() == 0.0)
            }
            json::Kind::String(_) => self == Self::String,
            json::Kind::Array(_) => self == Self::Array,
            json::Kind::Object(_) => self == Self::Object,
        }
    }
}

/// A mistake in a schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum SchemaError {
    /// No JSON.
    #[error("the schema is no JSON: {0}")]
    Json(#[from] json::Refused),
    /// Not an object.
    #[error("a schema must be an object, not {0}")]
    NotAnObject(String),
    /// A keyword that the check would pass over.
    #[error("the keyword {0:?} is not known")]
    UnknownKeyword(String),
    /// A keyword with a value that the check cannot obey.
    #[error("the keyword {0:?} cannot have the value {1}")]
    Value(String, String),
    /// A pattern that nobody could be told about.
    #[error("the pattern {0:?} has no title to tell people what it asks for")]
    PatternWithoutTitle(String),
}

impl Node {
    /// Reads a schema.
    fn compile(text: &str) -> Result<Self, SchemaError> {
        Self::of(&json::parse(text.as_bytes())?)
    }

    fn of(schema: &Value<'_>) -> Result<Self, SchemaError> {
        let object = schema.as_object().ok_or_else(|| SchemaError::NotAnObject(schema.text().to_owned()))?;
        let mut node = Self::default();
        for entry in object.entries() {
            node.take(entry)?;
        }
        match &node.text.pattern {
            Some(pattern) if node.title.is_none() => {
                Err(SchemaError::PatternWithoutTitle(pattern.to_string()))
            }
            _ => Ok(node),
        }
    }

    fn take(&mut self, entry: &Entry<'_>) -> Result<(), SchemaError> {
        let value = &entry.value;
        let refused = || SchemaError::Value(entry.key.to_string(), value.text().to_owned());
        match entry.key.as_ref() {
            "$schema" | "$id" | "description" => {}
            "title" => self.title = Some(value.as_str().ok_or_else(refused)?.to_owned()),
            "type" => self.types = types(value).ok_or_else(refused)?,
            "enum" => self.words = Some(strings(value).ok_or_else(refused)?),
            "const" => self.words = Some(vec![value.as_str().ok_or_else(refused)?.to_owned()]),
            "minLength" => self.text.chars_min = Some(length(value).ok_or_else(refused)?),
            "maxLength" => self.text.chars_max = Some(length(value).ok_or_else(refused)?),
            "pattern" => self.text.pattern = Some(pattern(value).ok_or_else(refused)?),
            "format" if value.as_str() == Some("iso8601") => self.text.is_time = true,
            "format" => return Err(refused()),
            "minimum" => self.minimum = Some(value.as_f64().ok_or_else(refused)?),
            "required" => self.required = strings(value).ok_or_else(refused)?,
            "properties" => self.properties = properties(value)?,
            "items" => self.items = Some(Box::new(Self::of(value)?)),
            "allOf" => {
                self.all_of =
                    value.as_array().ok_or_else(refused)?.iter().map(Self::of).collect::<Result<_, _>>()?;
            }
            "if" => self.condition = Some(Box::new(Self::of(value)?)),
            "then" => self.consequence = Some(Box::new(Self::of(value)?)),
            unknown => return Err(SchemaError::UnknownKeyword(unknown.to_owned())),
        }
        Ok(())
    }
}

fn properties(value: &Value<'_>) -> Result<Vec<(String, Node)>, SchemaError> {
    let object = value.as_object().ok_or_else(|| SchemaError::NotAnObject(value.text().to_owned()))?;
    let mut entries: Vec<_> = object.entries().iter().collect();
    entries.sort_by_key(|entry| entry.value.span().start);
    entries.iter().map(|entry| Ok((entry.key.to_string(), Node::of(&entry.value)?))).collect()
}

fn types(value: &Value<'_>) -> Option<Vec<Type>> {
    match value.as_str() {
        Some(word) => Some(vec![Type::from_word(word)?]),
        None => value.as_array()?.iter().map(|one| Type::from_word(one.as_str()?)).collect(),
    }
}

fn strings(value: &Value<'_>) -> Option<Vec<String>> {
    value.as_array()?.iter().map(|one| one.as_str().map(str::to_owned)).collect()
}

fn length(value: &Value<'_>) -> Option<usize> {
    value.as_u64()?.try_into().ok()
}

fn pattern(value: &Value<'_>) -> Option<Regex> {
    Regex::new(value.as_str()?).ok()
}

static EVENT: LazyLock<Node> = LazyLock::new(|| compiled(Kind::Event));
static TASK: LazyLock<Node> = LazyLock::new(|| compiled(Kind::Task));
static MESSAGE: LazyLock<Node> = LazyLock::new(|| compiled(Kind::Message));
static RESULT: LazyLock<Node> = LazyLock::new(|| compiled(Kind::Result));

#[cfg(test)]
mod tests;
