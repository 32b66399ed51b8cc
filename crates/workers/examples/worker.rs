//! The workers without the rest of the binary, for the tests of this crate.
//!
//! `worker guard --lock FILE -- PROGRAM…` does what `muster guard` does. `worker pool URL DIR [PROGRAM…]` is a pool worker
//! with two slots whose key and spool are in DIR. `worker sim URL ID DIR [PROGRAM…]` is a simulation worker; its guards
//! lock a file in DIR.

use muster_model::{Millis, Timestamp};
use muster_worker_kit::{
    Secret,
    http::Servers,
    process::{Guards, guard, wait_for_earlier_guards},
};
use muster_workers::{pool, simulation};
use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tokio_util::sync::CancellationToken;

fn main() {
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    if arguments[0] == "guard" {
        std::process::exit(guard(Path::new(&arguments[2]), &arguments[4..]));
    }
    let words: Vec<String> = arguments.iter().map(|word| word.to_str().expect("UTF-8").to_owned()).collect();
    work(&words);
}

#[tokio::main(flavor = "current_thread")]
async fn work(words: &[String]) {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["pool", url, directory, argv @ ..] => pool_worker(url, Path::new(directory), argv).await,
        ["sim", url, id, directory, argv @ ..] => sim_worker(url, id, Path::new(directory), argv).await,
        _ => panic!("pool URL DIR [PROGRAM…], or sim URL ID DIR [PROGRAM…]"),
    }
}

async fn pool_worker(url: &str, directory: &Path, argv: &[&str]) {
    use pool::{
        Credentials, KeyFile, Server,
        execute::{Exec, Handler},
        runtime::{Options, Worker},
        wire::Introduction,
    };
    let spool = directory.join("spool");
    let lock = Options::guard_lock(&spool);
    let handler = if argv.is_empty() {
        Handler::BuiltIn
    } else {
        Handler::Exec(Exec {
            argv: owned(argv),
            guards: Guards::of_own_binary(lock.clone()),
            scratch: Options::scratch(&spool),
            timeout: Duration::from_secs(60),
            worker: "W".to_owned(),
        })
    };
    let options = Options {
        who: Introduction { name: "W".into(), region: None, specs: serde_json::Map::new() },
        slots: 2,
        heartbeat: Millis(1_000),
        grace: Millis(5_000),
        spool,
        now: clock(),
    };
    let keys = || KeyFile::open(&directory.join("key"), false, || [7; 32]);
    let (client, servers) = servers(url);
    let credentials = Credentials::Password { user: "owner".to_owned(), password: Secret::new("pass") };
    let server = Server::new(client, servers, credentials);
    let worker = Worker::open(options, server, keys, handler).expect("the spool is ours");
    wait_for_earlier_guards(&lock).await.expect("the lock is ours");
    let over = worker.run(CancellationToken::new()).await;
    panic!("it was never asked to leave: {over:?}");
}

async fn sim_worker(url: &str, id: &str, directory: &Path, argv: &[&str]) {
    use simulation::{
        Master, RegisterRequest,
        render::{Exec, Renderer, Synthetic},
        runtime::{Options, Worker},
    };
    let renderer = if argv.is_empty() {
        Renderer::Synthetic(Synthetic { frames_per_second: 30, persons_per_frame: 2 })
    } else {
        let lock: PathBuf = directory.join(format!("{id}.lock"));
        wait_for_earlier_guards(&lock).await.expect("the lock is ours");
        Renderer::Exec(Exec { argv: owned(argv), guards: Guards::of_own_binary(lock) })
    };
    let who = RegisterRequest {
        worker: id.into(),
        role: "simulation".into(),
        cameras: 1,
        gpu: "none".into(),
        slots: 1,
        endpoint: None,
    };
    let options = Options { who, output_root: None, listener: None, now: clock() };
    let (client, servers) = servers(url);
    let master = Master::new(client, servers, id, Secret::new("enrol-me"));
    let over = Worker::new(options, master, renderer).run(CancellationToken::new()).await;
    panic!("it was never asked to leave: {over:?}");
}

fn servers(url: &str) -> (reqwest::Client, Servers) {
    let servers = Servers::parse([url]).expect("a URL");
    (servers.client().no_proxy().build().expect("a client"), servers)
}

fn clock() -> Arc<dyn Fn() -> Timestamp + Send + Sync> {
    let started = muster_worker_kit::clock::instant_now();
    let elapsed = move || i64::try_from(started.elapsed().as_millis()).expect("no test lasts that long");
    Arc::new(move || Timestamp(elapsed()))
}

fn owned(argv: &[&str]) -> Vec<String> {
    argv.iter().map(|word| (*word).to_owned()).collect()
}
