//! A schema in the form that documents are held against.

use muster_proof::{Value, json::Kind};
use regex_lite::Regex;

/// What one schema, the whole or one inside another, asks of a value. What is absent asks nothing.
#[derive(Debug, Default)]
pub(super) struct Node {
    /// What a value must be, in words, where a pattern would tell people little.
    pub(super) title: Option<String>,
    pub(super) types: Vec<Type>,
    pub(super) words: Option<Vec<String>>,
    pub(super) text: Text,
    pub(super) minimum: Option<f64>,
    pub(super) required: Vec<String>,
    /// In the order of the file, so that the first thing that is wrong is told first.
    pub(super) properties: Vec<(String, Node)>,
    pub(super) items: Option<Box<Node>>,
    pub(super) all_of: Vec<Node>,
    pub(super) condition: Option<Box<Node>>,
    pub(super) consequence: Option<Box<Node>>,
}

/// What is asked of strings.
#[derive(Debug, Default)]
pub(super) struct Text {
    pub(super) chars_min: Option<usize>,
    pub(super) chars_max: Option<usize>,
    pub(super) pattern: Option<Regex>,
    /// Whether it must be a day and hour that there are.
    pub(super) is_time: bool,
}

/// The types of JSON Schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Null,
    Boolean,
    Integer,
    Number,
    String,
    Array,
    Object,
}

impl Node {
    /// What is asked of a member.
    pub(super) fn property(&self, key: &str) -> Option<&Self> {
        self.properties.iter().find(|(known, _)| known == key).map(|(_, node)| node)
    }
}

impl Type {
    pub(super) fn of(word: &str) -> Option<Self> {
        let all =
            [Self::Null, Self::Boolean, Self::Integer, Self::Number, Self::String, Self::Array, Self::Object];
        all.into_iter().find(|one| one.word() == word)
    }

    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "boolean",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::String => "string",
            Self::Array => "array",
            Self::Object => "object",
        }
    }

    /// Whether a value is of this type; `1.0` is an integer, as JSON Schema has it.
    pub(super) fn admits(self, value: &Value<'_>) -> bool {
        match &value.kind {
            Kind::Null => self == Self::Null,
            Kind::Bool(_) => self == Self::Boolean,
            Kind::Integer(_) => matches!(self, Self::Integer | Self::Number),
            Kind::Float(number) => self == Self::Number || (self == Self::Integer && number.fract() == 0.0),
            Kind::String(_) => self == Self::String,
            Kind::Array(_) => self == Self::Array,
            Kind::Object(_) => self == Self::Object,
        }
    }
}
