//! `muster config`: the settings in force and where each came from.

use crate::{
    config,
    failure::{Exit, Failure},
    output,
};
use clap::Args;
use muster_dashboard::Setting;
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
        let settings = config::Config::parse(&layers)?.shown;
        if self.json {
            output::document(&document(&settings))
        } else {
            output::table(&rows(&settings), &COLUMNS)
        }
        Ok(Exit::Fine)
    }
}

fn document(settings: &[Setting]) -> Value {
    let settings = settings
        .iter()
        .map(|setting| (setting.name.clone(), json!({"value": setting.value, "from": setting.from})));
    Value::Object(settings.collect::<Map<_, _>>())
}

fn rows(settings: &[Setting]) -> Vec<Value> {
    let row = |setting: &Setting| json!({"setting": setting.name, "value": setting.value.to_string(), "from": setting.from});
    settings.iter().map(row).collect()
}

const COLUMNS: [&str; 3] = ["setting", "value", "from"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Layers, shown};

    /// I10: each value says where it came from, to people and to programs.
    #[test]
    fn each_value_says_where_it_came_from() {
        let mut layers = Layers::defaults();
        layers.add_environment([("MUSTER_NODES__LEASE_S".to_owned(), "0.5".to_owned())]).unwrap();
        let settings = shown(&layers);
        let document = document(&settings);
        assert_eq!(
            document["nodes.lease_s"],
            json!({"value": 0.5, "from": "environment MUSTER_NODES__LEASE_S"})
        );
        assert_eq!(document["operations.slots"], json!({"value": 20, "from": "default"}));
        let row = json!({"setting": "operations.slots", "value": "20", "from": "default"});
        assert!(rows(&settings).contains(&row));
        assert_eq!(rows(&settings).len(), document.as_object().unwrap().len());
    }
}
