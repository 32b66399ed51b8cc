//! The door at which Slack brings what people say, signed (C18).

use super::{EnvoyError, outlet::SlackMessage, replies::Question};
use crate::{Clock, Fault, Folder};
use axum::{
    Json, Router,
    body::{Body, to_bytes},
    extract::{Request, State},
    http::{HeaderMap, StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
    routing::post,
    serve::Listener,
};
use hmac::{Hmac, KeyInit, Mac};
use hyper::server::conn::http1;
use hyper_util::{rt::TokioIo, server::graceful::GracefulShutdown, service::TowerToHyperService};
use jiff::Timestamp;
use serde_json::{Value, json};
use sha2::Sha256;
use std::{net::SocketAddr, sync::Arc, time::Duration};
use tokio::{net::TcpListener, sync::Semaphore};
use tokio_util::sync::CancellationToken;

/// The door, open.
pub(super) struct ReplyListener {
    listener: TcpListener,
    desk: Arc<ReplyState>,
}

struct ReplyState {
    folder: Arc<Folder>,
    signing: Signing,
}

/// A refusal, as problem+json.
struct Problem(StatusCode, String);

impl ReplyListener {
    /// Opens the door, and leaves its address in `state/envoy.listen`: the port may be anybody's choice.
    pub(super) async fn open(
        folder: Arc<Folder>,
        listen: &str,
        signing: Signing,
    ) -> Result<Self, EnvoyError> {
        let failed = |error| EnvoyError::Listen { listen: listen.to_owned(), error };
        let listener = TcpListener::bind(listen).await.map_err(failed)?;
        let address: SocketAddr = listener.local_addr().map_err(failed)?;
        folder.replace(&folder.path("state/envoy.listen"), format!("{address}\n").as_bytes())?;
        tracing::info!("listening on http://{address}");
        Ok(Self { listener, desk: Arc::new(ReplyState { folder, signing }) })
    }

    /// Takes what Slack brings until told to stop.
    pub(super) async fn serve(self, stop: CancellationToken) {
        let routes = Router::new().route("/slack/events", post(take)).with_state(self.desk);
        serve(self.listener, routes, Limits { connections: VISITORS_MAX, stay: STAY }, stop).await;
    }
}

/// Nothing of a request is looked at before it is proven whose it is.
async fn take(State(desk): State<Arc<ReplyState>>, request: Request) -> Result<Response, Problem> {
    let unproven = |error: SignatureError| Problem(StatusCode::UNAUTHORIZED, error.to_string());
    let (head, body) = request.into_parts();
    let claim = SignatureClaim::of(&head.headers, Clock.now()).map_err(unproven)?;
    let body = read(body).await?;
    desk.signing.check(&claim, &body).map_err(unproven)?;
    let brought: Value =
        serde_json::from_slice(&body).map_err(|error| Problem(StatusCode::BAD_REQUEST, error.to_string()))?;
    match brought["type"].as_str() {
        Some("url_verification") => Ok(Json(json!({ "challenge": brought["challenge"] })).into_response()),
        Some("event_callback") => desk.hear(&brought["event"]).map(|()| StatusCode::OK.into_response()),
        _ => Ok(StatusCode::OK.into_response()),
    }
}

async fn read(body: Body) -> Result<axum::body::Bytes, Problem> {
    let too_large =
        |_| Problem(StatusCode::PAYLOAD_TOO_LARGE, format!("the body has more than {BODY_BYTES_MAX} bytes"));
    let too_slow = |_| Problem(StatusCode::REQUEST_TIMEOUT, "the body took too long".to_owned());
    tokio::time::timeout(BODY_TIME, to_bytes(body, BODY_BYTES_MAX))
        .await
        .map_err(too_slow)?
        .map_err(too_large)
}

impl ReplyState {
    /// Makes what somebody said an event; it is durable when this returns. What is for nobody here is forgotten.
    fn hear(&self, event: &Value) -> Result<(), Problem> {
        if event["type"] != "message" {
            return Ok(());
        }
        match SlackMessage::by_somebody(event) {
            Some(said) => self.keep(&said).map_err(unkept),
            None => Ok(()),
        }
    }

    fn keep(&self, said: &SlackMessage) -> Result<(), Fault> {
        let question = match &said.thread_ts {
            Some(thread_ts) => Question::answered_by(&self.folder, &said.channel, thread_ts, &said.ts)?,
            None => None,
        };
        if let Some(question) = question {
            return question.answer(&self.folder, said, Clock.now());
        }
        if said.is_direct && said.is_plain { said.tell(&self.folder, Clock.now()) } else { Ok(()) }
    }
}

/// Slack brings it again after a 503; what can never be kept it must not bring again.
fn unkept(fault: Fault) -> Problem {
    tracing::warn!(%fault, "what somebody said cannot be kept");
    match fault {
        Fault::Invalid(reason) => Problem(StatusCode::UNPROCESSABLE_ENTITY, reason),
        Fault::Gone(_) | Fault::Io(..) => {
            Problem(StatusCode::SERVICE_UNAVAILABLE, "it cannot be kept right now; bring it again".to_owned())
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let Self(status, detail) = self;
        let title = status.canonical_reason().unwrap_or_default();
        let problem =
            json!({ "type": "about:blank", "title": title, "status": status.as_u16(), "detail": detail });
        (status, [(CONTENT_TYPE, "application/problem+json")], problem.to_string()).into_response()
    }
}

/// The secret that Slack and this court share.
#[derive(Clone)]
pub(super) struct Signing(Hmac<Sha256>);

/// The reason why a request is not trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
enum SignatureError {
    /// A header is not there, or not what it must be.
    #[error("{0} is missing or malformed")]
    Header(&'static str),
    /// It may be a replay of an overheard request.
    #[error("X-Slack-Request-Timestamp is more than {AGE_S_MAX} s away from this host's time")]
    Old,
    /// Another sender made or changed it.
    #[error("X-Slack-Signature is not that of this request")]
    Forged,
}

/// The signature headers of a request, before its body is read.
#[derive(Debug)]
struct SignatureClaim {
    timestamp: i64,
    signature: Vec<u8>,
}

impl SignatureClaim {
    /// Reads the headers; an old request is refused here, so that its body need not be read.
    fn of(headers: &HeaderMap, now: Timestamp) -> Result<Self, SignatureError> {
        let header = |name: &'static str| {
            let value = headers.get(name).and_then(|value| value.to_str().ok());
            value.ok_or(SignatureError::Header(name))
        };
        let timestamp = header(TIMESTAMP)?;
        let is_number = (1..=DIGITS_MAX).contains(&timestamp.len())
            && timestamp.bytes().all(|byte| byte.is_ascii_digit());
        let timestamp: i64 =
            timestamp.parse().ok().filter(|_| is_number).ok_or(SignatureError::Header(TIMESTAMP))?;
        let signature = header(SIGNATURE)?.strip_prefix("v0=").and_then(hex);
        let signature = signature.ok_or(SignatureError::Header(SIGNATURE))?;
        if now.as_second().abs_diff(timestamp) > AGE_S_MAX {
            return Err(SignatureError::Old);
        }
        Ok(Self { timestamp, signature })
    }
}

impl Signing {
    pub(super) fn new(secret: &str) -> Self {
        Self(Hmac::new_from_slice(secret.as_bytes()).expect("HMAC takes keys of any length"))
    }

    /// Holds a body against what was claimed, in a time that tells nothing about the secret.
    fn check(&self, claim: &SignatureClaim, body: &[u8]) -> Result<(), SignatureError> {
        let mac = self.0.clone().chain_update(format!("v0:{}:", claim.timestamp)).chain_update(body);
        mac.verify_slice(&claim.signature).map_err(|_| SignatureError::Forged)
    }
}

fn hex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    let pair = |pair: &[u8]| u8::try_from(digit(pair.first()?)? * 16 + digit(pair.get(1)?)?).ok();
    (text.len() == 2 * MAC_BYTES).then(|| text.as_bytes().chunks(2).map(pair).collect())?
}

/// Limits of a listener: connections at once, and the time that each may take.
#[derive(Clone, Copy, Debug)]
struct Limits {
    connections: usize,
    stay: Duration,
}

/// Serves until told to stop; connections that are open then get a moment to leave.
///
/// A connection ends in time, whatever the other side does, so nobody can hold all of them.
async fn serve(mut listener: TcpListener, routes: Router, limits: Limits, stop: CancellationToken) {
    let places = Arc::new(Semaphore::new(limits.connections));
    let graceful = GracefulShutdown::new();
    loop {
        let next = async {
            let place = Arc::clone(&places).acquire_owned().await.expect("nobody closes it");
            // The listener of axum tries again by itself when the system has no room for a connection.
            (place, Listener::accept(&mut listener).await.0)
        };
        let Some((place, stream)) = stop.run_until_cancelled(next).await else { break };
        let service = TowerToHyperService::new(routes.clone());
        let connection =
            graceful.watch(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
        tokio::spawn(async move {
            let _ = tokio::time::timeout(limits.stay, connection).await;
            drop(place);
        });
    }
    drop(listener);
    let _ = tokio::time::timeout(LEAVE, graceful.shutdown()).await;
}

const BODY_BYTES_MAX: usize = 1024 * 1024;
const BODY_TIME: Duration = Duration::from_secs(10);
/// Slack brings one thing at a time; the court needs the other files that a process may open.
const VISITORS_MAX: usize = 64;
const STAY: Duration = Duration::from_secs(30);
/// Grace period for open connections at shutdown.
const LEAVE: Duration = Duration::from_secs(2);
const TIMESTAMP: &str = "X-Slack-Request-Timestamp";
const SIGNATURE: &str = "X-Slack-Signature";
/// The limit that Slack recommends.
const AGE_S_MAX: u64 = 300;
const DIGITS_MAX: usize = 18;
const MAC_BYTES: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;
    use axum::routing::get;
    use tokio::net::TcpStream;

    /// C18: the example of Slack's own documentation is believed at its time, and by its secret only.
    #[test]
    fn the_example_of_the_documentation_is_believed() {
        let body = b"token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c";
        let mut headers = HeaderMap::new();
        headers.insert(TIMESTAMP, "1531420618".parse().unwrap());
        let signature = "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503";
        headers.insert(SIGNATURE, signature.parse().unwrap());
        let at = |second| Timestamp::from_second(second).unwrap();
        let claim = SignatureClaim::of(&headers, at(1_531_420_618)).unwrap();
        let signing = Signing::new("8f742231b10e8888abcd99yyyzzz85a5");
        assert_eq!(signing.check(&claim, body), Ok(()));
        assert_eq!(signing.check(&claim, &body[1..]), Err(SignatureError::Forged));
        assert_eq!(Signing::new("8f74").check(&claim, body), Err(SignatureError::Forged));
        assert_eq!(SignatureClaim::of(&headers, at(1_531_420_919)).unwrap_err(), SignatureError::Old);
        assert_eq!(SignatureClaim::of(&headers, at(1_531_420_317)).unwrap_err(), SignatureError::Old);
        headers.insert(TIMESTAMP, "+1531420618".parse().unwrap());
        assert_eq!(
            SignatureClaim::of(&headers, at(1_531_420_618)).unwrap_err(),
            SignatureError::Header(TIMESTAMP)
        );
    }

    /// C23: whoever says nothing holds a place for a while only; the next one then gets it.
    #[tokio::test]
    async fn a_silent_visitor_leaves_in_time() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().route("/", get(|| async { "well" }));
        let limits = Limits { connections: 1, stay: Duration::from_millis(50) };
        let serving = tokio::spawn(serve(listener, router, limits, CancellationToken::new()));
        let silent = TcpStream::connect(address).await.unwrap();
        let url = format!("http://{address}/");
        let client = muster_worker_kit::http::client_for(&url).no_proxy().build().unwrap();
        let answer = client.get(&url).send().await.unwrap();
        assert_eq!(answer.text().await.unwrap(), "well");
        // The silent one was sent away, though it never hung up.
        silent.readable().await.unwrap();
        assert_eq!(silent.try_read(&mut [0; 1]).unwrap(), 0);
        serving.abort();
    }
}
