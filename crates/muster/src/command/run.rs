//! `muster run submit|list|show|failures|cancel|retry|watch`.

use super::{
    client_command::{Action, Conversation, Id, IdAndReason, Limit, Noun, given, json_argument},
    watch::{Reporting, WatchedWork},
};
use crate::{
    client::{Answer, Listing, Order},
    failure::{Exit, Failure},
    output,
    reach::Reason,
};
use clap::{Args, Subcommand};
use indicatif::ProgressBar;
use muster_contract_operations::{
    RetryRequest, RunDetail, RunRequest, RunState, Scope, SubmittedRun, Warning,
};
use serde_json::Value;
use std::{collections::BTreeMap, str::FromStr};

pub(crate) type Run = Noun<RunAction>;

#[derive(Debug, Subcommand)]
pub(crate) enum RunAction {
    /// Submit a run
    Submit(Submit),
    /// List runs, newest first
    List {
        /// Only with this status
        #[arg(long)]
        status: Option<String>,
        /// Only of this queue
        #[arg(long)]
        queue: Option<String>,
        #[command(flatten)]
        limit: Limit<100>,
    },
    /// Show one run and how far it is
    Show(Id),
    /// Cancel a run; devices at work are told to stop
    Cancel(IdAndReason),
    /// Count how a run's devices failed, the most frequent first
    Failures(Id),
    /// Submit a run again for the devices on which it failed; those out of service wait until they are returned
    Retry(Retry),
    /// Wait for a run to end; exits with 1 unless every device completed. With --json: one document per line whenever
    /// something changed
    Watch {
        /// Which one
        id: String,
        /// Exit with 0 although so many devices, or so many percent of them, did not complete
        #[arg(long, value_name = "N|N%")]
        allow_failures: Option<AllowedFailures>,
    },
}

impl Action for RunAction {
    async fn run(self, talk: &Conversation) -> Result<Exit, Failure> {
        match self {
            Self::Submit(submit) => submit.run(talk).await,
            Self::List { status, queue, limit: Limit { limit } } => {
                let query = given([("status", status), ("queue", queue)]);
                let listing = Listing { path: &["api", "runs"], name: "runs", query, limit };
                talk.list(listing, &COLUMNS).await
            }
            Self::Show(Id { id }) => talk.show(&["api", "runs", &id]).await,
            Self::Cancel(IdAndReason { id, reason }) => {
                talk.order(&["api", "runs", &id, "cancel"], &reason).await
            }
            Self::Failures(Id { id }) => {
                let failures: Value = talk.client.get(&["api", "runs", &id, "failures"], &[]).await?;
                output::listing(&failures, "failures", &["count", "error"], talk.json);
                Ok(Exit::Fine)
            }
            Self::Retry(retry) => retry.run(talk).await,
            Self::Watch { id, allow_failures } => {
                watch(talk, &id, Reporting::all_along(talk.json), allow_failures).await
            }
        }
    }
}

const COLUMNS: [&str; 7] = ["run_id", "status", "outcome", "workflow_id", "queue", "title", "error"];

/// A bound for the devices of a run that did not complete.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum AllowedFailures {
    /// So many devices.
    Count(u64),
    /// So many percent of all rows of the run.
    Percent(f64),
}

impl AllowedFailures {
    /// True if this many missing devices, of this many rows, are within the bound.
    fn covers(self, missing: u64, rows: u64) -> bool {
        match self {
            Self::Count(most) => missing <= most,
            #[allow(clippy::cast_precision_loss, reason = "counts of rows stay far below 2^53")]
            Self::Percent(percent) => missing as f64 * 100.0 <= percent * rows as f64,
        }
    }
}

impl FromStr for AllowedFailures {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const WRONG: &str =
            "expected a number of devices such as 3, or a percentage from 0% to 100% such as 2.5%";
        let Some(percent) = text.strip_suffix('%') else {
            return text.parse().map(Self::Count).map_err(|_| WRONG);
        };
        let percent: f64 = percent.parse().map_err(|_| WRONG)?;
        if (0.0..=100.0).contains(&percent) { Ok(Self::Percent(percent)) } else { Err(WRONG) }
    }
}

#[derive(Debug, Args)]
pub(super) struct RunFlags {
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
    /// Title for people
    #[arg(long)]
    title: Option<String>,
    /// Time limit of one attempt
    #[arg(long, value_name = "MS")]
    timeout_ms: Option<u64>,
    /// Attempts per device in all
    #[arg(long, value_name = "N")]
    max_attempts: Option<u16>,
}

impl RunFlags {
    /// The submission as the server takes it; what was not given is left to the server.
    pub(super) fn request(self) -> Result<RunRequest, Failure> {
        Ok(RunRequest {
            params: (&json_argument("--params", &self.params)?).into(),
            scope: scope(self.pcs, self.devices, &self.label)?,
            workflow_id: self.workflow,
            queue: self.queue,
            timeout_ms: self.timeout_ms,
            max_attempts: self.max_attempts,
            title: self.title,
        })
    }
}

fn scope(pcs: Vec<String>, devices: Vec<String>, labels: &[String]) -> Result<Option<Scope>, Failure> {
    if !pcs.is_empty() {
        return Ok(Some(Scope::Pcs(pcs)));
    }
    if !devices.is_empty() {
        return Ok(Some(Scope::Devices(devices)));
    }
    let mut pairs = BTreeMap::new();
    for label in labels {
        let usage = || Failure::Usage(format!("--label must be KEY=VALUE, each key once, not {label}"));
        let (key, value) = label.split_once('=').ok_or_else(usage)?;
        if pairs.insert(key.to_owned(), value.to_owned()).is_some() {
            return Err(usage());
        }
    }
    Ok(Some(pairs).filter(|pairs| !pairs.is_empty()).map(Scope::Labels))
}

/// Waits for a run to end, showing its progress on a terminal; then prints the run.
async fn watch(
    talk: &Conversation,
    id: &str,
    reporting: Reporting,
    allowed: Option<AllowedFailures>,
) -> Result<Exit, Failure> {
    let watched = WatchedWork {
        path: &["api", "runs", id],
        template: "{wide_bar} {pos}/{len} {msg}",
        end_of: &|run| end_of(run, allowed),
        show: draw,
        print: |answer, json| output::object(&answer.raw, json),
    };
    watched.until_ended(&talk.client, reporting).await
}

/// The exit code of a run that has ended (Q7b); says on standard error what is missing.
fn end_of(detail: &RunDetail, allowed: Option<AllowedFailures>) -> Option<Exit> {
    let RunDetail { run, counts, .. } = detail;
    // A server of an earlier version has no outcome: then the status decides.
    match if run.outcome.is_empty() { &*run.status } else { &*run.outcome } {
        "complete" | "success" => Some(Exit::Fine),
        "partial" => {
            let (rows, completed) = (counts.rows(), counts.completed);
            let missing = rows.saturating_sub(completed);
            eprintln!(
                "partial: {completed} of {rows} devices completed, {missing} did not; \
                 `muster run failures {}` counts the reasons",
                run.run_id
            );
            let is_allowed = allowed.is_some_and(|allowed| allowed.covers(missing, rows));
            Some(if is_allowed { Exit::Fine } else { Exit::Failed })
        }
        "failed" | "cancelled" => Some(Exit::Failed),
        _ => None,
    }
}

fn draw(bar: &ProgressBar, RunDetail { run, counts, .. }: &RunDetail) {
    bar.set_length(counts.rows());
    bar.set_position(counts.ended());
    let (status, running, failed) = (&run.status, counts.running, counts.failed);
    bar.set_message(format!("done; {status}, {running} running, {failed} failed"));
}

#[derive(Debug, Args)]
pub(crate) struct Submit {
    #[command(flatten)]
    run: RunFlags,
    /// Makes a repeat of this very submission harmless, also by another call [default: one made up for this call]
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    /// Wait for the run to end; exits with 1 unless every device completed
    #[arg(long)]
    wait: bool,
    /// With --wait: exit with 0 although so many devices, or so many percent of them, did not complete
    #[arg(long, value_name = "N|N%", requires = "wait")]
    allow_failures: Option<AllowedFailures>,
}

impl Submit {
    async fn run(self, talk: &Conversation) -> Result<Exit, Failure> {
        let key = key_or_random(self.idempotency_key);
        let mut run: Answer<SubmittedRun> =
            talk.client.order(&["api", "runs"], &self.run.request()?, Order::with(Some(&key))).await?;
        warn(&run.read.warnings);
        // The answer itself keeps its shape.
        run.raw.as_object_mut().map(|run| run.remove("warnings"));
        let wait = self.wait.then_some(run.read.state);
        end(talk, &run.raw, wait, self.allow_failures).await
    }
}

/// With a key a submission may go to another server when one hangs or dies, and is still one run.
fn key_or_random(key: Option<String>) -> String {
    key.unwrap_or_else(|| format!("{:032x}", rand::random::<u128>()))
}

/// Follows a submission: waits for the run that is to be awaited, or prints the answer.
async fn end(
    talk: &Conversation,
    answer: &Value,
    awaited: Option<RunState>,
    allowed: Option<AllowedFailures>,
) -> Result<Exit, Failure> {
    match awaited {
        Some(run) => watch(talk, &run.run_id, Reporting::once(talk.json), allowed).await,
        None => Ok(talk.print(answer)),
    }
}

/// Tells on standard error what the run names and nobody knows.
fn warn(warnings: &[Warning]) {
    for warning in warnings {
        eprintln!("warning: {}", warning.message.replace(char::is_control, "\u{fffd}"));
    }
}

#[derive(Debug, Args)]
pub(crate) struct Retry {
    /// Which run
    id: String,
    /// Only the devices that failed so, as `muster run failures` names it
    #[arg(long, value_name = "ERROR")]
    failure_reason: Option<String>,
    /// For people [default: whose retry it is]
    #[arg(long)]
    title: Option<String>,
    /// Return those of the devices to service that are out of it
    #[arg(long)]
    return_to_service: bool,
    /// Makes a repeat of this very request harmless, also by another call [default: one made up for this call]
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    /// Wait for the new run to end; exits with 1 unless every device completed
    #[arg(long)]
    wait: bool,
    /// With --wait: exit with 0 although so many devices, or so many percent of them, did not complete
    #[arg(long, value_name = "N|N%", requires = "wait")]
    allow_failures: Option<AllowedFailures>,
    #[command(flatten)]
    reason: Reason,
}

impl Retry {
    async fn run(self, talk: &Conversation) -> Result<Exit, Failure> {
        let Self { failure_reason, title, return_to_service, .. } = self;
        let body = RetryRequest { failure_reason, title, return_to_service };
        let key = key_or_random(self.idempotency_key);
        let order = Order { key: Some(&key), reason: Some(&self.reason) };
        let run: Answer<RunState> =
            talk.client.order(&["api", "runs", &self.id, "retry"], &body, order).await?;
        end(talk, &run.raw, self.wait.then_some(run.read), self.allow_failures).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::tests::parse_flags;
    use crate::failure::Exit;
    use serde_json::json;

    /// Q7b: a bound is a number of devices or a percentage of all rows.
    #[test]
    fn a_bound_is_a_count_or_a_percentage() {
        assert_eq!("3".parse(), Ok(AllowedFailures::Count(3)));
        assert_eq!("2.5%".parse(), Ok(AllowedFailures::Percent(2.5)));
        for wrong in ["", "%", "-1", "-1%", "101%", "1.5", "three", "NaN%", "inf%"] {
            assert!(wrong.parse::<AllowedFailures>().is_err(), "{wrong}");
        }
        assert!(AllowedFailures::Percent(1.0).covers(3, 300));
        assert!(!AllowedFailures::Percent(1.0).covers(4, 300));
    }

    fn body(arguments: &[&str]) -> Result<Value, Failure> {
        let line = ["submit", "--workflow", "w"].into_iter().chain(arguments.iter().copied());
        parse_flags::<RunFlags>(line).unwrap().request().map(|run| serde_json::to_value(run).unwrap())
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
        let both = ["submit", "--workflow", "w", "--pcs", "a", "--devices", "b"];
        assert!(parse_flags::<RunFlags>(both).is_err());
    }

    #[test]
    fn params_can_come_from_a_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), r#"{"a": 1}"#).unwrap();
        let argument = format!("@{}", file.path().display());
        assert_eq!(body(&["--params", &argument]).unwrap()["params"], json!({"a": 1}));
    }

    /// A run that has ended on 300 devices; a server of an earlier version has no outcome.
    fn run(status: &str, outcome: Option<&str>) -> RunDetail {
        let counts = json!({"pending": 0, "running": 0, "completed": 297, "failed": 2, "cancelled": 1});
        let mut run = json!({"run_id": "r1", "status": status, "title": null, "workflow_id": "w", "queue": "q",
            "max_attempts": 3, "created_at": 1, "started_at": 2, "completed_at": 3, "error": null,
            "schedule_id": null, "counts": counts, "per_pc": {}, "total": 300, "rate_per_min": 0.0, "eta_ms": null});
        if let Some(outcome) = outcome {
            run["outcome"] = json!(outcome);
        }
        serde_json::from_value(run).unwrap()
    }

    fn exit(outcome: &str, allowed: Option<&str>) -> Option<Exit> {
        end_of(&run("success", Some(outcome)), allowed.map(|text| text.parse().unwrap()))
    }

    /// Q7b, I4: only a complete run ends with 0; a partial one does within the bound that was allowed.
    #[test]
    fn the_outcome_of_a_run_is_the_exit_code() {
        assert_eq!(exit("complete", None), Some(Exit::Fine));
        assert_eq!(exit("partial", None), Some(Exit::Failed));
        for (allowed, expected) in [
            ("3", Exit::Fine),
            ("2", Exit::Failed),
            ("1%", Exit::Fine),
            ("0.9%", Exit::Failed),
            ("100%", Exit::Fine),
            ("0", Exit::Failed),
        ] {
            assert_eq!(exit("partial", Some(allowed)), Some(expected), "{allowed}");
        }
        for outcome in ["failed", "cancelled"] {
            assert_eq!(exit(outcome, Some("100%")), Some(Exit::Failed), "{outcome}");
        }
        assert_eq!(exit("open", None), None);
    }

    #[test]
    fn without_an_outcome_the_status_decides() {
        let end = |status: &str| end_of(&run(status, None), None);
        assert_eq!(["success", "failed", "running"].map(end), [Some(Exit::Fine), Some(Exit::Failed), None]);
    }
}
