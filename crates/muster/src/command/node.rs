//! `muster node list|drain|resume|secret`.

use super::converse;
use crate::{
    client::{Client, Listing},
    failure::{Exit, Failure},
    output,
    reach::Reach,
};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

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
    },
    /// Give a drained node work again
    Resume {
        /// Which one
        id: String,
    },
    /// Make a new secret for a node and print it; the old one works a while longer
    Secret {
        /// Which one
        id: String,
    },
}

impl Node {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let Self { reach, action } = self;
        converse(&reach, async |client| {
            match action {
                Action::List { limit } => list(client, limit, reach.json).await?,
                Action::Drain { id } => order(client, &id, "drain", reach.json).await?,
                Action::Resume { id } => order(client, &id, "resume", reach.json).await?,
                Action::Secret { id } => secret(client, &id, reach.json).await?,
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

async fn order(client: &Client, id: &str, verb: &str, json: bool) -> Result<(), Failure> {
    let answer = client.post(&["api", "nodes", id, verb], &json!({})).await?;
    if json {
        output::document(&answer);
    } else {
        eprintln!("{id}: {verb} done");
    }
    Ok(())
}

async fn secret(client: &Client, id: &str, json: bool) -> Result<(), Failure> {
    let answer = client.post(&["api", "nodes", id, "secret"], &json!({})).await?;
    match answer.get("secret").and_then(Value::as_str) {
        Some(secret) if !json => output::line(secret),
        _ => output::document(&answer),
    }
    Ok(())
}

const COLUMNS: [&str; 9] = [
    "pc_id",
    "pc_status",
    "max_devices",
    "device_count",
    "running_count",
    "idle_count",
    "error_count",
    "disconnected_count",
    "draining",
];
