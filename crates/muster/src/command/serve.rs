//! `muster serve`: the server (I1).

mod early;
mod opening;

use crate::{
    assembly::{self, Assembled},
    config::{self, Config, Flags, StoreChoice},
    failure::{Exit, Failure},
    logging, output,
};
use clap::Args;
use muster_coordinator::{Coordinator, Lead};
use muster_http::HttpState;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::{net::SocketAddr, path::PathBuf, time::Duration};
use tokio::{
    net::TcpListener,
    signal::unix::{Signal, SignalKind, signal},
    sync::watch,
};

#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// Where to listen; port 0 takes a free one [default: 127.0.0.1:7400]
    #[arg(long, value_name = "HOST:PORT")]
    listen: Option<String>,
    /// The directory that holds the store and the secrets [default: ./muster-data]
    #[arg(long, value_name = "DIR")]
    data: Option<String>,
    /// Where state is kept: sqlite, memory (for measuring; gone at the end), or postgres://… that servers share [default: sqlite]
    #[arg(long, value_name = "STORE")]
    store: Option<String>,
    /// Where other servers on the same database reach this one [default: where it listens]
    #[arg(long, value_name = "URL")]
    advertise: Option<String>,
    /// The directory of a court on this host to show: its places, questions and tasks [default: none]
    #[arg(long, value_name = "DIR")]
    court: Option<String>,
    /// A file of settings; `muster config` shows them all
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// How log lines look: text or json [default: text]
    #[arg(long, value_name = "FORMAT")]
    log_format: Option<String>,
}

impl Serve {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let config = Config::parse(&config::gather(self.config.as_deref(), self.flags())?)?;
        logging::start(config.log_format, "info");
        raise_open_files();
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let served = runtime.block_on(serve(config));
        // A read that hangs in a thread of its own must not keep the process.
        runtime.shutdown_timeout(Duration::from_millis(500));
        served.map(|()| Exit::Fine)
    }

    fn flags(&self) -> Flags {
        let flags = [
            ("server.listen", &self.listen),
            ("server.data", &self.data),
            ("server.store", &self.store),
            ("server.advertise", &self.advertise),
            ("server.log_format", &self.log_format),
            ("court.directory", &self.court),
        ];
        flags.into_iter().filter_map(|(key, value)| Some((key, value.clone()?))).collect()
    }
}

/// Takes as many open files as the system gives: each waiting node is one, and common defaults end at 1024.
pub(super) fn raise_open_files() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, ..limit };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::debug!(%error, "the number of open files stays as it is");
    }
}

async fn serve(config: Config) -> Result<(), Failure> {
    let asked = asked_to_stop(signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let mut asked = std::pin::pin!(asked);
    let (opened, listener) = tokio::select! {
        opened = open(&config) => opened?,
        () = &mut asked => return Ok(()),
    };
    let address = listener.local_addr()?;
    let server = assembly::assemble(opened.store, &opened.secrets, &config, address)?;
    let Assembled { coordinator, http, simulation, dashboard, router } = server;

    let (stop, stopped) = watch::channel(false);
    let announcing = announce_when_ready(address, &coordinator, stopped.clone());
    let listening = muster_http::listen(listener, router, wait_for(stopped.clone()));
    // What is under way may be left at any point: the next start, or the next leader, finds it again.
    let working = async {
        tokio::select! {
            () = assembly::work(simulation, dashboard, &config) => {}
            () = wait_for(stopped) => {}
        }
    };
    let stopping = async {
        asked.await;
        stop.send_replace(true);
        shut_down(&http, &coordinator).await;
    };
    tokio::join!(listening, announcing, working, stopping);
    tracing::info!("stopped");
    Ok(())
}

/// Opens the store and binds the socket.
///
/// A store in a directory comes first: it is what a second server there fails at, before it touches anything. A database may
/// be away for long: whoever asks meanwhile is told.
async fn open(config: &Config) -> Result<(opening::Ready, TcpListener), Failure> {
    let (cause, told) = watch::channel("the store is being opened".to_owned());
    if !matches!(config.store, StoreChoice::Postgres(_)) {
        let opened = opening::open(config, &cause).await?;
        return Ok((opened, bind(&config.listen).await?));
    }
    let listener = bind(&config.listen).await?;
    let address = listener.local_addr()?;
    let http = assembly::door_settings(config, &assembly::advertised(config, address)?);
    let (_early, listener) = early::Early::answer(listener, http, told)?;
    tracing::info!(%address, "opens the database; until then this server says that it is not ready");
    Ok((opening::open(config, &cause).await?, listener))
}

pub(super) async fn bind(address: &str) -> Result<TcpListener, Failure> {
    let bound = TcpListener::bind(address).await;
    bound.map_err(|error| Failure::Listen { address: address.to_owned(), error })
}

/// Prints the one line that scripts wait for, once what they will ask for can be answered.
async fn announce_when_ready(address: SocketAddr, coordinator: &Coordinator, stopped: watch::Receiver<bool>) {
    let mut lead = coordinator.watch_lead();
    let ready = lead.wait_for(|lead| *lead != Lead::Nowhere);
    tokio::select! {
        Ok(_) = ready => {
            output::line(&format!("listening on http://{address}"));
            tracing::info!(%address, "listening");
        }
        () = wait_for(stopped) => {}
    }
}

pub(super) async fn wait_for(mut stopped: watch::Receiver<bool>) {
    let _ = stopped.wait_for(|stopped| *stopped).await;
}

async fn asked_to_stop(mut interrupt: Signal, mut terminate: Signal) {
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    tracing::info!("stopping: finishing what is being committed");
    // Whoever asks twice does not want to wait; any death is safe.
    tokio::spawn(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        std::process::exit(0);
    });
}

/// Ends streams and waiting pulls, so that their connections can be closed, commits what was decided, and gives leadership
/// back: whoever takes over need not wait for the connections here.
pub(super) async fn shut_down(http: &HttpState, coordinator: &Coordinator) {
    http.close();
    if tokio::time::timeout(STOP_MAX, coordinator.stop()).await.is_err() {
        tracing::warn!(
            "the coordinator did not stop in time; what was not committed was not acknowledged either"
        );
    }
}

/// Within the ten seconds that service managers are promised (I1).
const STOP_MAX: Duration = Duration::from_secs(8);
