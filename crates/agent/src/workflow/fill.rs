//! A step with the run's parameters put in.

use super::Step;
use super::template::{TemplateError, Values};
use serde_json::{Map, Value};

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
