//! Lays one source of settings over another and remembers which one each value came from; a setting has its name in the
//! environment, too: `MUSTER_<SECTION>__<KEY>`.

use super::{ConfigError, Flags};
use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
};
use toml::{Table, Value};

/// The settings as they stand, not yet checked: by `section.key`, the value and its origin.
#[derive(Clone, Debug)]
pub(crate) struct Layers {
    values: BTreeMap<String, (Value, Origin)>,
}

/// Origin of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Default,
    File(PathBuf),
    Variable(String),
    Flag(String),
}

impl Layers {
    /// The settings of `default.toml`; others do not exist.
    pub(crate) fn defaults() -> Self {
        let table: Table = DEFAULTS.parse().expect("default.toml is tested to be TOML");
        let values = flatten(table).into_iter().map(|(key, value)| (key, (value, Origin::Default))).collect();
        Self { values }
    }

    /// Lays a file over what is there.
    pub(crate) fn add_file(&mut self, path: &Path) -> Result<(), ConfigError> {
        let text = std::fs::read_to_string(path);
        let text = text.map_err(|error| ConfigError::Unreadable { path: path.to_owned(), error })?;
        self.add_toml(&text, path)
    }

    /// Lays the text of a file over what is there.
    pub(crate) fn add_toml(&mut self, text: &str, path: &Path) -> Result<(), ConfigError> {
        let table: Result<Table, _> = text.parse();
        let table = table.map_err(|error: toml::de::Error| ConfigError::NotToml {
            path: path.to_owned(),
            message: located(&error, text),
        })?;
        for (key, value) in flatten(table) {
            self.set(key, value, Origin::File(path.to_owned()))?;
        }
        Ok(())
    }

    /// Lays variables over what is there; only those with `__` in their name are settings.
    pub(crate) fn add_environment(
        &mut self,
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Result<(), ConfigError> {
        for (name, text) in variables {
            let Some(key) = key_of(&name) else {
                continue;
            };
            let Some((default, _)) = self.values.get(&key) else {
                let suggestion = self.near(&key).map(|key| name_of(&key));
                return Err(ConfigError::UnknownKey {
                    origin: Origin::Variable(name.clone()),
                    key,
                    suggestion,
                });
            };
            let value = value_like(default, &text);
            self.set(key, value, Origin::Variable(name))?;
        }
        Ok(())
    }

    /// Lays flags over what is there.
    pub(crate) fn add_flags(&mut self, flags: Flags) -> Result<(), ConfigError> {
        for (key, text) in flags {
            // A flag has the last part of the key for its name, but for that of the court, where it says too little.
            let name = if key == "court.directory" { "court" } else { key.rsplit('.').next().unwrap_or(key) };
            let flag = format!("--{}", name.replace('_', "-"));
            self.set(key.to_owned(), Value::String(text), Origin::Flag(flag))?;
        }
        Ok(())
    }

    /// All settings by name, with where each came from.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Value, &Origin)> {
        self.values.iter().map(|(key, (value, origin))| (key.as_str(), value, origin))
    }

    /// One setting; every name asked for stands in `default.toml`.
    pub(super) fn get(&self, key: &str) -> (&Value, &Origin) {
        let (value, origin) = self.values.get(key).expect("default.toml has every setting");
        (value, origin)
    }

    fn set(&mut self, key: String, value: Value, origin: Origin) -> Result<(), ConfigError> {
        match self.values.get_mut(&key) {
            Some(entry) => *entry = (value, origin),
            None => {
                return Err(ConfigError::UnknownKey { suggestion: self.near(&key), origin, key });
            }
        }
        Ok(())
    }

    /// The known name most like an unknown one, if any is much like it.
    fn near(&self, key: &str) -> Option<String> {
        // A near miss in the section that was named comes before the same name in another.
        let likeness = |known: &String| {
            strsim::jaro_winkler(known, key).max(0.97 * strsim::jaro_winkler(last(known), last(key)))
        };
        let scored = self.values.keys().map(|known| (likeness(known), known));
        let best = scored.max_by(|(a, _), (b, _)| a.total_cmp(b))?;
        (best.0 > 0.85).then(|| best.1.clone())
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path) => write!(f, "file {}", path.display()),
            Self::Variable(name) => write!(f, "environment {name}"),
            Self::Flag(flag) => write!(f, "flag {flag}"),
        }
    }
}

/// Describes the fault and its line number, but not the line itself: it may hold a password.
fn located(error: &toml::de::Error, text: &str) -> String {
    let before = error.span().and_then(|span| text.get(..span.start));
    let line = before.map(|before| format!("line {}: ", before.matches('\n').count() + 1));
    format!("{}{}", line.unwrap_or_default(), error.message())
}

/// Turns sections into `section.key`; a value outside any section keeps its bare name and is unknown later.
fn flatten(table: Table) -> Vec<(String, Value)> {
    let mut flat = Vec::new();
    for (section, value) in table {
        match value {
            Value::Table(keys) => {
                flat.extend(keys.into_iter().map(|(key, value)| (format!("{section}.{key}"), value)))
            }
            other => flat.push((section, other)),
        }
    }
    flat
}

fn last(key: &str) -> &str {
    key.rsplit('.').next().unwrap_or(key)
}

const DEFAULTS: &str = include_str!("../../default.toml");

/// The setting a variable is about, if it is about one.
pub(super) fn key_of(name: &str) -> Option<String> {
    let (section, key) = name.strip_prefix(PREFIX)?.split_once("__")?;
    Some(format!("{section}.{key}").to_ascii_lowercase())
}

/// The variable of a setting.
pub(super) fn name_of(key: &str) -> String {
    format!("{PREFIX}{}", key.replacen('.', "__", 1).to_ascii_uppercase())
}

/// The text of a variable as a value of the kind the setting has; text that cannot be one stays text, which the
/// setting's own check then refuses with its own words.
pub(super) fn value_like(default: &Value, text: &str) -> Value {
    let text = text.trim();
    let parsed = match default {
        Value::Integer(_) | Value::Float(_) => number(text),
        Value::Boolean(_) => text.parse().ok().map(Value::Boolean),
        Value::Array(_) => Some(list(text)),
        _ => None,
    };
    parsed.unwrap_or_else(|| Value::String(text.to_owned()))
}

fn number(text: &str) -> Option<Value> {
    let integer = text.parse().ok().map(Value::Integer);
    integer.or_else(|| text.parse().ok().map(Value::Float))
}

fn list(text: &str) -> Value {
    let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
    Value::Array(items.map(Value::from).collect())
}

const PREFIX: &str = "MUSTER_";

#[cfg(test)]
mod tests {
    use super::*;

    /// I10: a misspelt key is an error that names the near one.
    #[test]
    fn an_unknown_key_is_refused_with_a_suggestion() {
        for (text, near) in [
            ("[nodes]\nlease_ms = 1", "did you mean nodes.lease_s?"),
            ("[operation]\nslots = 1", "did you mean operations.slots?"),
            ("[nodes]\nslots = 1", "did you mean operations.slots?"),
        ] {
            let error = Layers::defaults().add_toml(text, "x.toml".as_ref()).unwrap_err().to_string();
            assert!(error.contains(near) && error.contains("file x.toml"), "{error}");
        }
        let error = Layers::defaults().add_toml("zzz = 1", "x.toml".as_ref()).unwrap_err().to_string();
        assert!(!error.contains("did you mean"), "{error}");
    }

    /// I6: what is quoted of a broken file holds no password.
    #[test]
    fn a_broken_file_shows_no_password() {
        for text in [
            "[server]\nstore = 'postgres://u:hunter2@h/db",
            "[server]\nstore = host=h password=hunter2",
            "[server]\nstore = 'sqlite' hunter2",
            "[server]\nstore hunter2",
        ] {
            let error = Layers::defaults().add_toml(text, "x.toml".as_ref()).unwrap_err().to_string();
            assert!(error.contains("x.toml") && error.contains("line 2"), "{error}");
            assert!(!error.contains("hunter2"), "{error}");
        }
    }

    /// I10: names with `__` are settings and must be known; others are not ours to judge.
    #[test]
    fn an_unknown_variable_is_refused_with_a_suggestion() {
        let add = |name: &str| Layers::defaults().add_environment([(name.to_owned(), "1".to_owned())]);
        let error = add("MUSTER_NODES__LEASE").unwrap_err().to_string();
        assert!(error.contains("did you mean MUSTER_NODES__LEASE_S?"), "{error}");
        assert!(add("MUSTER_TOKEN").is_ok());
        assert!(add("OTHER__THING").is_ok());
    }

    /// I10: every setting in `default.toml` is explained there.
    #[test]
    fn every_default_has_a_comment() {
        let mut previous = "";
        for line in DEFAULTS.lines() {
            assert!(!line.contains(" = ") || line.starts_with('#') || previous.starts_with('#'), "{line}");
            previous = line;
        }
    }

    /// I10: only names with `__` are settings.
    #[test]
    fn a_name_with_two_underscores_is_a_setting() {
        assert_eq!(key_of("MUSTER_NODES__LEASE_S").as_deref(), Some("nodes.lease_s"));
        assert_eq!(name_of("nodes.lease_s"), "MUSTER_NODES__LEASE_S");
        assert_eq!(key_of("MUSTER_ADMIN_TOKEN"), None);
        assert_eq!(key_of("NODES__LEASE_S"), None);
    }

    #[test]
    fn a_text_takes_the_kind_of_its_setting() {
        assert_eq!(value_like(&Value::Integer(1), "0.5"), Value::Float(0.5));
        assert_eq!(value_like(&Value::Integer(1), " 7 "), Value::Integer(7));
        assert_eq!(value_like(&Value::Boolean(false), "true"), Value::Boolean(true));
        assert_eq!(value_like(&Value::Boolean(false), "yes"), Value::from("yes"));
        let hosts = value_like(&Value::Array(Vec::new()), "a.example, b.example");
        assert_eq!(hosts, Value::from(vec!["a.example", "b.example"]));
    }
}
