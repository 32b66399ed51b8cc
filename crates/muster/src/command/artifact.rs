//! `muster artifact list|get|link`: files that tasks left behind (N21).

use super::client_command::{Action, Conversation, Limit, Noun};
use crate::{
    client::{Answer, Client, Listing},
    failure::{Exit, Failure},
    output,
};
use clap::{ArgGroup, Subcommand};
use muster_contract_nodes::ArtifactLink;
use serde_json::json;
use std::{
    fs::File,
    io::{self, IsTerminal, Write},
    path::{Path, PathBuf},
};

pub(crate) type Artifact = Noun<ArtifactAction>;

#[derive(Debug, Subcommand)]
pub(crate) enum ArtifactAction {
    /// List those of a run, or of a device in the newest runs
    #[command(group = ArgGroup::new("whose").required(true).args(["run", "device"]))]
    List {
        /// Of this run, oldest first
        #[arg(long, value_name = "ID")]
        run: Option<String>,
        /// Of this device, newest first
        #[arg(long, value_name = "ID")]
        device: Option<String>,
        #[command(flatten)]
        limit: Limit<1000>,
    },
    /// Fetch one
    Get {
        /// Its storage_path, as the list and a task's result tell it
        path: String,
        /// File to write [default: standard output]
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Print a link that opens one without a token until it expires
    Link {
        /// Its storage_path, as the list and a task's result tell it
        path: String,
    },
}

impl Action for ArtifactAction {
    async fn run(self, talk: &Conversation) -> Result<Exit, Failure> {
        match self {
            Self::List { run, device, limit: Limit { limit } } => {
                let path = artifacts_of(run.as_deref(), device.as_deref())?;
                let listing = Listing { path: &path, name: "artifacts", query: Vec::new(), limit };
                talk.list(listing, &["device_id", "task_device_id", "attempt", "kind", "path"]).await
            }
            Self::Get { path, output } => get(talk, &path, output.as_deref()).await,
            Self::Link { path } => link(talk, &path).await,
        }
    }
}

/// The route of the files of a run or a device.
fn artifacts_of<'a>(run: Option<&'a str>, device: Option<&'a str>) -> Result<[&'a str; 4], Failure> {
    match (run, device) {
        (Some(run), _) => Ok(["api", "runs", run, "artifacts"]),
        (None, Some(device)) => Ok(["api", "devices", device, "artifacts"]),
        (None, None) => Err(Failure::Usage("whose files? give --run or --device".to_owned())),
    }
}

async fn get(talk: &Conversation, path: &str, output: Option<&Path>) -> Result<Exit, Failure> {
    match output {
        Some(file) => to_file(talk, path, file).await,
        None if talk.json => Err(Failure::Usage("--json tells of a file: give --output".to_owned())),
        None if io::stdout().is_terminal() => {
            Err(Failure::Usage("a file does not belong on a terminal: give --output".to_owned()))
        }
        None => {
            fetch(&talk.client, path, io::stdout().lock()).await?;
            Ok(Exit::Fine)
        }
    }
}

async fn to_file(talk: &Conversation, path: &str, file: &Path) -> Result<Exit, Failure> {
    // Beside its place first, so that half a file never has its name.
    let directory = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut part = tempfile::NamedTempFile::new_in(directory)?;
    let size = fetch(&talk.client, path, part.as_file_mut()).await?;
    let kept: File = part.persist(file).map_err(|error| error.error)?;
    kept.sync_all()?;
    let file = file.display();
    let document = json!({"storage_path": path, "file": file.to_string(), "size": size});
    Ok(talk.confirm(&document, format_args!("{size} bytes in {file}")))
}

/// Prints the link alone on stdout, so that a script can use it; the rest is for people.
async fn link(talk: &Conversation, path: &str) -> Result<Exit, Failure> {
    let query = [("link", "true".to_owned())];
    let link: Answer<ArtifactLink> = talk.client.get(&pieces_of(path), &query).await?;
    if talk.json {
        output::document(&link.raw);
        return Ok(Exit::Fine);
    }
    output::line(&link.read.public_url);
    match link.read.expires_at {
        Some(at) => eprintln!("opens without a token until {}", output::moment(at)),
        None => eprintln!("needs an operator's token: the server has artifacts.public_url_days = 0"),
    }
    Ok(Exit::Fine)
}

/// The route of an artifact, piece by piece.
fn pieces_of(path: &str) -> Vec<&str> {
    ["api", "artifacts"].into_iter().chain(path.split('/')).collect()
}

/// Writes an artifact to a sink and returns its size.
async fn fetch(client: &Client, path: &str, mut sink: impl Write) -> Result<u64, Failure> {
    let mut size = 0;
    let take = |piece: &[u8]| {
        size += piece.len() as u64;
        sink.write_all(piece)
    };
    client.fetch(&pieces_of(path), take).await?;
    sink.flush()?;
    Ok(size)
}
