//! The master over HTTP.

use super::{
    Secret, Task,
    core::{Beat, Progress, Rebind, Registration, Report, Trouble},
};
use hmac::{Hmac, KeyInit, Mac};
use muster_contract_simulation::{
    HeartbeatResponse, IdChunk, IdRangeRequest, PullReply, RegisterRequest, RegisterResponse,
};
use muster_model::{IdRange, Millis};
use muster_worker_kit::{
    Text,
    call::{Caller, json, read, understand},
    http::{self, Manner, Servers},
};
use reqwest::{Client, RequestBuilder, Response, StatusCode, Url};
use sha2::{Digest, Sha256};
use std::{
    fmt,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

/// A master, whichever of its servers leads, and who speaks to it.
pub struct Master {
    caller: Caller,
    worker: Text,
    /// The newest term that any answer came from (S18).
    epoch: AtomicU64,
    /// Interval of heartbeats, in milliseconds.
    interval_ms: AtomicU64,
    /// Proves that a worker may register (S1).
    secret: Secret,
    /// Proves that the worker is the one that registered; in memory only.
    token: RwLock<Option<Secret>>,
}

impl Master {
    /// A master; `secret` is what workers enrol with.
    #[must_use]
    pub fn new(client: Client, servers: Servers, worker: &str, secret: Secret) -> Self {
        let (caller, worker) = (Caller::new(client, servers), worker.into());
        let (epoch, interval_ms) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { caller, worker, epoch, interval_ms, secret, token: RwLock::new(None) }
    }

    /// The newest term that any answer came from; 0 before there was one.
    pub(super) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Relaxed)
    }

    /// Registers (S1) and keeps the token.
    pub(super) async fn register(&self, who: &RegisterRequest) -> Result<Registration, Trouble> {
        let body = who.to_bytes();
        let request = |client: &Client, server: &Url| {
            let request = client.post(at(server, &["workers", "register"]));
            json(request.bearer_auth(self.secret.reveal()), body.clone())
        };
        let bytes = self.call(Manner::once(PATIENCE), request).await?;
        let response = read(&bytes, RegisterResponse::read)?;
        let interval = Millis(response.heartbeat_interval_ms);
        self.interval_ms.store(u64::try_from(interval.0).unwrap_or(0), Ordering::Relaxed);
        let token = Secret::new(response.worker_token);
        *self.token.write().unwrap_or_else(PoisonError::into_inner) = Some(token);
        Ok(Registration { interval, epoch: response.epoch })
    }

    /// Tells that the worker lives (S2).
    pub(super) async fn beat(&self, beat: &Beat) -> Result<HeartbeatResponse, Trouble> {
        let path = ["workers", &self.worker, "heartbeat"];
        read(&self.post(&path, beat.request.to_bytes(), self.promptly()).await?, HeartbeatResponse::read)
    }

    /// Tells what is held here (S19). The contract has room for one task, so each is told of by itself.
    pub(super) async fn rebind(&self, rebind: &Rebind) -> Result<HeartbeatResponse, Trouble> {
        let mut heard = self.rebind_with(rebind, rebind.tasks.first()).await?;
        for task in rebind.tasks.iter().skip(1) {
            let next = self.rebind_with(rebind, Some(task)).await?;
            let mut commands = std::mem::take(&mut heard.commands);
            // An order that several responses repeat counts once.
            commands.retain(|order| !next.commands.contains(order));
            commands.extend(next.commands);
            heard = HeartbeatResponse { commands, ..next };
        }
        Ok(heard)
    }

    async fn rebind_with(
        &self,
        rebind: &Rebind,
        task: Option<&Arc<Task>>,
    ) -> Result<HeartbeatResponse, Trouble> {
        let body = rebind.request(self.worker.clone(), task.cloned()).to_bytes();
        let bytes = self.post(&["workers", "rebind"], body, self.promptly()).await?;
        // All that counts is that it was taken.
        Ok(HeartbeatResponse::read(&bytes).unwrap_or_default())
    }

    /// Asks for a task (S3).
    pub(super) async fn pull(&self, wait: Millis) -> Result<PullReply, Trouble> {
        let patience = PATIENCE + Duration::from_millis(u64::try_from(wait.0).unwrap_or_default());
        let token = self.token().ok_or(Trouble::Unauthorized)?;
        let request = |client: &Client, server: &Url| {
            let mut url = at(server, &["workers", &self.worker, "tasks"]);
            url.query_pairs_mut().append_pair("wait_ms", &wait.0.to_string());
            with_token(client.get(url), &token)
        };
        // The master hands out a task again if the response with it was lost.
        read(&self.call(Manner::repeatable(patience).waiting(), request).await?, PullReply::read)
    }

    /// Tells how far a task is (S4).
    pub(super) async fn progress(&self, progress: &Progress) -> Result<(), Trouble> {
        let path = ["workers", &self.worker, "progress"];
        self.post(&path, progress.request.to_bytes(), self.promptly()).await.map(drop)
    }

    /// Hands in what a task came to (S5, S5b).
    pub(super) async fn report(&self, report: &Report) -> Result<(), Trouble> {
        let (task, verb, patience) = match report {
            Report::Complete { task, .. } => (task, "complete", PATIENCE_LONG),
            Report::Fail { task, .. } => (task, "fail", PATIENCE),
        };
        let body = report.body(&self.worker);
        self.post(&["tasks", task, verb], body, Manner::repeatable(patience)).await.map(drop)
    }

    /// Asks for further ids for a task (S1).
    pub(super) async fn more_ids(&self, task: &str, count: u64) -> Result<IdRange, Trouble> {
        let request = IdRangeRequest { worker: self.worker.clone(), task: Some(task.into()), count };
        read(&self.post(&["id-ranges"], request.to_bytes(), Manner::once(PATIENCE)).await?, IdChunk::read)
    }

    /// Takes leave (S6).
    pub(super) async fn unregister(&self) -> Result<(), Trouble> {
        let token = self.token().ok_or(Trouble::Unauthorized)?;
        let request = |client: &Client, server: &Url| {
            with_token(client.delete(at(server, &["workers", &self.worker])), &token)
        };
        self.call(Manner::once(PATIENCE_SHORT), request).await.map(drop)
    }

    /// True if a pushed body comes from the master that gave the token (S3).
    pub(super) fn has_signed(&self, body: &[u8], signature: &str) -> bool {
        let Some(token) = self.token() else { return false };
        let Some(signature) = hex(signature) else { return false };
        let key = Sha256::digest(token.reveal());
        let mut mac = Hmac::<Sha256>::new_from_slice(&key).expect("any key will do");
        mac.update(body);
        mac.verify_slice(&signature).is_ok()
    }

    async fn post(&self, path: &[&str], body: Vec<u8>, manner: Manner) -> Result<Vec<u8>, Trouble> {
        let token = self.token().ok_or(Trouble::Unauthorized)?;
        let request = |client: &Client, server: &Url| {
            with_token(json(client.post(at(server, path)), body.clone()), &token)
        };
        self.call(manner, request).await
    }

    /// Makes a call. A refusal by a server that was replaced counts for nothing: it does not know what happened since,
    /// and would have a worker give up what the new one gave it (S18).
    async fn call(
        &self,
        manner: Manner,
        request: impl Fn(&Client, &Url) -> RequestBuilder + Send + Sync,
    ) -> Result<Vec<u8>, Trouble> {
        let answer = self.caller.send(manner, request).await?;
        if self.is_over(&answer) {
            self.caller.servers.turn_from(answer.url());
            if !answer.status().is_success() {
                return Err(Trouble::NoAnswer(None));
            }
        }
        understand(answer).await
    }

    /// Takes note of the term that an answer comes from; says whether that one is over.
    fn is_over(&self, answer: &Response) -> bool {
        let Some(epoch) = http::epoch(answer) else { return false };
        if answer.status() == StatusCode::UNAUTHORIZED {
            // A server that does not know the worker need not be its master.
            return epoch < self.epoch();
        }
        epoch < self.epoch.fetch_max(epoch, Ordering::Relaxed)
    }

    /// The manner of what the next one makes up for. Where there is another server, one that is silent is not waited
    /// for until the worker must be taken to be lost.
    fn promptly(&self) -> Manner {
        let intervals = Duration::from_millis(self.interval_ms.load(Ordering::Relaxed) * INTERVALS_SILENT);
        let is_one_of = self.caller.servers.are_several() && !intervals.is_zero();
        Manner::repeatable(if is_one_of { intervals.min(PATIENCE_SHORT) } else { PATIENCE_SHORT })
    }

    fn token(&self) -> Option<Secret> {
        self.token.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// A path of the contract; whatever it is made of stays in its place.
fn at(server: &Url, path: &[&str]) -> Url {
    http::below(server, ["api", "v1"].iter().chain(path).copied())
}

fn with_token(request: RequestBuilder, token: &Secret) -> RequestBuilder {
    request.header("x-worker-token", token.reveal())
}

impl fmt::Debug for Master {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Master")
            .field("servers", &self.caller.servers)
            .field("worker", &self.worker)
            .finish_non_exhaustive()
    }
}

/// The bytes that lower-case hexadecimal digits stand for.
fn hex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| Some(digit(*pair.first()?)? << 4 | digit(*pair.get(1)?)?)).collect()
}

/// A heartbeat that takes longer was overtaken by others.
const PATIENCE_SHORT: Duration = Duration::from_secs(5);
/// Heartbeats that a server may leave unanswered before the next one is asked.
const INTERVALS_SILENT: u64 = 2;
const PATIENCE: Duration = Duration::from_secs(10);
/// A master may have much to write before it takes a result.
const PATIENCE_LONG: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    fn master(url: &str, token: &str) -> Master {
        let servers = Servers::parse([url]).unwrap();
        let client = servers.client().no_proxy().build().unwrap();
        let master = Master::new(client, servers, "W1", Secret::new("enrol-me"));
        *master.token.write().unwrap() = Some(Secret::new(token));
        master
    }

    /// S3: the signature is lower-case hex over the bytes of the body, keyed by the 32 bytes of the token's SHA-256.
    #[test]
    fn signatures_are_the_contracts() {
        // python3: hmac.new(hashlib.sha256(b"t0ken").digest(), b'{"taskId":"t1"}', "sha256").hexdigest()
        let signature = "121568387af2eb4cb48981c61770a2677ec0289b254645defb0c3e6f2870a127";
        let master = master("http://127.0.0.1:1", "t0ken");
        let body = br#"{"taskId":"t1"}"#;
        assert!(master.has_signed(body, signature));
        assert!(!master.has_signed(br#"{"taskId":"t2"}"#, signature));
        for wrong in ["", "00", &signature.to_uppercase(), &signature[..63], &format!("{signature}00")] {
            assert!(!master.has_signed(body, wrong), "{wrong}");
        }
    }

    /// S3: a name cannot lead a call elsewhere, and a base path stays.
    #[test]
    fn names_stay_in_their_place() {
        let url = at(&"http://127.0.0.1:1/base/".parse().unwrap(), &["tasks", "a/../b?c#d", "fail"]);
        assert_eq!(url.as_str(), "http://127.0.0.1:1/base/api/v1/tasks/a%2F..%2Fb%3Fc%23d/fail");
    }

    /// S1: neither the secret nor the token is ever printed.
    #[test]
    fn secrets_are_not_printed() {
        let text = format!("{:?}", master("http://127.0.0.1:1", "t0ken"));
        assert!(!text.contains("t0ken") && !text.contains("enrol-me"), "{text}");
    }
}
