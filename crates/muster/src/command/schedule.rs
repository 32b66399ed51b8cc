//! `muster schedule add|list|show|delete` (Q17).

use super::{
    client_command::{Action, Conversation, Id, IdAndReason, Limit, Noun},
    run::RunFlags,
};
use crate::{
    client::Listing,
    failure::{Exit, Failure},
    output,
};
use clap::{Args, Subcommand, ValueEnum};
use muster_cron::Cron;
use muster_model::Timestamp;
use serde_json::{Value, json};

pub(crate) type Schedule = Noun<ScheduleAction>;

#[derive(Debug, Subcommand)]
pub(crate) enum ScheduleAction {
    /// Have a run submitted at each slot of a cron expression
    Add(Box<Add>),
    /// List schedules, oldest first
    List(Limit<1000>),
    /// Show one schedule and its next slot
    Show(Id),
    /// End a schedule; the runs it made stay
    Delete(IdAndReason),
}

#[derive(Debug, Args)]
pub(crate) struct Add {
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
pub(crate) enum Missed {
    /// They are dropped
    Skip,
    /// One run stands for all of them
    Once,
}

impl Action for ScheduleAction {
    async fn run(self, talk: &Conversation) -> Result<Exit, Failure> {
        match self {
            Self::Add(add) => add.run(talk).await,
            Self::List(Limit { limit }) => list(talk, limit).await,
            Self::Show(Id { id }) => {
                let schedule = talk.client.get(&["api", "schedules", &id], &[]).await?;
                Ok(talk.print(&if talk.json { schedule } else { for_people(schedule) }))
            }
            Self::Delete(IdAndReason { id, reason }) => {
                talk.client.delete(&["api", "schedules", &id], &reason).await?;
                eprintln!("schedule {id}: deleted");
                Ok(Exit::Fine)
            }
        }
    }
}

impl Add {
    async fn run(self, talk: &Conversation) -> Result<Exit, Failure> {
        let body = self.body()?.to_string();
        let made =
            talk.client.post_text(&["api", "schedules"], body, self.idempotency_key.as_deref()).await?;
        Ok(talk.print(&if talk.json { made } else { self.for_people(made) }))
    }

    /// The answer has no more than the next slot; whose clock it is by is known here.
    fn for_people(&self, mut made: Value) -> Value {
        made["cron"] = self.cron.as_str().into();
        made["timezone"] = self.timezone.as_str().into();
        for_people(made)
    }

    fn body(&self) -> Result<Value, Failure> {
        let missed = self.missed.to_possible_value().map(|missed| missed.get_name().to_owned());
        Ok(json!({"cron": self.cron, "timezone": self.timezone, "missed": missed, "run": self.run.body()?}))
    }
}

async fn list(talk: &Conversation, limit: usize) -> Result<Exit, Failure> {
    let listing = Listing { path: &["api", "schedules"], name: "schedules", query: Vec::new(), limit };
    let mut listed = talk.client.list(listing).await?;
    if let Some(schedules) = listed.get_mut("schedules").and_then(Value::as_array_mut).filter(|_| !talk.json)
    {
        schedules.iter_mut().for_each(|schedule| *schedule = for_people(schedule.take()));
    }
    output::listing(&listed, "schedules", &COLUMNS, talk.json);
    Ok(Exit::Fine)
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
    use crate::command::tests::parse_flags;

    fn body(arguments: &[&str]) -> Value {
        let line = ["add", "--cron", "0 6 * * *", "--workflow", "w"].iter().chain(arguments);
        parse_flags::<Add>(line).unwrap().body().unwrap()
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
