//! The master over HTTP.

use super::{
    Secret,
    core::{Beat, Heard, Progress, Pulled, Rebind, Registration, Report, Trouble},
    wire::{self, Introduction},
};
use crate::call::{call, json, read};
use hmac::{Hmac, KeyInit, Mac};
use muster_model::{IdRange, Millis};
use reqwest::{Client, Method, RequestBuilder, Url};
use sha2::{Digest, Sha256};
use std::{
    fmt,
    sync::{PoisonError, RwLock},
    time::Duration,
};

/// A master, and who speaks to it.
pub struct Master {
    client: Client,
    url: Url,
    worker: String,
    /// Proves that a worker may register (S1).
    secret: Secret,
    /// Proves that the worker is the one that registered; in memory only.
    token: RwLock<Option<Secret>>,
}

impl Master {
    /// A master at a URL; `secret` is what workers enrol with.
    #[must_use]
    pub fn new(client: Client, url: Url, worker: &str, secret: Secret) -> Self {
        Self { client, url, worker: worker.to_owned(), secret, token: RwLock::new(None) }
    }

    /// Registers (S1) and keeps the token.
    pub(super) async fn register(&self, who: &Introduction) -> Result<Registration, Trouble> {
        let request = self.client.post(self.at(&["workers", "register"])).bearer_auth(self.secret.reveal());
        let bytes = call(json(request, wire::write_introduction(who)), PATIENCE).await?;
        let (registration, token) = read(&bytes, wire::read_registration)?;
        *self.token.write().unwrap_or_else(PoisonError::into_inner) = Some(token);
        Ok(registration)
    }

    /// Tells that the worker lives (S2).
    pub(super) async fn beat(&self, beat: &Beat) -> Result<Heard, Trouble> {
        let path = ["workers", &self.worker, "heartbeat"];
        read(&self.post(&path, wire::write_beat(beat), PATIENCE_SHORT).await?, wire::read_heard)
    }

    /// Tells what is held here (S19).
    pub(super) async fn rebind(&self, rebind: &Rebind) -> Result<Heard, Trouble> {
        let body = wire::write_rebind(&self.worker, rebind);
        let bytes = self.post(&["workers", "rebind"], body, PATIENCE_SHORT).await?;
        // All that counts is that it was taken.
        Ok(wire::read_heard(&bytes).unwrap_or_default())
    }

    /// Asks for a task (S3).
    pub(super) async fn pull(&self, wait: Millis) -> Result<Pulled, Trouble> {
        let mut url = self.at(&["workers", &self.worker, "tasks"]);
        url.query_pairs_mut().append_pair("wait_ms", &wait.0.to_string());
        let patience = PATIENCE + Duration::from_millis(u64::try_from(wait.0).unwrap_or_default());
        read(&call(self.with_token(Method::GET, url)?, patience).await?, wire::read_pull)
    }

    /// Tells how far a task is (S4).
    pub(super) async fn progress(&self, progress: &Progress) -> Result<(), Trouble> {
        let path = ["workers", &self.worker, "progress"];
        self.post(&path, wire::write_progress(progress), PATIENCE_SHORT).await.map(drop)
    }

    /// Hands in what a task came to (S5, S5b).
    pub(super) async fn report(&self, report: &Report) -> Result<(), Trouble> {
        match report {
            Report::Complete { task, body } => {
                self.post(&["tasks", task, "complete"], body.as_bytes().to_vec(), PATIENCE_LONG).await
            }
            Report::Fail { task, attempt, error } => {
                let body = wire::write_fail(&self.worker, *attempt, error);
                self.post(&["tasks", task, "fail"], body, PATIENCE).await
            }
        }
        .map(drop)
    }

    /// Asks for further ids for a task (S1).
    pub(super) async fn more_ids(&self, task: &str, count: u64) -> Result<IdRange, Trouble> {
        let body = wire::write_ids_request(&self.worker, task, count);
        read(&self.post(&["id-ranges"], body, PATIENCE).await?, wire::read_ids)
    }

    /// Takes leave (S6).
    pub(super) async fn unregister(&self) -> Result<(), Trouble> {
        let url = self.at(&["workers", &self.worker]);
        call(self.with_token(Method::DELETE, url)?, PATIENCE_SHORT).await.map(drop)
    }

    /// Whether a pushed body comes from the master that gave the token (S3).
    pub(super) fn has_signed(&self, body: &[u8], signature: &str) -> bool {
        let Some(token) = self.token() else { return false };
        let Some(signature) = hex(signature) else { return false };
        let key = Sha256::digest(token.reveal());
        let mut mac = Hmac::<Sha256>::new_from_slice(&key).expect("any key will do");
        mac.update(body);
        mac.verify_slice(&signature).is_ok()
    }

    async fn post(&self, path: &[&str], body: Vec<u8>, patience: Duration) -> Result<Vec<u8>, Trouble> {
        call(json(self.with_token(Method::POST, self.at(path))?, body), patience).await
    }

    fn with_token(&self, method: Method, url: Url) -> Result<RequestBuilder, Trouble> {
        let token = self.token().ok_or(Trouble::Unauthorized)?;
        Ok(self.client.request(method, url).header("x-worker-token", token.reveal()))
    }

    fn token(&self) -> Option<Secret> {
        self.token.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A path of the contract; whatever it is made of stays in its place.
    fn at(&self, path: &[&str]) -> Url {
        let mut url = self.url.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(["api", "v1"]).extend(path);
        }
        url
    }
}

impl fmt::Debug for Master {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Master")
            .field("url", &self.url.as_str())
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
const PATIENCE: Duration = Duration::from_secs(10);
/// A master may have much to write before it takes a result.
const PATIENCE_LONG: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;
    use muster_agent::http::client_for;

    fn master(url: &str, token: &str) -> Master {
        let client = client_for(url).no_proxy().build().unwrap();
        let master = Master::new(client, Url::parse(url).unwrap(), "W1", Secret::new("enrol-me"));
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
        let master = master("http://127.0.0.1:1/base/", "t0ken");
        let url = master.at(&["tasks", "a/../b?c#d", "fail"]);
        assert_eq!(url.as_str(), "http://127.0.0.1:1/base/api/v1/tasks/a%2F..%2Fb%3Fc%23d/fail");
    }

    /// S1: neither the secret nor the token is ever printed.
    #[test]
    fn secrets_are_not_printed() {
        let text = format!("{:?}", master("http://127.0.0.1:1", "t0ken"));
        assert!(!text.contains("t0ken") && !text.contains("enrol-me"), "{text}");
    }
}
