//! A guard without the rest of Muster, for the tests of tasks that run programs.
//!
//! `agent_guard --lock FILE -- PROGRAM…` does what `muster guard` does.

use muster_worker_kit::process::guard;
use std::{env, ffi::OsString, path::Path, process};

fn main() {
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    process::exit(guard(Path::new(&arguments[1]), &arguments[3..]));
}
