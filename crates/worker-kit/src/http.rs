//! HTTP clients, with TLS where the address asks for it, and what answers have in common.

mod events;
mod servers;

pub use events::{EventLines, StreamEvent};
pub use servers::{Manner, NotAServer, Servers, Unanswered};

use reqwest::{
    Client, ClientBuilder, Response, Url,
    header::{HeaderMap, RETRY_AFTER},
};
use serde_json::Value;
use std::time::Duration;

/// A client for a server.
///
/// Certificates of the system are read for `https` only: they cost memory, and a machine may have none.
pub fn client_for(url: &str) -> ClientBuilder {
    // The first caller installs the provider; every caller installs the same one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder =
        if url.starts_with("https:") { Client::builder() } else { Client::builder().tls_certs_only([]) };
    // Followed, a redirect turns a report into a question for some page, and that page's 200 into an ack.
    builder.redirect(reqwest::redirect::Policy::none())
}

/// An address below a server's own, given in pieces, so that no name can lead elsewhere.
#[must_use]
pub fn below<'a>(server: &Url, path: impl IntoIterator<Item = &'a str>) -> Url {
    let mut url = server.clone();
    if let Ok(mut segments) = url.path_segments_mut() {
        segments.pop_if_empty().extend(path);
    }
    url
}

/// Text of a refusal: the detail of a problem, or the beginning of any other body.
pub async fn detail(answer: Response) -> String {
    refusal(answer).await.1
}

/// The type of a problem, empty where it has none, and what it says.
async fn refusal(mut answer: Response) -> (String, String) {
    let bytes = body(&mut answer, DETAIL_BYTES_MAX).await.ok().flatten().unwrap_or_default();
    kind_and_detail(&bytes)
}

/// The `detail` of a problem; a text that is no problem is its own detail.
#[must_use]
pub fn detail_of(body: &[u8]) -> String {
    kind_and_detail(body).1
}

fn kind_and_detail(body: &[u8]) -> (String, String) {
    let text = String::from_utf8_lossy(body);
    let problem: Option<Value> = serde_json::from_str(&text).ok();
    let member = |name| problem.as_ref().and_then(|problem| problem.get(name)?.as_str());
    let detail = member("detail").unwrap_or(&text).chars().take(DETAIL_CHARS_MAX).collect();
    (member("type").unwrap_or_default().to_owned(), detail)
}

/// Reads a response body; `None` if it is longer than the limit. Never holds more than that.
pub async fn body(answer: &mut Response, bytes_max: usize) -> reqwest::Result<Option<Vec<u8>>> {
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await? {
        if body.len() + chunk.len() > bytes_max {
            return Ok(None);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Some(body))
}

/// Pause that a server asks for (`Retry-After`).
#[must_use]
pub fn retry_after(answer: &Response) -> Option<Duration> {
    retry_after_in(answer.headers())
}

/// Pause that the headers of a response ask for.
pub(crate) fn retry_after_in(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// The term that an answer comes from, where it says so.
#[must_use]
pub fn epoch(answer: &Response) -> Option<u64> {
    answer.headers().get("muster-epoch")?.to_str().ok()?.parse().ok()
}

/// An error with all its causes: "error sending request" alone helps nobody.
#[must_use]
pub fn because(error: &reqwest::Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

/// The innermost cause of an error says what happened; those around it only where.
#[must_use]
pub fn root_cause(error: &dyn std::error::Error) -> String {
    error.source().map_or_else(|| error.to_string(), root_cause)
}

const DETAIL_CHARS_MAX: usize = 500;
/// Any problem fits; whoever says more has nothing to say.
const DETAIL_BYTES_MAX: usize = 64 * 1024;
