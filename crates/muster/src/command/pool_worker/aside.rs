//! `muster pool-worker aside`: results that a server refused for good (P16).

use crate::{
    failure::{Exit, Failure},
    output,
};
use clap::Args;
use muster_spool::{Directory, set_aside_entries};
use serde_json::{Value, json};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(super) struct Aside {
    /// The spool's directory
    #[arg(long, value_name = "DIR", default_value = "./muster-pool-worker")]
    spool: PathBuf,
    /// Print one JSON document and nothing else
    #[arg(long)]
    json: bool,
}

impl Aside {
    pub(super) fn run(&self) -> Result<Exit, Failure> {
        let entries = set_aside_entries(&Directory::for_reading(&self.spool))?;
        let rows: Vec<Value> = entries
            .iter()
            .map(|entry| {
                let result: Value = serde_json::from_slice(&entry.payload).unwrap_or(Value::Null);
                let why = String::from_utf8_lossy(&entry.note).into_owned();
                json!({"number": entry.seq.0, "assignment_id": result["assignment_id"], "why": why, "result": result})
            })
            .collect();
        output::listing(&json!({"aside": rows}), "aside", &["number", "assignment_id", "why"], self.json);
        Ok(Exit::Fine)
    }
}
