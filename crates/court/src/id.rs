//! Names of files, which can never leave their directory (C8, C23).

use std::{ffi::OsStr, fmt};

/// The id of an event, a task, a message or a result: also the name of its file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(String);

/// Why a text is no id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no id: it must begin with a letter or digit, and have up to 200 letters, digits and . _ : + -"
)]
pub struct IdError(String);

impl Id {
    /// Reads an id.
    pub fn parse(text: &str) -> Result<Self, IdError> {
        if is_id(text) {
            Ok(Self(text.to_owned()))
        } else {
            Err(IdError(text.chars().take(SHOWN_MAX).collect()))
        }
    }

    /// Reads the name of a file, `{id}.json`.
    #[must_use]
    pub fn of_file(name: &OsStr) -> Option<Self> {
        Self::parse(name.to_str()?.strip_suffix(".json")?).ok()
    }

    /// The name of the file that holds what has this id.
    #[must_use]
    pub fn file_name(&self) -> String {
        format!("{}.json", self.0)
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Id {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

fn is_id(text: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || b"._:+-".contains(&byte);
    text.len() <= LENGTH_MAX
        && text.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric())
        && text.bytes().all(is_inner)
}

const LENGTH_MAX: usize = 200;
const SHOWN_MAX: usize = 80;

#[cfg(test)]
mod tests {
    use super::*;

    /// C8, C23: the examples of the source are ids; nothing that could leave a directory is one.
    #[test]
    fn only_names_that_stay_where_they_are() {
        let longest = "a".repeat(LENGTH_MAX);
        for good in [
            "evt-github-12345678-2026-02-07T10:00:00Z",
            "evt-jira-QP-123-20260207100000",
            "evt-slack-reply-1234-5678-1707300000",
            "a+b_c.d",
            &longest,
        ] {
            assert_eq!(Id::of_file(OsStr::new(&format!("{good}.json"))), Some(Id(good.to_owned())));
        }
        let too_long = "a".repeat(LENGTH_MAX + 1);
        for bad in
            ["", ".", "..", "../a", "a/b", ".hidden", "-rf", "a b", "a\nb", "a\0", "é", "$(x)", &too_long]
        {
            assert!(Id::parse(bad).is_err(), "{bad:?}");
        }
        assert_eq!(Id::of_file(OsStr::new("a.txt")), None);
        assert_eq!(Id::of_file(OsStr::new(".json")), None);
    }
}
