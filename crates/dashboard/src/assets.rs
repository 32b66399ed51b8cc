//! Finds the dashboard's files: those of a release build within it, those of a debug build on disk.

#[cfg(not(embedded))]
mod disk;
#[cfg(embedded)]
mod embedded;

#[cfg(not(embedded))]
use disk::read;
#[cfg(embedded)]
use embedded::read;

use axum::http::HeaderValue;
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use bytes::Bytes;
use sha2::{Digest, Sha256};

/// A file as it is served.
#[derive(Clone, Debug)]
pub(crate) struct Asset {
    pub(crate) content: Bytes,
    /// Its content type.
    pub(crate) kind: &'static str,
    pub(crate) etag: HeaderValue,
}

/// Finds a file by its name below `assets/`; there is none of any other name than a plain one.
pub(crate) fn find(name: &str) -> Option<Asset> {
    if is_plain(name) { read(name) } else { None }
}

impl Asset {
    /// A file of this name; none if its kind is not one that a page may load.
    fn of(name: &str, content: Bytes) -> Option<Self> {
        let kind = kind_of(name)?;
        let hash = BASE64_URL_SAFE_NO_PAD.encode(&Sha256::digest(&content)[..TAG_BYTES]);
        let etag = HeaderValue::try_from(format!("\"{hash}\"")).expect("base64 is plain text");
        Some(Self { content, kind, etag })
    }
}

/// A name that leads nowhere else on any system: no `..`, nothing hidden, nothing absolute, no other alphabet.
fn is_plain(name: &str) -> bool {
    let is_plain_part = |part: &str| {
        let is_known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
        !part.is_empty() && !part.starts_with('.') && part.bytes().all(is_known)
    };
    name.len() <= NAME_BYTES_MAX && name.split('/').all(is_plain_part)
}

fn kind_of(name: &str) -> Option<&'static str> {
    let (_, extension) = name.rsplit_once('.')?;
    KINDS.iter().find(|(known, _)| *known == extension).map(|(_, kind)| *kind)
}

const KINDS: &[(&str, &str)] = &[
    ("html", "text/html; charset=utf-8"),
    ("css", "text/css; charset=utf-8"),
    ("js", "text/javascript; charset=utf-8"),
    ("svg", "image/svg+xml"),
    ("png", "image/png"),
    ("ico", "image/x-icon"),
    ("json", "application/json"),
    ("woff2", "font/woff2"),
];

/// Half a SHA-256: nobody looks for collisions in our own files.
const TAG_BYTES: usize = 16;

const NAME_BYTES_MAX: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    /// I7: no name leads out of the directory.
    #[test]
    fn only_plain_names_are_looked_for() {
        for name in ["index.html", "js/pages/run.js", "text/pt-BR.js", "a_b.css"] {
            assert!(is_plain(name), "{name}");
        }
        for name in [
            "",
            "/etc/passwd.json",
            "../Cargo.toml",
            "js/../../x.js",
            "js//x.js",
            "js/",
            ".hidden.js",
            "js/.x.js",
            "a\\b.js",
            "C:x.js",
            "a\0.js",
            "é.js",
            "%2e%2e/x.js",
        ] {
            assert!(!is_plain(name), "{name}");
            assert!(find(name).is_none(), "{name}");
        }
        assert!(!is_plain(&"a".repeat(NAME_BYTES_MAX + 1)));
    }

    #[test]
    fn kinds_are_those_that_pages_load() {
        assert_eq!(kind_of("js/a.b.js"), Some("text/javascript; charset=utf-8"));
        assert_eq!(kind_of("x.svg"), Some("image/svg+xml"));
        for other in ["x", "x.sh", "x.js.map", "js"] {
            assert_eq!(kind_of(other), None, "{other}");
        }
    }

    #[test]
    fn a_tag_tells_contents_apart() {
        let tag =
            |content: &'static str| Asset::of("a.js", Bytes::from_static(content.as_bytes())).unwrap().etag;
        assert_eq!(tag("a"), tag("a"));
        assert_ne!(tag("a"), tag("b"));
    }
}
