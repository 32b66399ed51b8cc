//! `muster artifact get`: files that tasks left behind (N21).

use super::converse;
use crate::{
    client::Client,
    failure::{Exit, Failure},
    output,
    reach::Reach,
};
use clap::{Args, Subcommand};
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
    /// Fetch one
    Get {
        /// Its storage_path, as a task's result tells it
        path: String,
        /// Where to put it [default: standard output]
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
}

impl Artifact {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let Self { reach, action: Action::Get { path, output } } = self;
        converse(&reach, async |client| match output {
            Some(file) => to_file(client, &path, &file, reach.json).await,
            None if reach.json => Err(Failure::Usage("--json tells of a file: give --output".to_owned())),
            None if io::stdout().is_terminal() => {
                Err(Failure::Usage("a file does not belong on a terminal: give --output".to_owned()))
            }
            None => to_pipe(client, &path).await,
        })
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

/// Writes an artifact somewhere and says how long it was.
async fn fetch(client: &Client, path: &str, mut sink: impl Write) -> Result<u64, Failure> {
    let mut size = 0;
    let pieces: Vec<&str> = ["api", "artifacts"].into_iter().chain(path.split('/')).collect();
    let take = |piece: &[u8]| {
        size += piece.len() as u64;
        sink.write_all(piece)
    };
    client.fetch(&pieces, take).await?;
    sink.flush()?;
    Ok(size)
}
