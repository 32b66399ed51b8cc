//! A pool worker without the rest of the binary, for the tests of this crate.
//!
//! `pool_worker guard --lock FILE -- PROGRAM…` is what `muster guard` is. `pool_worker work URL DIR [PROGRAM…]` is a
//! worker with two slots whose key and spool are in DIR.

use muster_model::{Millis, Timestamp};
use muster_worker_kit::{http::Servers, process};
use muster_workers::pool::{
    Credentials, KeyFile, Secret, Server,
    execute::{Exec, Handler},
    runtime::{Options, Worker},
    wire::Introduction,
};
use std::{env, ffi::OsString, path::Path, path::PathBuf, sync::Arc, time::Duration};
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
    let [url, directory, argv @ ..] = words else { panic!("work URL DIR [PROGRAM…]") };
    let spool = Path::new(directory).join("spool");
    let handler = if argv.is_empty() {
        Handler::BuiltIn
    } else {
        Handler::Exec(Exec {
            argv: argv.to_vec(),
            guards: process::Guards::of_own_binary(Options::guard_lock(&spool)),
            scratch: Options::scratch(&spool),
            timeout: Duration::from_secs(60),
            worker: "W".to_owned(),
        })
    };
    let started = tokio::time::Instant::now();
    let elapsed = move || i64::try_from(started.elapsed().as_millis()).expect("no test lasts that long");
    let options = Options {
        who: Introduction { name: "W".into(), region: None, specs: serde_json::Map::new() },
        slots: 2,
        heartbeat: Millis(1_000),
        grace: Millis(5_000),
        spool: spool.clone(),
        now: Arc::new(move || Timestamp(elapsed())),
    };
    let keys = || KeyFile::open(&Path::new(directory).join("key"), false, || [7; 32]);
    let servers = Servers::parse([url.as_str()]).expect("a URL");
    let client = servers.client().no_proxy().build().expect("a client");
    let credentials = Credentials::Password { user: "owner".to_owned(), password: Secret::new("pass") };
    let server = Server::new(client, servers, credentials);
    let worker = Worker::open(options, server, keys, handler).expect("the spool is ours");
    process::wait_for_earlier_guards(&Options::guard_lock(&spool)).await.expect("the lock is ours");
    let over = worker.run(CancellationToken::new()).await;
    panic!("it was never asked to leave: {over:?}");
}
