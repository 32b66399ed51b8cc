//! A worker without the rest of the binary, for the tests of this crate.
//!
//! `sim_worker guard --lock FILE -- PROGRAM…` is what `muster guard` is. `sim_worker work URL ID DIR [PROGRAM…]` is a
//! worker; its guards lock a file in DIR.

use muster_model::Timestamp;
use muster_worker_kit::{http::Servers, process};
use muster_workers::simulation::{
    Master, Secret,
    render::{Exec, Renderer, Synthetic},
    runtime::{Options, Worker},
    wire::Introduction,
};
use std::{env, ffi::OsString, path::PathBuf, sync::Arc};
use tokio_util::sync::CancellationToken;

fn main() {
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    if arguments[0] == "guard" {
        std::process::exit(process::guard(&PathBuf::from(&arguments[2]), &arguments[4..]));
    }
    let words: Vec<String> =
        arguments[1..].iter().map(|word| word.to_str().expect("UTF-8").to_owned()).collect();
    work(&words);
}

#[tokio::main(flavor = "current_thread")]
async fn work(words: &[String]) {
    let [url, id, directory, argv @ ..] = words else { panic!("work URL ID DIR [PROGRAM…]") };
    let renderer = if argv.is_empty() {
        Renderer::Synthetic(Synthetic { frames_per_second: 30, persons_per_frame: 2 })
    } else {
        let lock = PathBuf::from(directory).join(format!("{id}.lock"));
        process::wait_for_earlier_guards(&lock).await.expect("the lock is ours");
        Renderer::Exec(Exec { argv: argv.to_vec(), guards: process::Guards::of_own_binary(lock) })
    };
    let started = tokio::time::Instant::now();
    let elapsed = move || i64::try_from(started.elapsed().as_millis()).expect("no test lasts that long");
    let who = Introduction {
        worker: id.as_str().into(),
        role: "simulation".into(),
        cameras: 1,
        gpu: "none".into(),
        slots: 1,
        endpoint: None,
    };
    let options =
        Options { who, output_root: None, listener: None, now: Arc::new(move || Timestamp(elapsed())) };
    let servers = Servers::parse([url.as_str()]).expect("a URL");
    let client = servers.client().no_proxy().build().expect("a client");
    let master = Master::new(client, servers, id, Secret::new("enrol-me"));
    let over = Worker::new(options, master, renderer).run(CancellationToken::new()).await;
    panic!("it was never asked to leave: {over:?}");
}
