//! Calls to the coordinator, and what its answers mean.

use super::Fleet;
use muster_worker_kit::http::{Manner, Servers, Unanswered, because, below, body, detail, retry_after};
use reqwest::{Method, RequestBuilder, Response, StatusCode, Url};
use serde_json::Value;
use std::{fmt, sync::Arc, time::Duration};

/// Where a coordinator is, and what opens it.
#[derive(Clone)]
pub struct Coordinator {
    /// Its addresses.
    pub servers: Arc<Servers>,
    /// The token; none is asked for by a coordinator that trusts this host.
    pub token: Option<String>,
}

/// Shows where, never with what.
impl fmt::Debug for Coordinator {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Coordinator").field("servers", &self.servers).finish_non_exhaustive()
    }
}

/// Why a call brought nothing.
#[derive(Debug)]
pub(super) enum Trouble {
    /// It may bring something later.
    Later(String, Option<Duration>),
    /// It never will.
    Refused(StatusCode, String),
}

/// What is asked of it.
#[derive(Clone, Copy)]
pub(super) enum Call<'a> {
    /// To take something, once per key.
    Submit { body: &'a str, key: &'a str },
    /// How something stands.
    Show(&'a str),
    /// To end something.
    Cancel(&'a str),
}

pub(super) struct Client {
    http: reqwest::Client,
    servers: Arc<Servers>,
    token: Option<String>,
}

impl Client {
    /// A client for a coordinator.
    pub(super) fn new(coordinator: &Coordinator) -> reqwest::Result<Self> {
        let Coordinator { servers, token } = coordinator.clone();
        Ok(Self { http: servers.client().build()?, servers, token })
    }

    /// Makes a call. All of them may arrive twice: what is handed in is recognised, by its key or its id.
    pub(super) async fn ask(&self, fleet: Fleet, call: Call<'_>) -> Result<Value, Trouble> {
        let answer =
            self.servers.ask(Manner::repeatable(ANSWER_MAX), |server| self.request(server, fleet, call));
        json(answer.await?).await
    }

    /// Opens the feed, after an entry that was seen.
    pub(super) async fn feed(&self, last: Option<&str>) -> Result<Response, Trouble> {
        let request = |server: &Url| {
            let request =
                self.at(server, Method::GET, &["api", "events"]).header("accept", "text/event-stream");
            last.into_iter().fold(request, |request, last| request.header("last-event-id", last))
        };
        let answer = self.servers.ask(Manner::repeatable(ANSWER_MAX).streaming(), request).await?;
        understood(answer).await
    }

    fn request(&self, server: &Url, fleet: Fleet, call: Call<'_>) -> RequestBuilder {
        match (call, fleet) {
            (Call::Submit { body, key }, _) => {
                let request = self.at(server, Method::POST, fleet.path()).header("idempotency-key", key);
                request.header("content-type", "application/json").body(body.to_owned())
            }
            (Call::Show(id), _) => self.at(server, Method::GET, &[fleet.path(), &[id]].concat()),
            (Call::Cancel(id), Fleet::Job) => {
                self.at(server, Method::DELETE, &[fleet.path(), &[id]].concat())
            }
            (Call::Cancel(id), _) => self.at(server, Method::POST, &[fleet.path(), &[id, "cancel"]].concat()),
        }
    }

    /// A call to an address that is given in pieces, so that no id can lead elsewhere.
    fn at(&self, server: &Url, method: Method, path: &[&str]) -> RequestBuilder {
        let request = self.http.request(method, below(server, path.iter().copied()));
        self.token.iter().fold(request, |request, token| request.bearer_auth(token))
    }
}

impl From<Unanswered> for Trouble {
    fn from(error: Unanswered) -> Self {
        Self::Later(error.to_string(), error.retry_after())
    }
}

async fn json(answer: Response) -> Result<Value, Trouble> {
    let mut answer = understood(answer).await?;
    let body = body(&mut answer, ANSWER_BYTES_MAX).await.map_err(no_answer)?;
    let body = body.ok_or_else(|| not_ours("an answer that is too long"))?;
    serde_json::from_slice(&body).map_err(|_| not_ours("an answer that is no JSON"))
}

/// A good answer, or what a bad one means. A token that does not open may be mended, as a server that is down.
async fn understood(answer: Response) -> Result<Response, Trouble> {
    let status = answer.status();
    if status.is_success() {
        return Ok(answer);
    }
    let waits = matches!(status.as_u16(), 401 | 403 | 408 | 425 | 429) || !status.is_client_error();
    let after = retry_after(&answer);
    let said = detail(answer).await;
    Err(if waits {
        Trouble::Later(format!("{status}: {said}"), after)
    } else {
        Trouble::Refused(status, said)
    })
}

fn no_answer(error: reqwest::Error) -> Trouble {
    Trouble::Later(because(&error.without_url()), None)
}

fn not_ours(what: &str) -> Trouble {
    Trouble::Later(format!("{what}: is that the coordinator?"), None)
}

const ANSWER_MAX: Duration = Duration::from_secs(30);
/// A job's payload and its output, and some.
const ANSWER_BYTES_MAX: usize = 8 << 20;
