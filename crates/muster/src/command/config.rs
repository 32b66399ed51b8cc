//! `muster config`: the settings in force and where each came from.

use crate::{
    config::{self, Layers},
    failure::{Exit, Failure},
    output,
};
use clap::Args;
use serde_json::{Map, Value, json};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct Config {
    /// A file of settings
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print one JSON document and nothing else
    #[arg(long)]
    json: bool,
}

impl Config {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let layers = config::gather(self.config.as_deref(), Vec::new())?;
        config::Config::parse(&layers)?;
        if self.json {
            output::document(&document(&layers))
        } else {
            output::table(&rows(&layers), &COLUMNS)
        }
        Ok(Exit::Fine)
    }
}

fn document(layers: &Layers) -> Value {
    let settings = layers.iter().map(|(key, value, origin)| {
        (key.to_owned(), json!({"value": json_of(&shown(value)), "from": origin.to_string()}))
    });
    Value::Object(settings.collect::<Map<_, _>>())
}

fn rows(layers: &Layers) -> Vec<Value> {
    let settings = layers.iter();
    settings
        .map(|(key, value, origin)| json!({"setting": key, "value": shown(value).to_string(), "from": origin.to_string()}))
        .collect()
}

/// A value without the password that the address of a database may hold (I6).
fn shown(value: &toml::Value) -> toml::Value {
    match value {
        toml::Value::String(text) => toml::Value::String(config::without_password(text)),
        other => other.clone(),
    }
}

fn json_of(value: &toml::Value) -> Value {
    match value {
        toml::Value::Integer(number) => json!(number),
        toml::Value::Float(number) => json!(number),
        toml::Value::Boolean(flag) => json!(flag),
        toml::Value::Array(items) => items.iter().map(json_of).collect(),
        toml::Value::String(text) => json!(text),
        other => json!(other.to_string()),
    }
}

const COLUMNS: [&str; 3] = ["setting", "value", "from"];

#[cfg(test)]
mod tests {
    use super::*;

    /// I10: each value says where it came from.
    #[test]
    fn each_value_says_where_it_came_from() {
        let mut layers = Layers::defaults();
        layers.add_environment([("MUSTER_NODES__LEASE_S".to_owned(), "0.5".to_owned())]).unwrap();
        let document = document(&layers);
        assert_eq!(
            document["nodes.lease_s"],
            json!({"value": 0.5, "from": "environment MUSTER_NODES__LEASE_S"})
        );
        assert_eq!(document["operations.slots"], json!({"value": 20, "from": "default"}));
        layers.add_flags(vec![("server.store", "postgres://u:hunter2@h/db".to_owned())]).unwrap();
        assert!(!format!("{:?}", (super::document(&layers), rows(&layers))).contains("hunter2"));
        assert_eq!(rows(&layers).len(), document.as_object().unwrap().len());
    }
}
