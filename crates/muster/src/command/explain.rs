//! `muster explain KIND ID`: why is this not running (Q16).

use super::{
    client_command::{Conversation, converse, word_of},
    court,
};
use crate::{
    client::{Answer, ClientError},
    failure::{Exit, Failure},
    output,
    reach::Reach,
};
use clap::{Args, ValueEnum};
use muster_contract_pool::Explained;
use muster_explain::Why;
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
            (None, _) => converse(&self.reach, async |talk| self.ask(talk).await),
        }
    }

    /// Clients of the pool may not ask about everything, but about their own jobs (P13).
    async fn ask(&self, talk: &Conversation) -> Result<Exit, Failure> {
        let path = ["api", "explain", &word_of(self.kind), &self.id];
        match talk.client.get::<Answer<Why>>(&path, &[]).await {
            Err(ClientError::Refused { status: StatusCode::FORBIDDEN, .. }) if self.kind == Kind::Job => {
                let why: Answer<Explained> = talk.client.get(&["jobs", &self.id, "explain"], &[]).await?;
                print(&why.raw, [&why.read.explanation, &why.read.rule], talk.json);
            }
            answered => {
                let why = answered?;
                print(&why.raw, [&why.read.sentence, &why.read.rule], talk.json);
            }
        }
        Ok(Exit::Fine)
    }
}

/// Prints an explanation: the sentence and its rule, or all of it.
pub(super) fn print(why: &Value, [sentence, rule]: [&str; 2], json: bool) {
    if json {
        return output::document(why);
    }
    let sentence = sentence.replace(char::is_control, "\u{fffd}");
    output::line(&if rule.is_empty() { sentence } else { format!("{sentence} ({rule})") });
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
