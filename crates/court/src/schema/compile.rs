//! Reads a schema; one that asks for something that would not be checked is refused.

use super::node::{Node, Type};
use muster_proof::{
    Value,
    json::{self, Entry},
};
use regex_lite::Regex;

/// What is wrong with a schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum SchemaError {
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
    pub(super) fn compile(text: &str) -> Result<Self, SchemaError> {
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
        Some(word) => Some(vec![Type::of(word)?]),
        None => value.as_array()?.iter().map(|one| Type::of(one.as_str()?)).collect(),
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
