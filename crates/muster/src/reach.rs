//! Finds the server and the token for client commands (I5).

use crate::failure::Exit;
use clap::Args;
use std::{
    io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

/// What every client command takes.
#[derive(Args, Clone, Debug)]
pub(crate) struct Reach {
    /// The server's address [default: $MUSTER_SERVER, else http://127.0.0.1:7400]
    #[arg(long, value_name = "URL", global = true)]
    pub(crate) server: Option<String>,
    /// Print one JSON document and nothing else
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

/// Why the server or the token cannot be told.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReachError {
    #[error("{0} is no address of a server; write it like http://127.0.0.1:7400")]
    Address(String),
    #[error("others can read the token in {}: chmod 600 it first", .0.display())]
    Exposed(PathBuf),
    #[error("the token in {} cannot be read: {error}", path.display())]
    Token { path: PathBuf, error: io::Error },
}

impl ReachError {
    /// The exit code that goes with it.
    pub(crate) const fn exit(&self) -> Exit {
        match self {
            Self::Address(_) => Exit::Usage,
            Self::Exposed(_) | Self::Token { .. } => Exit::Refused,
        }
    }
}

/// The server: by flag, by `MUSTER_SERVER`, else the one on this machine.
pub(crate) fn server(
    flag: Option<&str>,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<reqwest::Url, ReachError> {
    let text = flag.map(str::to_owned).or_else(|| set(&variable, "MUSTER_SERVER"));
    let text = text.unwrap_or_else(|| DEFAULT_SERVER.to_owned());
    let is_ours = |url: &reqwest::Url| matches!(url.scheme(), "http" | "https") && url.has_host();
    let url = reqwest::Url::parse(&text).ok().filter(is_ours);
    url.ok_or(ReachError::Address(text))
}

/// The token: by `MUSTER_TOKEN`, by the file that a login leaves, else by the server's own `MUSTER_ADMIN_TOKEN`.
pub(crate) fn token(variable: impl Fn(&str) -> Option<String>) -> Result<Option<String>, ReachError> {
    if let Some(token) = set(&variable, "MUSTER_TOKEN") {
        return Ok(Some(token));
    }
    let in_file = login_file(&variable).map(|path| read(&path)).transpose()?.flatten();
    Ok(in_file.or_else(|| set(&variable, "MUSTER_ADMIN_TOKEN")))
}

fn login_file(variable: &impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let home = || set(variable, "HOME").map(|home| Path::new(&home).join(".config"));
    let config = set(variable, "XDG_CONFIG_HOME").map(PathBuf::from).or_else(home)?;
    Some(config.join("muster/token"))
}

fn read(path: &Path) -> Result<Option<String>, ReachError> {
    let unreadable = |error| ReachError::Token { path: path.to_owned(), error };
    match path.metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(error)),
        Ok(metadata) if metadata.permissions().mode() & 0o077 != 0 => {
            return Err(ReachError::Exposed(path.to_owned()));
        }
        Ok(_) => {}
    }
    let text = std::fs::read_to_string(path).map_err(unreadable)?;
    Ok(Some(text.trim().to_owned()).filter(|token| !token.is_empty()))
}

/// A variable; one that is empty counts as not set.
fn set(variable: &impl Fn(&str) -> Option<String>, name: &str) -> Option<String> {
    variable(name).filter(|value| !value.is_empty())
}

const DEFAULT_SERVER: &str = "http://127.0.0.1:7400";

#[cfg(test)]
mod tests {
    use super::*;

    fn variables<'a>(pairs: &'a [(&'a str, &'a str)]) -> impl Fn(&str) -> Option<String> + 'a {
        move |name| pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    }

    /// I5: flag, then MUSTER_SERVER, then this machine.
    #[test]
    fn the_server_is_found_in_order() {
        let set = [("MUSTER_SERVER", "http://b:1")];
        assert_eq!(server(Some("http://a:1"), variables(&set)).unwrap().as_str(), "http://a:1/");
        assert_eq!(server(None, variables(&set)).unwrap().as_str(), "http://b:1/");
        assert_eq!(server(None, variables(&[])).unwrap().as_str(), "http://127.0.0.1:7400/");
        for wrong in ["127.0.0.1:7400", "ftp://a", "x"] {
            assert_eq!(server(Some(wrong), variables(&[])).unwrap_err().exit(), Exit::Usage, "{wrong}");
        }
    }

    /// I5: MUSTER_TOKEN, then the login file, which must be for its owner only, then MUSTER_ADMIN_TOKEN.
    #[test]
    fn the_token_is_found_in_order() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("muster/token");
        let config = home.path().to_str().unwrap();
        let admin = [("XDG_CONFIG_HOME", config), ("MUSTER_ADMIN_TOKEN", "admin")];
        assert_eq!(token(variables(&admin)).unwrap().as_deref(), Some("admin"));
        std::fs::create_dir(home.path().join("muster")).unwrap();
        std::fs::write(&path, "from-file\n").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(matches!(token(variables(&admin)), Err(ReachError::Exposed(_))));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(token(variables(&admin)).unwrap().as_deref(), Some("from-file"));
        let given = [("XDG_CONFIG_HOME", config), ("MUSTER_TOKEN", "given")];
        assert_eq!(token(variables(&given)).unwrap().as_deref(), Some("given"));
        assert_eq!(token(variables(&[])).unwrap(), None);
    }
}
