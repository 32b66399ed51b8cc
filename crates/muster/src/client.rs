//! Speaks to a server over HTTP on behalf of the client commands.

mod events;

pub(crate) use events::{Entry, Events};

use super::{
    failure::{Exit, Failure},
    login_file::{Login, LoginFile, LoginFileError, StoredLogin},
    reach::{self, Access, Reach, Reason},
};
use muster_worker_kit::http::{Manner, Servers, Unanswered, below, root_cause};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::{Method, RequestBuilder, Response, StatusCode, Url};
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{DeserializeOwned, Error as _},
};
use serde_json::Value;
use std::{
    io,
    ops::Deref,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// A server that was found, at one address or several, and the token for it.
pub(crate) struct Client {
    http: reqwest::Client,
    servers: Servers,
    access: Mutex<Access>,
}

/// Reasons why a request failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClientError {
    #[error("cannot reach {server}: {cause}; is `muster serve` running? (--server, MUSTER_SERVER)")]
    Unreachable { server: String, cause: String },
    #[error("{server} answered what no muster server answers: {cause}")]
    NotOurs { server: String, cause: String },
    #[error(
        "the server wants a token: run `muster login` or set MUSTER_TOKEN (the server's own is in the file admin-token of its data directory)"
    )]
    Unauthorized,
    #[error(
        "the server does not know the token in MUSTER_TOKEN, or no longer; set another, or unset it to use your login"
    )]
    TokenUnknown,
    #[error("the login of {user} at {server} is over; run `muster login`")]
    LoginOver { user: String, server: String },
    #[error(transparent)]
    File(#[from] LoginFileError),
    #[error("refused: {detail}")]
    Refused { status: StatusCode, detail: String },
}

impl ClientError {
    /// The exit code that goes with it.
    pub(crate) const fn exit(&self) -> Exit {
        match self {
            Self::Unreachable { .. } | Self::NotOurs { .. } => Exit::Unreachable,
            Self::Unauthorized | Self::TokenUnknown | Self::LoginOver { .. } => Exit::Refused,
            Self::File(error) => error.exit(),
            Self::Refused { status, .. } => match status.as_u16() {
                404 => Exit::NotFound,
                400 | 413 | 415 | 422 => Exit::Usage,
                408 | 429 | 500..=599 => Exit::Unreachable,
                _ => Exit::Refused,
            },
        }
    }
}

impl Client {
    /// Finds the server and the token.
    pub(crate) fn find(reach: &Reach) -> Result<Self, Failure> {
        let variable = |name: &str| std::env::var(name).ok();
        let servers = reach::servers(&reach.server, variable)?;
        let access = reach::access(&servers, variable)?;
        Ok(Self::showing(servers, access))
    }

    /// Speaks to a server with a token that stays as it is, or none.
    pub(crate) fn new(servers: Servers, token: Option<String>) -> Self {
        Self::showing(servers, token.map_or(Access::Nothing, Access::Token))
    }

    fn showing(servers: Servers, access: Access) -> Self {
        let http = servers.client().no_proxy().build().expect("TLS fails at the first request, not here");
        Self { http, servers, access: Mutex::new(access) }
    }

    /// Asks for something. `path` is given in pieces, so that no name can lead elsewhere.
    pub(crate) async fn get<T: DeserializeOwned>(
        &self,
        path: &[&str],
        query: &[(&str, String)],
    ) -> Result<T, ClientError> {
        let asked = ClientRequest { query, ..ClientRequest::new(Method::GET, path) };
        self.send(REPEATABLE, asked).await
    }

    /// Has something done.
    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        path: &[&str],
        body: &impl Serialize,
    ) -> Result<T, ClientError> {
        self.order(path, body, Order::default()).await
    }

    /// As [`Self::post`], with what goes along. What has a key is recognised by the server when it is repeated.
    pub(crate) async fn order<T: DeserializeOwned>(
        &self,
        path: &[&str],
        body: &impl Serialize,
        Order { key, reason }: Order<'_>,
    ) -> Result<T, ClientError> {
        let manner = if key.is_some() { REPEATABLE } else { ONCE };
        let asked = ClientRequest::new(Method::POST, path).with_body(body);
        self.send(manner, ClientRequest { key, reason: reason.and_then(Reason::text), ..asked }).await
    }

    /// Has something taken away; why stands in the audit log.
    pub(crate) async fn delete(&self, path: &[&str], reason: &Reason) -> Result<Value, ClientError> {
        let asked = ClientRequest { reason: reason.text(), ..ClientRequest::new(Method::DELETE, path) };
        self.send(ONCE, asked).await
    }

    /// Has something changed.
    pub(crate) async fn patch(&self, path: &[&str], body: &impl Serialize) -> Result<Value, ClientError> {
        self.send(ONCE, ClientRequest::new(Method::PATCH, path).with_body(body)).await
    }

    /// Reads a list page by page, up to `limit` items.
    pub(crate) async fn list<T: DeserializeOwned>(
        &self,
        listing: Listing<'_>,
    ) -> Result<Vec<T>, ClientError> {
        let mut items = Vec::new();
        let mut after: Option<String> = None;
        loop {
            let mut page_query = listing.query.clone();
            page_query.push(("limit", (listing.limit - items.len()).min(PAGE_MAX).to_string()));
            page_query.extend(after.take().map(|after| ("after", after)));
            let mut page: Value = self.get(listing.path, &page_query).await?;
            if let Some(more) = page.get_mut(listing.name).map(Value::take) {
                let more: Result<Vec<T>, _> = serde_json::from_value(more);
                items.extend(more.map_err(|error| self.not_ours(&error.to_string()))?);
            }
            after = page.get("next").and_then(Value::as_str).map(str::to_owned);
            if after.is_none() || items.len() >= listing.limit {
                return Ok(items);
            }
        }
    }

    /// Fetches a file, whatever is in it, and hands it on piece by piece.
    pub(crate) async fn fetch(
        &self,
        path: &[&str],
        mut take: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<(), Failure> {
        let manner = Manner::repeatable(ANSWER_MAX).streaming();
        let mut response = self.answer(manner, ClientRequest::new(Method::GET, path)).await?;
        if !response.status().is_success() {
            return Err(self
                .read::<Value>(response)
                .await
                .err()
                .map_or_else(|| Failure::Usage("the server sent no file".to_owned()), Into::into));
        }
        while let Some(piece) = self.piece(&mut response).await? {
            take(&piece)?;
        }
        Ok(())
    }

    /// The next piece of a file; a server that says nothing for long is gone.
    async fn piece(&self, response: &mut Response) -> Result<Option<impl Deref<Target = [u8]>>, ClientError> {
        match tokio::time::timeout(ANSWER_MAX, response.chunk()).await {
            Ok(piece) => piece.map_err(|error| self.unreachable(root_cause(&error))),
            Err(late) => Err(self.unreachable(late.to_string())),
        }
    }

    async fn send<T: DeserializeOwned>(
        &self,
        manner: Manner,
        asked: ClientRequest<'_>,
    ) -> Result<T, ClientError> {
        self.read(self.answer(manner, asked).await?).await
    }

    async fn answer(&self, manner: Manner, asked: ClientRequest<'_>) -> Result<Response, ClientError> {
        let token = self.token().await?;
        self.ask(manner, &asked, token.as_deref()).await
    }

    async fn ask(
        &self,
        manner: Manner,
        asked: &ClientRequest<'_>,
        token: Option<&str>,
    ) -> Result<Response, ClientError> {
        let request = |server: &_| {
            let request = asked.request(&self.http, server);
            token.into_iter().fold(request, |request, token| request.bearer_auth(token))
        };
        self.servers.ask(manner, request).await.map_err(|error| match error {
            Unanswered::Silent { why, .. } => self.unreachable(why),
            Unanswered::Unavailable { detail, .. } => {
                ClientError::Refused { status: StatusCode::SERVICE_UNAVAILABLE, detail }
            }
        })
    }

    /// Advice for a 401: it depends on the token that was shown.
    fn unauthorized(&self) -> ClientError {
        match &*self.access() {
            Access::Token(_) => ClientError::TokenUnknown,
            Access::Nothing | Access::Login(..) => ClientError::Unauthorized,
        }
    }

    /// The token to show now. A login that ends soon is refreshed before.
    async fn token(&self) -> Result<Option<String>, ClientError> {
        let ageing = match &*self.access() {
            Access::Nothing => return Ok(None),
            Access::Token(token) => return Ok(Some(token.clone())),
            Access::Login(login, _) if !login.is_ageing() => return Ok(Some(login.token.clone())),
            Access::Login(_, file) => file.clone(),
        };
        let login = self.refresh(&ageing).await?;
        let token = login.token.clone();
        *self.access() = Access::Login(login, ageing);
        Ok(Some(token))
    }

    /// Exchanges the token of a login for the next, unless another command did.
    async fn refresh(&self, file: &LoginFile) -> Result<Login, ClientError> {
        let lock = file.lock()?;
        let StoredLogin::Login(kept) = file.read(&self.servers)? else {
            return Err(ClientError::Unauthorized);
        };
        if !kept.is_ageing() {
            return Ok(kept);
        }
        let over = || ClientError::LoginOver { user: kept.user.clone(), server: self.servers.to_string() };
        if kept.is_over() {
            return Err(over());
        }
        let asked = ClientRequest::new(Method::POST, &["auth", "refresh"]);
        match self.read(self.ask(ONCE, &asked, Some(&kept.token)).await?).await {
            Ok(token) => {
                let login = Login::begun(&kept.user, token);
                file.exchange(&kept, Some(&login), &lock)?;
                Ok(login)
            }
            Err(ClientError::Unauthorized) => Err(over()),
            // It lasts a little longer, and the server may be better by then.
            Err(_) => Ok(kept),
        }
    }

    fn access(&self) -> MutexGuard<'_, Access> {
        self.access.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn read<T: DeserializeOwned>(&self, response: Response) -> Result<T, ClientError> {
        let status = response.status();
        let body = response.bytes().await.map_err(|error| self.unreachable(root_cause(&error)))?;
        let not_ours = |error| self.not_ours(&format!("{status}, {error}"));
        if status.is_success() {
            let body: &[u8] = if body.is_empty() { b"null" } else { &body };
            return serde_json::from_slice(body).map_err(not_ours);
        }
        match serde_json::from_slice::<Value>(&body) {
            Ok(body) if status == StatusCode::UNAUTHORIZED && is_wrong_password(&body) => {
                Err(refused(status, &body))
            }
            _ if status == StatusCode::UNAUTHORIZED => Err(self.unauthorized()),
            Ok(body) => Err(refused(status, &body)),
            Err(error) => Err(not_ours(error)),
        }
    }

    /// The servers this speaks to.
    pub(crate) const fn servers(&self) -> &Servers {
        &self.servers
    }

    pub(crate) fn not_ours(&self, cause: &str) -> ClientError {
        ClientError::NotOurs { server: self.servers.to_string(), cause: cause.to_owned() }
    }

    fn unreachable(&self, cause: String) -> ClientError {
        ClientError::Unreachable { server: self.servers.to_string(), cause }
    }
}

/// What goes along with a request: a key that makes its repeat harmless, and a reason for the audit log.
#[derive(Default)]
pub(crate) struct Order<'a> {
    pub(crate) key: Option<&'a str>,
    pub(crate) reason: Option<&'a Reason>,
}

impl<'a> Order<'a> {
    /// With a reason, and without a key.
    pub(crate) const fn because(reason: &'a Reason) -> Self {
        Self { key: None, reason: Some(reason) }
    }

    /// With a key, if there is one, and without a reason.
    pub(crate) const fn with(key: Option<&'a str>) -> Self {
        Self { key, reason: None }
    }
}

/// A list to be read.
pub(crate) struct Listing<'a> {
    pub(crate) path: &'a [&'a str],
    /// Name of the list in the response.
    pub(crate) name: &'a str,
    pub(crate) query: Vec<(&'a str, String)>,
    pub(crate) limit: usize,
}

/// A response in two forms: as it came, so that what is printed lacks nothing, and as the contract reads it.
#[derive(Debug)]
pub(crate) struct Answer<T> {
    pub(crate) raw: Value,
    pub(crate) read: T,
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Answer<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let raw = Value::deserialize(from)?;
        let read = T::deserialize(&raw).map_err(D::Error::custom)?;
        Ok(Self { raw, read })
    }
}

/// Then another token would not help (P1).
fn is_wrong_password(body: &Value) -> bool {
    body.get("detail").is_some_and(|detail| detail == "Incorrect username or password")
}

fn refused(status: StatusCode, body: &Value) -> ClientError {
    let detail = body.get("detail").and_then(Value::as_str).unwrap_or("the server gave no reason");
    ClientError::Refused { status, detail: detail.to_owned() }
}

/// More than the server gives a request.
const ANSWER_MAX: Duration = Duration::from_secs(70);

const ONCE: Manner = Manner::once(ANSWER_MAX);
const REPEATABLE: Manner = Manner::repeatable(ANSWER_MAX);

/// The longest page the server gives.
const PAGE_MAX: usize = 1000;

/// A request that can be sent to any server.
struct ClientRequest<'a> {
    method: Method,
    path: &'a [&'a str],
    query: &'a [(&'a str, String)],
    /// JSON.
    body: Option<String>,
    key: Option<&'a str>,
    /// For the audit log.
    reason: Option<&'a str>,
}

impl<'a> ClientRequest<'a> {
    const fn new(method: Method, path: &'a [&'a str]) -> Self {
        Self { method, path, query: &[], body: None, key: None, reason: None }
    }

    fn with_body(self, body: &impl Serialize) -> Self {
        Self { body: Some(serde_json::to_string(body).expect("a body has only text keys")), ..self }
    }

    fn request(&self, http: &reqwest::Client, server: &Url) -> RequestBuilder {
        let mut url = below(server, self.path.iter().copied());
        if !self.query.is_empty() {
            url.query_pairs_mut().extend_pairs(self.query);
        }
        let mut request = http.request(self.method.clone(), url);
        if let Some(body) = &self.body {
            request = request.header("content-type", "application/json").body(body.clone());
        }
        if let Some(reason) = self.reason {
            let encoded = utf8_percent_encode(reason, NON_ALPHANUMERIC).to_string();
            request = request.header("muster-reason", encoded);
        }
        self.key.into_iter().fold(request, |request, key| request.header("idempotency-key", key))
    }
}

#[cfg(test)]
pub(crate) mod tests;
