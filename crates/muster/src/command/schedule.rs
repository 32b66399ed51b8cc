//! `muster schedule add|list|show|delete` (Q17).

use super::{
    client_command::{Action, Conversation, Id, IdAndReason, Limit, Noun, word_of},
    run::RunFlags,
};
use crate::{
    client::{Answer, Listing, Order},
    failure::{Exit, Failure},
    output,
};
use clap::{Args, Subcommand, ValueEnum};
use muster_contract_operations::{Schedule as ScheduleView, ScheduleRequest, ScheduleState};
use muster_cron::Cron;
use muster_model::Timestamp;
use serde_json::Value;

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
                let schedule: Answer<ScheduleView> = talk.client.get(&["api", "schedules", &id], &[]).await?;
                Ok(talk.print(&if talk.json { schedule.raw } else { for_people(schedule) }))
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
    async fn run(mut self, talk: &Conversation) -> Result<Exit, Failure> {
        let key = self.idempotency_key.take();
        let request = self.request()?;
        let mut made: Answer<ScheduleState> =
            talk.client.order(&["api", "schedules"], &request, Order::with(key.as_deref())).await?;
        if !talk.json {
            // The answer has no more than the next slot; whose clock it is by is known here.
            let ScheduleRequest { cron, timezone, .. } = &request;
            localise(&mut made.raw, [cron, timezone], &[("next_at", made.read.next_at)]);
            made.raw["cron"] = cron.as_str().into();
            made.raw["timezone"] = timezone.as_str().into();
        }
        Ok(talk.print(&made.raw))
    }

    fn request(self) -> Result<ScheduleRequest, Failure> {
        let Self { cron, timezone, missed, run, .. } = self;
        Ok(ScheduleRequest { cron, timezone, missed: word_of(missed), run: run.request()? })
    }
}

async fn list(talk: &Conversation, limit: usize) -> Result<Exit, Failure> {
    let listing = Listing { path: &["api", "schedules"], name: "schedules", query: Vec::new(), limit };
    if talk.json {
        return talk.list(listing, &COLUMNS).await;
    }
    let schedules: Vec<Answer<ScheduleView>> = talk.client.list(listing).await?;
    output::table(&schedules.into_iter().map(for_people).collect::<Vec<_>>(), &COLUMNS);
    Ok(Exit::Fine)
}

/// A schedule with its times by the clocks of its zone, and with what it runs beside them.
fn for_people(schedule: Answer<ScheduleView>) -> Value {
    let Answer { mut raw, read } = schedule;
    let ScheduleView { cron, timezone, next_at, last_slot, created_at, .. } = &read;
    let times = [("next_at", *next_at), ("last_slot", *last_slot), ("created_at", Some(*created_at))];
    localise(&mut raw, [cron, timezone], &times);
    raw["workflow"] = read.run.workflow_id.into();
    raw["title"] = read.run.title.into();
    raw
}

/// Shows times by the clocks of a schedule's zone.
fn localise(shown: &mut Value, [cron, timezone]: [&str; 2], times: &[(&str, Option<i64>)]) {
    let Ok(cron) = Cron::parse(cron, timezone) else { return };
    for (key, at) in times {
        if let Some(local) = at.and_then(|at| cron.local(Timestamp(at))) {
            shown[*key] = local.into();
        }
    }
}

const COLUMNS: [&str; 9] =
    ["schedule_id", "workflow", "title", "cron", "timezone", "missed", "next_at", "last_slot", "last_run_id"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::tests::parse_flags;
    use serde_json::json;

    fn body(arguments: &[&str]) -> Value {
        let line = ["add", "--cron", "0 6 * * *", "--workflow", "w"].iter().chain(arguments);
        serde_json::to_value(parse_flags::<Add>(line).unwrap().request().unwrap()).unwrap()
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
        let run = json!({"workflow_id": "hello", "params": {}, "scope": null, "queue": "q", "timeoutMs": null,
            "max_attempts": null, "title": "Morning"});
        let schedule = json!({"schedule_id": "s", "cron": "0 6 * * *", "timezone": "Asia/Seoul", "missed": "skip",
            "run": run, "next_at": 1_760_331_600_000_i64, "last_slot": null, "last_run_id": null, "created_at": 1});
        let read = for_people(serde_json::from_value(schedule).unwrap());
        assert_eq!(read["next_at"], "2025-10-13T14:00:00+09:00");
        assert_eq!(
            [&read["last_slot"], &read["workflow"], &read["title"]],
            [&json!(null), &json!("hello"), &json!("Morning")]
        );
    }
}
