//! The door at which Slack brings what people say, signed (C18).

use super::{
    EnvoyError,
    hall::Hall,
    replies::{DirectMessage, Question, Reply},
    said::Said,
    signature::{Claim, Signing},
};
use crate::{Clock, Fault, Folder};
use axum::{
    Json, Router,
    body::{Body, to_bytes},
    extract::{Request, State},
    http::{StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
    routing::post,
};
use serde_json::{Value, json};
use std::{net::SocketAddr, sync::Arc, time::Duration};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// The door, open.
pub(super) struct HttpState {
    listener: TcpListener,
    desk: Arc<Desk>,
}

struct Desk {
    folder: Arc<Folder>,
    signing: Signing,
}

/// A refusal, as problem+json.
struct Problem(StatusCode, String);

impl HttpState {
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
        Ok(Self { listener, desk: Arc::new(Desk { folder, signing }) })
    }

    /// Takes what Slack brings until told to stop.
    pub(super) async fn serve(self, stop: CancellationToken) {
        let routes = Router::new().route("/slack/events", post(take)).with_state(self.desk);
        let until = stop.clone();
        let hall = Hall::new(self.listener, VISITORS_MAX, STAY);
        let serving = axum::serve(hall, routes).with_graceful_shutdown(until.cancelled_owned());
        let served = async {
            if let Err(error) = serving.await {
                tracing::error!(%error, "no more replies can be brought");
            }
        };
        let overdue = async {
            stop.cancelled().await;
            tokio::time::sleep(LEAVE).await;
        };
        tokio::select! {
            () = served => {}
            () = overdue => {}
        }
    }
}

/// Nothing of a request is looked at before it is proven whose it is.
async fn take(State(desk): State<Arc<Desk>>, request: Request) -> Result<Response, Problem> {
    let unproven = |error: super::signature::Unproven| Problem(StatusCode::UNAUTHORIZED, error.to_string());
    let (head, body) = request.into_parts();
    let claim = Claim::of(&head.headers, Clock.now()).map_err(unproven)?;
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

impl Desk {
    /// Makes what somebody said an event; it is durable when this returns. What is for nobody here is forgotten.
    fn hear(&self, event: &Value) -> Result<(), Problem> {
        if event["type"] != "message" {
            return Ok(());
        }
        match Said::by_somebody(event) {
            Some(said) => self.keep(said).map_err(unkept),
            None => Ok(()),
        }
    }

    fn keep(&self, said: Said) -> Result<(), Fault> {
        let question = match &said.thread_ts {
            Some(thread_ts) => Question::answered_by(&self.folder, &said.channel, thread_ts, &said.ts)?,
            None => None,
        };
        if let Some(question) = question {
            let reply = Reply { text: said.text, ts: said.ts };
            return question.answer(&self.folder, &reply, Clock.now()).map(|_| ());
        }
        if said.is_direct && said.is_plain {
            let Said { text, user, channel, ts, .. } = said;
            return DirectMessage { text, user, channel, ts }.tell(&self.folder, Clock.now()).map(|_| ());
        }
        Ok(())
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

const BODY_BYTES_MAX: usize = 1024 * 1024;
const BODY_TIME: Duration = Duration::from_secs(10);
/// Slack brings one thing at a time; the court needs the other files that a process may open.
const VISITORS_MAX: usize = 64;
const STAY: Duration = Duration::from_secs(30);
/// How long whoever is at the door may still speak.
const LEAVE: Duration = Duration::from_secs(2);
