//! Settings as environment variables: `MUSTER_<SECTION>__<KEY>`.

use toml::Value;

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
