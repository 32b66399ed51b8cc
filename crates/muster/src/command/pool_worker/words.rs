//! The arguments of the command line, and their checks.

use crate::failure::Failure;
use serde_json::Value;
use std::{
    ffi::OsStr,
    os::unix::fs::PermissionsExt,
    path::{Path, absolute},
    time::Duration,
};

/// P3: what a worker may be called.
pub(super) fn name(text: &str) -> Result<String, String> {
    within(text, 1..=120).ok_or_else(|| "a worker's name has 1 to 120 characters".to_owned())
}

/// P3: what a region may be called.
pub(super) fn region(text: &str) -> Result<String, String> {
    within(text, 1..=64).ok_or_else(|| "a region has 1 to 64 characters".to_owned())
}

/// P3: something that a worker can do.
pub(super) fn spec(text: &str) -> Result<(String, Value), String> {
    let (key, value) = text.split_once('=').filter(|(key, _)| !key.is_empty()).ok_or("write it KEY=JSON")?;
    if key == "slots" {
        return Err("slots are told with --slots".to_owned());
    }
    let value = serde_json::from_str(value)
        .map_err(|error| format!("{value} is no JSON ({error}); a text needs quotes: {key}='\"…\"'"))?;
    Ok((key.to_owned(), value))
}

/// A span, of which fractions are allowed.
pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| (0.05..=SECONDS_MAX).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| format!("write seconds from 0.05 to {SECONDS_MAX}"))
}

/// Finds the program of `--exec` (P16), so that a word mistyped is told at once and not by every job. One that is named by a path is meant
/// from here: it runs in directories of its own.
pub(super) fn program(argv: &[String], path: Option<&OsStr>) -> Result<Vec<String>, Failure> {
    let mut argv = argv.to_vec();
    let Some(name) = argv.first_mut() else { return Ok(argv) };
    let is_found = if name.contains('/') {
        *name = absolute(&*name)?.to_string_lossy().into_owned();
        is_program(Path::new(name))
    } else {
        let path = path.unwrap_or(OsStr::new(PATH_DEFAULT));
        std::env::split_paths(path).any(|directory| is_program(&directory.join(&*name)))
    };
    if is_found {
        return Ok(argv);
    }
    Err(Failure::Usage(format!("there is no program {name} that can be run: see --exec, and PATH")))
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

fn within(text: &str, length: std::ops::RangeInclusive<usize>) -> Option<String> {
    length.contains(&text.chars().count()).then(|| text.to_owned())
}

/// What shells search where nothing is said.
const PATH_DEFAULT: &str = "/usr/local/bin:/usr/bin:/bin";
/// Thirty days.
const SECONDS_MAX: f64 = 2_592_000.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Exit;
    use serde_json::json;

    /// P3: lengths are counted in code points.
    #[test]
    fn names_are_the_contracts() {
        assert!(name(&"ö".repeat(120)).is_ok() && region(&"ö".repeat(64)).is_ok());
        assert!(name("").is_err() && name(&"ö".repeat(121)).is_err() && region(&"ö".repeat(65)).is_err());
    }

    /// P3: specs are JSON; slots have a flag of their own.
    #[test]
    fn specs_are_json() {
        assert_eq!(spec("a=b=1").unwrap_err().split(' ').next(), Some("b=1"));
        assert_eq!(spec("gpu={\"n\":2}").unwrap(), ("gpu".to_owned(), json!({"n": 2})));
        assert!(spec("slots=2").is_err() && spec("=1").is_err() && spec("x").is_err());
    }

    #[test]
    fn seconds_may_have_fractions() {
        assert_eq!(seconds("0.5").unwrap(), Duration::from_millis(500));
        for wrong in ["0", "-1", "NaN", "inf", "1e99", "x"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }

    /// I4, P16: a program that is not there, or is none, is a matter of usage.
    #[test]
    fn a_program_is_found_at_the_start() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("infer");
        std::fs::write(&file, "#!/bin/sh").unwrap();
        let path = file.to_str().unwrap();
        let find = |word: &str| program(&[word.to_owned(), "x".to_owned()], Some(place.path().as_os_str()));
        for word in [path, "infer", "no-such-program", "./no/such", place.path().to_str().unwrap()] {
            let failure = find(word).unwrap_err();
            assert_eq!(failure.exit(), Exit::Usage);
            assert!(failure.to_string().contains("--exec"), "{failure}");
        }
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o700)).unwrap();
        assert_eq!(find(path).unwrap(), [path, "x"]);
        assert_eq!(find("infer").unwrap(), ["infer", "x"]);
    }
}
