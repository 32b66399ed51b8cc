//! Speaks to a server over HTTP on behalf of the client commands.

use crate::{
    failure::{Exit, Failure},
    login_file::{Kept, Login, LoginFile, LoginFileError},
    reach::{self, Access, Reach},
};
use reqwest::{Method, RequestBuilder, Response, StatusCode, Url};
use serde_json::Value;
use std::{
    io,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// A server that was found, and the token for it.
pub(crate) struct Client {
    http: reqwest::Client,
    server: Url,
    access: Mutex<Access>,
}

/// Why the server did not do as asked.
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
        let server = reach::server(reach.server.as_deref(), variable)?;
        let access = reach::access(&server, variable)?;
        Ok(Self::showing(server, access))
    }

    /// Speaks to a server with a token that stays as it is, or none.
    pub(crate) fn new(server: Url, token: Option<String>) -> Self {
        Self::showing(server, token.map_or(Access::Nothing, Access::Token))
    }

    fn showing(server: Url, access: Access) -> Self {
        let builder = muster_agent::http::client_for(server.as_str()).no_proxy();
        let http = builder.connect_timeout(CONNECT_MAX).timeout(ANSWER_MAX).build();
        let http = http.expect("TLS fails at the first request, not here");
        Self { http, server, access: Mutex::new(access) }
    }

    /// Asks for something. `path` is given in pieces, so that no name can lead elsewhere.
    pub(crate) async fn get(&self, path: &[&str], query: &[(&str, String)]) -> Result<Value, ClientError> {
        let mut url = self.url(path);
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        self.send(self.http.request(Method::GET, url)).await
    }

    /// Has something done.
    pub(crate) async fn post(&self, path: &[&str], body: &Value) -> Result<Value, ClientError> {
        self.send(self.http.request(Method::POST, self.url(path)).json(body)).await
    }

    /// Has something taken away.
    pub(crate) async fn delete(&self, path: &[&str]) -> Result<Value, ClientError> {
        self.send(self.http.request(Method::DELETE, self.url(path))).await
    }

    /// Has something changed.
    pub(crate) async fn patch(&self, path: &[&str], body: &Value) -> Result<Value, ClientError> {
        self.send(self.http.request(Method::PATCH, self.url(path)).json(body)).await
    }

    /// As [`Self::post`], recognised by the server when it is repeated.
    pub(crate) async fn post_once(
        &self,
        path: &[&str],
        body: &Value,
        key: &str,
    ) -> Result<Value, ClientError> {
        let request = self.http.request(Method::POST, self.url(path)).json(body);
        self.send(request.header("idempotency-key", key)).await
    }

    /// Sends JSON as it is; with a key, recognised by the server when it is repeated.
    pub(crate) async fn post_text(
        &self,
        path: &[&str],
        body: String,
        key: Option<&str>,
    ) -> Result<Value, ClientError> {
        let request = self.http.request(Method::POST, self.url(path)).body(body);
        let request = request.header("content-type", "application/json");
        self.send(key.into_iter().fold(request, |request, key| request.header("idempotency-key", key))).await
    }

    /// Reads a list page by page, up to `limit` items, into one document `{name: […]}`.
    pub(crate) async fn list(&self, listing: Listing<'_>) -> Result<Value, ClientError> {
        let mut items = Vec::new();
        let mut after: Option<String> = None;
        loop {
            let mut page_query = listing.query.clone();
            page_query.push(("limit", (listing.limit - items.len()).min(PAGE_MAX).to_string()));
            page_query.extend(after.take().map(|after| ("after", after)));
            let mut page = self.get(listing.path, &page_query).await?;
            if let Some(Value::Array(more)) = page.get_mut(listing.name).map(Value::take) {
                items.extend(more);
            }
            after = page.get("next").and_then(Value::as_str).map(str::to_owned);
            if after.is_none() || items.len() >= listing.limit {
                return Ok(Value::Object(
                    [(listing.name.to_owned(), Value::Array(items))].into_iter().collect(),
                ));
            }
        }
    }

    fn url(&self, path: &[&str]) -> Url {
        let mut url = self.server.clone();
        url.path_segments_mut().expect("checked to be an http address").pop_if_empty().extend(path);
        url
    }

    /// Fetches a file, whatever is in it, and hands it on piece by piece.
    pub(crate) async fn fetch(
        &self,
        path: &[&str],
        mut take: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<(), Failure> {
        let request = self.http.request(Method::GET, self.url(path)).timeout(FETCH_MAX);
        let mut response = self.answer(request).await?;
        if !response.status().is_success() {
            return Err(self
                .read(response)
                .await
                .err()
                .map_or_else(|| Failure::Usage("the server sent no file".to_owned()), Into::into));
        }
        while let Some(piece) = response.chunk().await.map_err(|error| self.unreachable(&error))? {
            take(&piece)?;
        }
        Ok(())
    }

    async fn send(&self, request: RequestBuilder) -> Result<Value, ClientError> {
        self.read(self.answer(request).await?).await
    }

    async fn answer(&self, request: RequestBuilder) -> Result<Response, ClientError> {
        let request = match self.token().await? {
            Some(token) => request.bearer_auth(token),
            None => request,
        };
        request.send().await.map_err(|error| self.unreachable(&error))
    }

    /// What to do about a 401 depends on what was shown.
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
        let Kept::Login(kept) = file.read(&self.server)? else { return Err(ClientError::Unauthorized) };
        if !kept.is_ageing() {
            return Ok(kept);
        }
        let over = || ClientError::LoginOver { user: kept.user.clone(), server: self.server.to_string() };
        if kept.is_over() {
            return Err(over());
        }
        let request =
            self.http.request(Method::POST, self.url(&["auth", "refresh"])).bearer_auth(&kept.token);
        let sent = request.send().await.map_err(|error| self.unreachable(&error))?;
        match self.read(sent).await {
            Ok(answer) => {
                let login = Login::begun(&kept.user, &answer).ok_or_else(|| self.not_ours("no token"))?;
                file.write(&self.server, Some(login.clone()), &lock)?;
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

    async fn read(&self, response: Response) -> Result<Value, ClientError> {
        let status = response.status();
        let body = response.bytes().await.map_err(|error| self.unreachable(&error))?;
        if status.is_success() && body.is_empty() {
            return Ok(Value::Null);
        }
        let body: Result<Value, _> = serde_json::from_slice(&body);
        match body {
            Ok(body) if status.is_success() => Ok(body),
            Ok(body) if status == StatusCode::UNAUTHORIZED && is_wrong_password(&body) => {
                Err(refused(status, &body))
            }
            _ if status == StatusCode::UNAUTHORIZED => Err(self.unauthorized()),
            Ok(body) => Err(refused(status, &body)),
            Err(error) => Err(self.not_ours(&format!("{status}, {error}"))),
        }
    }

    /// The server this speaks to.
    pub(crate) const fn server(&self) -> &Url {
        &self.server
    }

    pub(crate) fn not_ours(&self, cause: &str) -> ClientError {
        ClientError::NotOurs { server: self.server.to_string(), cause: cause.to_owned() }
    }

    fn unreachable(&self, error: &reqwest::Error) -> ClientError {
        ClientError::Unreachable { server: self.server.to_string(), cause: root_cause(error) }
    }
}

/// A list to be read.
pub(crate) struct Listing<'a> {
    pub(crate) path: &'a [&'a str],
    /// What the list is called in the answer.
    pub(crate) name: &'a str,
    pub(crate) query: Vec<(&'a str, String)>,
    pub(crate) limit: usize,
}

/// Then another token would not help (P1).
fn is_wrong_password(body: &Value) -> bool {
    body.get("detail").is_some_and(|detail| detail == "Incorrect username or password")
}

fn refused(status: StatusCode, body: &Value) -> ClientError {
    let detail = body.get("detail").and_then(Value::as_str).unwrap_or("the server gave no reason");
    ClientError::Refused { status, detail: detail.to_owned() }
}

/// The innermost error says what happened; those around it only where.
fn root_cause(error: &dyn std::error::Error) -> String {
    error.source().map_or_else(|| error.to_string(), root_cause)
}

/// A server on the same network answers at once or not at all.
const CONNECT_MAX: Duration = Duration::from_secs(5);

/// More than the server gives a request.
const ANSWER_MAX: Duration = Duration::from_secs(70);

/// For a file, which may be large and the line slow.
const FETCH_MAX: Duration = Duration::from_secs(3600);

/// The longest page the server gives.
const PAGE_MAX: usize = 1000;

#[cfg(test)]
mod tests;
