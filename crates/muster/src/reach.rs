//! Flags and variables of client commands: the server, the token (I5), and the reason for the audit log (I7).

use super::{
    failure::Exit,
    login_file::{Login, LoginFile, LoginFileError, StoredLogin},
};
use clap::Args;
use muster_worker_kit::http::{NotAServer, Servers};

/// Options of every client command.
#[derive(Args, Clone, Debug)]
pub(crate) struct Reach {
    /// The server's address; several, given again or with commas, are tried in turn [default: $MUSTER_SERVER, else http://127.0.0.1:7400]
    #[arg(long, value_name = "URL", global = true)]
    pub(crate) server: Vec<String>,
    /// Print one JSON document and nothing else
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

/// Reasons why the server or the token cannot be found.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReachError {
    #[error(transparent)]
    Address(#[from] NotAServer),
    #[error(transparent)]
    File(#[from] LoginFileError),
}

impl ReachError {
    /// The exit code that goes with it.
    pub(crate) const fn exit(&self) -> Exit {
        match self {
            Self::Address(_) => Exit::Usage,
            Self::File(error) => error.exit(),
        }
    }
}

/// The servers: by flag, by `MUSTER_SERVER`, else the one on this machine.
pub(crate) fn servers(
    flags: &[String],
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Servers, ReachError> {
    if !flags.is_empty() {
        return Ok(Servers::parse(flags.iter().map(String::as_str))?);
    }
    let text = set(&variable, "MUSTER_SERVER").unwrap_or_else(|| DEFAULT_SERVER.to_owned());
    Ok(Servers::parse([text.as_str()])?)
}

/// Credentials for the server.
#[derive(Debug)]
pub(crate) enum Access {
    /// Nothing is known.
    Nothing,
    /// A token that stays as it is.
    Token(String),
    /// A login, which is kept in a file and must be refreshed.
    Login(Login, LoginFile),
}

/// The token: by `MUSTER_TOKEN`, by the file that a login leaves, else by the server's own `MUSTER_ADMIN_TOKEN`.
pub(crate) fn access(
    servers: &Servers,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Access, ReachError> {
    if let Some(token) = set(&variable, "MUSTER_TOKEN") {
        return Ok(Access::Token(token));
    }
    if let Some(file) = LoginFile::find(&variable) {
        match file.read(servers)? {
            StoredLogin::Bare(token) => return Ok(Access::Token(token)),
            StoredLogin::Login(login) => return Ok(Access::Login(login, file)),
            StoredLogin::Nothing => {}
        }
    }
    Ok(set(&variable, "MUSTER_ADMIN_TOKEN").map_or(Access::Nothing, Access::Token))
}

/// A variable; one that is empty counts as not set.
fn set(variable: &impl Fn(&str) -> Option<String>, name: &str) -> Option<String> {
    variable(name).filter(|value| !value.is_empty())
}

const DEFAULT_SERVER: &str = "http://127.0.0.1:7400";

/// Option of commands whose reason is recorded.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Reason {
    /// Why; stands in the audit log
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

impl Reason {
    /// In the user's words.
    pub(crate) fn text(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    /// Wraps a reason that was entered on a screen.
    pub(crate) fn because(reason: &str) -> Self {
        Self { reason: Some(reason.to_owned()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables<'a>(pairs: &'a [(&'a str, &'a str)]) -> impl Fn(&str) -> Option<String> + 'a {
        move |name| pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    }

    fn found(flags: &[&str], pairs: &[(&str, &str)]) -> Result<String, ReachError> {
        let flags: Vec<String> = flags.iter().map(|flag| (*flag).to_owned()).collect();
        servers(&flags, variables(pairs)).map(|servers| servers.to_string())
    }

    /// I5: flag, then MUSTER_SERVER, then this machine; several are named one by one or with commas.
    #[test]
    fn the_server_is_found_in_order() {
        let set = [("MUSTER_SERVER", "http://b:1,https://c")];
        assert_eq!(found(&["http://a:1"], &set).unwrap(), "http://a:1");
        assert_eq!(
            found(&["http://a:1,http://d", "http://e"], &set).unwrap(),
            "http://a:1, http://d, http://e"
        );
        assert_eq!(found(&[], &set).unwrap(), "http://b:1, https://c");
        assert_eq!(found(&[], &[("MUSTER_SERVER", "")]).unwrap(), "http://127.0.0.1:7400");
    }

    /// I4, I5: a wrong address among right ones is a matter of usage, and named.
    #[test]
    fn a_wrong_address_is_named() {
        for (flags, wrong) in [
            (["127.0.0.1:7400", "http://b"], "127.0.0.1:7400"),
            (["http://a", "http://b,ftp://c"], "ftp://c"),
            (["http://a,x", "http://b"], "x"),
        ] {
            let error = found(&flags, &[]).unwrap_err();
            assert_eq!(error.exit(), Exit::Usage);
            assert!(error.to_string().starts_with(&format!("{wrong} is no address")), "{error}");
        }
        assert!(found(&[], &[("MUSTER_SERVER", "http://a,b")]).is_err());
    }

    /// I5: MUSTER_TOKEN, then the login file, which must be for its owner only, then MUSTER_ADMIN_TOKEN.
    #[test]
    fn the_token_is_found_in_order() {
        let home = tempfile::tempdir().unwrap();
        let config = home.path().to_str().unwrap();
        let here = servers(&[], variables(&[])).unwrap();
        let token = |pairs: &[(&str, &str)]| match access(&here, variables(pairs)).unwrap() {
            Access::Nothing => None,
            Access::Token(token) => Some(token),
            Access::Login(login, _) => Some(format!("login {}", login.token)),
        };
        let admin = [("XDG_CONFIG_HOME", config), ("MUSTER_ADMIN_TOKEN", "admin")];
        assert_eq!(token(&admin).as_deref(), Some("admin"));
        let file = LoginFile::find(&variables(&admin)).unwrap();
        let login = Login { user: "ann".to_owned(), token: "mine".to_owned(), expires_at: 9, lifetime: 9 };
        file.keep(&here, &login, &file.lock().unwrap()).unwrap();
        assert_eq!(token(&admin).as_deref(), Some("login mine"));
        let elsewhere = access(&Servers::parse(["http://b:1"]).unwrap(), variables(&admin)).unwrap();
        assert!(
            matches!(elsewhere, Access::Token(token) if token == "admin"),
            "no token is shown to another server"
        );
        let given = [("XDG_CONFIG_HOME", config), ("MUSTER_TOKEN", "given")];
        assert_eq!(token(&given).as_deref(), Some("given"));
        assert_eq!(token(&[]), None);
        std::fs::set_permissions(file.path(), std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
        assert_eq!(access(&here, variables(&admin)).unwrap_err().exit(), Exit::Refused);
    }
}
