//! `muster user add|passwd|disable|enable|list` (P1).

use super::{converse, input};
use crate::{
    client::{Client, Listing},
    failure::{Exit, Failure},
    output,
    reach::Reach,
};
use clap::{Args, Subcommand};
use muster_model::Role;
use serde_json::{Value, json};

#[derive(Debug, Args)]
pub(crate) struct User {
    #[command(flatten)]
    reach: Reach,
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Add a user
    Add {
        /// Login name
        name: String,
        /// Role: CLIENT, WORKER_OWNER, VIEWER, OPERATOR or ADMIN; may be given several times
        #[arg(long, value_name = "ROLE", required = true, value_parser = parse_role)]
        role: Vec<Role>,
        /// Read the password from standard input
        #[arg(long)]
        password_stdin: bool,
    },
    /// Give a user a new password; ends their logins
    Passwd {
        /// Who
        name: String,
        /// Read the password from standard input
        #[arg(long)]
        password_stdin: bool,
        /// Give the current password before the new one, as who is no ADMIN must
        #[arg(long)]
        current: bool,
    },
    /// Put a user out of service; their tokens stop working at once
    Disable {
        /// Who
        name: String,
    },
    /// Put a user into service again
    Enable {
        /// Who
        name: String,
    },
    /// List users
    List {
        /// At most so many
        #[arg(long, default_value_t = 100_000)]
        limit: usize,
    },
}

impl User {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let Self { reach, action } = self;
        let json = reach.json;
        converse(&reach, async |client| {
            match action {
                Action::Add { name, role, password_stdin } => {
                    let roles: Vec<_> = role.into_iter().map(Role::as_str).collect();
                    let password = input::choose(password_stdin)?;
                    let user = json!({"username": name, "password": password, "roles": roles});
                    done(&client.post(&["users"], &user).await?, &format!("{name}: added"), json);
                }
                Action::Passwd { name, password_stdin, current } => {
                    let body = new_password(password_stdin, current)?;
                    change(client, &name, &body, json).await?;
                }
                Action::Disable { name } => change(client, &name, &json!({"active": false}), json).await?,
                Action::Enable { name } => change(client, &name, &json!({"active": true}), json).await?,
                Action::List { limit } => list(client, limit, json).await?,
            }
            Ok(Exit::Fine)
        })
    }
}

fn new_password(from_stdin: bool, current: bool) -> Result<Value, Failure> {
    let current = current.then(|| input::read(from_stdin, "current password")).transpose()?;
    let password = input::choose(from_stdin)?;
    Ok(json!({"current_password": current, "password": password}))
}

async fn change(client: &Client, name: &str, body: &Value, json: bool) -> Result<(), Failure> {
    done(&client.patch(&["users", name], body).await?, &format!("{name}: changed"), json);
    Ok(())
}

async fn list(client: &Client, limit: usize, json: bool) -> Result<(), Failure> {
    let listing = Listing { path: &["users"], name: "users", query: Vec::new(), limit };
    let columns = ["id", "username", "roles", "active", "created_at"];
    output::listing(&client.list(listing).await?, "users", &columns, json);
    Ok(())
}

fn done(answer: &Value, words: &str, json: bool) {
    if json {
        output::document(answer);
    } else {
        eprintln!("{words}");
    }
}

/// A role by its name, in letters of either size.
pub(super) fn parse_role(text: &str) -> Result<Role, String> {
    let word = text.to_ascii_uppercase().replace('-', "_");
    let known = || Role::ALL.map(Role::as_str).join(", ");
    Role::from_word(&word).ok_or_else(|| format!("there are {}", known()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P1: roles are known by their names.
    #[test]
    fn roles_are_known_by_name() {
        assert_eq!(parse_role("worker-owner"), Ok(Role::WorkerOwner));
        assert_eq!(parse_role("ADMIN"), Ok(Role::Admin));
        assert!(parse_role("root").unwrap_err().contains("VIEWER"));
    }
}
