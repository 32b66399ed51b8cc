//! The secrets of a server: from the environment, else from what the first start made, in files or in the store (I6).

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use muster_store::StoreError;
use muster_store_postgres::PostgresStore;
use std::{
    fs::{File, OpenOptions},
    io::{self, Read, Write},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::Arc,
};

/// A text that must not be shown; prints as `…`.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(String);

/// The secrets of a server.
#[derive(Clone, Debug)]
pub(crate) struct Secrets {
    /// The nodes' secret.
    pub(crate) node: Secret,
    /// The operators' token.
    pub(crate) admin: Secret,
    /// The secret that simulation workers enrol with.
    pub(crate) enrolment: Secret,
    /// Key that signs the tokens of logins; never shown.
    pub(crate) token: Secret,
    /// Key that signs the addresses of uploads; never shown.
    pub(crate) artifact_key: Secret,
    /// Secret by which servers that share a store recognise each other; never shown.
    pub(crate) forwarding: Secret,
}

/// Reasons why there is no secret. None of these shows one.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SecretError {
    #[error(
        "{origin} is too short: it needs at least {chars_min} characters; unset it to have one generated"
    )]
    TooShort { origin: String, chars_min: usize },
    #[error("{0} holds characters that do not fit in a header: use visible ASCII without blanks")]
    Unprintable(String),
    #[error(
        "two of node secret, admin token, enrolment secret and token secret are the same: one would open the other's doors"
    )]
    Same,
    #[error("{}: {error}; make it readable and writable for the server", path.display())]
    File { path: PathBuf, error: io::Error },
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Secret {
    /// A secret that nobody knows yet.
    fn new() -> Self {
        Self(URL_SAFE_NO_PAD.encode(rand::random::<[u8; 32]>()))
    }

    /// The text itself, for where it is needed.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    fn check(text: &str, origin: &str, chars_min: usize) -> Result<Self, SecretError> {
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(SecretError::Unprintable(origin.to_owned()));
        }
        if text.len() < chars_min {
            return Err(SecretError::TooShort { origin: origin.to_owned(), chars_min });
        }
        Ok(Self(text.to_owned()))
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("…")
    }
}

/// Storage of the secrets that the environment does not give.
#[derive(Clone)]
pub(crate) enum Vault {
    /// In files of a data directory.
    Files(PathBuf),
    /// In the store that servers share: all of them must know the same.
    Shared(Arc<PostgresStore>),
}

/// A secret by its names, and how long it must be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Named {
    /// In the environment; none where it cannot be given.
    variable: Option<&'static str>,
    /// In a data directory or a store.
    kept_as: &'static str,
    chars_min: usize,
}

impl Secrets {
    /// Finds or makes the secrets. `variable` looks one up in the environment.
    pub(crate) fn load(
        vault: &Vault,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, SecretError> {
        let find = |named: Named| match named.variable.and_then(|name| Some((name, variable(name)?))) {
            Some((name, text)) => Secret::check(&text, name, named.chars_min),
            None => vault.find_or_make(named),
        };
        let (node, admin, enrolment, token) = (find(NODE)?, find(ADMIN)?, find(ENROLMENT)?, find(TOKEN)?);
        let all = [&node, &admin, &enrolment, &token];
        if (1..all.len()).any(|n| all[..n].contains(&all[n])) {
            return Err(SecretError::Same);
        }
        let forwarding = match vault {
            // A server that has its data to itself forwards no requests.
            Vault::Files(_) => Secret::new(),
            Vault::Shared(_) => find(FORWARDING)?,
        };
        Ok(Self { node, admin, enrolment, token, artifact_key: find(ARTIFACTS)?, forwarding })
    }
}

impl Vault {
    /// The secret, if there is one. Makes none.
    pub(crate) fn find(&self, named: Named) -> Result<Option<Secret>, SecretError> {
        match self {
            Self::Files(data) => find_file(&data.join(named.kept_as), named.chars_min),
            Self::Shared(store) => {
                let kept = store.secrets()?.into_iter().find(|(name, _)| name == named.kept_as);
                kept.map(|(name, text)| Secret::check(&text, &name, named.chars_min)).transpose()
            }
        }
    }

    fn find_or_make(&self, named: Named) -> Result<Secret, SecretError> {
        match self {
            Self::Files(data) => {
                let path = data.join(named.kept_as);
                let in_file = |error| SecretError::File { path: path.clone(), error };
                match find_file(&path, named.chars_min)? {
                    Some(secret) => Ok(secret),
                    None => generate(&path).map_err(in_file),
                }
            }
            Self::Shared(store) => {
                // Of servers that start at once one is the first; all get what it brought.
                let text = store.secret(named.kept_as, Secret::new().reveal())?;
                Secret::check(&text, named.kept_as, named.chars_min)
            }
        }
    }
}

/// The secrets with a file in the data directory, and the variables that may take their place.
pub(crate) fn files() -> impl Iterator<Item = (&'static str, Option<&'static str>)> {
    KEPT.into_iter().map(|named| (named.kept_as, named.variable))
}

/// The secrets that lie in a data directory, by name.
pub(crate) fn kept_in(data: &Path) -> Result<Vec<(String, String)>, SecretError> {
    let mut kept = Vec::new();
    for named in KEPT {
        if let Some(secret) = find_file(&data.join(named.kept_as), named.chars_min)? {
            kept.push((named.kept_as.to_owned(), secret.0));
        }
    }
    Ok(kept)
}

/// Those of some secrets that a data directory has files for, checked.
pub(crate) fn fitting_files(given: &[(String, String)]) -> Result<Vec<(String, String)>, SecretError> {
    fitting(given, &KEPT)
}

/// Those of some secrets that servers keep in a store they share, checked.
pub(crate) fn fitting_stores(given: &[(String, String)]) -> Result<Vec<(String, String)>, SecretError> {
    fitting(given, &[KEPT.as_slice(), &[FORWARDING]].concat())
}

fn fitting(given: &[(String, String)], known: &[Named]) -> Result<Vec<(String, String)>, SecretError> {
    let mut fitting = Vec::new();
    for (name, value) in given {
        if let Some(named) = known.iter().find(|named| named.kept_as == name) {
            Secret::check(value, name, named.chars_min)?;
            fitting.push((name.clone(), value.clone()));
        }
    }
    Ok(fitting)
}

/// Writes secrets into a data directory, over what is there.
pub(crate) fn replace(data: &Path, secrets: &[(String, String)]) -> Result<(), SecretError> {
    secrets.iter().try_for_each(|(name, value)| {
        let path = data.join(name);
        replace_file(&path, value).map_err(|error| SecretError::File { path, error })
    })
}

/// Beside its name first: half a secret opens nothing.
fn replace_file(path: &Path, text: &str) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    let mut part = tempfile::NamedTempFile::new_in(directory)?;
    part.write_all(text.as_bytes())?;
    part.as_file().sync_all()?;
    part.persist(path)?;
    File::open(directory)?.sync_all()
}

fn find_file(path: &Path, chars_min: usize) -> Result<Option<Secret>, SecretError> {
    match read(path) {
        Ok(text) => Secret::check(text.trim_end(), &path.display().to_string(), chars_min).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(SecretError::File { path: path.to_owned(), error }),
    }
}

fn read(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    if file.metadata()?.permissions().mode() & 0o077 != 0 {
        tracing::warn!(path = %path.display(), "others can read this secret: chmod 600 it, and replace it if they did");
    }
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    Ok(text)
}

fn generate(path: &Path) -> io::Result<Secret> {
    let secret = Secret::new();
    write(path, &secret)?;
    tracing::info!(path = %path.display(), "generated a secret");
    Ok(secret)
}

fn write(path: &Path, secret: &Secret) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(secret.reveal().as_bytes())?;
    file.sync_all()
}

/// The nodes' secret.
pub(crate) const NODE: Named =
    Named { variable: Some("NODE_AGENT_SHARED_SECRET"), kept_as: "node-secret", chars_min: CHARS_MIN };

/// The operators' token.
pub(crate) const ADMIN: Named =
    Named { variable: Some("MUSTER_ADMIN_TOKEN"), kept_as: "admin-token", chars_min: CHARS_MIN };

/// The secret that simulation workers enrol with.
pub(crate) const ENROLMENT: Named =
    Named { variable: Some("MUSTER_ENROL_SECRET"), kept_as: "enrol-secret", chars_min: CHARS_MIN };

const TOKEN: Named =
    Named { variable: Some("MUSTER_TOKEN_SECRET"), kept_as: "token-secret", chars_min: KEY_CHARS_MIN };
const ARTIFACTS: Named = Named { variable: None, kept_as: "artifact-key", chars_min: CHARS_MIN };
const FORWARDING: Named = Named { variable: None, kept_as: "forwarding-key", chars_min: KEY_CHARS_MIN };

/// The secrets with a file in the data directory.
const KEPT: [Named; 5] = [NODE, ADMIN, ENROLMENT, TOKEN, ARTIFACTS];

/// Shorter ones can be guessed.
const CHARS_MIN: usize = 16;

/// Keys of tokens are longer: with a token at hand one can try as many as one likes without asking us.
const KEY_CHARS_MIN: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    fn unset(_: &str) -> Option<String> {
        None
    }

    /// I6, N21, S1: what is not set is generated once, for the owner only, and found again.
    #[test]
    fn missing_secrets_are_made_and_kept() {
        let data = tempfile::tempdir().unwrap();
        let vault = Vault::Files(data.path().to_owned());
        assert!(vault.find(ADMIN).unwrap().is_none());
        let first = Secrets::load(&vault, unset).unwrap();
        let again = Secrets::load(&vault, unset).unwrap();
        assert_eq!(vault.find(ADMIN).unwrap(), Some(first.admin.clone()));
        assert_eq!((first.node.reveal(), first.admin.reveal()), (again.node.reveal(), again.admin.reveal()));
        assert_ne!(first.node, first.admin);
        assert_eq!(first.artifact_key, again.artifact_key);
        let files = [
            ("node-secret", &first.node),
            ("admin-token", &first.admin),
            ("enrol-secret", &first.enrolment),
            ("token-secret", &first.token),
            ("artifact-key", &first.artifact_key),
        ];
        for (file, secret) in files {
            let path = data.path().join(file);
            assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
            assert_eq!(std::fs::read_to_string(path).unwrap(), secret.reveal());
            assert_eq!(secret.reveal().len(), 43);
        }
    }

    /// I6: the environment comes first; what is short, blank or shared is refused; no error shows a secret.
    #[test]
    fn secrets_from_the_environment_are_checked() {
        let data = tempfile::tempdir().unwrap();
        let vault = Vault::Files(data.path().to_owned());
        let load = |node: &'static str, admin: &'static str| {
            Secrets::load(&vault, move |name| match name {
                "NODE_AGENT_SHARED_SECRET" => Some(node.to_owned()),
                "MUSTER_ADMIN_TOKEN" => Some(admin.to_owned()),
                _ => None,
            })
        };
        let good = load("0123456789abcdef", "fedcba9876543210").unwrap();
        assert_eq!(good.node.reveal(), "0123456789abcdef");
        assert!(!data.path().join("node-secret").exists());
        for (node, admin) in [
            ("hunter2", "fedcba9876543210"),
            ("", "fedcba9876543210"),
            ("hunter2 with blanks in it", "fedcba9876543210"),
            ("hunter2-hunter2-hunter2", "hunter2-hunter2-hunter2"),
        ] {
            let error = load(node, admin).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}");
        }
        assert_eq!(
            format!("{good:?}"),
            "Secrets { node: …, admin: …, enrolment: …, token: …, artifact_key: …, forwarding: … }"
        );
        let same = good.enrolment.reveal().to_owned();
        let shared = Secrets::load(&vault, |name| name.contains("ADMIN").then(|| same.clone()));
        assert!(matches!(shared, Err(SecretError::Same)));
        let tokens = |text: &'static str| {
            Secrets::load(&vault, |name| name.contains("TOKEN_SECRET").then(|| text.to_owned()))
        };
        let short = tokens("0123456789abcdef0123456789abcde").unwrap_err();
        assert!(short.to_string().starts_with("MUSTER_TOKEN_SECRET is too short: it needs at least 32"));
        assert!(tokens("0123456789abcdef0123456789abcdef").is_ok());
    }
}
