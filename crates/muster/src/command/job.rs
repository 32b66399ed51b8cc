//! `muster job submit|list|show|watch|cancel|retry|receipt` (P13, P17).

use super::{
    client_command::{Action, Conversation, Id, IdAndReason, Limit, Noun, given, text_argument},
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
use muster_contract_pool::{Job as JobView, JobRequest, JsonText};
use muster_model::PoolJobStatus;
use serde_json::{Value, json};

pub(crate) type Job = Noun<JobAction>;

#[derive(Debug, Subcommand)]
pub(crate) enum JobAction {
    /// Hand in a job for the pool
    Submit(Submit),
    /// List jobs, newest first
    List {
        /// Only with this status
        #[arg(long)]
        status: Option<String>,
        #[command(flatten)]
        limit: Limit<100>,
    },
    /// Show one job, and why it waits while it does
    Show(Id),
    /// Wait for a job to end; ends with 1 unless it completed. With --json: one document per line whenever something changed
    Watch(Id),
    /// End a job
    Cancel(IdAndReason),
    /// Hand in jobs that failed or were cancelled once more, as new ones
    Retry {
        /// Which ones
        #[arg(required = true)]
        ids: Vec<String>,
        #[command(flatten)]
        reason: Reason,
    },
    /// Print the receipt of a completed job; `muster receipt verify` checks it
    Receipt(Id),
}

impl Action for JobAction {
    async fn run(self, talk: &Conversation) -> Result<Exit, Failure> {
        match self {
            Self::Submit(submit) => submit.run(talk).await,
            Self::List { status, limit: Limit { limit } } => {
                let query = given([("status", status)]);
                let columns =
                    ["id", "status", "priority", "region", "created_at", "finished_at", "error_message"];
                talk.list(Listing { path: &["jobs"], name: "jobs", query, limit }, &columns).await
            }
            Self::Show(Id { id }) => talk.show(&["jobs", &id]).await,
            Self::Watch(Id { id }) => watch(talk, &id, Reporting::all_along(talk.json)).await,
            Self::Cancel(IdAndReason { id, reason }) => {
                Ok(talk.print(&talk.client.delete(&["jobs", &id], &reason).await?))
            }
            Self::Retry { ids, reason } => retry(talk, &ids, &reason).await,
            Self::Receipt(Id { id }) => {
                output::document(&talk.client.get::<Value>(&["jobs", &id, "receipt"], &[]).await?);
                Ok(Exit::Fine)
            }
        }
    }
}

/// Retries one after the other and tells of each at once: what was handed in before one is refused stays so.
async fn retry(talk: &Conversation, ids: &[String], reason: &Reason) -> Result<Exit, Failure> {
    let mut jobs = Vec::new();
    for id in ids {
        let key = format!("{:032x}", rand::random::<u128>());
        let order = Order { key: Some(&key), reason: Some(reason) };
        let job: Result<Answer<JobView>, _> =
            talk.client.order(&["jobs", id, "retry"], &json!({}), order).await;
        let job = job.inspect_err(|_| {
            if talk.json && !jobs.is_empty() {
                output::document(&json!({"jobs": jobs}));
            }
        })?;
        if !talk.json {
            output::line(&format!("job {id} is job {} now", job.read.id));
        }
        jobs.push(job.raw);
    }
    if talk.json {
        output::document(&json!({"jobs": jobs}));
    }
    Ok(Exit::Fine)
}

async fn watch(talk: &Conversation, id: &str, reporting: Reporting) -> Result<Exit, Failure> {
    let watched = WatchedWork {
        path: &["jobs", id],
        template: "{spinner} {msg}",
        end_of: &end_of,
        show: draw,
        print: |answer, json| output::object(&answer.raw, json),
    };
    watched.until_ended(&talk.client, reporting).await
}

/// The exit code of a job that has ended (P13).
fn end_of(job: &JobView) -> Option<Exit> {
    match PoolJobStatus::from_word(&job.status)? {
        PoolJobStatus::Completed => Some(Exit::Fine),
        PoolJobStatus::Failed | PoolJobStatus::Cancelled => Some(Exit::Failed),
        PoolJobStatus::Queued | PoolJobStatus::Running => None,
    }
}

fn draw(bar: &ProgressBar, job: &JobView) {
    bar.set_message(format!("{}: {}", job.status, job.explanation.as_deref().unwrap_or_default()));
    bar.tick();
}

#[derive(Debug, Args)]
pub(crate) struct Submit {
    /// The payload: JSON, or @FILE to read it from there; sent as it is
    payload: String,
    /// 0 to 100; more comes first
    #[arg(long, default_value_t = 0)]
    priority: u8,
    /// Only workers of this region
    #[arg(long)]
    region: Option<String>,
    /// Only workers that have these: a JSON object; numbers are met by more, all else by the same
    #[arg(long, value_name = "JSON|@FILE")]
    requires: Option<String>,
    /// Number of attempts
    #[arg(long, value_name = "N")]
    max_attempts: Option<u8>,
    /// Time limit of one attempt
    #[arg(long, value_name = "S")]
    timeout: Option<f64>,
    /// So many workers of different owners do it, and a majority must agree
    #[arg(long, value_name = "K")]
    redundancy: Option<u8>,
    /// Refuse results whose hash is not that of their output
    #[arg(long)]
    verify_output_hash: bool,
    /// Submitting the same again under this key is harmless
    #[arg(long)]
    key: Option<String>,
    /// Wait for the job to end; ends with 1 unless it completed
    #[arg(long)]
    wait: bool,
}

impl Submit {
    async fn run(self, talk: &Conversation) -> Result<Exit, Failure> {
        let job: Answer<JobView> =
            talk.client.order(&["jobs"], &self.request()?, Order::with(self.key.as_deref())).await?;
        match self.wait {
            true => watch(talk, &job.read.id.to_string(), Reporting::once(talk.json)).await,
            false => Ok(talk.print(&job.raw)),
        }
    }

    /// The submission as the contract has it. JSON that was given is not touched: its numbers may be longer than any of
    /// ours.
    fn request(&self) -> Result<JobRequest, Failure> {
        let requires = self.requires.as_deref().map(|text| json_text("--requires", text)).transpose()?;
        Ok(JobRequest {
            priority: self.priority,
            region: self.region.as_deref().map(Into::into),
            requires,
            max_attempts: self.max_attempts,
            timeout_s: self.timeout,
            verify_output_hash: self.verify_output_hash,
            redundancy: self.redundancy,
            ..JobRequest::new(json_text("PAYLOAD", &self.payload)?)
        })
    }
}

fn json_text(flag: &str, argument: &str) -> Result<JsonText, Failure> {
    let text = text_argument(flag, argument)?;
    let checked = muster_proof::canonical(text.as_bytes());
    checked.map_err(|refused| Failure::Usage(format!("{flag} must be JSON (or @FILE): {refused}")))?;
    Ok(text.trim().into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::tests::parse_flags;
    use muster_contract_pool::golden;

    /// I4, P13: a job that failed or was cancelled ends with 1.
    #[test]
    fn the_end_of_a_job_is_the_exit_code() {
        let end = |status: &str| {
            let job = golden::JOB.replace("\"status\":\"completed\"", &format!("\"status\":\"{status}\""));
            end_of(&serde_json::from_str(&job).unwrap())
        };
        assert_eq!(end("completed"), Some(Exit::Fine));
        assert_eq!(["failed", "cancelled"].map(end), [Some(Exit::Failed); 2]);
        assert_eq!(["queued", "running", "resting"].map(end), [None; 3]);
    }

    fn body(arguments: &[&str]) -> Result<String, Failure> {
        let line = ["submit"].into_iter().chain(arguments.iter().copied());
        parse_flags::<Submit>(line).unwrap().request().map(|job| serde_json::to_string(&job).unwrap())
    }

    /// P13: a submission has the names of the contract, and a payload goes out as it was given.
    #[test]
    fn a_submission_speaks_the_contract() {
        let plain =
            r#"{"payload":{"n": 123456789012345678901234567890},"priority":0,"verify_output_hash":false}"#;
        assert_eq!(body(&[r#"{"n": 123456789012345678901234567890}"#]).unwrap(), plain);
        let more = body(&["1", "--priority", "9", "--region", "a\"b", "--requires", "{\"vram\":8}"]).unwrap();
        let said =
            r#"{"payload":1,"priority":9,"region":"a\"b","requires":{"vram":8},"verify_output_hash":false}"#;
        assert_eq!(more, said);
        assert_eq!(body(&["{"]).unwrap_err().exit(), Exit::Usage);
    }
}
