//! The project's own chores: `cargo xtask <command>`.

mod check;
mod code;
mod failure;
mod lines;
mod process;
mod rules;
mod sizes;
mod slowest;
mod soak;
mod source;
mod suite;

use failure::Failure;
use std::{env, path::PathBuf, process::ExitCode};

fn main() -> ExitCode {
    let arguments: Vec<String> =
        env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned()).collect();
    match enter_workspace().and_then(|()| dispatch(&arguments)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("xtask: {failure}");
            failure.exit_code()
        }
    }
}

/// Makes paths mean the same from wherever in the tree the command was called.
fn enter_workspace() -> Result<(), Failure> {
    let package = env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    env::set_current_dir(PathBuf::from(package).join("..")).map_err(Failure::Workspace)
}

/// Finds the command and gives it the rest of the line.
fn dispatch(arguments: &[String]) -> Result<(), Failure> {
    let Some((name, rest)) = arguments.split_first() else {
        return Err(Failure::Usage(format!("no command given\n\n{HELP}")));
    };
    if is_help(name) {
        println!("{HELP}");
        return Ok(());
    }
    let Some(command) = COMMANDS.iter().find(|command| command.name == name) else {
        return Err(Failure::Usage(format!("no command `{name}`\n\n{HELP}")));
    };
    if rest.iter().any(|argument| is_help(argument)) {
        println!("{}", command.help);
        return Ok(());
    }
    (command.run)(rest)
}

fn is_help(argument: &str) -> bool {
    matches!(argument, "--help" | "-h" | "help")
}

/// One word after `cargo xtask`.
struct Command {
    name: &'static str,
    help: &'static str,
    run: fn(&[String]) -> Result<(), Failure>,
}

const COMMANDS: &[Command] = &[
    Command { name: "check", help: check::HELP, run: check::run },
    Command { name: "end-to-end", help: suite::HELP, run: suite::end_to_end },
    Command { name: "lines", help: lines::HELP, run: lines::run },
    Command { name: "rules", help: rules::HELP, run: rules::run },
    Command { name: "sizes", help: sizes::HELP, run: sizes::run },
    Command { name: "soak", help: soak::HELP, run: soak::run },
];

const HELP: &str = "\
usage: cargo xtask <command> [--help]

  check        everything a commit must pass
  end-to-end   the tests of the release binary
  lines        how large each crate is
  rules        which contract rules have a test
  sizes        files that grew too long, and names that say nothing
  soak         the long series: kills and simulation seeds";
