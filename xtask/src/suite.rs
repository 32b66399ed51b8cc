//! All tests there are, in two parts: those of the crates, and those of the release binary from end to end.
//!
//! Both parts are compiled as one. Cargo chooses the features of a dependency by what is compiled together: a part by
//! itself would have the same hundreds of crates compiled again.

use crate::{
    failure::{self, Failure},
    process::{self, cargo},
    slowest,
};

/// Runs the tests of the crates; nextest leaves out those in documentation, so they follow.
pub(crate) fn crates() -> Result<(), Failure> {
    if !has_nextest() {
        return process::run(cargo(&["test"]).args(EVERYTHING).args(["--exclude", END_TO_END]));
    }
    let filter = format!("not package({END_TO_END})");
    slowest::named_after(cargo(&["nextest", "run"]).args(EVERYTHING).args(["-E", &filter]))?;
    process::run(cargo(&["test", "--quiet", "--doc"]).args(EVERYTHING))
}

/// Runs the tests of the binary that `MUSTER_BIN` names, or of the one that a release build left.
pub(crate) fn end_to_end(arguments: &[String]) -> Result<(), Failure> {
    failure::none(arguments)?;
    let binary =
        std::env::var_os("MUSTER_BIN").map_or_else(process::release_binary, |path| Ok(path.into()))?;
    if !binary.is_file() {
        let path = binary.display();
        return Err(Failure::Refused(format!("no {path}; next: run `cargo build --release -p muster`")));
    }
    if !has_nextest() {
        return process::run(cargo(&["test", "--no-fail-fast", "-p", END_TO_END]).env("MUSTER_BIN", binary));
    }
    let mut command = cargo(&["nextest", "run"]);
    let filter = format!("package({END_TO_END})");
    command.args(EVERYTHING).args(["--no-fail-fast", "--test-threads", AT_ONCE, "-E", &filter]);
    slowest::named_after(command.env("MUSTER_BIN", binary))
}

fn has_nextest() -> bool {
    process::answers(&mut cargo(&["nextest", "--version"]))
}

/// Output of `cargo xtask end-to-end --help`.
pub(crate) const HELP: &str = "\
usage: cargo xtask end-to-end

Runs the tests of the release binary from end to end. They need what `./test` installs.
MUSTER_BIN names another binary.";

/// Arguments that select what is compiled for tests: not the benchmarks, which have no tests, but the planted bugs,
/// which stay switched off.
const EVERYTHING: &[&str] =
    &["--workspace", "--exclude", "muster-bench", "--features", "muster-faultsim/mutants"];

const END_TO_END: &str = "muster-tests";

/// Tests from end to end wait for leases and browsers more than they compute.
const AT_ONCE: &str = "4";
