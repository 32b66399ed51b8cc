//! A step with the run's parameters put in.

use super::template::{Quoting, TemplateError, Values};
use super::{Step, StepKind};
use serde_json::{Map, Value};

impl Step {
    /// Puts values into every text of the step: each word of `command`, `action`, and all texts in `params`.
    ///
    /// A word stays one word, whatever its value holds. The words after `adb shell` and `adb exec-out` reach a shell on
    /// the device, so values in them are quoted for it.
    pub fn filled(&self, values: &Values<'_>) -> Result<Self, TemplateError> {
        let quoting = if self.kind == StepKind::Adb { Quoting::Shell } else { Quoting::None };
        let command = self.command.iter().map(|word| values.fill(word, quoting)).collect::<Result<_, _>>()?;
        let action = self.action.as_deref().map(|action| values.fill(action, Quoting::None)).transpose()?;
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
        Value::String(text) => Value::String(values.fill(text, Quoting::None)?),
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

    /// N22: words stay words: no shell sees them, so spaces and quotes in a value mean nothing.
    #[test]
    fn a_word_stays_one_word() {
        let params = json!({"URL": "a b'; id"});
        let step = filled("kind = 'command'\ncommand = ['{{URL}}', '--url={{URL}}']", &params).unwrap();
        assert_eq!(step.command, ["a b'; id", "--url=a b'; id"]);
    }

    /// N22: the device's shell reads the words after `adb shell`, so values in them are quoted.
    #[test]
    fn values_for_a_devices_shell_are_quoted() {
        let params = json!({"TEXT": "it's; reboot"});
        for first in ["shell", "exec-out"] {
            let step = filled(
                &format!("kind = 'adb'\ncommand = ['{first}', 'input', 'text', '{{{{TEXT}}}}']"),
                &params,
            );
            assert_eq!(step.unwrap().command, [first, "input", "text", r"'it'\''s; reboot'"]);
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
