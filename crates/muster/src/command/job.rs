//! `muster job submit|list|show|watch|cancel|retry|receipt` (P13, P17).

mod submit;

use super::{
    converse,
    watch::{Telling, Watched, print_members, status_of},
};
use crate::{
    client::{Client, Listing},
    failure::{Exit, Failure},
    output,
    reach::Reach,
    reason::Reason,
};
use clap::{Args, Subcommand};
use indicatif::ProgressBar;
use serde_json::{Value, json};

#[derive(Debug, Args)]
pub(crate) struct Job {
    #[command(flatten)]
    reach: Reach,
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Hand in a job for the pool
    Submit(submit::Submit),
    /// List jobs, newest first
    List {
        /// Only with this status
        #[arg(long)]
        status: Option<String>,
        /// At most so many
        #[arg(long, default_value_t = 100)]
        limit: usize,
    },
    /// Show one job, and why it waits while it does
    Show {
        /// Which one
        id: String,
    },
    /// Wait for a job to end; ends with 1 unless it completed. With --json: one document per line whenever something changed
    Watch {
        /// Which one
        id: String,
    },
    /// End a job
    Cancel {
        /// Which one
        id: String,
        #[command(flatten)]
        reason: Reason,
    },
    /// Hand in jobs that failed or were cancelled once more, as new ones
    Retry {
        /// Which ones
        #[arg(required = true)]
        ids: Vec<String>,
        #[command(flatten)]
        reason: Reason,
    },
    /// Print the receipt of a completed job; `muster receipt verify` checks it
    Receipt {
        /// Which one
        id: String,
    },
}

impl Job {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let Self { reach, action } = self;
        let json = reach.json;
        converse(&reach, async |client| match action {
            Action::Submit(submit) => submit.run(client, json).await,
            Action::List { status, limit } => list(client, status, limit, json).await,
            Action::Show { id } => {
                print_members(&client.get(&["jobs", &id], &[]).await?, json);
                Ok(Exit::Fine)
            }
            Action::Watch { id } => watch(client, &id, Telling::all_along(json)).await,
            Action::Cancel { id, reason } => {
                print_members(&client.delete(&["jobs", &id], &reason).await?, json);
                Ok(Exit::Fine)
            }
            Action::Retry { ids, reason } => retry(client, &ids, &reason, json).await,
            Action::Receipt { id } => {
                output::document(&client.get(&["jobs", &id, "receipt"], &[]).await?);
                Ok(Exit::Fine)
            }
        })
    }
}

async fn list(client: &Client, status: Option<String>, limit: usize, json: bool) -> Result<Exit, Failure> {
    let query = status.map(|status| ("status", status)).into_iter().collect();
    let listing = Listing { path: &["jobs"], name: "jobs", query, limit };
    let columns = ["id", "status", "priority", "region", "created_at", "finished_at", "error_message"];
    output::listing(&client.list(listing).await?, "jobs", &columns, json);
    Ok(Exit::Fine)
}

/// Retries one after the other and tells of each at once: what was handed in before one is refused stays so.
async fn retry(client: &Client, ids: &[String], reason: &Reason, json: bool) -> Result<Exit, Failure> {
    let mut jobs = Vec::new();
    for id in ids {
        let key = format!("{:032x}", rand::random::<u128>());
        let job = client.order_once(&["jobs", id, "retry"], (&json!({}), &key), reason).await;
        let job = job.inspect_err(|_| {
            if json && !jobs.is_empty() {
                output::document(&json!({"jobs": jobs}));
            }
        })?;
        if !json {
            output::line(&format!("job {id} is job {} now", job["id"]));
        }
        jobs.push(job);
    }
    if json {
        output::document(&json!({"jobs": jobs}));
    }
    Ok(Exit::Fine)
}

async fn watch(client: &Client, id: &str, telling: Telling) -> Result<Exit, Failure> {
    let path = ["jobs", id];
    let watched = Watched {
        path: &path,
        template: "{spinner} {msg}",
        end_of: &end_of,
        show: draw,
        print: print_members,
    };
    watched.until_ended(client, telling).await
}

/// The exit code of a job that has ended (P13).
fn end_of(job: &Value) -> Option<Exit> {
    match status_of(job) {
        "completed" => Some(Exit::Fine),
        "failed" | "cancelled" => Some(Exit::Failed),
        _ => None,
    }
}

fn draw(bar: &ProgressBar, job: &Value) {
    let word = |name: &str| job.get(name).and_then(Value::as_str).unwrap_or_default();
    bar.set_message(format!("{}: {}", word("status"), word("explanation")));
    bar.tick();
}

#[cfg(test)]
mod tests {
    use super::*;

    /// I4, P13: a job that failed or was cancelled ends with 1.
    #[test]
    fn the_end_of_a_job_is_the_exit_code() {
        let end = |status: &str| end_of(&json!({"status": status}));
        assert_eq!(end("completed"), Some(Exit::Fine));
        assert_eq!(["failed", "cancelled"].map(end), [Some(Exit::Failed); 2]);
        assert_eq!(["queued", "running"].map(end), [None; 2]);
    }
}
