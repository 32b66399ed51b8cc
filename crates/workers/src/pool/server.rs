//! The server over HTTP.

use super::{
    Assignment, Secret,
    core::{Refusal, Started, Submitted, Trouble},
    wire::{self, Introduction, Token},
};
use muster_contract_pool::{
    HeartbeatRequest, KeyRequest, Seen, WorkerSummary, refusal::is_identical, to_bytes,
};
use muster_model::Millis;
use muster_worker_kit::{
    Text,
    call::{BODY_BYTES_MAX, Caller, json, read, understand},
    http::{Manner, Servers, below},
};
use reqwest::{Client, Method, RequestBuilder, Url};
use std::{
    fmt,
    sync::{PoisonError, RwLock},
    time::Duration,
};

/// A server, at one address or several, and who speaks to it.
pub struct Server {
    caller: Caller,
    credentials: Credentials,
    /// Proves who calls; in memory only.
    token: RwLock<Option<Secret>>,
    /// True if the old name of `last_seen_at` is read, too (P12).
    reads_old_name: bool,
}

/// Proof of the owner's identity.
#[derive(Clone, Debug)]
pub enum Credentials {
    /// A name and a password, which are exchanged for tokens.
    Password {
        /// The name.
        user: String,
        /// The password.
        password: Secret,
    },
    /// A token that somebody else got; it is not renewed, because that would end it for them.
    Token(Secret),
}

impl Credentials {
    pub(super) const fn can_log_in(&self) -> bool {
        matches!(self, Self::Password { .. })
    }
}

impl Server {
    /// A server.
    #[must_use]
    pub fn new(client: Client, servers: Servers, credentials: Credentials) -> Self {
        let token = match &credentials {
            Credentials::Password { .. } => None,
            Credentials::Token(token) => Some(token.clone()),
        };
        let caller = Caller::new(client, servers);
        Self { caller, credentials, token: RwLock::new(token), reads_old_name: true }
    }

    /// Says whether `last_heartbeat_at` is read where `last_seen_at` is missing, as it is by default (P12).
    #[must_use]
    pub fn reading_last_heartbeat_at(self, is_read: bool) -> Self {
        Self { reads_old_name: is_read, ..self }
    }

    pub(super) const fn can_log_in(&self) -> bool {
        self.credentials.can_log_in()
    }

    /// Logs in and keeps the token; gives how long it lasts (P1).
    pub(super) async fn log_in(&self) -> Result<Option<Millis>, Trouble> {
        let Credentials::Password { user, password } = &self.credentials else {
            return Err(Trouble::Unauthorized);
        };
        let form = wire::write_login(user, password.reveal());
        let request = |client: &Client, server: &Url| {
            let request = client.post(below(server, ["auth", "login"]));
            request.header("content-type", "application/x-www-form-urlencoded").body(form.clone())
        };
        self.keep(&self.caller.call(Manner::once(PATIENCE), request).await?)
    }

    /// Exchanges the token for a new one; gives how long it lasts (P1).
    pub(super) async fn renew(&self) -> Result<Option<Millis>, Trouble> {
        // The exchange ends the old token: made twice, it would end the new one's chance to be heard of.
        let request = self.request(Method::POST, &["auth", "refresh"], None)?;
        self.keep(&self.caller.call(Manner::once(PATIENCE), request).await?)
    }

    /// Lists the owner's workers (P4).
    pub(super) async fn workers(&self) -> Result<Vec<WorkerSummary>, Trouble> {
        let request = self.request(Method::GET, &["workers"], None)?;
        let manner = Manner::repeatable(PATIENCE_LONG);
        let bytes = self.caller.call_up_to(WORKERS_BYTES_MAX, manner, request).await?;
        read(&bytes.ok_or(Trouble::NoAnswer(None))?, |bytes| {
            WorkerSummary::read_list(bytes, self.reads_old_name)
        })
    }

    /// Registers a worker with a key (P3).
    pub(super) async fn register(&self, who: &Introduction, key: &str) -> Result<WorkerSummary, Trouble> {
        let body = who.body(key);
        read(&self.post(&["workers", "register"], body, Manner::once(PATIENCE)).await?, |bytes| {
            WorkerSummary::read(bytes, self.reads_old_name)
        })
    }

    /// Gives a worker another key.
    pub(super) async fn give_key(&self, worker: u64, key: &str) -> Result<(), Trouble> {
        let path = ["workers", &worker.to_string(), "key"];
        let request =
            self.request(Method::PUT, &path, Some(to_bytes(&KeyRequest { public_key: key.into() })))?;
        self.caller.call(Manner::once(PATIENCE), request).await.map(drop)
    }

    /// Tells that a worker lives (P5).
    pub(super) async fn beat(&self, worker: u64) -> Result<Option<Text>, Trouble> {
        let body = to_bytes(&HeartbeatRequest { worker_id: worker });
        read(&self.post(&["workers", "heartbeat"], body, Manner::repeatable(PATIENCE)).await?, |bytes| {
            Seen::read(bytes, self.reads_old_name)
        })
    }

    /// Asks what a worker has started (P6): at most so many.
    pub(super) async fn resume(&self, worker: u64, at_most: u32) -> Result<Started, Trouble> {
        let request = self.request(Method::POST, &["jobs", "poll"], Some(wire::write_resume(worker)))?;
        // Whatever polls have brought, one by one, is not too long together.
        let bytes_max = usize::try_from(at_most.max(1)).unwrap_or(usize::MAX);
        let bytes_max = bytes_max.saturating_mul(BODY_BYTES_MAX);
        match self.caller.call_up_to(bytes_max, Manner::repeatable(PATIENCE_LONG), request).await? {
            Some(bytes) => read(&bytes, wire::read_started),
            None => Ok(Started::TooLong),
        }
    }

    /// Asks for an assignment and has it started (P6).
    pub(super) async fn poll(&self, worker: u64, wait: Millis) -> Result<Option<Assignment>, Trouble> {
        let patience = PATIENCE + Duration::from_millis(u64::try_from(wait.0).unwrap_or_default());
        // Sent again it would start another: what was started for a lost answer is asked for by itself.
        let manner = Manner::once(patience).waiting();
        let bytes = self.post(&["jobs", "poll"], wire::write_poll(worker, wait), manner).await?;
        read(&bytes, wire::read_assignment).map(Some)
    }

    /// Submits a result (P7). The very same bytes, taken before, are success: that answer was lost (P8).
    pub(super) async fn submit(&self, assignment: u64, body: Vec<u8>) -> Result<Submitted, Trouble> {
        let request = self.request(Method::POST, &["jobs", "submit"], Some(body))?;
        let answer = self.caller.send(Manner::repeatable(PATIENCE_LONG), request).await?;
        let is_identical = is_identical(answer.status(), answer.headers());
        wire::understand_submitted(assignment, understand(answer).await, is_identical)
    }

    /// Submits results with one signature over all of them (P20).
    pub(super) async fn submit_batch(
        &self,
        assignments: &[u64],
        body: Vec<u8>,
    ) -> Result<Vec<Result<Submitted, Refusal>>, Trouble> {
        let answer = self.post(&["jobs", "work"], body, Manner::repeatable(PATIENCE_LONG)).await;
        wire::understand_batch(assignments, answer)
    }

    async fn post(&self, path: &[&str], body: Vec<u8>, manner: Manner) -> Result<Vec<u8>, Trouble> {
        self.caller.call(manner, self.request(Method::POST, path, Some(body))?).await
    }

    fn keep(&self, answer: &[u8]) -> Result<Option<Millis>, Trouble> {
        let Token { secret, lasts } = read(answer, wire::read_token)?;
        *self.token.write().unwrap_or_else(PoisonError::into_inner) = Some(secret);
        Ok(lasts)
    }

    /// A call with the token, to whichever server is asked; a base path stays before its path.
    fn request(
        &self,
        method: Method,
        path: &[&str],
        body: Option<Vec<u8>>,
    ) -> Result<impl Fn(&Client, &Url) -> RequestBuilder + Send + Sync, Trouble> {
        let token = self.token.read().unwrap_or_else(PoisonError::into_inner).clone();
        let token = token.ok_or(Trouble::Unauthorized)?;
        Ok(move |client: &Client, server: &Url| {
            let url = below(server, path.iter().copied());
            let request = client.request(method.clone(), url).bearer_auth(token.reveal());
            body.iter().fold(request, |request, body| json(request, body.clone()))
        })
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("servers", &self.caller.servers).finish_non_exhaustive()
    }
}

const PATIENCE: Duration = Duration::from_secs(10);
/// Owners may have very many workers, and each may have much to say of itself.
const WORKERS_BYTES_MAX: usize = 64 << 20;
/// A result, or all that was started, may be long, and the way slow.
const PATIENCE_LONG: Duration = Duration::from_secs(60);
