//! Column `tasks.scope`: `{"all":true}`, `{"pcs":[…]}`, `{"devices":[…]}` or `{"labels":{…}}`.

use muster_model::{Labels, Name, Scope};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// The text of a scope.
pub(crate) fn text(scope: &Scope) -> String {
    let (key, value) = match scope {
        Scope::All => ("all", Value::Bool(true)),
        Scope::Workers(names) => ("pcs", list(names)),
        Scope::Devices(names) => ("devices", list(names)),
        Scope::Labels(labels) => ("labels", labels_value(labels)),
    };
    Value::Object(Map::from_iter([(key.to_owned(), value)])).to_string()
}

/// The scope of a text.
pub(crate) fn parse(text: &str) -> Option<Scope> {
    let Value::Object(object) = serde_json::from_str(text).ok()? else {
        return None;
    };
    let (key, value) = object.into_iter().next()?;
    match key.as_str() {
        "all" => Some(Scope::All),
        "pcs" => names(&value).map(Scope::Workers),
        "devices" => names(&value).map(Scope::Devices),
        "labels" => labels(&value).map(Scope::Labels),
        _ => None,
    }
}

/// The text of `devices.labels`.
pub(crate) fn labels_text(labels: &Labels) -> String {
    labels_value(labels).to_string()
}

/// The labels of a text.
pub(crate) fn parse_labels(text: &str) -> Option<Labels> {
    labels(&serde_json::from_str(text).ok()?)
}

fn list(names: &BTreeSet<Name>) -> Value {
    names.iter().map(|name| Value::from(name.as_str())).collect()
}

fn labels_value(labels: &Labels) -> Value {
    let pairs = labels.iter().map(|(key, value)| (key.as_str().to_owned(), Value::from(value.as_str())));
    Value::Object(pairs.collect())
}

fn names(value: &Value) -> Option<BTreeSet<Name>> {
    value.as_array()?.iter().map(name).collect()
}

fn labels(value: &Value) -> Option<Labels> {
    value.as_object()?.iter().map(|(key, value)| Some((Name::new(key).ok()?, name(value)?))).collect()
}

pub(super) fn name(value: &Value) -> Option<Name> {
    Name::new(value.as_str()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scope_survives_its_text_form() {
        let name = |text| Name::new(text).unwrap();
        let scopes = [
            (Scope::All, r#"{"all":true}"#),
            (Scope::Workers([name("PC-01"), name("기기 7")].into()), r#"{"pcs":["PC-01","기기 7"]}"#),
            (Scope::Devices([name("\"q\"")].into()), r#"{"devices":["\"q\""]}"#),
            (Scope::Labels([(name("model"), name("S24"))].into()), r#"{"labels":{"model":"S24"}}"#),
        ];
        for (scope, expected) in scopes {
            assert_eq!(text(&scope), expected);
            assert_eq!(parse(expected), Some(scope));
        }
    }

    #[test]
    fn nonsense_is_no_scope() {
        for nonsense in ["", "[]", "{}", r#"{"pcs":"x"}"#, r#"{"pcs":["a/b"]}"#, r#"{"rooms":[]}"#] {
            assert_eq!(parse(nonsense), None, "{nonsense}");
        }
    }
}
