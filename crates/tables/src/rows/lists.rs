//! Columns that hold a JSON list.

use super::scope::name;
use muster_model::{Name, SessionId, Timestamp};
use serde_json::Value;

/// The text of names, in their order.
pub(super) fn names_text(names: &[Name]) -> String {
    names.iter().map(|name| Value::from(name.as_str())).collect::<Value>().to_string()
}

/// The names of a text.
pub(super) fn parse_names(text: &str) -> Option<Vec<Name>> {
    parse(text, name)
}

/// The text of moments, in their order.
pub(super) fn times_text(times: &[Timestamp]) -> String {
    times.iter().map(|at| Value::from(at.0)).collect::<Value>().to_string()
}

/// The moments of a text.
pub(super) fn parse_times(text: &str) -> Option<Vec<Timestamp>> {
    parse(text, |value| value.as_i64().map(Timestamp))
}

/// The text of sessions, in their order.
pub(super) fn sessions_text(sessions: &[SessionId]) -> String {
    sessions.iter().map(|session| Value::from(session.as_str())).collect::<Value>().to_string()
}

/// The sessions of a text.
pub(super) fn parse_sessions(text: &str) -> Option<Vec<SessionId>> {
    parse(text, |value| SessionId::new(value.as_str()?).ok())
}

fn parse<T>(text: &str, item: impl Fn(&Value) -> Option<T>) -> Option<Vec<T>> {
    serde_json::from_str::<Value>(text).ok()?.as_array()?.iter().map(item).collect()
}
