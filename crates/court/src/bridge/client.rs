//! Calls to the coordinator, and what its answers mean.

use super::Fleet;
use muster_agent::http::{because, body, client_for, detail, retry_after};
use reqwest::{Method, RequestBuilder, Response, StatusCode, Url};
use serde_json::Value;
use std::{fmt, time::Duration};

/// Where a coordinator is, and what opens it.
#[derive(Clone, PartialEq, Eq)]
pub struct Coordinator {
    /// Its address.
    pub url: String,
    /// The token; none is asked for by a coordinator that trusts this host.
    pub token: Option<String>,
}

/// Shows where, never with what.
impl fmt::Debug for Coordinator {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Coordinator").field("url", &self.url).finish_non_exhaustive()
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
    base: Url,
    token: Option<String>,
}

impl Client {
    /// A client for a coordinator, if its address is one.
    pub(super) fn new(coordinator: &Coordinator) -> Option<Self> {
        let base = Url::parse(&coordinator.url).ok()?;
        let is_http = matches!(base.scheme(), "http" | "https") && !base.cannot_be_a_base();
        let http = client_for(base.as_str()).connect_timeout(CONNECT_MAX).build().ok()?;
        is_http.then_some(Self { http, base, token: coordinator.token.clone() })
    }

    /// Makes a call.
    pub(super) async fn ask(&self, fleet: Fleet, call: Call<'_>) -> Result<Value, Trouble> {
        let path = fleet.path().iter().copied();
        json(match (call, fleet) {
            (Call::Submit { body, key }, _) => {
                let request = self.request(Method::POST, path).header("idempotency-key", key);
                request.header("content-type", "application/json").body(body.to_owned())
            }
            (Call::Show(id), _) => self.request(Method::GET, path.chain([id])),
            (Call::Cancel(id), Fleet::Job) => self.request(Method::DELETE, path.chain([id])),
            (Call::Cancel(id), _) => self.request(Method::POST, path.chain([id, "cancel"])),
        })
        .await
    }

    /// Opens the feed, after an entry that was seen.
    pub(super) async fn feed(&self, last: Option<&str>) -> Result<Response, Trouble> {
        let request = self.request(Method::GET, ["api", "events"]);
        let request = last.into_iter().fold(request, |request, last| request.header("last-event-id", last));
        let sending = request.header("accept", "text/event-stream").send();
        match tokio::time::timeout(ANSWER_MAX, sending).await {
            Ok(answer) => understood(answer.map_err(no_answer)?).await,
            Err(_late) => Err(Trouble::Later("the feed does not answer".to_owned(), None)),
        }
    }

    /// A call to an address that is given in pieces, so that no id can lead elsewhere.
    fn request<'a>(&self, method: Method, path: impl IntoIterator<Item = &'a str>) -> RequestBuilder {
        let mut url = self.base.clone();
        url.path_segments_mut().expect("it can be a base").pop_if_empty().extend(path);
        let request = self.http.request(method, url);
        self.token.iter().fold(request, |request, token| request.bearer_auth(token))
    }
}

async fn json(request: RequestBuilder) -> Result<Value, Trouble> {
    let answer = request.timeout(ANSWER_MAX).send().await.map_err(no_answer)?;
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

const CONNECT_MAX: Duration = Duration::from_secs(10);
const ANSWER_MAX: Duration = Duration::from_secs(30);
/// A job's payload and its output, and some.
const ANSWER_BYTES_MAX: usize = 8 << 20;
