//! Endpoints of workers: which of them the server calls, and the calls with a task or a removal, signed so that the worker
//! knows who sent them (S3, S6).

use crate::output::hex;
use hmac::{Hmac, KeyInit, Mac};
use muster_contract_simulation::PushResponse;
use muster_model::Name;
use reqwest::{
    Client, Method, Response, StatusCode, Url,
    header::{CONTENT_TYPE, HeaderName},
};
use sha2::Sha256;
use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::Duration,
};
use tokio::sync::Semaphore;

/// The reasons for a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Errand {
    /// To bring a task (S3).
    Task,
    /// To tell a worker that it was removed (S6).
    Removal,
}

/// One call to a worker.
#[derive(Debug)]
pub(super) struct Push<'a> {
    /// The reason.
    pub(super) errand: Errand,
    /// The worker to be called.
    pub(super) target: Target<'a>,
    /// The body, as JSON.
    pub(super) body: Vec<u8>,
}

/// A worker that can be called.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target<'a> {
    /// Its name.
    pub(super) worker: &'a Name,
    /// Its address.
    pub(super) endpoint: &'a str,
    /// SHA-256 of its token.
    pub(super) key: &'a [u8; 32],
}

/// The reason why a call was not acknowledged.
#[derive(Debug, thiserror::Error)]
pub(super) enum PushError {
    /// The endpoint cannot be called.
    #[error("{0:?} is no http or https address")]
    Address(String),
    /// TLS cannot be set up here.
    #[error("https cannot be spoken here: {0}")]
    Tls(String),
    /// No answer.
    #[error("{}", because(.0))]
    Http(#[from] reqwest::Error),
    /// An answer that says no.
    #[error("answered {0}")]
    Status(StatusCode),
    /// An answer too long to be an ack.
    #[error("answered more than {ANSWER_BYTES_MAX} bytes")]
    TooLong,
    /// An answer without an ack.
    #[error("answered without {{\"ack\": true}}")]
    NoAck,
}

/// Makes calls to workers, a bounded number at once.
#[derive(Debug)]
pub(super) struct Courier {
    plain: Result<Client, String>,
    /// Certificates are read with the first https endpoint: they cost memory, and a machine may have none.
    secure: OnceLock<Result<Client, String>>,
    places: Semaphore,
    /// Each endpoint has few of the places: one that is slow must not take those of the others.
    lanes: Mutex<HashMap<String, Arc<Semaphore>>>,
}

impl Courier {
    pub(super) fn new() -> Self {
        Self {
            plain: client(false),
            secure: OnceLock::new(),
            places: Semaphore::new(CALLS_MAX),
            lanes: Mutex::default(),
        }
    }

    /// Makes one try.
    pub(super) async fn bring(&self, push: &Push<'_>) -> Result<(), PushError> {
        let lane = self.lane(push.target.endpoint);
        let brought = {
            let _turn = lane.acquire().await;
            let _place = self.places.acquire().await;
            self.call(push).await
        };
        self.leave(push.target.endpoint, lane);
        brought
    }

    async fn call(&self, push: &Push<'_>) -> Result<(), PushError> {
        let url = address(push.errand, push.target.endpoint, push.target.worker)?;
        let client = if url.scheme() == "https" {
            self.secure.get_or_init(|| client(true)).as_ref()
        } else {
            self.plain.as_ref()
        };
        let client = client.map_err(|error| PushError::Tls(error.clone()))?;
        let method = match push.errand {
            Errand::Task => Method::POST,
            Errand::Removal => Method::DELETE,
        };
        let request = client
            .request(method, url)
            .header(CONTENT_TYPE, "application/json")
            .header(SIGNATURE, signature(push.target.key, &push.body))
            .body(push.body.clone());
        let answer = request.send().await?;
        if !answer.status().is_success() {
            return Err(PushError::Status(answer.status()));
        }
        let answer: PushResponse =
            serde_json::from_slice(&read(answer).await?).map_err(|_| PushError::NoAck)?;
        if answer.ack { Ok(()) } else { Err(PushError::NoAck) }
    }

    fn lane(&self, endpoint: &str) -> Arc<Semaphore> {
        let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        let lane = || Arc::new(Semaphore::new(CALLS_PER_ENDPOINT_MAX));
        Arc::clone(lanes.entry(endpoint.to_owned()).or_insert_with(lane))
    }

    /// The last one to leave a lane takes it down.
    fn leave(&self, endpoint: &str, lane: Arc<Semaphore>) {
        let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        drop(lane);
        if lanes.get(endpoint).is_some_and(|lane| Arc::strong_count(lane) == 1) {
            lanes.remove(endpoint);
        }
    }
}

/// Lower-case hexadecimal digits of the HMAC-SHA-256 over a body's bytes.
fn signature(key: &[u8; 32], body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    mac.update(body);
    hex(&mac.finalize().into_bytes())
}

/// `{endpoint}/workers/{id}/tasks` for a task and `{endpoint}/workers/{id}` for a removal, whatever the worker's name holds.
fn address(errand: Errand, endpoint: &str, worker: &Name) -> Result<Url, PushError> {
    let wrong = || PushError::Address(endpoint.to_owned());
    let mut url = Url::parse(endpoint).map_err(|_| wrong())?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong());
    }
    url.set_query(None);
    url.set_fragment(None);
    let mut path = url.path_segments_mut().map_err(|()| wrong())?;
    path.pop_if_empty().extend(["workers", worker.as_str()]);
    if errand == Errand::Task {
        path.push("tasks");
    }
    drop(path);
    Ok(url)
}

/// Calls go to the address that was checked when the worker enrolled, and nowhere else: not to where a redirect points,
/// and not through a proxy.
fn client(with_tls: bool) -> Result<Client, String> {
    // Only the first call takes effect; every caller installs the same provider.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = if with_tls { Client::builder() } else { Client::builder().tls_certs_only([]) };
    let builder = builder.redirect(reqwest::redirect::Policy::none()).no_proxy();
    let builder = builder.connect_timeout(CONNECT_WITHIN).timeout(ANSWER_WITHIN);
    builder.build().map_err(|error| because(&error))
}

/// An answer, as long as it is short.
async fn read(mut answer: Response) -> Result<Vec<u8>, PushError> {
    let mut bytes = Vec::new();
    while let Some(chunk) = answer.chunk().await? {
        if bytes.len() + chunk.len() > ANSWER_BYTES_MAX {
            return Err(PushError::TooLong);
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

/// An error with all its causes: "error sending request" alone helps nobody.
fn because(error: &reqwest::Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

/// The facts that decide which endpoints a worker may have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin<'a> {
    /// The address that its registration came from.
    pub(crate) peer: Option<IpAddr>,
    /// Hosts that may be called beside that, by name or address.
    pub(crate) allowed: &'a [String],
}

/// Takes an address if a worker may have itself called there; `Err` says what is wrong with it.
///
/// A server that calls any address it is given can be sent to places only it can reach. So the host must be where the
/// registration came from, or listed; a name only where it is listed, because whoever owns it can point it elsewhere.
pub(crate) fn check_endpoint(text: &str, origin: Origin<'_>) -> Result<Box<str>, &'static str> {
    let url = Url::parse(text).map_err(|_| "must be an address such as http://10.0.0.7:9000")?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err("must begin with http:// or https://");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("must not carry a name or a password");
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err("must have neither a query nor a fragment");
    }
    if !is_allowed(&url, origin) {
        return Err(
            "must be at the address the registration came from, or listed in simulation.endpoint_allow",
        );
    }
    Ok(url.as_str().trim_end_matches('/').into())
}

fn is_allowed(url: &Url, origin: Origin<'_>) -> bool {
    let Some(host) = url.host_str() else { return false };
    let host = bare(host);
    if origin.allowed.iter().any(|listed| is_same(bare(listed), host)) {
        return true;
    }
    let address = host.parse::<IpAddr>().ok().map(|address| address.to_canonical());
    address.is_some() && address == origin.peer
}

/// Returns true if two hosts are the same, by address where they are addresses.
fn is_same(listed: &str, host: &str) -> bool {
    match (listed.parse::<IpAddr>(), host.parse::<IpAddr>()) {
        (Ok(listed), Ok(host)) => listed.to_canonical() == host.to_canonical(),
        _ => listed.eq_ignore_ascii_case(host),
    }
}

fn bare(host: &str) -> &str {
    host.trim_start_matches('[').trim_end_matches(']')
}

/// The header of the signature.
pub(super) const SIGNATURE: HeaderName = HeaderName::from_static("x-muster-signature");
const CONNECT_WITHIN: Duration = Duration::from_secs(1);
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
const ANSWER_BYTES_MAX: usize = 64 * 1024;
const CALLS_MAX: usize = 64;
const CALLS_PER_ENDPOINT_MAX: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::Digest;

    /// S3: the signature is lower-case hex of the HMAC-SHA-256 over the body's bytes, keyed by the token's SHA-256.
    #[test]
    fn a_signature_is_as_others_compute_it() {
        // printf '{"taskId":"demo.00000000"}' |
        //   openssl dgst -sha256 -mac HMAC -macopt hexkey:$(printf t0ken | sha256sum | cut -d' ' -f1)
        let key: [u8; 32] = Sha256::digest(b"t0ken").into();
        assert_eq!(
            signature(&key, br#"{"taskId":"demo.00000000"}"#),
            "07e9bc478e8305bc026d285d8b94090121eca5762cbdb57f6c26f5a4144901c7"
        );
    }

    /// S3, S6: the address is the endpoint's, with the worker's name in its place and nothing else of it.
    #[test]
    fn a_call_goes_to_its_workers_address() {
        let worker = Name::new("gpu.01").unwrap();
        for (endpoint, url) in [
            ("http://10.0.0.7:9000", "http://10.0.0.7:9000/workers/gpu.01/tasks"),
            ("https://gpu/base/", "https://gpu/base/workers/gpu.01/tasks"),
            ("http://[::1]:9000/a?b=c#d", "http://[::1]:9000/a/workers/gpu.01/tasks"),
        ] {
            assert_eq!(address(Errand::Task, endpoint, &worker).unwrap().as_str(), url);
        }
        let odd = Name::new("a?b#c%2f").unwrap();
        let url = |errand: Errand| address(errand, "http://h", &odd).unwrap().to_string();
        assert_eq!(url(Errand::Task), "http://h/workers/a%3Fb%23c%252f/tasks");
        assert_eq!(url(Errand::Removal), "http://h/workers/a%3Fb%23c%252f");
        for bad in ["", "10.0.0.7:9000", "ftp://h", "file:///etc/passwd", "mailto:a@b", "http://"] {
            assert!(matches!(address(Errand::Task, bad, &worker), Err(PushError::Address(_))), "{bad}");
        }
    }

    fn check(text: &str) -> Option<String> {
        let allowed = ["gpu-7.lab".to_owned(), "10.9.9.9".to_owned()];
        let origin = Origin { peer: Some("10.0.0.7".parse().unwrap()), allowed: &allowed };
        check_endpoint(text, origin).ok().map(Into::into)
    }

    /// S3: an endpoint is where the registration came from, or listed.
    #[test]
    fn own_and_listed_endpoints_are_taken() {
        for (text, taken) in [
            ("http://10.0.0.7:9000", "http://10.0.0.7:9000"),
            ("http://10.0.0.7:9000/base/", "http://10.0.0.7:9000/base"),
            ("https://10.0.0.7", "https://10.0.0.7"),
            ("http://[::ffff:10.0.0.7]:9000", "http://[::ffff:a00:7]:9000"),
            ("http://GPU-7.lab:9000", "http://gpu-7.lab:9000"),
            ("http://10.9.9.9:1", "http://10.9.9.9:1"),
        ] {
            assert_eq!(check(text).as_deref(), Some(taken), "{text}");
        }
    }

    /// S3: no other host is ever called, however it is written.
    #[test]
    fn foreign_endpoints_are_refused() {
        for text in [
            "http://127.0.0.1:9000",
            "http://localhost:9000",
            "http://169.254.169.254/latest/meta-data",
            "http://0xa9fea9fe/",
            "http://10.0.0.70:9000",
            "http://10.0.0.7.evil.example/",
            "http://10.0.0.7@evil.example/",
            "http://evil.example/#@10.0.0.7",
            "http://evil.example\\@10.0.0.7/",
            "http://user:pass@10.0.0.7/",
            "http://10.0.0.7/?x=1",
            "http://10.0.0.7/#x",
            "ftp://10.0.0.7/",
            "file:///etc/passwd",
            "gpu-7.lab:9000",
            "//10.0.0.7/",
            "10.0.0.7:9000",
            "",
        ] {
            assert_eq!(check(text), None, "{text}");
        }
        let nobody = Origin { peer: None, allowed: &[] };
        assert!(check_endpoint("http://10.0.0.7/", nobody).is_err());
        // The same address, written as one number: it is read before it is compared.
        assert!(check("http://167772167/").is_some());
    }
}
