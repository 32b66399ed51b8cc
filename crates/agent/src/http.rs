//! HTTP clients, with TLS where the address asks for it, and what answers have in common.

use reqwest::{Client, ClientBuilder, Response, header::RETRY_AFTER};
use serde_json::Value;
use std::time::Duration;

/// A client for a server.
///
/// Certificates of the system are read for `https` only: they cost memory, and a machine may have none.
pub fn client_for(url: &str) -> ClientBuilder {
    // Whoever comes first chooses; it is the same choice everywhere.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder =
        if url.starts_with("https:") { Client::builder() } else { Client::builder().tls_certs_only([]) };
    // Followed, a redirect turns a report into a question for some page, and that page's 200 into an ack.
    builder.redirect(reqwest::redirect::Policy::none())
}

/// What a refusal says: the detail of a problem, else the first of whatever there is.
pub async fn detail(mut answer: Response) -> String {
    let bytes = body(&mut answer, DETAIL_BYTES_MAX).await.ok().flatten().unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let problem: Option<Value> = serde_json::from_str(&text).ok();
    let detail = problem.as_ref().and_then(|problem| problem.get("detail")?.as_str());
    detail.unwrap_or(&text).chars().take(DETAIL_CHARS_MAX).collect()
}

/// What an answer brings, unless it is more than so many bytes: then no more than these are ever held.
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

/// How long a server asks for patience.
#[must_use]
pub fn retry_after(answer: &Response) -> Option<Duration> {
    let seconds = answer.headers().get(RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds))
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

const DETAIL_CHARS_MAX: usize = 500;
/// Any problem fits; whoever says more has nothing to say.
const DETAIL_BYTES_MAX: usize = 64 * 1024;
