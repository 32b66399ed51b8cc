//! Paths of artifacts, in a form that no file system and no URL can misread.

use std::fmt::{self, Write};

/// A path below the store: components of `[A-Za-z0-9._~-]`, none of which begins with a dot.
///
/// Such a path stands in a URL as it is, and names with a leading dot are left for the store's own use.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StoragePath(String);

/// Reason why a text is no path of the store.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// The whole is too long.
    #[error("has {0} bytes; {max} are allowed", max = StoragePath::BYTES_MAX)]
    TooLong(usize),
    /// A component is empty, too long, begins with a dot or holds a character that is not allowed.
    #[error("has a component that is not allowed: {0:?}")]
    Component(String),
}

impl StoragePath {
    /// The longest path.
    pub const BYTES_MAX: usize = 1024;

    /// The longest component; leaves room for what the store adds to a file's name.
    pub const COMPONENT_BYTES_MAX: usize = 200;

    /// Takes a text as a path, if it is one already. Nothing is mended.
    ///
    /// # Errors
    /// When it is too long or a component is not allowed.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        if text.len() > Self::BYTES_MAX {
            return Err(PathError::TooLong(text.len()));
        }
        match text.split('/').find(|component| !is_component(component)) {
            Some(component) => Err(PathError::Component(component.to_owned())),
            None => Ok(Self(text.to_owned())),
        }
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The directories it lies in, outermost first, and its name.
    #[must_use]
    pub fn split(&self) -> (Vec<&str>, &str) {
        let mut components: Vec<&str> = self.0.split('/').collect();
        let name = components.pop().expect("a text has at least one component");
        (components, name)
    }
}

impl fmt::Display for StoragePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Writes any text as part of a component: bytes outside `[A-Za-z0-9._-]` become `~` and two hexadecimal digits.
///
/// Two texts never become the same. `~` and not `%`, because a URL would have to encode the latter once more.
#[must_use]
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        if is_plain(byte) {
            escaped.push(char::from(byte));
        } else {
            write!(escaped, "~{byte:02X}").expect("writing to a string does not fail");
        }
    }
    escaped
}

/// True if a byte stands for itself in a component.
pub(crate) fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-')
}

fn is_component(text: &str) -> bool {
    let fits = (1..=StoragePath::COMPONENT_BYTES_MAX).contains(&text.len());
    fits && !text.starts_with('.') && text.bytes().all(|byte| is_plain(byte) || byte == b'~')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// N21: no path can leave the store, name its own files, or look like another.
    #[test]
    fn hostile_paths_are_no_paths() {
        let long = "x".repeat(201);
        let longer = vec!["x".repeat(199); 6].join("/");
        for bad in [
            "",
            "/",
            "/etc/passwd",
            "a//b",
            "a/",
            ".",
            "..",
            "a/../b",
            "a/./b",
            ".hidden",
            "a/.b.meta",
            "a\\b",
            "a\0b",
            "a\nb",
            "a b",
            "a%2fb",
            "a\u{202e}b",
            "기기",
            "C:",
            &long,
            &longer,
        ] {
            assert!(StoragePath::parse(bad).is_err(), "{bad:?}");
        }
        for good in ["a", "videos/_/PC-01/d~3A1/run.1/17.png", "a..b", "~2E~2E/x", &"x".repeat(200)] {
            assert_eq!(StoragePath::parse(good).unwrap().as_str(), good);
        }
        assert_eq!(StoragePath::parse("a/b/c.png").unwrap().split(), (vec!["a", "b"], "c.png"));
    }

    /// N21: what had to be altered stays apart from what it then looks like.
    #[test]
    fn escaping_keeps_texts_apart() {
        assert_eq!(escape("PC-01_a.b"), "PC-01_a.b");
        assert_eq!(escape("10.0.0.7:5555"), "10.0.0.7~3A5555");
        assert_eq!(escape("../x\0\u{e9}"), "..~2Fx~00~C3~A9");
        assert_ne!(escape("a:b"), escape("a~3Ab"));
        assert_eq!(escape("~"), "~7E");
    }
}
