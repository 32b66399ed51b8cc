//! A guard without the rest of the agent, for the tests of the process room.
//!
//! `guard --lock FILE -- PROGRAM…` is what `muster guard` is. `guard agent --lock FILE -- PROGRAM…` is an agent that has
//! a guard run the program, and waits.

use muster_worker_kit::process::{Guards, Program, base_environment, guard};
use std::{env, ffi::OsString, path::PathBuf, process};
use tokio_util::sync::CancellationToken;

fn main() {
    let mut arguments: Vec<OsString> = env::args_os().skip(1).collect();
    let is_agent = arguments.first().is_some_and(|first| first == "agent");
    if is_agent {
        arguments.remove(0);
    }
    let lock = PathBuf::from(&arguments[1]);
    let argv = &arguments[3..];
    process::exit(if is_agent { agent(lock, argv) } else { guard(&lock, argv) });
}

#[tokio::main(flavor = "current_thread")]
async fn agent(lock: PathBuf, argv: &[OsString]) -> i32 {
    let guards = Guards { program: "/proc/self/exe".into(), args: Vec::new(), lock };
    let argv: Vec<String> = argv.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let mut environment = base_environment();
    environment.extend(env::var_os("MARK").map(|mark| ("MARK".into(), mark)));
    let program = Program { argv: &argv, directory: "/".as_ref(), environment };
    guards.run(&program, &CancellationToken::new()).await.map(|_| 0).unwrap_or(1)
}
