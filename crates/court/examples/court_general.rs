//! A general without the rest of Muster, for tests that kill it.
//!
//! `court_general HOME NAME` runs the general that `HOME/generals/NAME.toml` tells of, until it is killed.
//! `court_general guard --lock FILE -- PROGRAM…` is what `muster guard` is.

use muster_court::{
    Folder,
    config::Court,
    roles::general::{GeneralSetup, run},
};
use muster_worker_kit::process::guard;
use std::{env, ffi::OsString, path::Path, process, sync::Arc};
use tokio_util::sync::CancellationToken;

fn main() {
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    if arguments[0] == "guard" {
        process::exit(guard(Path::new(&arguments[2]), &arguments[4..]));
    }
    general(Path::new(&arguments[0]), &arguments[1].to_string_lossy());
}

#[tokio::main(flavor = "current_thread")]
async fn general(home: &Path, name: &str) {
    let court = Court::read(home).expect("the court is configured");
    let folder = Arc::new(Folder::open(home).expect("the court opens"));
    let general = court.generals.get(name).expect("there is such a general").clone();
    let post = GeneralSetup::new(&folder, general, "ops".to_owned(), None);
    run(folder, post, CancellationToken::new()).await.expect("the general runs");
}
