//! `muster explain KIND ID`: why is this not running (Q16).

use super::{client_command::converse, court};
use crate::{
    client::{Client, ClientError},
    failure::{Exit, Failure},
    output,
    reach::Reach,
};
use clap::{Args, ValueEnum};
use reqwest::StatusCode;
use serde_json::Value;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct Explain {
    #[command(flatten)]
    reach: Reach,
    /// The directory of a court, to look at its files here without a server (for court_task)
    #[arg(long, value_name = "DIR")]
    court: Option<PathBuf>,
    /// Kind of thing
    kind: Kind,
    /// Which one
    id: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
enum Kind {
    Run,
    Device,
    TaskDevice,
    Node,
    /// A simulation worker by its name, one of the pool by its number
    Worker,
    /// A simulation worker, also where its name is the number of one of the pool
    SimWorker,
    /// A worker of the pool
    PoolWorker,
    /// A job of the pool
    Job,
    Session,
    /// A range of a session's frames, by its task id
    Range,
    Schedule,
    /// A task of a court, or the event it comes from
    CourtTask,
}

impl Explain {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        match (&self.court, self.kind) {
            (Some(home), Kind::CourtTask) => court::explain(home, &self.id, self.reach.json),
            (Some(_), _) => Err(Failure::Usage("--court is for `muster explain court_task`".to_owned())),
            (None, _) => converse(&self.reach, async |talk| {
                print(&self.ask(&talk.client).await?, talk.json);
                Ok(Exit::Fine)
            }),
        }
    }

    /// Clients of the pool may not ask about everything, but about their own jobs (P13).
    async fn ask(&self, client: &Client) -> Result<Value, ClientError> {
        let kind = self.kind.to_possible_value().expect("no kind is hidden");
        match client.get(&["api", "explain", kind.get_name(), &self.id], &[]).await {
            Err(ClientError::Refused { status: StatusCode::FORBIDDEN, .. }) if self.kind == Kind::Job => {
                client.get(&["jobs", &self.id, "explain"], &[]).await
            }
            answered => answered,
        }
    }
}

/// Prints an explanation: the sentence and its rule, or all of it.
pub(super) fn print(why: &Value, json: bool) {
    let sentence = ["sentence", "explanation"].iter().find_map(|key| why.get(key)?.as_str());
    match sentence {
        Some(sentence) if !json => output::line(&with_rule(sentence, why)),
        _ => output::document(why),
    }
}

fn with_rule(sentence: &str, why: &Value) -> String {
    let rule = why.get("rule").and_then(Value::as_str).unwrap_or_default();
    let sentence = sentence.replace(char::is_control, "\u{fffd}");
    if rule.is_empty() { sentence } else { format!("{sentence} ({rule})") }
}

#[cfg(test)]
mod tests {
    use muster_explain::Row;

    fn line(row: &Row) -> String {
        let kinds = row.kinds.join(", ");
        let says = row.says.replace('|', "\\|");
        format!("| {kinds} | `{}` | {} | … {says} | {} |", row.code, row.rule, row.advice)
    }

    /// Q16: the page for people has every code as the program has it, and no other.
    #[test]
    fn the_page_is_the_table() {
        let page = include_str!("../../../../docs/explain.md");
        let listed: Vec<&str> =
            page.lines().filter(|line| line.starts_with("| ") && line.contains("| `")).collect();
        let expected: Vec<String> = muster_explain::rows().map(line).collect();
        assert_eq!(listed, expected, "docs/explain.md must have these lines:\n{}", expected.join("\n"));
    }
}
