//! Where messages go: Slack, a webhook, or standard output (C18).

mod lines;
mod slack;
mod webhook;

pub(super) use lines::Lines;
pub(super) use slack::{Slack, SlackError, Thread};
pub(super) use webhook::Webhook;

use super::{Answer, EnvoyError, Post};
use muster_worker_kit::http::{self, because, client_for, retry_after};
use reqwest::{Client, Response, StatusCode, Url};
use std::time::Duration;

/// One of the ways to people.
pub(super) enum Outlet {
    Slack(Slack),
    Webhook(Webhook),
    Lines(Lines),
}

impl Outlet {
    /// Posts a message.
    pub(super) async fn post(&mut self, post: &Post) -> Answer {
        match self {
            Self::Slack(slack) => slack.post(post).await,
            Self::Webhook(webhook) => webhook.post(post).await,
            Self::Lines(lines) => lines.post(post),
        }
    }
}

/// A client for an address that somebody has written into a file.
fn reach(setting: &'static str, address: &str) -> Result<(Client, Url), EnvoyError> {
    let wrong = |reason: String| EnvoyError::Address { setting, address: address.to_owned(), reason };
    let url = Url::parse(address).map_err(|error| wrong(error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(wrong("it must begin with http:// or https:// and name a host".to_owned()));
    }
    let client = client_for(url.as_str()).timeout(TIMEOUT).connect_timeout(TIMEOUT).build();
    Ok((client.map_err(|error| wrong(because(&error)))?, url))
}

/// How long a server wants to be left alone, where it says so.
fn patience(answer: &Response) -> Option<Duration> {
    let is_limited = answer.status() == StatusCode::TOO_MANY_REQUESTS;
    is_limited.then(|| retry_after(answer).unwrap_or(PATIENCE))
}

/// A body of a size that makes sense.
async fn body(mut answer: Response) -> Result<Vec<u8>, String> {
    let body = http::body(&mut answer, BODY_BYTES_MAX).await.map_err(|error| because(&error))?;
    body.ok_or_else(|| format!("the answer is longer than {BODY_BYTES_MAX} bytes"))
}

/// Shorter than the time after which a role without a sign of life is missed.
const TIMEOUT: Duration = Duration::from_secs(9);
/// For a server that does not say how long.
const PATIENCE: Duration = Duration::from_secs(10);
const BODY_BYTES_MAX: usize = 4 * 1024 * 1024;
