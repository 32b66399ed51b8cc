//! `muster explain KIND ID`: why is this not running (Q16).

use super::converse;
use crate::{
    failure::{Exit, Failure},
    output,
    reach::Reach,
};
use clap::{Args, ValueEnum};
use serde_json::Value;

#[derive(Debug, Args)]
pub(crate) struct Explain {
    #[command(flatten)]
    reach: Reach,
    /// What kind of thing
    kind: Kind,
    /// Which one
    id: String,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
#[value(rename_all = "snake_case")]
enum Kind {
    Run,
    Device,
    TaskDevice,
    Node,
    Worker,
    Job,
}

impl Explain {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let kind = self.kind.to_possible_value().expect("no kind is hidden");
        converse(&self.reach, async |client| {
            let why = client.get(&self.path(kind.get_name()), &[]).await?;
            let sentence = if self.is_pool_job() { "explanation" } else { "sentence" };
            match why.get(sentence).and_then(Value::as_str) {
                Some(sentence) if !self.reach.json => output::line(&with_rule(sentence, &why)),
                _ => output::document(&why),
            }
            Ok(Exit::Fine)
        })
    }
}

impl Explain {
    /// Jobs of the pool are numbers; those of nodes are not (P13).
    fn is_pool_job(&self) -> bool {
        matches!(self.kind, Kind::Job) && self.id.bytes().all(|byte| byte.is_ascii_digit())
    }

    fn path<'a>(&'a self, kind: &'a str) -> Vec<&'a str> {
        match self.is_pool_job() {
            true => vec!["jobs", &self.id, "explain"],
            false => vec!["api", "explain", kind, &self.id],
        }
    }
}

fn with_rule(sentence: &str, why: &Value) -> String {
    let rule = why.get("rule").and_then(Value::as_str).unwrap_or_default();
    let sentence = sentence.replace(char::is_control, "\u{fffd}");
    if rule.is_empty() { sentence } else { format!("{sentence} ({rule})") }
}
