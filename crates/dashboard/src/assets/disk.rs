//! The files as they are at this moment, for whoever edits them.

use super::Asset;
use std::{
    env,
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
};

pub(super) fn read(name: &str) -> Option<Asset> {
    read_in(&directory(), name)
}

fn read_in(directory: &Path, name: &str) -> Option<Asset> {
    match contents(directory, name) {
        Ok(content) => Asset::of(name, content.into()),
        Err(error) => {
            tracing::debug!(%error, name, directory = %directory.display(), "a file of the dashboard is not there");
            None
        }
    }
}

fn directory() -> PathBuf {
    env::var_os(VARIABLE).map_or_else(|| PathBuf::from(DEFAULT), PathBuf::from)
}

/// Reads a file that truly lies there: a link would show what another place holds.
fn contents(directory: &Path, name: &str) -> io::Result<Vec<u8>> {
    let path = fs::canonicalize(directory)?.join(name);
    if fs::canonicalize(&path)? != path {
        return Err(io::Error::other("a link leads to it"));
    }
    let file = File::open(&path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    let mut content = Vec::new();
    let length = file.take(BYTES_MAX + 1).read_to_end(&mut content)?;
    if length as u64 > BYTES_MAX {
        return Err(io::Error::other(format!("it has more than {BYTES_MAX} bytes")));
    }
    Ok(content)
}

const VARIABLE: &str = "MUSTER_DASHBOARD_ASSETS";
const DEFAULT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/assets");

/// Far more than any of them has.
const BYTES_MAX: u64 = 4 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// I7: what lies elsewhere is not shown by a link, nor is a directory.
    #[test]
    fn links_lead_nowhere() {
        let (inside, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(outside.path().join("secret.json"), "{}").unwrap();
        fs::create_dir(inside.path().join("js")).unwrap();
        fs::write(inside.path().join("js/a.js"), "let a;").unwrap();
        symlink(outside.path().join("secret.json"), inside.path().join("link.json")).unwrap();
        symlink(outside.path(), inside.path().join("there")).unwrap();
        assert_eq!(read_in(inside.path(), "js/a.js").unwrap().content, "let a;");
        for name in ["link.json", "there/secret.json", "js", "nothing.js"] {
            assert!(read_in(inside.path(), name).is_none(), "{name}");
        }
    }

    #[test]
    fn an_edit_is_seen_at_once() {
        let inside = tempfile::tempdir().unwrap();
        let mut tags = Vec::new();
        for text in ["one", "two"] {
            fs::write(inside.path().join("a.js"), text).unwrap();
            let asset = read_in(inside.path(), "a.js").unwrap();
            assert_eq!(asset.content, text);
            tags.push(asset.etag);
        }
        assert_ne!(tags[0], tags[1]);
    }
}
