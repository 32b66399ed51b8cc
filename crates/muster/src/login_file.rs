//! The file in which `muster login` keeps tokens, one per server, for its owner only (I5).
//!
//! Servers that stand for each other know the same tokens: a login at several is kept under the address of each, so
//! that a command that names one of them finds it, and an exchanged token is exchanged wherever it stands.

use crate::failure::Exit;
use muster_accounts::wire::Token;
use muster_coordinator::{Clock, SystemClock};
use muster_worker_kit::http::Servers;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    fs::{DirBuilder, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

/// File with the tokens of logins.
#[derive(Clone, Debug)]
pub(crate) struct LoginFile(PathBuf);

/// A login at one server.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Login {
    /// Name of the user.
    pub(crate) user: String,
    /// The token.
    pub(crate) token: String,
    /// Its end, in seconds since the Unix epoch.
    pub(crate) expires_at: i64,
    /// Lifetime in seconds.
    pub(crate) lifetime: i64,
}

/// Entry of the file for a server.
#[derive(Debug)]
pub(crate) enum StoredLogin {
    /// Nothing.
    Nothing,
    /// A bare token that somebody put there, for every server.
    Bare(String),
    /// A login.
    Login(Login),
}

/// Reasons why the file cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LoginFileError {
    #[error("others can read the token in {}: chmod 600 it first", .0.display())]
    Exposed(PathBuf),
    #[error("{} holds neither a token nor logins; remove it and run `muster login`", .0.display())]
    Unreadable(PathBuf),
    #[error("the token in {} cannot be read or written: {error}", path.display())]
    Io { path: PathBuf, error: io::Error },
}

/// Lock of the file: no other process changes it while this lives.
pub(crate) struct Lock(#[allow(dead_code, reason = "held, not used")] File);

/// By server.
type Logins = BTreeMap<String, Login>;

impl LoginFileError {
    /// The exit code that goes with it.
    pub(crate) const fn exit(&self) -> Exit {
        Exit::Refused
    }
}

impl Login {
    /// Reads the response to a login or a refresh.
    pub(crate) fn begun(user: &str, answer: Token) -> Self {
        let Token { access_token: token, expires_in: lifetime, .. } = answer;
        Self { user: user.to_owned(), token, expires_at: now_s() + lifetime, lifetime }
    }

    /// True if it has expired.
    pub(crate) fn is_over(&self) -> bool {
        now_s() >= self.expires_at
    }

    /// True if it should be refreshed: in its last third.
    pub(crate) fn is_ageing(&self) -> bool {
        (self.expires_at - now_s()) * 3 < self.lifetime
    }
}

impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Login({} until {})", self.user, self.expires_at)
    }
}

impl LoginFile {
    /// `$XDG_CONFIG_HOME/muster/token`, else `~/.config/muster/token`.
    pub(crate) fn find(variable: &impl Fn(&str) -> Option<String>) -> Option<Self> {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let home = || set("HOME").map(|home| Path::new(&home).join(".config"));
        let config = set("XDG_CONFIG_HOME").map(PathBuf::from).or_else(home)?;
        Some(Self(config.join("muster/token")))
    }

    /// Its path.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// The entry for the first of some servers that has one.
    pub(crate) fn read(&self, servers: &Servers) -> Result<StoredLogin, LoginFileError> {
        let Some(text) = self.text()? else { return Ok(StoredLogin::Nothing) };
        let text = text.trim();
        if !text.starts_with('{') {
            let is_token = text.bytes().all(|byte| byte.is_ascii_graphic());
            return match text {
                "" => Ok(StoredLogin::Nothing),
                token if is_token => Ok(StoredLogin::Bare(token.to_owned())),
                _ => Err(LoginFileError::Unreadable(self.0.clone())),
            };
        }
        let mut logins = self.logins(text)?;
        let login = servers.urls().find_map(|server| logins.remove(server.as_str()));
        Ok(login.map_or(StoredLogin::Nothing, StoredLogin::Login))
    }

    /// Keeps others from changing it. Two commands that refresh one login at once would end each other's.
    pub(crate) fn lock(&self) -> Result<Lock, LoginFileError> {
        let locked = || {
            let parent = self.0.parent().unwrap_or(Path::new("."));
            DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
            let path = self.0.with_extension("lock");
            let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path)?;
            file.lock()?;
            Ok(Lock(file))
        };
        locked().map_err(|error| self.io(error))
    }

    /// Keeps a login at some servers. A bare token gives way.
    pub(crate) fn keep(&self, servers: &Servers, login: &Login, _: &Lock) -> Result<(), LoginFileError> {
        let mut logins = self.all()?;
        logins.extend(servers.urls().map(|server| (server.to_string(), login.clone())));
        self.replace(&logins).map_err(|error| self.io(error))
    }

    /// Puts another login in the place of one, or with `None` removes it, wherever it is kept.
    pub(crate) fn exchange(&self, old: &Login, new: Option<&Login>, _: &Lock) -> Result<(), LoginFileError> {
        let mut logins = self.all()?;
        match new {
            Some(new) => {
                let same = logins.values_mut().filter(|login| login.token == old.token);
                same.for_each(|login| *login = new.clone());
            }
            None => logins.retain(|_, login| login.token != old.token),
        }
        self.replace(&logins).map_err(|error| self.io(error))
    }

    /// A reader sees the old file or the new one, nothing between.
    fn replace(&self, logins: &Logins) -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(self.0.parent().unwrap_or(Path::new(".")))?;
        file.write_all(serde_json::to_string_pretty(logins)?.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(&self.0)?;
        Ok(())
    }

    fn text(&self) -> Result<Option<String>, LoginFileError> {
        match self.0.metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.io(error)),
            Ok(metadata) if metadata.permissions().mode() & 0o077 != 0 => {
                return Err(LoginFileError::Exposed(self.0.clone()));
            }
            Ok(_) => {}
        }
        std::fs::read_to_string(&self.0).map(Some).map_err(|error| self.io(error))
    }

    /// Every login; a bare token is none.
    fn all(&self) -> Result<Logins, LoginFileError> {
        let text = self.text()?.unwrap_or_default();
        if text.trim_start().starts_with('{') { self.logins(&text) } else { Ok(Logins::new()) }
    }

    fn logins(&self, text: &str) -> Result<Logins, LoginFileError> {
        serde_json::from_str(text).map_err(|_| LoginFileError::Unreadable(self.0.clone()))
    }

    fn io(&self, error: io::Error) -> LoginFileError {
        LoginFileError::Io { path: self.0.clone(), error }
    }
}

fn now_s() -> i64 {
    SystemClock::start().now().0.div_euclid(1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(home: &Path) -> LoginFile {
        let home = home.to_str().unwrap().to_owned();
        LoginFile::find(&move |name: &str| (name == "HOME").then(|| home.clone())).unwrap()
    }

    fn login(token: &str) -> Login {
        Login { user: "ann".to_owned(), token: token.to_owned(), expires_at: now_s() + 900, lifetime: 900 }
    }

    fn at(text: &str) -> Servers {
        Servers::parse([text]).unwrap()
    }

    fn token(file: &LoginFile, servers: &str) -> Option<String> {
        match file.read(&at(servers)).unwrap() {
            StoredLogin::Login(login) => Some(login.token),
            StoredLogin::Bare(_) | StoredLogin::Nothing => None,
        }
    }

    /// I5: each server has a token of its own, in a file for its owner only, that is replaced as a whole.
    #[test]
    fn tokens_are_kept_by_server() {
        let home = tempfile::tempdir().unwrap();
        let file = file(home.path());
        assert_eq!(token(&file, "http://a:1"), None);
        let lock = file.lock().unwrap();
        for (servers, given) in [("http://a:1", "t1"), ("https://b/muster", "t2"), ("http://a:1", "t3")] {
            file.keep(&at(servers), &login(given), &lock).unwrap();
        }
        assert_eq!(file.path(), home.path().join(".config/muster/token"));
        assert_eq!(file.path().metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(token(&file, "http://a:1").as_deref(), Some("t3"));
        file.exchange(&login("t3"), None, &lock).unwrap();
        assert_eq!(token(&file, "http://a:1"), None);
        assert_eq!(token(&file, "https://b/muster").as_deref(), Some("t2"));
    }

    /// I5: servers that stand for each other have one token; exchanged or ended at one, it is so at all.
    #[test]
    fn a_login_at_several_servers_is_one() {
        let home = tempfile::tempdir().unwrap();
        let file = file(home.path());
        let lock = file.lock().unwrap();
        file.keep(&at("http://a,http://b"), &login("t1"), &lock).unwrap();
        file.keep(&at("http://c"), &login("other"), &lock).unwrap();
        assert_eq!(
            token(&file, "http://x,http://b,http://c").as_deref(),
            Some("t1"),
            "the first that is kept"
        );
        file.exchange(&login("t1"), Some(&login("t2")), &lock).unwrap();
        for (server, kept) in [("http://a", "t2"), ("http://b", "t2"), ("http://c", "other")] {
            assert_eq!(token(&file, server).as_deref(), Some(kept), "{server}");
        }
        file.exchange(&login("t2"), None, &lock).unwrap();
        assert_eq!(token(&file, "http://a,http://b"), None);
    }

    /// I5, I6: a file that others can read is refused; a bare token is taken; nonsense is named; no token shows.
    #[test]
    fn the_file_is_checked() {
        let home = tempfile::tempdir().unwrap();
        let (file, server) = (file(home.path()), at("http://a:1"));
        drop(file.lock().unwrap());
        std::fs::write(file.path(), "bare-token\n").unwrap();
        std::fs::set_permissions(file.path(), PermissionsExt::from_mode(0o644)).unwrap();
        assert!(matches!(file.read(&server), Err(LoginFileError::Exposed(_))));
        std::fs::set_permissions(file.path(), PermissionsExt::from_mode(0o600)).unwrap();
        assert!(matches!(file.read(&server), Ok(StoredLogin::Bare(token)) if token == "bare-token"));
        for nonsense in ["{", "{\"http://a:1/\": 7}", "two words"] {
            std::fs::write(file.path(), nonsense).unwrap();
            assert!(matches!(file.read(&server), Err(LoginFileError::Unreadable(_))), "{nonsense}");
        }
        assert!(!format!("{:?}", login("hunter2")).contains("hunter2"));
    }

    /// I5: a login is refreshed in its last third, and is over at its end.
    #[test]
    fn a_login_ages() {
        let at = |left| Login { expires_at: now_s() + left, ..login("t") };
        assert!(!at(400).is_ageing() && at(200).is_ageing() && !at(200).is_over());
        assert!(at(0).is_over() && at(-5).is_over());
    }
}
