//! The secrets of a server: from the environment, else from files it makes at its first start (I6).

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use std::{
    fs::{File, OpenOptions},
    io::{self, Read, Write},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

/// A text that must not be shown; prints as `…`.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(String);

/// The secrets of a server.
#[derive(Clone, Debug)]
pub(crate) struct Secrets {
    /// What nodes show.
    pub(crate) node: Secret,
    /// What operators show.
    pub(crate) admin: Secret,
    /// What simulation workers enrol with.
    pub(crate) enrolment: Secret,
    /// What tokens of logins are signed with; nobody ever shows it.
    pub(crate) token: Secret,
    /// What addresses of uploads are signed with; nobody ever shows it.
    pub(crate) artifact_key: Secret,
}

/// Why there is no secret. None of these shows one.
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
}

impl Secret {
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

impl Secrets {
    /// Finds or makes the secrets. `variable` looks one up in the environment.
    pub(crate) fn load(data: &Path, variable: impl Fn(&str) -> Option<String>) -> Result<Self, SecretError> {
        let named = |name, chars_min, file| find(variable(name), (name, chars_min), &data.join(file));
        let node = named("NODE_AGENT_SHARED_SECRET", CHARS_MIN, "node-secret")?;
        let admin = named("MUSTER_ADMIN_TOKEN", CHARS_MIN, "admin-token")?;
        let enrolment = named("MUSTER_ENROL_SECRET", CHARS_MIN, "enrol-secret")?;
        let token = named("MUSTER_TOKEN_SECRET", KEY_CHARS_MIN, "token-secret")?;
        let artifact_key = find(None, ("", CHARS_MIN), &data.join("artifact-key"))?;
        let all = [&node, &admin, &enrolment, &token];
        if (1..all.len()).any(|n| all[..n].contains(&all[n])) {
            return Err(SecretError::Same);
        }
        Ok(Self { node, admin, enrolment, token, artifact_key })
    }
}

/// A secret as the environment gives it, under a name and of a least length; else as its file does.
fn find(given: Option<String>, (name, chars_min): (&str, usize), path: &Path) -> Result<Secret, SecretError> {
    if let Some(text) = given {
        return Secret::check(&text, name, chars_min);
    }
    let in_file = |error| SecretError::File { path: path.to_owned(), error };
    match read(path) {
        Ok(text) => Secret::check(text.trim_end(), &path.display().to_string(), chars_min),
        Err(error) if error.kind() == io::ErrorKind::NotFound => generate(path).map_err(in_file),
        Err(error) => Err(in_file(error)),
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
    let text = URL_SAFE_NO_PAD.encode(rand::random::<[u8; 32]>());
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    tracing::info!(path = %path.display(), "generated a secret");
    Ok(Secret(text))
}

/// Shorter ones can be guessed.
const CHARS_MIN: usize = 16;

/// Whoever has a token can try keys without asking us, as many as they like.
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
        let first = Secrets::load(data.path(), unset).unwrap();
        let again = Secrets::load(data.path(), unset).unwrap();
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
        let load = |node: &'static str, admin: &'static str| {
            Secrets::load(data.path(), move |name| match name {
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
            "Secrets { node: …, admin: …, enrolment: …, token: …, artifact_key: … }"
        );
        let same = good.enrolment.reveal().to_owned();
        let shared = Secrets::load(data.path(), |name| name.contains("ADMIN").then(|| same.clone()));
        assert!(matches!(shared, Err(SecretError::Same)));
        let tokens = |text: &'static str| {
            Secrets::load(data.path(), |name| name.contains("TOKEN_SECRET").then(|| text.to_owned()))
        };
        let short = tokens("0123456789abcdef0123456789abcde").unwrap_err();
        assert!(short.to_string().starts_with("MUSTER_TOKEN_SECRET is too short: it needs at least 32"));
        assert!(tokens("0123456789abcdef0123456789abcdef").is_ok());
    }
}
