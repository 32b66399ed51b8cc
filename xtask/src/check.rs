//! `cargo xtask check`: everything a commit must pass.

use crate::failure::Failure;
use crate::options;
use crate::process::{self, cargo};
use crate::stopwatch::Stopwatch;
use crate::{rules, sizes};

/// Passes the gates one after the other and stops at the first that is shut.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    options::none(arguments)?;
    let total = Stopwatch::start();
    for gate in GATES {
        pass(gate)?;
    }
    println!("== check passed in {}", total.elapsed());
    Ok(())
}

fn pass(gate: &Gate) -> Result<(), Failure> {
    println!("== {}", gate.name);
    let watch = Stopwatch::start();
    match (gate.run)() {
        Ok(()) => {
            println!("   {} passed in {}", gate.name, watch.elapsed());
            Ok(())
        }
        Err(failure) => {
            let (name, next) = (gate.name, gate.next);
            Err(Failure::Refused(format!("{failure}\n   {name} failed in {}; next: {next}", watch.elapsed())))
        }
    }
}

fn clippy() -> Result<(), Failure> {
    process::run(&mut cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))
}

/// Runs the tests that need no binary; nextest leaves out those in documentation, so they follow.
fn tests() -> Result<(), Failure> {
    if !process::answers(&mut cargo(&["nextest", "--version"])) {
        return process::run(cargo(&["test"]).args(NOT_END_TO_END));
    }
    process::run(cargo(&["nextest", "run"]).args(NOT_END_TO_END))?;
    process::run(cargo(&["test", "--quiet", "--doc"]).args(NOT_END_TO_END))
}

fn doc() -> Result<(), Failure> {
    process::run(cargo(&["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-Dwarnings"))
}

/// One thing a commit must pass, and what to do when it does not.
struct Gate {
    name: &'static str,
    next: &'static str,
    run: fn() -> Result<(), Failure>,
}

/// What `cargo xtask check --help` prints.
pub(crate) const HELP: &str = "\
usage: cargo xtask check

Passes these gates in order and stops at the first that fails:
fmt, sizes, rules, clippy, tests (a hundred simulated worlds among them), doc.";

/// The quick ones first: whoever forgot to format should hear of it before the compiler runs.
const GATES: &[Gate] = &[
    Gate {
        name: "fmt",
        next: "run `cargo fmt --all`",
        run: || process::run(&mut cargo(&["fmt", "--all", "--check"])),
    },
    Gate { name: "sizes", next: "split or rename the files above", run: || sizes::run(&[]) },
    Gate {
        name: "rules",
        next: "write the tests, with the rule's id in their `///` comment",
        run: || rules::run(&[]),
    },
    Gate {
        name: "clippy",
        next: "mend what is listed above; `cargo clippy --fix` does some of it",
        run: clippy,
    },
    Gate { name: "tests", next: "run the failing one alone: `cargo test -p CRATE NAME`", run: tests },
    Gate { name: "doc", next: "mend the documentation named above", run: doc },
];

/// The end-to-end tests want a release binary and the benchmarks a quiet machine.
const NOT_END_TO_END: &[&str] = &["--workspace", "--exclude", "muster-tests", "--exclude", "muster-bench"];
