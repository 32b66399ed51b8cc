//! The program of `--exec`, as it is found at the start (P16).

use crate::failure::Failure;
use std::{
    ffi::OsStr,
    os::unix::fs::PermissionsExt,
    path::{Path, absolute},
};

/// Finds the program, so that a word mistyped is told at once and not by every job. One that is named by a path is meant
/// from here: it runs in directories of its own.
pub(super) fn find(argv: &[String], path: Option<&OsStr>) -> Result<Vec<String>, Failure> {
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

/// What shells search where nothing is said.
const PATH_DEFAULT: &str = "/usr/local/bin:/usr/bin:/bin";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Exit;

    /// I4, P16: a program that is not there, or is none, is a matter of usage.
    #[test]
    fn a_program_is_found_at_the_start() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("infer");
        std::fs::write(&file, "#!/bin/sh").unwrap();
        let path = file.to_str().unwrap();
        let find = |word: &str| find(&[word.to_owned(), "x".to_owned()], Some(place.path().as_os_str()));
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
