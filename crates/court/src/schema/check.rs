//! Checks a document against a schema, and says what is wrong with it.

use super::{Node, Text, Type, Violation};
use crate::file;
use muster_proof::{Value, json::Kind};
use std::fmt;

impl Node {
    /// Says the first thing that is wrong with a document, in the schema's order.
    pub(super) fn check(&self, document: &Value<'_>) -> Result<(), Violation> {
        self.judge(document, &Path::Document)
    }

    fn judge(&self, value: &Value<'_>, path: &Path<'_>) -> Result<(), Violation> {
        if !self.admits(value) {
            return Err(Violation(self.mismatch(value, path)));
        }
        match &value.kind {
            Kind::Object(_) => self.judge_members(value, path)?,
            Kind::Array(elements) => self.judge_elements(elements, path)?,
            _ => {}
        }
        self.all_of.iter().try_for_each(|node| node.judge(value, path))?;
        self.judge_consequence(value, path)
    }

    /// True if the value itself is valid; its members and elements are checked elsewhere.
    fn admits(&self, value: &Value<'_>) -> bool {
        let is_of_type = || self.types.is_empty() || self.types.iter().any(|one| one.admits(value));
        let is_a_word = || self.words.as_ref().is_none_or(|words| has(words, value));
        let is_enough =
            || !self.minimum.zip(value.as_f64()).is_some_and(|(minimum, number)| number < minimum);
        let is_text = || value.as_str().is_none_or(|text| self.text.admits(text));
        is_of_type() && is_a_word() && is_enough() && is_text()
    }

    fn judge_members(&self, value: &Value<'_>, path: &Path<'_>) -> Result<(), Violation> {
        if let Some(key) = self.required.iter().find(|key| value.get(key).is_none()) {
            return Err(Violation(self.absence(key, path)));
        }
        for (key, node) in &self.properties {
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

impl Text {
    /// The length comes first: what is too long is not searched.
    fn admits(&self, text: &str) -> bool {
        let chars = text.chars().count();
        self.chars_min.is_none_or(|min| min <= chars)
            && self.chars_max.is_none_or(|max| chars <= max)
            && self.pattern.as_ref().is_none_or(|pattern| pattern.is_match(text))
            && (!self.is_time || file::instant(text).is_some())
    }
}

fn has(words: &[String], value: &Value<'_>) -> bool {
    value.as_str().is_some_and(|text| words.iter().any(|word| word == text))
}

/// The path of a value in its document.
pub(super) enum Path<'a> {
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
    pub(super) fn mismatch(&self, value: &Value<'_>, path: &Path<'_>) -> String {
        format!("{path} must be {}, not {}", self.expectation(), shown(value))
    }

    /// Says that a member is not there, and what it should have been.
    pub(super) fn absence(&self, key: &str, path: &Path<'_>) -> String {
        let expectation = self.property(key).map_or_else(|| "there".to_owned(), Self::expectation);
        format!("{} is missing; it must be {expectation}", Path::Member(path, key))
    }

    /// Says by what members a value meets this condition.
    pub(super) fn fulfilment(&self, value: &Value<'_>, path: &Path<'_>) -> String {
        let member = |(key, _): &(String, Self)| {
            value.get(key).map(|member| format!("{} is {}", Path::Member(path, key), shown(member)))
        };
        self.properties.iter().filter_map(member).collect::<Vec<_>>().join(" and ")
    }

    fn expectation(&self) -> String {
        if let Some(words) = &self.words {
            let one_of = if words.len() == 1 { "" } else { "one of " };
            return format!("{one_of}{}", words.join(", "));
        }
        if let (Some(title), Some(_)) = (&self.title, &self.text.pattern) {
            return title.clone();
        }
        let types: Vec<String> = self.types.iter().map(|one| self.expected_type(*one)).collect();
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
        match (self.text.chars_min, self.text.chars_max) {
            (None, None) => "a string".to_owned(),
            (Some(1), None) => "a string that is not empty".to_owned(),
            (Some(min), None) => format!("a string of at least {min} characters"),
            (None, Some(max)) => format!("a string of at most {max} characters"),
            (Some(min), Some(max)) => format!("a string of {min} to {max} characters"),
        }
    }
}

fn with_article(expected: Type) -> String {
    let article = if "aeiou".contains(&expected.word()[..1]) { "an" } else { "a" };
    format!("{article} {}", expected.word())
}

/// A value as it can stand in a sentence: short, on one line, and nothing that a terminal would obey.
fn shown(value: &Value<'_>) -> String {
    match &value.kind {
        Kind::Null | Kind::Bool(_) => value.text().to_owned(),
        Kind::Integer(_) | Kind::Float(_) => beginning(value.text()),
        Kind::String(text) => shown_text(text),
        Kind::Array(_) => "an array".to_owned(),
        Kind::Object(_) => "an object".to_owned(),
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

const CHARS_SHOWN_MAX: usize = 40;
