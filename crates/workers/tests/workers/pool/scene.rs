//! A worker in this process, its server, and a directory.

use super::server::StandIn;
use crate::worker_binary;
use muster_model::{Millis, Timestamp};
use muster_spool::{Directory, Limits, SetAside, Spool, set_aside_entries};
use muster_worker_kit::clock::instant_now;
use muster_worker_kit::{http::Servers, process::Guards};
use muster_workers::pool::{
    Credentials, KeyFile, Secret, Server,
    core::{Counts, Over},
    execute::{Exec, Handler},
    runtime::{Options, PoolWorkerError, Report, Worker},
    wire::Introduction,
};
use std::{path::Path, sync::Arc, time::Duration};
use tempfile::TempDir;
use tokio::{sync::watch, task::JoinHandle};
use tokio_util::sync::CancellationToken;

/// What a worker is to be.
pub(crate) struct Cast {
    pub(crate) slots: u32,
    pub(crate) grace: Millis,
    pub(crate) timeout: Duration,
    /// A script that a shell runs; without it the built-in handler is used.
    pub(crate) script: Option<&'static str>,
    /// A file in the directory that is run in the place of a script.
    pub(crate) program: Option<&'static str>,
    pub(crate) password: &'static str,
    pub(crate) rotate: bool,
}

impl Default for Cast {
    fn default() -> Self {
        Self {
            slots: 1,
            grace: Millis(30_000),
            timeout: Duration::from_secs(60),
            script: None,
            program: None,
            password: "pass",
            rotate: false,
        }
    }
}

pub(crate) struct Scene {
    pub(crate) server: StandIn,
    pub(crate) directory: TempDir,
    pub(crate) report: watch::Receiver<Report>,
    leave: CancellationToken,
    worker: JoinHandle<Over>,
}

impl Scene {
    pub(crate) async fn start(cast: Cast) -> Self {
        Self::begin(StandIn::start(), tempfile::tempdir().unwrap(), cast)
    }

    /// A worker that has a shell do its work.
    pub(crate) async fn exec(script: &'static str) -> Self {
        Self::start(Cast { script: Some(script), ..Cast::default() }).await
    }

    /// A worker with a server and a directory that may have seen others.
    pub(crate) fn begin(server: StandIn, directory: TempDir, cast: Cast) -> Self {
        let link = link(&[&server.url], cast.password);
        Self::linked(link, (server, directory), cast)
    }

    /// A worker that knows two servers, and the second one.
    pub(crate) async fn with_next(cast: Cast) -> (Self, StandIn) {
        let server = StandIn::start();
        let next = server.beside();
        let link = link(&[&server.url, &next.url], cast.password);
        (Self::linked(link, (server, tempfile::tempdir().unwrap()), cast), next)
    }

    fn linked(link: Server, (server, directory): (StandIn, TempDir), cast: Cast) -> Self {
        let seed = || [7 + u8::from(cast.rotate); 32];
        let keys = || KeyFile::open(&directory.path().join("key"), cast.rotate, seed);
        let worker =
            Worker::open(options(directory.path(), &cast), link, keys, handler(directory.path(), &cast));
        let (worker, leave) = (worker.unwrap(), CancellationToken::new());
        let report = worker.watch();
        let worker = tokio::spawn(worker.run(leave.clone()));
        Self { server, directory, report, leave, worker }
    }

    /// Tries to open another worker with the same spool and another key.
    pub(crate) fn second(&self) -> Result<(), PoolWorkerError> {
        let (cast, directory) = (Cast::default(), self.directory.path());
        let keys = || KeyFile::open(&directory.join("second-key"), false, || [9; 32]);
        let server = link(&[&self.server.url], cast.password);
        Worker::open(options(directory, &cast), server, keys, handler(directory, &cast)).map(drop)
    }

    /// Asks the worker to leave and waits until it has.
    pub(crate) async fn leave(&mut self) -> Over {
        self.leave.cancel();
        self.over().await
    }

    /// Waits until the worker is over.
    pub(crate) async fn over(&mut self) -> Over {
        (&mut self.worker).await.unwrap()
    }

    /// Asks the worker to leave, and does not wait.
    pub(crate) fn ask_to_leave(&self) {
        self.leave.cancel();
    }

    /// Waits until something can be said of how the worker is.
    pub(crate) async fn counted(&mut self, is_right: impl Fn(Counts) -> bool) {
        let waiting = self.report.wait_for(|report| is_right(report.counts));
        tokio::time::timeout(Duration::from_secs(60), waiting).await.unwrap().unwrap();
    }

    /// How many results are on disk, and what was set aside; for when the worker is over.
    pub(crate) fn spool(&self) -> (usize, Vec<SetAside>) {
        let path = self.directory.path().join("spool");
        let spool = Spool::open(Directory::open(&path).unwrap(), Limits::default()).unwrap();
        (spool.0.depth(), set_aside_entries(&Directory::for_reading(&path)).unwrap())
    }

    /// Takes the worker away, when it is over, and gives the rest.
    pub(crate) fn part(self) -> (StandIn, TempDir) {
        (self.server, self.directory)
    }
}

fn options(directory: &Path, cast: &Cast) -> Options {
    let started = instant_now();
    Options {
        who: Introduction { name: "W".into(), region: None, specs: serde_json::Map::new() },
        slots: cast.slots,
        heartbeat: Millis(1_000),
        grace: cast.grace,
        spool: directory.join("spool"),
        now: Arc::new(move || Timestamp(started.elapsed().as_millis().try_into().unwrap())),
    }
}

fn link(urls: &[&str], password: &str) -> Server {
    let servers = Servers::parse(urls.iter().copied()).unwrap();
    let client = servers.client().no_proxy().build().unwrap();
    let credentials = Credentials::Password { user: "owner".to_owned(), password: Secret::new(password) };
    Server::new(client, servers, credentials)
}

fn handler(directory: &Path, cast: &Cast) -> Handler {
    let shell =
        |script: &str| ["sh", "-c", script, "sh", directory.to_str().unwrap()].map(str::to_owned).to_vec();
    let argv = match (cast.script, cast.program) {
        (Some(script), _) => shell(script),
        (None, Some(program)) => vec![directory.join(program).to_str().unwrap().to_owned()],
        (None, None) => return Handler::BuiltIn,
    };
    let spool = directory.join("spool");
    let lock = Options::guard_lock(&spool);
    Handler::Exec(Exec {
        argv,
        guards: Guards { program: worker_binary(), args: vec!["guard".into()], lock },
        scratch: Options::scratch(&spool),
        timeout: cast.timeout,
        worker: "W".to_owned(),
    })
}
