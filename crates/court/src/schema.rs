//! The JSON Schemas that ship, and their enforcement (C7, C9–C12).
//!
//! The printed schema is the one that is enforced: the check reads the shipped texts, once, and refuses a keyword that
//! it would not obey. It knows just the keywords that they use. A validator for all of JSON Schema would be many times the
//! code of this crate, and would lose the digits of large numbers on the way.

use crate::{Kind, file};
use muster_proof::{Value, json};
use regex_lite::Regex;
use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, Visitor},
};
use std::{fmt, sync::LazyLock};

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
    serde_json::from_str(text(kind)).expect("a unit test reads every schema that ships")
}

/// A schema or subschema. Absent members demand nothing; a keyword that the check would pass over is refused.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase")]
struct Node {
    #[serde(rename = "$schema")]
    _dialect: IgnoredAny,
    #[serde(rename = "$id")]
    _id: IgnoredAny,
    #[serde(rename = "description")]
    _description: IgnoredAny,
    /// A description in words, where a pattern would tell people little.
    title: Option<String>,
    #[serde(rename = "type")]
    types: Types,
    #[serde(rename = "enum")]
    words: Option<Vec<String>>,
    min_length: Option<usize>,
    max_length: Option<usize>,
    pattern: Option<Pattern>,
    format: Option<Format>,
    minimum: Option<f64>,
    required: Vec<String>,
    properties: Properties,
    items: Option<Box<Self>>,
    all_of: Vec<Self>,
    #[serde(rename = "if")]
    condition: Option<Box<Self>>,
    #[serde(rename = "then")]
    consequence: Option<Box<Self>>,
}

/// The type of a value, or several that it may have; none admits all.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Types {
    One(Type),
    Several(Vec<Type>),
}

muster_model::words! {
    /// The types of JSON Schema.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
    #[serde(rename_all = "lowercase")]
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

#[derive(Debug, Deserialize)]
#[serde(try_from = "String")]
struct Pattern(Regex);

/// The one format: an existing date and time.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Format {
    Iso8601,
}

/// Members in the order of the file, so that the first thing that is wrong is told first.
#[derive(Debug, Default)]
struct Properties(Vec<(String, Node)>);

impl Default for Types {
    fn default() -> Self {
        Self::Several(Vec::new())
    }
}

impl Types {
    fn all(&self) -> &[Type] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::Several(several) => several,
        }
    }
}

impl TryFrom<String> for Pattern {
    type Error = regex_lite::Error;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Regex::new(&text).map(Self)
    }
}

impl Properties {
    fn of(&self, key: &str) -> Option<&Node> {
        self.0.iter().find(|(known, _)| known == key).map(|(_, node)| node)
    }
}

impl<'de> Deserialize<'de> for Properties {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Self::default())
    }
}

impl<'de> Visitor<'de> for Properties {
    type Value = Self;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object of schemas")
    }

    fn visit_map<M: MapAccess<'de>>(mut self, mut members: M) -> Result<Self, M::Error> {
        while let Some(member) = members.next_entry()? {
            self.0.push(member);
        }
        Ok(self)
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

impl Node {
    /// Says the first thing that is wrong with a document, in the schema's order.
    fn check(&self, document: &Value<'_>) -> Result<(), Violation> {
        self.judge(document, &Path::Document)
    }

    fn judge(&self, value: &Value<'_>, path: &Path<'_>) -> Result<(), Violation> {
        if !self.admits(value) {
            return Err(Violation(self.mismatch(value, path)));
        }
        match &value.kind {
            json::Kind::Object(_) => self.judge_members(value, path)?,
            json::Kind::Array(elements) => self.judge_elements(elements, path)?,
            _ => {}
        }
        self.all_of.iter().try_for_each(|node| node.judge(value, path))?;
        self.judge_consequence(value, path)
    }

    /// True if the value itself is valid; its members and elements are checked elsewhere.
    fn admits(&self, value: &Value<'_>) -> bool {
        let is_of_type =
            || self.types.all().is_empty() || self.types.all().iter().any(|one| one.admits(value));
        let is_word = |words: &Vec<String>| words.iter().any(|word| value.as_str() == Some(word.as_str()));
        let is_enough =
            || !self.minimum.zip(value.as_f64()).is_some_and(|(minimum, number)| number < minimum);
        let is_text = || value.as_str().is_none_or(|text| self.admits_text(text));
        is_of_type() && self.words.as_ref().is_none_or(is_word) && is_enough() && is_text()
    }

    /// The length comes first: what is too long is not searched.
    fn admits_text(&self, text: &str) -> bool {
        let chars = text.chars().count();
        self.min_length.is_none_or(|min| min <= chars)
            && self.max_length.is_none_or(|max| chars <= max)
            && self.pattern.as_ref().is_none_or(|Pattern(pattern)| pattern.is_match(text))
            && (self.format.is_none() || file::instant(text).is_some())
    }

    fn judge_members(&self, value: &Value<'_>, path: &Path<'_>) -> Result<(), Violation> {
        if let Some(key) = self.required.iter().find(|key| value.get(key).is_none()) {
            return Err(Violation(self.absence(key, path)));
        }
        for (key, node) in &self.properties.0 {
            if let Some(member) = value.get(key) {
                node.judge(member, &Path::Member(path, key))?;
            }
        }
        Ok(())
    }

    fn judge_elements(&self, elements: &[Value<'_>], path: &Path<'_>) -> Result<(), Violation> {
        let Some(node) = &self.items else { return Ok(()) };
        let mut elements = elements.iter().enumerate();
        elements.try_for_each(|(index, element)| node.judge(element, &Path::Element(path, index)))
    }

    fn judge_consequence(&self, value: &Value<'_>, path: &Path<'_>) -> Result<(), Violation> {
        let (Some(condition), Some(consequence)) = (&self.condition, &self.consequence) else {
            return Ok(());
        };
        if condition.judge(value, path).is_err() {
            return Ok(());
        }
        let because =
            |Violation(text)| Violation(format!("{text}, since {}", condition.fulfilment(value, path)));
        consequence.judge(value, path).map_err(because)
    }
}

/// The path of a value in its document.
enum Path<'a> {
    Document,
    Member(&'a Path<'a>, &'a str),
    Element(&'a Path<'a>, usize),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Document => formatter.write_str("the document"),
            Self::Member(Path::Document, key) => formatter.write_str(key),
            Self::Member(above, key) => write!(formatter, "{above}.{key}"),
            Self::Element(above, index) => write!(formatter, "{above}[{index}]"),
        }
    }
}

impl Node {
    /// Says that a value is not what it must be.
    fn mismatch(&self, value: &Value<'_>, path: &Path<'_>) -> String {
        format!("{path} must be {}, not {}", self.expectation(), shown(value))
    }

    /// Says that a member is not there, and what it should have been.
    fn absence(&self, key: &str, path: &Path<'_>) -> String {
        let expectation = self.properties.of(key).map_or_else(|| "there".to_owned(), Self::expectation);
        format!("{} is missing; it must be {expectation}", Path::Member(path, key))
    }

    /// Says by what members a value meets this condition.
    fn fulfilment(&self, value: &Value<'_>, path: &Path<'_>) -> String {
        let member = |(key, _): &(String, Self)| {
            value.get(key).map(|member| format!("{} is {}", Path::Member(path, key), shown(member)))
        };
        self.properties.0.iter().filter_map(member).collect::<Vec<_>>().join(" and ")
    }

    fn expectation(&self) -> String {
        if let Some(words) = &self.words {
            let one_of = if words.len() == 1 { "" } else { "one of " };
            return format!("{one_of}{}", words.join(", "));
        }
        if let (Some(title), Some(_)) = (&self.title, &self.pattern) {
            return title.clone();
        }
        let types: Vec<String> = self.types.all().iter().map(|one| self.expected_type(*one)).collect();
        if types.is_empty() { "something else".to_owned() } else { types.join(" or ") }
    }

    fn expected_type(&self, expected: Type) -> String {
        match expected {
            Type::Null => "null".to_owned(),
            Type::String => self.expected_text(),
            Type::Integer | Type::Number => match self.minimum {
                Some(minimum) => format!("{} from {minimum} on", with_article(expected)),
                None => with_article(expected),
            },
            _ => with_article(expected),
        }
    }

    fn expected_text(&self) -> String {
        match (self.min_length, self.max_length) {
            (None, None) => "a string".to_owned(),
            (Some(1), None) => "a string that is not empty".to_owned(),
            (Some(min), None) => format!("a string of at least {min} characters"),
            (None, Some(max)) => format!("a string of at most {max} characters"),
            (Some(min), Some(max)) => format!("a string of {min} to {max} characters"),
        }
    }
}

fn with_article(expected: Type) -> String {
    let article = if "aeiou".contains(&expected.as_str()[..1]) { "an" } else { "a" };
    format!("{article} {}", expected.as_str())
}

/// A value as it can stand in a sentence: short, on one line, and nothing that a terminal would obey.
fn shown(value: &Value<'_>) -> String {
    match &value.kind {
        json::Kind::Null | json::Kind::Bool(_) => value.text().to_owned(),
        json::Kind::Integer(_) | json::Kind::Float(_) => beginning(value.text()),
        json::Kind::String(text) => shown_text(text),
        json::Kind::Array(_) => "an array".to_owned(),
        json::Kind::Object(_) => "an object".to_owned(),
    }
}

fn shown_text(text: &str) -> String {
    let chars = text.chars().count();
    let quoted = format!("{:?}", text.chars().take(CHARS_SHOWN_MAX).collect::<String>());
    if chars > CHARS_SHOWN_MAX { format!("{quoted}… ({chars} characters)") } else { quoted }
}

fn beginning(number: &str) -> String {
    let dots = if number.len() > CHARS_SHOWN_MAX { "…" } else { "" };
    format!("{}{dots}", number.chars().take(CHARS_SHOWN_MAX).collect::<String>())
}

static EVENT: LazyLock<Node> = LazyLock::new(|| compiled(Kind::Event));
static TASK: LazyLock<Node> = LazyLock::new(|| compiled(Kind::Task));
static MESSAGE: LazyLock<Node> = LazyLock::new(|| compiled(Kind::Message));
static RESULT: LazyLock<Node> = LazyLock::new(|| compiled(Kind::Result));
const CHARS_SHOWN_MAX: usize = 40;

#[cfg(test)]
mod tests;
