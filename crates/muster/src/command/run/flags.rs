//! The flags that describe a run.

use crate::{command::parameters::json_argument, failure::Failure};
use clap::Args;
use serde_json::{Map, Value, json};

#[derive(Debug, Args)]
pub(crate) struct RunFlags {
    /// The workflow to run
    #[arg(long, value_name = "ID")]
    workflow: String,
    /// Its parameters: a JSON object, or @FILE to read it from there
    #[arg(long, value_name = "JSON|@FILE", default_value = "{}")]
    params: String,
    /// Only on the devices of these PCs
    #[arg(long, value_delimiter = ',', value_name = "PC,…", conflicts_with_all = ["devices", "label"])]
    pcs: Vec<String>,
    /// Only on these devices
    #[arg(long, value_delimiter = ',', value_name = "DEVICE,…", conflicts_with = "label")]
    devices: Vec<String>,
    /// Only on devices with this label; may be repeated, all must match
    #[arg(long, value_name = "KEY=VALUE")]
    label: Vec<String>,
    /// The queue to stand in
    #[arg(long)]
    queue: Option<String>,
    /// What people call it
    #[arg(long)]
    title: Option<String>,
    /// How long one attempt may take
    #[arg(long, value_name = "MS")]
    timeout_ms: Option<u64>,
    /// Attempts per device in all
    #[arg(long, value_name = "N")]
    max_attempts: Option<u16>,
}

impl RunFlags {
    /// The submission as the server takes it; what was not given is left to the server.
    pub(crate) fn body(&self) -> Result<Value, Failure> {
        let members = [
            ("workflow_id", Some(json!(self.workflow))),
            ("params", Some(json_argument("--params", &self.params)?)),
            ("scope", self.scope()?),
            ("queue", self.queue.as_ref().map(|queue| json!(queue))),
            ("title", self.title.as_ref().map(|title| json!(title))),
            ("timeoutMs", self.timeout_ms.map(|millis| json!(millis))),
            ("max_attempts", self.max_attempts.map(|attempts| json!(attempts))),
        ];
        let given = members.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
        Ok(Value::Object(given.collect()))
    }

    fn scope(&self) -> Result<Option<Value>, Failure> {
        if !self.pcs.is_empty() {
            return Ok(Some(json!({"pcs": self.pcs})));
        }
        if !self.devices.is_empty() {
            return Ok(Some(json!({"devices": self.devices})));
        }
        if self.label.is_empty() {
            return Ok(None);
        }
        let mut labels = Map::new();
        for label in &self.label {
            let usage = || Failure::Usage(format!("--label must be KEY=VALUE, each key once, not {label}"));
            let (key, value) = label.split_once('=').ok_or_else(usage)?;
            if labels.insert(key.to_owned(), json!(value)).is_some() {
                return Err(usage());
            }
        }
        Ok(Some(json!({"labels": labels})))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Exit;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        run: RunFlags,
    }

    fn body(arguments: &[&str]) -> Result<Value, Failure> {
        let line = ["submit", "--workflow", "w"].into_iter().chain(arguments.iter().copied());
        Line::try_parse_from(line).unwrap().run.body()
    }

    /// Q15: a submission has the names of the contract; what was not said is not sent.
    #[test]
    fn a_submission_speaks_the_contract() {
        assert_eq!(body(&[]).unwrap(), json!({"workflow_id": "w", "params": {}}));
        assert_eq!(body(&["--pcs", "a,b"]).unwrap()["scope"], json!({"pcs": ["a", "b"]}));
        assert_eq!(body(&["--devices", "d"]).unwrap()["scope"], json!({"devices": ["d"]}));
        let labels = body(&["--label", "k=v", "--label", "l=w=x"]).unwrap();
        assert_eq!(labels["scope"], json!({"labels": {"k": "v", "l": "w=x"}}));
        let all =
            body(&["--params", r#"{"a":1}"#, "--timeout-ms", "5", "--max-attempts", "2", "--title", "t"])
                .unwrap();
        let expected =
            json!({"workflow_id": "w", "params": {"a": 1}, "timeoutMs": 5, "max_attempts": 2, "title": "t"});
        assert_eq!(all, expected);
    }

    /// I4: what is wrong on the command line is a matter of usage.
    #[test]
    fn wrong_arguments_are_usage() {
        for wrong in [["--params", "{"], ["--params", "@/nonexistent"], ["--label", "novalue"]] {
            assert_eq!(body(&wrong).unwrap_err().exit(), Exit::Usage, "{wrong:?}");
        }
        assert!(Line::try_parse_from(["submit", "--workflow", "w", "--pcs", "a", "--devices", "b"]).is_err());
    }

    #[test]
    fn params_can_come_from_a_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), r#"{"a": 1}"#).unwrap();
        let argument = format!("@{}", file.path().display());
        assert_eq!(body(&["--params", &argument]).unwrap()["params"], json!({"a": 1}));
    }
}
