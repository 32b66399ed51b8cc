//! `muster serve`: the server (I1).

use crate::{
    assembly::{self, Assembled, Opened},
    config::{self, Config, Flags, StoreChoice},
    failure::{Exit, Failure},
    logging, output,
    secrets::{SecretError, Secrets},
};
use axum::{
    Router,
    extract::{Request, State},
    http::HeaderValue,
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse, Response},
    routing::get,
};
use clap::Args;
use muster_coordinator::instant_now;
use muster_coordinator::{Coordinator, Lead};
use muster_http::{HttpSettings, HttpState, NOT_LEADING, Problem, REQUEST_ID, check_names, request_id};
use muster_store::{Store, StoreError};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::{io, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};
use tokio::{
    net::TcpListener,
    signal::unix::{Signal, SignalKind, signal},
    sync::{oneshot, watch},
    time::Instant,
};

#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// Address to listen on; port 0 takes a free one [default: 127.0.0.1:7400]
    #[arg(long, value_name = "HOST:PORT")]
    listen: Option<String>,
    /// The directory that holds the store and the secrets [default: ./muster-data]
    #[arg(long, value_name = "DIR")]
    data: Option<String>,
    /// The store: sqlite, memory (for measuring; gone at the end), or postgres://… that servers share [default: sqlite]
    #[arg(long, value_name = "STORE")]
    store: Option<String>,
    /// Address at which other servers on the same database reach this one [default: where it listens]
    #[arg(long, value_name = "URL")]
    advertise: Option<String>,
    /// The directory of a court on this host to show: its places, questions and tasks [default: none]
    #[arg(long, value_name = "DIR")]
    court: Option<String>,
    /// A file of settings; `muster config` shows them all
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Format of log lines: text or json [default: text]
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
        opened = open_and_bind(&config) => opened?,
        () = &mut asked => return Ok(()),
    };
    let address = listener.local_addr()?;
    let server = assembly::assemble(opened.store, &opened.secrets, &config, address)?;
    let Assembled { coordinator, http, simulation, dashboard, router } = server;

    let (stop, stopped) = watch::channel(false);
    let announcing = announce_when_ready(address, &coordinator, stopped.clone());
    let listening = muster_http::listen(listener, router, wait_for(stopped.clone()));
    // Background work may stop at any point: the next start, or the next leader, picks it up again.
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
/// A store in a directory comes first: a second server there fails at it, before it touches anything. A database may be
/// away for long: until it answers, requests are told so.
async fn open_and_bind(config: &Config) -> Result<(Ready, TcpListener), Failure> {
    let (cause, told) = watch::channel("the store is being opened".to_owned());
    if !matches!(config.store, StoreChoice::Postgres(_)) {
        let opened = open(config, &cause).await?;
        return Ok((opened, bind(&config.listen).await?));
    }
    let listener = bind(&config.listen).await?;
    let address = listener.local_addr()?;
    let http = assembly::door_settings(config, &assembly::advertised(config, address)?);
    let (_early, listener) = EarlyAnswers::begin(listener, http, told)?;
    tracing::info!(%address, "opens the database; until then this server says that it is not ready");
    Ok((open(config, &cause).await?, listener))
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
    // A second signal means that the user does not want to wait; it is safe to die at any point.
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

/// Answers requests until this is dropped; then the server itself does.
struct EarlyAnswers {
    _stop: oneshot::Sender<()>,
}

/// State of the early answers.
#[derive(Clone)]
struct EarlyState {
    cause: watch::Receiver<String>,
    http: Arc<HttpSettings>,
}

impl EarlyAnswers {
    /// Answers on the same socket as `listener`, which is returned for the server itself.
    fn begin(
        listener: TcpListener,
        http: HttpSettings,
        cause: watch::Receiver<String>,
    ) -> io::Result<(Self, TcpListener)> {
        let listener = listener.into_std()?;
        let twin = TcpListener::from_std(listener.try_clone()?)?;
        let (stop, stopped) = oneshot::channel::<()>();
        let router = router(EarlyState { cause, http: Arc::new(http) });
        // Requests in progress on this listener may finish after the store has opened.
        tokio::spawn(muster_http::listen(twin, router, async { _ = stopped.await }));
        Ok((Self { _stop: stop }, TcpListener::from_std(listener)?))
    }
}

fn router(known: EarlyState) -> Router {
    let (pages, _) = muster_dashboard::pages().split_for_parts();
    let pages = pages.route_layer(from_fn_with_state(known.clone(), named));
    Router::new().route("/healthz", get(alive)).merge(pages).fallback(not_yet).with_state(known)
}

/// The dashboard's page is shown by now, and says itself what it waits for.
async fn named(State(known): State<EarlyState>, request: Request, next: Next) -> Result<Response, Problem> {
    check_names(&known.http, &request)?;
    Ok(next.run(request).await)
}

async fn alive(State(known): State<EarlyState>, request: Request) -> Result<&'static str, Problem> {
    check_names(&known.http, &request)?;
    Ok("ok\n")
}

async fn not_yet(State(known): State<EarlyState>, request: Request) -> Response {
    let id = request_id(request.headers());
    let mut response = match check_names(&known.http, &request) {
        Err(problem) => problem.into_response(),
        Ok(()) => untouched(&known.cause.borrow()),
    };
    response.headers_mut().insert(REQUEST_ID, id);
    response
}

/// Marked, so that a server that forwarded the request knows that nothing was done: the database may still say that
/// this server leads, if it was only started again.
fn untouched(cause: &str) -> Response {
    let mut response = Problem::not_leading(format!("not ready: {cause}")).into_response();
    response.headers_mut().insert(NOT_LEADING, HeaderValue::from_static("1"));
    response
}

/// An open store and its secrets.
struct Ready {
    store: Arc<dyn Store>,
    secrets: Secrets,
}

/// Opens the store, and tries until it can be reached; `cause` says what it waits for.
///
/// # Errors
/// If waiting does not help: an invalid address, a wrong password, tables of a newer version.
async fn open(config: &Config, cause: &watch::Sender<String>) -> Result<Ready, Failure> {
    let mut complaint = Complaint::default();
    // Only a shared database may come back by itself.
    let is_elsewhere = matches!(config.store, StoreChoice::Postgres(_));
    loop {
        let config = config.clone();
        match tokio::task::spawn_blocking(move || open_once(&config)).await.map_err(std::io::Error::other)? {
            Err(failure) if is_elsewhere && may_pass(&failure) => {
                cause.send_replace(format!("the database does not answer: {failure}"));
                complaint.raise(&failure);
            }
            opened => return opened,
        }
        tokio::time::sleep(PAUSE).await;
    }
}

fn open_once(config: &Config) -> Result<Ready, Failure> {
    let Opened { store, vault } = assembly::open_store(config)?;
    let secrets = Secrets::load(&vault, |name| std::env::var(name).ok())?;
    Ok(Ready { store, secrets })
}

fn may_pass(failure: &Failure) -> bool {
    let error = match failure {
        Failure::Store(error) | Failure::Secret(SecretError::Store(error)) => error,
        _ => return false,
    };
    matches!(error, StoreError::Backend(_))
}

/// The last logged complaint, and when: nobody reads the same line every second.
#[derive(Default)]
struct Complaint(Option<(String, Instant)>);

impl Complaint {
    fn raise(&mut self, failure: &Failure) {
        let words = failure.to_string();
        let is_known =
            self.0.as_ref().is_some_and(|(known, at)| *known == words && at.elapsed() < REPEAT_AFTER);
        if !is_known {
            tracing::warn!(error = words, "the store cannot be opened yet; it is tried again until it can");
            self.0 = Some((words, instant_now()));
        }
    }
}

const PAUSE: Duration = Duration::from_millis(500);
const REPEAT_AFTER: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use super::*;
    use axum::{
        body::{Body, to_bytes},
        http::Method,
    };
    use tower::ServiceExt;

    /// S18: whatever is asked of a server that starts, it says that nothing was done, and why, in one line; it lives.
    #[tokio::test]
    async fn nothing_is_done_before_the_store_is_open() {
        let (_cause, told) = watch::channel("the database does not answer\nDETAIL: hunter2".to_owned());
        let known = EarlyState { cause: told, http: Arc::default() };
        for (method, path) in [
            (Method::POST, "/jobs"),
            (Method::GET, "/leader-proof?nonce=0123456789abcdef&epoch=7"),
            (Method::GET, "/readyz"),
        ] {
            let request = Request::builder().method(method).uri(path).header("host", "127.0.0.1");
            let answer = not_yet(State(known.clone()), request.body(Body::empty()).unwrap()).await;
            assert_eq!(answer.status(), 503, "{path}");
            assert!(
                answer.headers().contains_key(NOT_LEADING) && answer.headers().contains_key("retry-after")
            );
            let body =
                String::from_utf8(to_bytes(answer.into_body(), 10_000).await.unwrap().to_vec()).unwrap();
            assert!(
                body.contains("not-leading") && body.contains("not ready: the database does not"),
                "{body}"
            );
            assert!(!body.contains("hunter2"), "{body}");
        }
        let request = Request::get("/healthz").header("host", "127.0.0.1").body(Body::empty()).unwrap();
        assert_eq!(alive(State(known), request).await.unwrap(), "ok\n");
    }

    /// I7: the page is there before the store is, by our own names only; nothing else is.
    #[tokio::test]
    async fn the_page_is_there_already() {
        let (_cause, told) = watch::channel("the database does not answer".to_owned());
        let router = router(EarlyState { cause: told, http: Arc::default() });
        for (path, host, status) in [
            ("/", "127.0.0.1", 200),
            ("/ui/index.html", "127.0.0.1", 200),
            ("/", "evil.example", 403),
            ("/api/overview", "127.0.0.1", 503),
        ] {
            let request = Request::get(path).header("host", host).body(Body::empty()).unwrap();
            let answer = router.clone().oneshot(request).await.unwrap();
            assert_eq!(answer.status(), status, "{path} {host}");
        }
    }

    /// S18, I1: a database that is away is waited for; what only somebody can mend ends the start.
    #[test]
    fn only_what_passes_is_waited_for() {
        let away = || StoreError::Backend("connection refused".to_owned());
        assert!(may_pass(&Failure::from(away())));
        assert!(may_pass(&Failure::Secret(SecretError::Store(away()))));
        for lasting in [
            Failure::from(StoreError::Unfit("wrong password".to_owned())),
            Failure::from(StoreError::TooNew { found: 9, known: 5 }),
            Failure::from(StoreError::InUse("d".to_owned())),
            Failure::Secret(SecretError::Same),
            Failure::Usage("x".to_owned()),
        ] {
            assert!(!may_pass(&lasting), "{lasting}");
        }
    }
}
