//! `muster artifact list|get|link`: files that tasks left behind (N21).

use super::converse;
use crate::{
    client::{Client, Listing},
    failure::{Exit, Failure},
    output,
    reach::Reach,
};
use clap::{ArgGroup, Args, Subcommand};
use serde_json::json;
use std::{
    fs::File,
    io::{self, IsTerminal, Write},
    path::{Path, PathBuf},
};

#[derive(Debug, Args)]
pub(crate) struct Artifact {
    #[command(flatten)]
    reach: Reach,
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List those of a run, or of a device in the newest runs
    #[command(group = ArgGroup::new("whose").required(true).args(["run", "device"]))]
    List {
        /// Of this run, oldest first
        #[arg(long, value_name = "ID")]
        run: Option<String>,
        /// Of this device, newest first
        #[arg(long, value_name = "ID")]
        device: Option<String>,
        /// At most so many
        #[arg(long, default_value_t = 1000)]
        limit: usize,
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

impl Artifact {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let Self { reach, action } = self;
        converse(&reach, async |client| match action {
            Action::List { run, device, limit } => {
                list(client, &artifacts_of(run.as_deref(), device.as_deref())?, limit, reach.json).await
            }
            Action::Get { path, output } => get(client, &path, output.as_deref(), reach.json).await,
            Action::Link { path } => link(client, &path, reach.json).await,
        })
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

async fn list(client: &Client, path: &[&str], limit: usize, json: bool) -> Result<Exit, Failure> {
    let artifacts = client.list(Listing { path, name: "artifacts", query: Vec::new(), limit }).await?;
    output::listing(
        &artifacts,
        "artifacts",
        &["device_id", "task_device_id", "attempt", "kind", "path"],
        json,
    );
    Ok(Exit::Fine)
}

async fn get(client: &Client, path: &str, output: Option<&Path>, json: bool) -> Result<Exit, Failure> {
    match output {
        Some(file) => to_file(client, path, file, json).await,
        None if json => Err(Failure::Usage("--json tells of a file: give --output".to_owned())),
        None if io::stdout().is_terminal() => {
            Err(Failure::Usage("a file does not belong on a terminal: give --output".to_owned()))
        }
        None => to_pipe(client, path).await,
    }
}

async fn to_pipe(client: &Client, path: &str) -> Result<Exit, Failure> {
    fetch(client, path, io::stdout().lock()).await?;
    Ok(Exit::Fine)
}

async fn to_file(client: &Client, path: &str, file: &Path, json: bool) -> Result<Exit, Failure> {
    // Beside its place first, so that half a file never has its name.
    let directory = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut part = tempfile::NamedTempFile::new_in(directory)?;
    let size = fetch(client, path, part.as_file_mut()).await?;
    let kept: File = part.persist(file).map_err(|error| error.error)?;
    kept.sync_all()?;
    if json {
        output::document(&json!({"storage_path": path, "file": file.display().to_string(), "size": size}));
    } else {
        eprintln!("{size} bytes in {}", file.display());
    }
    Ok(Exit::Fine)
}

/// Prints the link alone on stdout, so that a script can use it; the rest is for people.
async fn link(client: &Client, path: &str, json: bool) -> Result<Exit, Failure> {
    let link = client.get(&pieces_of(path), &[("link", "true".to_owned())]).await?;
    if json {
        output::document(&link);
        return Ok(Exit::Fine);
    }
    let url = link["public_url"].as_str().ok_or_else(|| client.not_ours("no public_url in the answer"))?;
    output::line(url);
    match link["expires_at"].as_i64() {
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
