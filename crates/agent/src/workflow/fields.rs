//! Reads one table of a workflow's file, key by key, and says what each should have been when it is not.

use serde_json::{Map, Number, Value};
use std::{fmt, ops::RangeInclusive};
use toml::Table;

/// Why a file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct WorkflowError {
    /// Where the mistake stands.
    pub place: Place,
    /// What it is.
    pub problem: Box<Problem>,
}

/// What is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// It cannot be read.
    #[error("{0}")]
    Unreadable(String),
    /// It is not TOML; the parser says where.
    #[error("{0}")]
    Syntax(String),
    /// A key that nobody reads.
    #[error("unknown key {key}{}", meant(.near.as_deref()))]
    UnknownKey {
        /// What stands there.
        key: String,
        /// What was probably meant.
        near: Option<String>,
    },
    /// A key that must be there and is not.
    #[error("{0} is missing")]
    Missing(String),
    /// A value that its key cannot have.
    #[error("{key} must be {expected}, not {found}{}", meant(.near.as_deref()))]
    Unfit {
        /// Whose value.
        key: String,
        /// What it can be.
        expected: String,
        /// What it is.
        found: String,
        /// What was probably meant.
        near: Option<String>,
    },
    /// Values that are good alone and not together, or a text that cannot work.
    #[error("{0}")]
    Contradiction(String),
}

/// Where in which file something stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file's name.
    pub file: String,
    /// The step's id, or its number while it has none.
    pub step: Option<String>,
}

/// A table of the file.
pub(crate) struct Fields<'a> {
    pub(crate) place: Place,
    pub(crate) table: &'a Table,
}

impl Fields<'_> {
    /// Refuses keys that nobody would read.
    pub(crate) fn only(&self, known: &[&str]) -> Result<(), WorkflowError> {
        let Some(key) = self.table.keys().find(|key| !known.contains(&key.as_str())) else {
            return Ok(());
        };
        Err(self.error(Problem::UnknownKey { key: key.clone(), near: near(key, known) }))
    }

    pub(crate) fn text(&self, key: &str) -> Result<Option<&str>, WorkflowError> {
        let Some(value) = self.table.get(key) else { return Ok(None) };
        let text = value.as_str().filter(|text| !text.is_empty());
        text.map(Some).ok_or_else(|| self.unfit(key, "a text"))
    }

    pub(crate) fn required_text(&self, key: &str) -> Result<&str, WorkflowError> {
        self.text(key)?.ok_or_else(|| self.missing(key))
    }

    /// One of a few words.
    pub(crate) fn word<T: Copy>(&self, key: &str, words: &[(&str, T)]) -> Result<Option<T>, WorkflowError> {
        let Some(found) = self.text(key)? else { return Ok(None) };
        if let Some((_, meaning)) = words.iter().find(|(word, _)| *word == found) {
            return Ok(Some(*meaning));
        }
        let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let (expected, near) = (format!("one of {}", words.join(", ")), near(found, &words));
        let (key, found) = (key.to_owned(), format!("\"{found}\""));
        Err(self.error(Problem::Unfit { key, expected, found, near }))
    }

    /// A whole number of a range.
    pub(crate) fn number(&self, key: &str, range: RangeInclusive<u64>) -> Result<Option<u64>, WorkflowError> {
        let Some(value) = self.table.get(key) else { return Ok(None) };
        let number = value.as_integer().and_then(|number| u64::try_from(number).ok());
        let number = number.filter(|number| range.contains(number));
        let expected = || format!("a whole number from {} to {}", range.start(), range.end());
        number.map(Some).ok_or_else(|| self.unfit(key, &expected()))
    }

    /// A list of texts that is not empty.
    pub(crate) fn texts(&self, key: &str) -> Result<Option<Vec<String>>, WorkflowError> {
        let Some(value) = self.table.get(key) else { return Ok(None) };
        let items = value.as_array().filter(|items| !items.is_empty());
        let texts =
            items.and_then(|items| items.iter().map(|item| item.as_str().map(str::to_owned)).collect());
        texts.map(Some).ok_or_else(|| self.unfit(key, "a list of texts, such as [\"get-state\"]"))
    }

    /// A table, as JSON.
    pub(crate) fn object(&self, key: &str) -> Result<Map<String, Value>, WorkflowError> {
        let Some(value) = self.table.get(key) else { return Ok(Map::new()) };
        match json(value) {
            Some(Value::Object(object)) => Ok(object),
            _ => Err(self.unfit(key, "a table without nan and inf")),
        }
    }

    pub(crate) fn missing(&self, key: &str) -> WorkflowError {
        self.error(Problem::Missing(key.to_owned()))
    }

    pub(crate) fn unfit(&self, key: &str, expected: &str) -> WorkflowError {
        let found = self.table.get(key).map(toml::Value::to_string).unwrap_or_default();
        let (key, expected) = (key.to_owned(), expected.to_owned());
        self.error(Problem::Unfit { key, expected, found, near: None })
    }

    pub(crate) fn contradiction(&self, problem: impl Into<String>) -> WorkflowError {
        self.error(Problem::Contradiction(problem.into()))
    }

    pub(crate) fn error(&self, problem: Problem) -> WorkflowError {
        self.place.clone().error(problem)
    }
}

impl Place {
    /// A file as a whole.
    pub(crate) fn file(file: impl Into<String>) -> Self {
        Self { file: file.into(), step: None }
    }

    pub(crate) fn error(self, problem: Problem) -> WorkflowError {
        WorkflowError { place: self, problem: Box::new(problem) }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.step {
            Some(step) => write!(f, "{}, step {step}", self.file),
            None => f.write_str(&self.file),
        }
    }
}

/// Finds the known word most like an unknown one, if any is much like it.
pub(crate) fn near(word: &str, known: &[&str]) -> Option<String> {
    let word = word.to_lowercase();
    let scored = known.iter().map(|known| (strsim::jaro_winkler(&known.to_lowercase(), &word), known));
    let best = scored.max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    (best.0 > 0.8).then(|| (*best.1).to_owned())
}

fn meant(near: Option<&str>) -> String {
    near.map(|near| format!("; did you mean {near}?")).unwrap_or_default()
}

fn json(value: &toml::Value) -> Option<Value> {
    Some(match value {
        toml::Value::String(text) => Value::String(text.clone()),
        toml::Value::Integer(number) => Value::from(*number),
        toml::Value::Float(number) => Value::Number(Number::from_f64(*number)?),
        toml::Value::Boolean(boolean) => Value::Bool(*boolean),
        toml::Value::Datetime(moment) => Value::String(moment.to_string()),
        toml::Value::Array(items) => Value::Array(items.iter().map(json).collect::<Option<_>>()?),
        toml::Value::Table(table) => {
            let members = table.iter().map(|(key, value)| Some((key.clone(), json(value)?)));
            Value::Object(members.collect::<Option<_>>()?)
        }
    })
}
