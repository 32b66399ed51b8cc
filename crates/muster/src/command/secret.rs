//! The secret that a program shows to a server: from a file or from the environment, never from the command line (I6).
//! `muster secret show`: the one that a server made for itself.

use crate::{
    assembly,
    command::store_copy::StoreLocation,
    config::{Config, StoreChoice},
    failure::{Exit, Failure},
    output,
    secrets::{self, Named, Vault},
};
use clap::{Args, Subcommand, ValueEnum};
use muster_store_postgres::PostgresStore;
use std::{path::Path, sync::Arc};

/// `muster secret`.
#[derive(Debug, Args)]
pub(super) struct Secret {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Print a secret that the servers of a store made for themselves; keep it from others
    Show(Show),
}

#[derive(Debug, Args)]
struct Show {
    /// Which one
    #[arg(value_enum)]
    name: SecretName,
    #[command(flatten)]
    place: StoreLocation,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum SecretName {
    /// The operators' token: `MUSTER_TOKEN`, or `Authorization: Bearer`
    Admin,
    /// The nodes' secret: `NODE_AGENT_SHARED_SECRET`
    Node,
    /// The secret that simulation workers enrol with: `MUSTER_ENROL_SECRET`
    Enrolment,
}

impl Secret {
    pub(super) fn run(self) -> Result<Exit, Failure> {
        let Command::Show(show) = self.command;
        let config = show.place.settings()?;
        match vault(&config)?.find(show.name.named())? {
            Some(secret) => output::line(secret.reveal()),
            None => return Err(Failure::NotFound(none_in(&config))),
        }
        Ok(Exit::Fine)
    }
}

impl SecretName {
    fn named(self) -> Named {
        match self {
            Self::Admin => secrets::ADMIN,
            Self::Node => secrets::NODE,
            Self::Enrolment => secrets::ENROLMENT,
        }
    }
}

/// Location of the secrets. An embedded store is not opened: its server has it.
fn vault(config: &Config) -> Result<Vault, Failure> {
    match &config.store {
        StoreChoice::Postgres(url) => {
            let options = assembly::postgres_options(config.lease);
            Ok(Vault::Shared(Arc::new(PostgresStore::open_to_read(url.reveal(), &options)?)))
        }
        StoreChoice::Sqlite | StoreChoice::Memory => Ok(Vault::Files(config.data.clone())),
    }
}

fn none_in(config: &Config) -> String {
    let place = match &config.store {
        StoreChoice::Postgres(url) => url.to_string(),
        StoreChoice::Sqlite | StoreChoice::Memory => config.data.display().to_string(),
    };
    format!(
        "no server has made that secret in {place}: start `muster serve` there once, which makes it, unless its \
         environment gives it one"
    )
}

/// A kind of secret, and where it is stored.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kind {
    name: &'static str,
    variable: &'static str,
    /// File of the server's own secret, in its data directory.
    file: &'static str,
}

/// The nodes' secret (N3).
pub(super) const NODE: Kind =
    Kind { name: "node secret", variable: "NODE_AGENT_SHARED_SECRET", file: "node-secret" };

/// The secret that simulation workers enrol with (S1).
pub(super) const ENROLMENT: Kind =
    Kind { name: "enrolment secret", variable: "MUSTER_ENROL_SECRET", file: "enrol-secret" };

impl Kind {
    /// Finds the secret.
    pub(super) fn find(self, file: Option<&Path>) -> Result<String, Failure> {
        let secret = match file {
            Some(path) => {
                let text = std::fs::read_to_string(path);
                text.map_err(|error| Failure::Usage(format!("{}: {error}", path.display())))?
            }
            None => std::env::var(self.variable).unwrap_or_default(),
        };
        let secret = secret.trim();
        let Self { name, variable, file } = self;
        if secret.is_empty() {
            return Err(Failure::Usage(format!(
                "no {name}: set {variable}, or name its file with --secret-file \
                 (a server keeps its own in {file} in its data directory; `muster secret show` prints those in a database)"
            )));
        }
        if !secret.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(Failure::Usage(format!("the {name} holds characters that do not fit in a header")));
        }
        Ok(secret.to_owned())
    }
}
