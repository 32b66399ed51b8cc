//! `muster device list|return`.

use super::converse;
use crate::{
    client::{Client, Listing},
    failure::{Exit, Failure},
    output,
    reach::Reach,
};
use clap::{Args, Subcommand};
use serde_json::json;

#[derive(Debug, Args)]
pub(crate) struct Device {
    #[command(flatten)]
    reach: Reach,
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List devices
    List {
        /// Only ONLINE, OFFLINE or ERROR ones
        #[arg(long)]
        status: Option<String>,
        /// Only those of this PC
        #[arg(long)]
        pc: Option<String>,
        /// At most so many
        #[arg(long, default_value_t = 100_000)]
        limit: usize,
    },
    /// Return a device to service after its ERROR was dealt with
    Return {
        /// Which one
        id: String,
        /// Note on what was done about it
        #[arg(long)]
        note: Option<String>,
    },
}

impl Device {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let Self { reach, action } = self;
        converse(&reach, async |client| match action {
            Action::List { status, pc, limit } => {
                list(client, [("status", status), ("pc_id", pc)], limit, reach.json).await
            }
            Action::Return { id, note } => return_to_service(client, &id, note, reach.json).await,
        })
    }
}

async fn list(
    client: &Client,
    filters: [(&str, Option<String>); 2],
    limit: usize,
    json: bool,
) -> Result<Exit, Failure> {
    let query = filters.into_iter().filter_map(|(key, value)| Some((key, value?))).collect();
    let devices = client.list(Listing { path: &["api", "devices"], name: "devices", query, limit }).await?;
    output::listing(&devices, "devices", &["device_id", "pc_id", "status", "runtime_handle", "labels"], json);
    Ok(Exit::Fine)
}

async fn return_to_service(
    client: &Client,
    id: &str,
    note: Option<String>,
    json: bool,
) -> Result<Exit, Failure> {
    let answer = client.post(&["api", "devices", id, "return"], &json!({"note": note})).await?;
    if json {
        output::document(&answer);
    } else {
        eprintln!("{id} is back in service");
    }
    Ok(Exit::Fine)
}
