//! Python with the packages that tests use.

use std::path::{Path, PathBuf};

/// The environment that `./test` installs: `MUSTER_VENV`, else `target/venv`.
#[must_use]
pub fn venv() -> PathBuf {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/venv");
    let environment = std::env::var_os("MUSTER_VENV").map_or_else(beside, PathBuf::from);
    assert!(
        environment.join("bin/python3").exists(),
        "{} is missing: ./test installs it",
        environment.display()
    );
    environment
}
