//! `muster schedule add|list|show|delete` (Q17).

use super::{converse, run::RunFlags, watch::print_members as print};
use crate::{
    client::{Client, Listing},
    failure::{Exit, Failure},
    output,
    reach::{Reach, Reason},
};
use clap::{Args, Subcommand, ValueEnum};
use muster_cron::Cron;
use muster_model::Timestamp;
use serde_json::{Value, json};

#[derive(Debug, Args)]
pub(crate) struct Schedule {
    #[command(flatten)]
    reach: Reach,
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Have a run submitted at each slot of a cron expression
    Add(Box<Add>),
    /// List schedules, oldest first
    List {
        /// At most so many
        #[arg(long, default_value_t = 1000)]
        limit: usize,
    },
    /// Show one schedule and its next slot
    Show {
        /// Which one
        id: String,
    },
    /// End a schedule; the runs it made stay
    Delete {
        /// Which one
        id: String,
        #[command(flatten)]
        reason: Reason,
    },
}

#[derive(Debug, Args)]
struct Add {
    /// When: minute, hour, day of month, month, day of week
    #[arg(long, value_name = "EXPRESSION")]
    cron: String,
    /// The IANA time zone that is meant
    #[arg(long, value_name = "ZONE", default_value = "UTC")]
    timezone: String,
    /// Treatment of occurrences at which no server ran
    #[arg(long, value_enum, default_value = "skip")]
    missed: Missed,
    #[command(flatten)]
    run: RunFlags,
    /// Makes a repeat of this very request harmless
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Missed {
    /// They are dropped
    Skip,
    /// One run stands for all of them
    Once,
}

impl Schedule {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let Self { reach, action } = self;
        let json = reach.json;
        converse(&reach, async |client| {
            match action {
                Action::Add(add) => add.run(client, json).await?,
                Action::List { limit } => list(client, limit, json).await?,
                Action::Show { id } => {
                    let schedule = client.get(&["api", "schedules", &id], &[]).await?;
                    print(&if json { schedule } else { for_people(schedule) }, json);
                }
                Action::Delete { id, reason } => {
                    client.delete(&["api", "schedules", &id], &reason).await?;
                    eprintln!("schedule {id}: deleted");
                }
            }
            Ok(Exit::Fine)
        })
    }
}

impl Add {
    async fn run(self, client: &Client, json: bool) -> Result<(), Failure> {
        let (path, body) = (["api", "schedules"], self.body()?);
        let made = match &self.idempotency_key {
            Some(key) => client.post_once(&path, &body, key).await?,
            None => client.post(&path, &body).await?,
        };
        print(&if json { made } else { self.for_people(made) }, json);
        Ok(())
    }

    /// The answer has no more than the next slot; whose clock it is by is known here.
    fn for_people(&self, mut made: Value) -> Value {
        made["cron"] = self.cron.as_str().into();
        made["timezone"] = self.timezone.as_str().into();
        for_people(made)
    }

    fn body(&self) -> Result<Value, Failure> {
        let missed = match self.missed {
            Missed::Skip => "skip",
            Missed::Once => "once",
        };
        Ok(json!({"cron": self.cron, "timezone": self.timezone, "missed": missed, "run": self.run.body()?}))
    }
}

async fn list(client: &Client, limit: usize, json: bool) -> Result<(), Failure> {
    let listing = Listing { path: &["api", "schedules"], name: "schedules", query: Vec::new(), limit };
    let mut listed = client.list(listing).await?;
    if let Some(schedules) = listed.get_mut("schedules").and_then(Value::as_array_mut).filter(|_| !json) {
        schedules.iter_mut().for_each(|schedule| *schedule = for_people(schedule.take()));
    }
    output::listing(&listed, "schedules", &COLUMNS, json);
    Ok(())
}

/// A schedule with its times by the clocks of its zone, and with what it runs beside them.
fn for_people(mut schedule: Value) -> Value {
    let word = |key: &str| schedule[key].as_str().unwrap_or_default();
    let cron = Cron::parse(word("cron"), word("timezone")).ok();
    for key in ["next_at", "last_slot", "created_at"] {
        let at = schedule[key].as_i64().map(Timestamp);
        if let Some(local) = cron.as_ref().zip(at).and_then(|(cron, at)| cron.local(at)) {
            schedule[key] = local.into();
        }
    }
    for (column, key) in [("workflow", "workflow_id"), ("title", "title")] {
        if let Some(known) = schedule["run"].get(key).cloned() {
            schedule[column] = known;
        }
    }
    schedule
}

const COLUMNS: [&str; 9] =
    ["schedule_id", "workflow", "title", "cron", "timezone", "missed", "next_at", "last_slot", "last_run_id"];

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        add: Add,
    }

    fn body(arguments: &[&str]) -> Value {
        let line = ["add", "--cron", "0 6 * * *", "--workflow", "w"].iter().chain(arguments);
        Line::try_parse_from(line).unwrap().add.body().unwrap()
    }

    /// Q17: a schedule has the names of the contract, and the flags of a run.
    #[test]
    fn a_schedule_speaks_the_contract() {
        let run = json!({"workflow_id": "w", "params": {}});
        let plain = json!({"cron": "0 6 * * *", "timezone": "UTC", "missed": "skip", "run": run});
        assert_eq!(body(&[]), plain);
        let full = body(&["--timezone", "Asia/Seoul", "--missed", "once", "--pcs", "a,b", "--title", "t"]);
        assert_eq!([&full["timezone"], &full["missed"]], ["Asia/Seoul", "once"]);
        assert_eq!(
            (&full["run"]["scope"], &full["run"]["title"]),
            (&json!({"pcs": ["a", "b"]}), &json!("t"))
        );
    }

    /// Q17: people read times by the clocks of the schedule's zone, and see what is run.
    #[test]
    fn people_read_local_times() {
        let run = json!({"workflow_id": "hello", "title": "Morning"});
        let schedule = json!({"cron": "0 6 * * *", "timezone": "Asia/Seoul", "run": run, "last_slot": null,
            "next_at": 1_760_331_600_000_i64});
        let read = for_people(schedule);
        assert_eq!(read["next_at"], "2025-10-13T14:00:00+09:00");
        assert_eq!(
            [&read["last_slot"], &read["workflow"], &read["title"]],
            [&json!(null), &json!("hello"), &json!("Morning")]
        );
    }
}
