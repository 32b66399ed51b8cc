//! Holds a document against a schema.

use super::{Violation, node::Node, node::Text, wording::Path};
use crate::file;
use muster_proof::{Value, json::Kind};

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

    /// Whether the value itself is as it must be; not what is in it.
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
