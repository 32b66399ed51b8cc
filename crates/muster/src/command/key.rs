//! `muster key add|list|revoke`: API keys of whoever is logged in (P13).

use super::{converse, user::parse_role};
use crate::{
    client::{Client, Listing},
    failure::{Exit, Failure},
    output,
    reach::{Reach, Reason},
};
use clap::{Args, Subcommand};
use muster_model::Role;
use serde_json::{Value, json};

#[derive(Debug, Args)]
pub(crate) struct Key {
    #[command(flatten)]
    reach: Reach,
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Make a key and print it, this once
    Add {
        /// A name for people
        name: String,
        /// Let the key do only this, of what its user may; may be given several times
        #[arg(long, value_name = "ROLE", value_parser = parse_role)]
        scope: Vec<Role>,
    },
    /// List your keys
    List {
        /// At most so many
        #[arg(long, default_value_t = 100_000)]
        limit: usize,
    },
    /// Take a key back; it stops working at once
    Revoke {
        /// Which one
        id: u64,
        #[command(flatten)]
        reason: Reason,
    },
}

impl Key {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let Self { reach, action } = self;
        let json = reach.json;
        converse(&reach, async |client| {
            match action {
                Action::Add { name, scope } => add(client, &name, &scope, json).await?,
                Action::List { limit } => list(client, limit, json).await?,
                Action::Revoke { id, reason } => {
                    client.delete(&["api-keys", &id.to_string()], &reason).await?;
                    eprintln!("key {id}: revoked");
                }
            }
            Ok(Exit::Fine)
        })
    }
}

async fn add(client: &Client, name: &str, scope: &[Role], json: bool) -> Result<(), Failure> {
    let scopes: Vec<_> = scope.iter().map(|role| role.as_str()).collect();
    let scopes = if scopes.is_empty() { Value::Null } else { json!(scopes) };
    let answer = client.post(&["api-keys"], &json!({"name": name, "scopes": scopes})).await?;
    match answer.get("key").and_then(Value::as_str) {
        Some(key) if !json => {
            eprintln!("key {} is shown this once:", answer["id"]);
            output::line(key);
        }
        _ => output::document(&answer),
    }
    Ok(())
}

async fn list(client: &Client, limit: usize, json: bool) -> Result<(), Failure> {
    let listing = Listing { path: &["api-keys"], name: "api_keys", query: Vec::new(), limit };
    let columns = ["id", "name", "prefix", "scopes", "created_at", "last_used_at", "revoked_at"];
    output::listing(&client.list(listing).await?, "api_keys", &columns, json);
    Ok(())
}
