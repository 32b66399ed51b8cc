//! What proves who the owner of a worker is: never from the command line (I6).

use crate::failure::Failure;
use muster_workers::pool::{Credentials, Secret};
use std::{os::unix::fs::PermissionsExt, path::Path};

/// Finds a password, by file or by `MUSTER_PASSWORD`, else a token, by `MUSTER_TOKEN`.
pub(super) fn find(
    user: Option<&str>,
    file: Option<&Path>,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Credentials, Failure> {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    let password = match file {
        Some(path) => Some(read(path)?),
        None => set("MUSTER_PASSWORD"),
    };
    match (password, set("MUSTER_TOKEN")) {
        (Some(password), _) => {
            let no_user = || Failure::Usage("a password needs the name of its owner: --user NAME".to_owned());
            let user = user.ok_or_else(no_user)?.to_owned();
            Ok(Credentials::Password { user, password: Secret::new(password) })
        }
        (None, Some(token)) if token.bytes().all(|byte| byte.is_ascii_graphic()) => {
            Ok(Credentials::Token(Secret::new(token)))
        }
        (None, Some(_)) => {
            Err(Failure::Usage("MUSTER_TOKEN holds characters that do not fit in a header".to_owned()))
        }
        (None, None) => Err(Failure::Usage(
            "no password: set MUSTER_PASSWORD, or name its file with --password-file; or set MUSTER_TOKEN"
                .to_owned(),
        )),
    }
}

fn read(path: &Path) -> Result<String, Failure> {
    let unreadable = |error: std::io::Error| Failure::Usage(format!("{}: {error}", path.display()));
    let text = std::fs::read_to_string(path).map_err(unreadable)?;
    if path.metadata().map_err(unreadable)?.permissions().mode() & 0o077 != 0 {
        tracing::warn!(path = %path.display(), "others can read this password: chmod 600 it, and change it if they did");
    }
    let text = text.trim_end_matches(['\r', '\n']);
    if text.is_empty() {
        return Err(Failure::Usage(format!("{} holds no password", path.display())));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables<'a>(pairs: &'a [(&'a str, &'a str)]) -> impl Fn(&str) -> Option<String> + 'a {
        move |name| pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    }

    fn is_password(found: &Credentials, expected: &str) -> bool {
        matches!(found, Credentials::Password { password, .. } if *password == Secret::new(expected))
    }

    /// P16, I6: the file first, then MUSTER_PASSWORD, then MUSTER_TOKEN; none is ever shown.
    #[test]
    fn credentials_are_found_in_order() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("password");
        std::fs::write(&file, "hunter2 in a file \n").unwrap();
        let all = [("MUSTER_PASSWORD", "hunter2"), ("MUSTER_TOKEN", "hunter2-token")];
        assert!(is_password(&find(Some("u"), Some(&file), variables(&all)).unwrap(), "hunter2 in a file "));
        assert!(is_password(&find(Some("u"), None, variables(&all)).unwrap(), "hunter2"));
        let token = find(None, None, variables(&all[1..])).unwrap();
        assert!(matches!(&token, Credentials::Token(token) if *token == Secret::new("hunter2-token")));
        assert!(!format!("{token:?}").contains("hunter2"));
        std::fs::write(&file, "\n").unwrap();
        for wrong in [
            find(None, None, variables(&all)),
            find(Some("u"), None, variables(&[])),
            find(Some("u"), None, variables(&[("MUSTER_PASSWORD", ""), ("MUSTER_TOKEN", "")])),
            find(None, None, variables(&[("MUSTER_TOKEN", "hunter2\n")])),
            find(Some("u"), Some(&file), variables(&all)),
            find(Some("u"), Some(&place.path().join("none")), variables(&all)),
        ] {
            let error = wrong.unwrap_err().to_string();
            assert!(!error.contains("hunter2"), "{error}");
        }
    }
}
