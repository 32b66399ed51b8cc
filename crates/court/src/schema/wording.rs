//! What is wrong, in words for whoever wrote the file.

use super::node::{Node, Type};
use muster_proof::{Value, json::Kind};
use std::fmt;

/// Where a value stands in its document.
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
