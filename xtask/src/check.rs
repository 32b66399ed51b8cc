//! `cargo xtask check`: everything a commit must pass.

use crate::{
    failure::{self, Failure},
    lines,
    process::{self, Stopwatch, cargo},
    rules, sizes, suite,
};

/// Passes the gates one after the other and stops at the first that is shut.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    failure::none(arguments)?;
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
    let everything = ["--workspace", "--all-targets", "--features", "muster-faultsim/mutants"];
    process::run(cargo(&["clippy"]).args(everything).args(["--", "-D", "warnings"]))
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

/// Output of `cargo xtask check --help`.
pub(crate) const HELP: &str = "\
usage: cargo xtask check

Passes these gates in order and stops at the first that fails:
fmt, sizes, tuples, rules, clippy, tests (with a hundred simulated worlds and all planted bugs), doc.";

/// The quick ones first: whoever forgot to format should hear of it before the compiler runs.
const GATES: &[Gate] = &[
    Gate {
        name: "fmt",
        next: "run `cargo fmt --all`",
        run: || process::run(&mut cargo(&["fmt", "--all", "--check"])),
    },
    Gate { name: "sizes", next: "split or rename the files above", run: || sizes::run(&[]) },
    Gate { name: "tuples", next: "give the parameters above names, in a struct", run: lines::refuse_tuples },
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
    Gate { name: "tests", next: "run the failing one alone: `cargo test -p CRATE NAME`", run: suite::crates },
    Gate { name: "doc", next: "mend the documentation named above", run: doc },
];
