//! `muster worker list|show|approve|quarantine|remove` (S6, S9, S11), and of the pool `list --pool|ban|unban` (P14).

use super::{converse, watch::print_members};
use crate::{
    client::{Client, Listing},
    failure::{Exit, Failure},
    output,
    reach::{Reach, Reason},
};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

#[derive(Debug, Args)]
pub(crate) struct Worker {
    #[command(flatten)]
    reach: Reach,
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List simulation workers, or those of the pool
    List {
        /// Those of the pool, whosever they are
        #[arg(long)]
        pool: bool,
        /// At most so many
        #[arg(long, default_value_t = 100_000)]
        limit: usize,
    },
    /// Show one worker and how its state changed
    Show {
        /// Which one
        id: String,
    },
    /// Let a worker out of quarantine
    Approve {
        /// Which one
        id: String,
        /// Reason why it may work again
        #[arg(long)]
        reason: String,
    },
    /// Keep a worker away from work; what it holds goes to others
    Quarantine {
        /// Which one
        id: String,
        /// Why
        #[arg(long)]
        reason: String,
    },
    /// Shut a worker of the pool out; what it holds goes to others
    Ban {
        /// Its number
        id: u64,
        /// Why
        #[arg(long)]
        reason: String,
    },
    /// Let a worker of the pool in again, and forgive its dissents
    Unban {
        /// Its number
        id: u64,
        /// Why
        #[arg(long)]
        reason: String,
    },
    /// Take a worker off the list; what it holds goes to others
    Remove {
        /// Which one
        id: String,
        #[command(flatten)]
        reason: Reason,
    },
}

impl Worker {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let Self { reach, action } = self;
        let json = reach.json;
        converse(&reach, async |client| {
            match action {
                Action::List { pool: true, limit } => list_pool(client, limit, json).await?,
                Action::List { pool: false, limit } => list(client, limit, json).await?,
                Action::Ban { id, reason } => {
                    judge_pool(client, [&id.to_string(), "ban"], &reason, json).await?
                }
                Action::Unban { id, reason } => {
                    judge_pool(client, [&id.to_string(), "unban"], &reason, json).await?
                }
                Action::Show { id } => show(client, &id, json).await?,
                Action::Approve { id, reason } => judge(client, [&id, "approve"], &reason, json).await?,
                Action::Quarantine { id, reason } => {
                    judge(client, [&id, "quarantine"], &reason, json).await?
                }
                Action::Remove { id, reason } => {
                    let [api, version, workers] = WORKERS;
                    let answer = client.delete(&[api, version, workers, &id], &reason).await?;
                    done(&answer, [&id, "remove"], json);
                }
            }
            Ok(Exit::Fine)
        })
    }
}

async fn list(client: &Client, limit: usize, json: bool) -> Result<(), Failure> {
    let listing = Listing { path: &WORKERS, name: "workers", query: Vec::new(), limit };
    let columns = ["workerId", "state", "role", "lastHeartbeat", "currentTask", "capabilities"];
    output::listing(&client.list(listing).await?, "workers", &columns, json);
    Ok(())
}

async fn list_pool(client: &Client, limit: usize, json: bool) -> Result<(), Failure> {
    let listing = Listing { path: &["api", "pool", "workers"], name: "workers", query: Vec::new(), limit };
    let columns =
        ["id", "name", "owner_user_id", "status", "region", "reputation", "dissents", "last_seen_at"];
    output::listing(&client.list(listing).await?, "workers", &columns, json);
    Ok(())
}

async fn judge_pool(client: &Client, [id, verb]: [&str; 2], reason: &str, json: bool) -> Result<(), Failure> {
    let answer = client.post(&["workers", id, verb], &json!({ "reason": reason })).await?;
    done(&answer, [id, verb], json);
    Ok(())
}

async fn show(client: &Client, id: &str, json: bool) -> Result<(), Failure> {
    let [api, version, workers] = WORKERS;
    let mut worker = client.get(&[api, version, workers, id], &[]).await?;
    let transitions = match worker.as_object_mut().filter(|_| !json) {
        Some(members) => members.remove("transitions"),
        None => None,
    };
    print_members(&worker, json);
    if let Some(Value::Array(transitions)) = transitions {
        output::table(&transitions, &["at", "from", "to", "cause"]);
    }
    Ok(())
}

async fn judge(client: &Client, [id, verb]: [&str; 2], reason: &str, json: bool) -> Result<(), Failure> {
    let [api, version, workers] = WORKERS;
    let answer = client.post(&[api, version, workers, id, verb], &json!({ "reason": reason })).await?;
    done(&answer, [id, verb], json);
    Ok(())
}

fn done(answer: &Value, [id, verb]: [&str; 2], json: bool) {
    if json {
        output::document(answer);
    } else {
        eprintln!("{id}: {verb} done");
    }
}

const WORKERS: [&str; 3] = ["api", "v1", "workers"];
