//! Columns that hold JSON.

use muster_model::{Labels, Name, Quality, Scale, Scope, SessionId, Specs, Timestamp};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// The text of a scope: `{"all":true}`, `{"pcs":[…]}`, `{"devices":[…]}` or `{"labels":{…}}`.
pub(crate) fn scope_text(scope: &Scope) -> String {
    let (key, value) = match scope {
        Scope::All => ("all", Value::Bool(true)),
        Scope::Workers(names) => ("pcs", list(names)),
        Scope::Devices(names) => ("devices", list(names)),
        Scope::Labels(labels) => ("labels", labels_value(labels)),
    };
    Value::Object(Map::from_iter([(key.to_owned(), value)])).to_string()
}

/// The scope of a text.
pub(crate) fn parse_scope(text: &str) -> Option<Scope> {
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

fn name(value: &Value) -> Option<Name> {
    Name::new(value.as_str()?).ok()
}

/// The text of names, in their order.
pub(crate) fn names_text(names: &[Name]) -> String {
    names.iter().map(|name| Value::from(name.as_str())).collect::<Value>().to_string()
}

/// The names of a text.
pub(crate) fn parse_names(text: &str) -> Option<Vec<Name>> {
    parse_list(text, name)
}

/// The text of moments, in their order.
pub(crate) fn times_text(times: &[Timestamp]) -> String {
    times.iter().map(|at| Value::from(at.0)).collect::<Value>().to_string()
}

/// The moments of a text.
pub(crate) fn parse_times(text: &str) -> Option<Vec<Timestamp>> {
    parse_list(text, |value| value.as_i64().map(Timestamp))
}

/// The text of sessions, in their order.
pub(crate) fn sessions_text(sessions: &[SessionId]) -> String {
    sessions.iter().map(|session| Value::from(session.as_str())).collect::<Value>().to_string()
}

/// The sessions of a text.
pub(crate) fn parse_sessions(text: &str) -> Option<Vec<SessionId>> {
    parse_list(text, |value| SessionId::new(value.as_str()?).ok())
}

fn parse_list<T>(text: &str, item: impl Fn(&Value) -> Option<T>) -> Option<Vec<T>> {
    serde_json::from_str::<Value>(text).ok()?.as_array()?.iter().map(item).collect()
}

/// The text of qualities, as the columns `workers.specs` and `pool_jobs.demands` hold it (P14), in a form that loses
/// nothing: a JSON list of pairs, each a name, and a whole number (the place of an amount in the order of numbers) or a
/// text (anything else, as canonical JSON). No qualities are no text.
#[must_use]
pub fn specs_text(specs: &Specs) -> Option<String> {
    let pair = |(name, quality): (&str, &Quality)| match quality {
        Quality::Amount(scale) => Value::from(vec![Value::from(name), Value::from(scale.place())]),
        Quality::Exactly(text) => Value::from(vec![name, text]),
    };
    let pairs: Vec<Value> = specs.iter().map(pair).collect();
    (!pairs.is_empty()).then(|| Value::from(pairs).to_string())
}

/// The qualities of a text.
pub(crate) fn parse_specs(text: &str) -> Option<Specs> {
    let pairs = serde_json::from_str::<Value>(text).ok()?;
    let pairs = pairs.as_array()?.iter().map(|pair| {
        let [name, quality] = pair.as_array()?.as_slice() else {
            return None;
        };
        let quality = match quality {
            Value::String(text) => Quality::Exactly(text.as_str().into()),
            other => Quality::Amount(Scale::at(other.as_i64()?)),
        };
        Some((name.as_str()?.into(), quality))
    });
    pairs.collect::<Option<Vec<_>>>().map(Specs::new)
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
            assert_eq!(scope_text(&scope), expected);
            assert_eq!(parse_scope(expected), Some(scope));
        }
    }

    #[test]
    fn nonsense_is_no_scope() {
        for nonsense in ["", "[]", "{}", r#"{"pcs":"x"}"#, r#"{"pcs":["a/b"]}"#, r#"{"rooms":[]}"#] {
            assert_eq!(parse_scope(nonsense), None, "{nonsense}");
        }
    }

    /// P14: what was asked for or offered is the same after a restart.
    #[test]
    fn no_quality_is_lost() {
        let numbers = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            24.0,
            24.000_000_000_000_004,
            -3.5,
            0.1,
            9_007_199_254_740_993.0,
            f64::MIN_POSITIVE,
            5e-324,
            -5e-324,
            f64::MAX,
            f64::MIN,
            f64::INFINITY,
            f64::NEG_INFINITY,
        ];
        let amounts = numbers.into_iter().enumerate();
        let amounts =
            amounts.map(|(n, number)| (format!("n{n}").into(), Quality::Amount(Scale::new(number))));
        let texts = ["\"24\"", "null", "{\"a\":[1,\"기\"]}", "24", ""];
        let texts =
            texts.into_iter().map(|text| (format!("'{text}\n").into(), Quality::Exactly(text.into())));
        let specs = Specs::new(amounts.chain(texts).collect());
        let kept = specs_text(&specs).unwrap();
        assert_eq!(parse_specs(&kept), Some(specs), "{kept}");
        assert_eq!(specs_text(&Specs::default()), None);
    }

    #[test]
    fn a_text_of_another_form_has_no_qualities() {
        for text in
            ["", "{}", "[1]", "[[1,2]]", "[[\"a\"]]", "[[\"a\",1,2]]", "[[\"a\",1.5]]", "[[\"a\",null]]"]
        {
            assert_eq!(parse_specs(text), None, "{text}");
        }
    }
}
