//! `muster node list|drain|resume|secret`.

use super::converse;
use crate::{
    client::{Client, Listing},
    failure::{Exit, Failure},
    output,
    reach::{Reach, Reason},
};
use clap::{Args, Subcommand};
use serde_json::Value;

#[derive(Debug, Args)]
pub(crate) struct Node {
    #[command(flatten)]
    reach: Reach,
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List nodes with the counts of their devices
    List {
        /// At most so many
        #[arg(long, default_value_t = 100_000)]
        limit: usize,
    },
    /// Give a node no more work; what it has it may finish
    Drain {
        /// Which one
        id: String,
        #[command(flatten)]
        reason: Reason,
    },
    /// Give a drained node work again
    Resume {
        /// Which one
        id: String,
        #[command(flatten)]
        reason: Reason,
    },
    /// Make a new secret for a node and print it; the old one works a while longer
    Secret {
        /// Which one
        id: String,
        #[command(flatten)]
        reason: Reason,
    },
}

impl Node {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let Self { reach, action } = self;
        converse(&reach, async |client| {
            match action {
                Action::List { limit } => list(client, limit, reach.json).await?,
                Action::Drain { id, reason } => order(client, [&id, "drain"], &reason, reach.json).await?,
                Action::Resume { id, reason } => order(client, [&id, "resume"], &reason, reach.json).await?,
                Action::Secret { id, reason } => secret(client, &id, &reason, reach.json).await?,
            }
            Ok(Exit::Fine)
        })
    }
}

async fn list(client: &Client, limit: usize, json: bool) -> Result<(), Failure> {
    let listing = Listing { path: &["api", "pcs"], name: "pcs", query: Vec::new(), limit };
    output::listing(&client.list(listing).await?, "pcs", &COLUMNS, json);
    Ok(())
}

async fn order(client: &Client, [id, verb]: [&str; 2], reason: &Reason, json: bool) -> Result<(), Failure> {
    let answer = client.order(&["api", "nodes", id, verb], reason).await?;
    if json {
        output::document(&answer);
    } else {
        eprintln!("{id}: {verb} done");
    }
    Ok(())
}

async fn secret(client: &Client, id: &str, reason: &Reason, json: bool) -> Result<(), Failure> {
    let answer = client.order(&["api", "nodes", id, "secret"], reason).await?;
    match answer.get("secret").and_then(Value::as_str) {
        Some(secret) if !json => output::line(secret),
        _ => output::document(&answer),
    }
    Ok(())
}

const COLUMNS: [&str; 11] = [
    "pc_id",
    "pc_status",
    "heartbeat",
    "max_devices",
    "device_count",
    "running_count",
    "target",
    "idle_count",
    "error_count",
    "disconnected_count",
    "draining",
];
