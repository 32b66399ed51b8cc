//! `{{KEY}}` in a text, and what takes its place (N22).

use super::Step;
use serde_json::{Map, Value};
use std::borrow::Cow;

/// Values for `{{KEY}}`.
#[derive(Clone, Debug)]
pub struct Values<'a> {
    /// Values that the agent itself knows. They come before the run's parameters, so that no run can pose as another
    /// device.
    pub own: Vec<(&'static str, String)>,
    /// The run's parameters: an object; only its own members count.
    pub params: &'a Value,
}

/// Reason why a text cannot be filled in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// `{{` without `}}`.
    #[error("{{{{ without }}}} in {0:?}")]
    Unclosed(String),
    /// The text between the braces is no key.
    #[error("{{{{{0}}}}} is no key: A-Z, a-z, 0-9, _, . and - can stand in one")]
    NoKey(String),
    /// The run has no such parameter.
    #[error("the run has no parameter {0}, which {{{{{0}}}}} asks for")]
    UnknownKey(String),
    /// No program and no device can be told a text with a zero byte.
    #[error("the parameter {0} holds a zero byte")]
    ZeroByte(String),
}

/// A stretch of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Stays as it is.
    Literal(&'a str),
    /// Gives way to the value of this key.
    Key(&'a str),
}

impl Values<'_> {
    /// Fills in a text. A value that itself holds `{{…}}` stays as it is.
    pub fn fill(&self, template: &str) -> Result<String, TemplateError> {
        let mut filled = String::with_capacity(template.len());
        for piece in parse(template)? {
            match piece {
                Piece::Literal(text) => filled.push_str(text),
                Piece::Key(key) => filled.push_str(&self.value(key)?),
            }
        }
        Ok(filled)
    }

    fn value(&self, key: &str) -> Result<Cow<'_, str>, TemplateError> {
        let own =
            self.own.iter().find(|(known, _)| *known == key).map(|(_, value)| Cow::Borrowed(value.as_str()));
        let given = || self.params.get(key).map(text);
        let value = own.or_else(given).ok_or_else(|| TemplateError::UnknownKey(key.to_owned()))?;
        if value.contains('\0') { Err(TemplateError::ZeroByte(key.to_owned())) } else { Ok(value) }
    }
}

/// Takes a template apart.
pub fn parse(template: &str) -> Result<Vec<Piece<'_>>, TemplateError> {
    let mut pieces = Vec::new();
    let mut rest = template;
    while let Some((literal, opened)) = rest.split_once("{{") {
        let unclosed = || TemplateError::Unclosed(template.to_owned());
        let (key, after) = opened.split_once("}}").ok_or_else(unclosed)?;
        let key = key.trim();
        if !is_key(key) {
            return Err(TemplateError::NoKey(key.to_owned()));
        }
        pieces.extend([Piece::Literal(literal), Piece::Key(key)]);
        rest = after;
    }
    pieces.push(Piece::Literal(rest));
    Ok(pieces)
}

fn is_key(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    !text.is_empty() && text.bytes().all(fits)
}

/// A string without its quotes; anything else as JSON.
fn text(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        other => Cow::Owned(other.to_string()),
    }
}

impl Step {
    /// Puts values into every text of the step: each word of `command`, `action`, and all texts in `params`.
    ///
    /// A word stays one word, whatever its value holds: no shell takes it apart, neither here nor on a device.
    pub fn filled(&self, values: &Values<'_>) -> Result<Self, TemplateError> {
        let command = self.command.iter().map(|word| values.fill(word)).collect::<Result<_, _>>()?;
        let action = self.action.as_deref().map(|action| values.fill(action)).transpose()?;
        let params = fill_object(&self.params, values)?;
        Ok(Self { command, action, params, ..self.clone() })
    }
}

fn fill_object(
    object: &Map<String, Value>,
    values: &Values<'_>,
) -> Result<Map<String, Value>, TemplateError> {
    object.iter().map(|(key, value)| Ok((key.clone(), fill_value(value, values)?))).collect()
}

fn fill_value(value: &Value, values: &Values<'_>) -> Result<Value, TemplateError> {
    Ok(match value {
        Value::String(text) => Value::String(values.fill(text)?),
        Value::Array(items) => {
            Value::Array(items.iter().map(|item| fill_value(item, values)).collect::<Result<_, _>>()?)
        }
        Value::Object(members) => Value::Object(fill_object(members, values)?),
        other => other.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workflow::parse;
    use serde_json::json;

    fn fill(template: &str, params: &Value) -> Result<String, TemplateError> {
        let own = vec![("device_id", "sim-0001".to_owned())];
        Values { own, params }.fill(template)
    }

    /// N22: strings come as they are, everything else as JSON.
    #[test]
    fn values_take_the_place_of_keys() {
        let params =
            json!({"S": "a b", "N": 1.5, "B": true, "O": {"x": [1, "y"]}, "Z": null, "n-1.x": "dash"});
        assert_eq!(fill("<{{S}}|{{N}}|{{B}}|{{Z}}>", &params).unwrap(), "<a b|1.5|true|null>");
        assert_eq!(fill("{{O}}", &params).unwrap(), r#"{"x":[1,"y"]}"#);
        assert_eq!(fill("{{ S }}{{n-1.x}}{{device_id}}", &params).unwrap(), "a bdashsim-0001");
        assert_eq!(fill("no keys: { } }}", &params).unwrap(), "no keys: { } }}");
    }

    /// N22: what a value brings along is not looked at again.
    #[test]
    fn a_value_is_not_a_template() {
        let params = json!({"A": "{{B}}", "B": "secret"});
        assert_eq!(fill("{{A}}", &params).unwrap(), "{{B}}");
        let params = json!({"A": "{", "B": "secret"});
        assert_eq!(fill("{{A}}{{A}}B}}", &params).unwrap(), "{{B}}");
    }

    /// N22: the agent's own values cannot be replaced by a run.
    #[test]
    fn own_values_come_first() {
        assert_eq!(fill("{{device_id}}", &json!({"device_id": "other"})).unwrap(), "sim-0001");
    }

    /// N22: what cannot be filled in is named.
    #[test]
    fn what_is_missing_is_named() {
        let text = |template| fill(template, &json!({"nul": "a\0b"})).unwrap_err().to_string();
        assert_eq!(text("{{GONE}}"), "the run has no parameter GONE, which {{GONE}} asks for");
        assert_eq!(text("{{open"), "{{ without }} in \"{{open\"");
        assert_eq!(text("{{a b}}"), "{{a b}} is no key: A-Z, a-z, 0-9, _, . and - can stand in one");
        assert_eq!(text("{{nul}}"), "the parameter nul holds a zero byte");
    }

    fn filled(step: &str, params: &Value) -> Result<Step, TemplateError> {
        let text = format!("timeoutMs = 1\n[[steps]]\nid = 'A'\ntimeoutMs = 1\n{step}");
        let workflow = parse("w", "w.toml", &text).unwrap();
        workflow.steps[0].filled(&Values { own: Vec::new(), params })
    }

    /// N22: words stay words, so spaces, quotes and whatever else means something to a shell mean nothing in a value.
    #[test]
    fn a_word_stays_one_word() {
        for hostile in ["a b'; id", "", "'", "\"", "\\", "$(id)", "`id`", "\n id", "*", "--help", "日本"] {
            let params = json!({"URL": hostile});
            for kind in ["kind = 'command'\ncommand = ['x'", "kind = 'adb'\ncommand = ['shell'"] {
                let step = filled(&format!("{kind}, '{{{{URL}}}}', '--url={{{{URL}}}}']"), &params).unwrap();
                assert_eq!(step.command[1..], [hostile.to_owned(), format!("--url={hostile}")]);
            }
        }
    }

    /// N22: texts anywhere in `params` and the action are filled in; a missing key is a failure.
    #[test]
    fn action_and_params_are_filled() {
        let step = "kind = 'vendor'\naction = '{{ACT}}'\nparams.data = { list = ['{{N}}', 1], deep = { k = 'x{{N}}' } }";
        let step = filled(step, &json!({"ACT": "click", "N": 7})).unwrap();
        assert_eq!(step.action.as_deref(), Some("click"));
        assert_eq!(Value::Object(step.params), json!({"data": {"list": ["7", 1], "deep": {"k": "x7"}}}));
        let refusal = filled("kind = 'sleep'\nparams.ms = '{{N}}'", &json!({})).unwrap_err();
        assert_eq!(refusal, TemplateError::UnknownKey("N".to_owned()));
    }
}
