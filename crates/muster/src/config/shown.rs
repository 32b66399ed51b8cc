//! The settings in force as people see them: each with where it came from, and none with a password (I6, I10).

use super::{Layers, without_password};
use muster_dashboard::Setting;
use serde_json::{Value, json};

/// All settings by name.
pub(crate) fn shown(layers: &Layers) -> Vec<Setting> {
    let defaults = Layers::defaults();
    let setting = |(name, value, origin): (&str, &toml::Value, &super::Origin)| Setting {
        name: name.to_owned(),
        value: show(value),
        from: origin.to_string(),
        default: show(defaults.get(name).0),
    };
    layers.iter().map(setting).collect()
}

/// A value without the password that the address of a database may hold.
fn show(value: &toml::Value) -> Value {
    match value {
        toml::Value::Integer(number) => json!(number),
        toml::Value::Float(number) => json!(number),
        toml::Value::Boolean(flag) => json!(flag),
        toml::Value::Array(items) => items.iter().map(show).collect(),
        toml::Value::String(text) => json!(without_password(text)),
        other => json!(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// I10, I6: each value says where it came from and what it would be otherwise; a password is not shown.
    #[test]
    fn each_value_says_where_it_came_from() {
        let mut layers = Layers::defaults();
        layers.add_environment([("MUSTER_NODES__LEASE_S".to_owned(), "0.5".to_owned())]).unwrap();
        layers.add_flags(vec![("server.store", "postgres://u:hunter2@h/db".to_owned())]).unwrap();
        let settings = shown(&layers);
        let named = |name: &str| settings.iter().find(|setting| setting.name == name).unwrap();
        let lease = named("nodes.lease_s");
        assert_eq!((&lease.value, &lease.default), (&json!(0.5), &json!(300)));
        assert_eq!(lease.from, "environment MUSTER_NODES__LEASE_S");
        assert_eq!(
            (&named("operations.slots").value, named("operations.slots").from.as_str()),
            (&json!(20), "default")
        );
        assert_eq!(named("server.store").from, "flag --store");
        assert_eq!(settings.len(), layers.iter().count());
        assert!(!format!("{settings:?}").contains("hunter2"));
    }
}
