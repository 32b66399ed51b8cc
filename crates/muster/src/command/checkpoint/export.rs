//! `muster checkpoint export`: everything about sessions in one file (S20).

use crate::{
    client::Client,
    command::converse,
    failure::{Exit, Failure},
    output,
    reach::Reach,
};
use muster_artifacts::ContentHash;
use serde_json::json;
use std::{
    io::{self, IsTerminal, Write},
    path::{Path, PathBuf},
};

/// Fetches a checkpoint into a file, or into a pipe.
pub(super) fn run(reach: &Reach, file: Option<PathBuf>, force: bool) -> Result<Exit, Failure> {
    if let Some(file) = file.as_ref().filter(|file| !force && file.symlink_metadata().is_ok()) {
        return Err(exists(file));
    }
    converse(reach, async |client| match file {
        Some(file) => to_file(client, (&file, force), reach.json).await,
        None if io::stdout().is_terminal() && !reach.json => {
            Err(Failure::Usage("a checkpoint does not belong on a terminal: name a file".to_owned()))
        }
        None => to_pipe(client).await,
    })
}

async fn to_pipe(client: &Client) -> Result<Exit, Failure> {
    let checkpoint = fetch(client).await?;
    let mut out = io::stdout().lock();
    out.write_all(&checkpoint)?;
    out.flush()?;
    Ok(Exit::Fine)
}

async fn to_file(client: &Client, (file, force): (&Path, bool), json: bool) -> Result<Exit, Failure> {
    let checkpoint = fetch(client).await?;
    // Beside its place first, so that half a file never has its name; and for its owner only, as it holds hashes of tokens.
    let directory = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut part = tempfile::NamedTempFile::new_in(directory)?;
    part.write_all(&checkpoint)?;
    part.as_file().sync_all()?;
    let kept = if force { part.persist(file) } else { part.persist_noclobber(file) };
    kept.map_err(|error| match error.error.kind() {
        io::ErrorKind::AlreadyExists => exists(file),
        _ => Failure::System(error.error),
    })?;
    let size = checkpoint.len();
    if json {
        output::document(&json!({"file": file.display().to_string(), "size": size}));
    } else {
        eprintln!("{size} bytes in {}", file.display());
    }
    Ok(Exit::Fine)
}

/// What is there may be the only checkpoint of its time.
fn exists(file: &Path) -> Failure {
    Failure::Refused(format!(
        "{} is there already; name another file, or give --force to replace it",
        file.display()
    ))
}

/// Fetches a checkpoint and makes sure that it is whole: its hash is that of what stands before it.
async fn fetch(client: &Client) -> Result<Vec<u8>, Failure> {
    let mut checkpoint = Vec::new();
    let take = |piece: &[u8]| {
        checkpoint.extend_from_slice(piece);
        Ok(())
    };
    client.fetch(&["api", "v1", "checkpoint"], take).await?;
    if !is_whole(&checkpoint) {
        return Err(Failure::System(io::Error::other("the checkpoint came damaged; fetch it again")));
    }
    Ok(checkpoint)
}

fn is_whole(document: &[u8]) -> bool {
    let inner = document.strip_prefix(b"{\"checkpoint\":").and_then(|rest| rest.strip_suffix(b"\"}"));
    let parts = inner.and_then(|inner| inner.split_at_checked(inner.len().checked_sub(64)?));
    parts.is_some_and(|(checkpoint, hash)| {
        let checkpoint = checkpoint.strip_suffix(b",\"sha256\":\"");
        checkpoint.is_some_and(|text| ContentHash::of(text).to_string().as_bytes() == hash)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S20: a checkpoint that lost or changed a byte is not taken for one.
    #[test]
    fn a_damaged_checkpoint_is_noticed() {
        let inner = "{\"distributed\":{}}";
        let hash = ContentHash::of(inner.as_bytes());
        let whole = format!("{{\"checkpoint\":{inner},\"sha256\":\"{hash}\"}}").into_bytes();
        assert!(is_whole(&whole));
        for at in 0..whole.len() {
            let mut other = whole.clone();
            other[at] ^= 1;
            assert!(!is_whole(&other), "{at}");
            assert!(!is_whole(&whole[..at]), "{at}");
        }
    }
}
