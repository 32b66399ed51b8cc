//! Paths from outside: relative, and of names that a person can read.

use super::error::PathFault;
use muster_model::Name;

/// The parts of a path that stays in the directory it begins in.
pub(super) fn parts(path: &str) -> Result<Vec<&str>, PathFault> {
    if path.len() > PATH_BYTES_MAX {
        return Err(PathFault::TooLong);
    }
    if path.starts_with('/') {
        return Err(PathFault::Absolute);
    }
    let parts: Vec<&str> = path.split('/').collect();
    match parts.iter().find(|part| !is_plain(part)) {
        Some(&"..") => Err(PathFault::Leaves),
        Some(part) => Err(PathFault::Part((*part).to_owned())),
        None => Ok(parts),
    }
}

/// The parts of a path that a session may have for its directory (S26).
///
/// No part has a name of ours, in any case of letters: below a session's directory another session's would be moved
/// with the first one's files, and not every file system tells the cases apart.
pub(super) fn session_parts(path: &str) -> Result<Vec<&str>, PathFault> {
    let parts = parts(path)?;
    let is_reserved = |part: &&&str| RESERVED.iter().any(|name| name.eq_ignore_ascii_case(part));
    if let Some(part) = parts.iter().find(is_reserved) {
        return Err(PathFault::Reserved((*part).to_owned()));
    }
    match parts.iter().find(|part| part.starts_with('.')) {
        Some(part) => Err(PathFault::Part((*part).to_owned())),
        None => Ok(parts),
    }
}

/// Names that were checked for what cannot be seen and what could be a path of its own.
fn is_plain(part: &str) -> bool {
    part.len() <= PART_BYTES_MAX && Name::new(part).is_ok()
}

/// The longest path from outside.
pub(super) const PATH_BYTES_MAX: usize = 1024;
/// What file systems take as one name.
const PART_BYTES_MAX: usize = 255;
const RESERVED: [&str; 4] = ["quarantine", "chunks", "meta", "workers"];

#[cfg(test)]
mod tests {
    use super::*;

    /// S5, S26: what could leave the directory, or hide from who reads a log, is no path.
    #[test]
    fn hostile_paths_are_no_paths() {
        let long = "x".repeat(256);
        let longer = ["y"; 600].join("/");
        for (path, fault) in [
            ("/etc/passwd", PathFault::Absolute),
            ("//x", PathFault::Absolute),
            ("..", PathFault::Leaves),
            ("a/../../b", PathFault::Leaves),
            ("", PathFault::Part(String::new())),
            ("a//b", PathFault::Part(String::new())),
            ("a/", PathFault::Part(String::new())),
            ("./a", PathFault::Part(".".into())),
            ("a\\..\\b", PathFault::Part("a\\..\\b".into())),
            ("a\0b", PathFault::Part("a\0b".into())),
            ("x/a\nb", PathFault::Part("a\nb".into())),
            ("x/gpj.\u{202e}exe", PathFault::Part("gpj.\u{202e}exe".into())),
            ("a\u{200b}", PathFault::Part("a\u{200b}".into())),
            (" a", PathFault::Part(" a".into())),
            (&long, PathFault::Part(long.clone())),
            (&longer, PathFault::TooLong),
        ] {
            assert_eq!(parts(path), Err(fault), "{path:?}");
        }
        assert_eq!(parts("poses/카메라 1.json"), Ok(vec!["poses", "카메라 1.json"]));
    }

    /// S26: a session's directory is not one of ours, nor inside another's.
    #[test]
    fn names_of_ours_are_kept() {
        for bad in ["quarantine", "Quarantine/x", "a/chunks/7", "a/meta", "workers"] {
            assert!(matches!(session_parts(bad), Err(PathFault::Reserved(_))), "{bad}");
        }
        assert_eq!(session_parts(".muster"), Err(PathFault::Part(".muster".into())));
        assert_eq!(session_parts("2026/night.run"), Ok(vec!["2026", "night.run"]));
    }
}
