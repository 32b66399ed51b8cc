//! The outlets for messages: Slack, a webhook, or standard output (C18).

pub(super) use super::slack::{Slack, SlackError, Thread};

use super::{Answer, EnvoyError, Post, Receipt};
use muster_worker_kit::http::{self, because, client_for, detail, retry_after};
use reqwest::{Client, Response, StatusCode, Url};
use serde_json::{Value, json};
use std::{
    io::{self, Write},
    time::Duration,
};

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
pub(super) fn reach(setting: &'static str, address: &str) -> Result<(Client, Url), EnvoyError> {
    let wrong = |reason: String| EnvoyError::Address { setting, address: address.to_owned(), reason };
    let url = Url::parse(address).map_err(|error| wrong(error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(wrong("it must begin with http:// or https:// and name a host".to_owned()));
    }
    let client = client_for(url.as_str()).timeout(TIMEOUT).connect_timeout(TIMEOUT).build();
    Ok((client.map_err(|error| wrong(because(&error)))?, url))
}

/// The pause that a server asks for, if it does.
pub(super) fn patience(answer: &Response) -> Option<Duration> {
    let is_limited = answer.status() == StatusCode::TOO_MANY_REQUESTS;
    is_limited.then(|| retry_after(answer).unwrap_or(PATIENCE))
}

/// A body of a size that makes sense.
pub(super) async fn body(mut answer: Response) -> Result<Vec<u8>, String> {
    let body = http::body(&mut answer, BODY_BYTES_MAX).await.map_err(|error| because(&error))?;
    body.ok_or_else(|| format!("the answer is longer than {BODY_BYTES_MAX} bytes"))
}

/// Somebody's address.
pub(super) struct Webhook {
    client: Client,
    url: Url,
}

impl Webhook {
    pub(super) fn new(address: &str) -> Result<Self, EnvoyError> {
        let (client, url) = reach("envoy.base_url", address)?;
        Ok(Self { client, url })
    }

    async fn post(&self, post: &Post) -> Answer {
        let answer = match self.client.post(self.url.clone()).json(&wire(post)).send().await {
            Ok(answer) => answer,
            Err(error) => return Answer::Failed(because(&error.without_url())),
        };
        if let Some(wait) = patience(&answer) {
            return Answer::Limited(wait);
        }
        if answer.status().is_success() {
            return Answer::Posted(Receipt { ts: post.id.to_string(), channel_id: None });
        }
        Answer::Failed(format!("the webhook answered {}: {}", answer.status(), detail(answer).await))
    }
}

/// The message as it travels; its text is as it was written, whoever shows it must know what is markup there.
fn wire(post: &Post) -> Value {
    json!({
        "text": post.text,
        "id": post.id.as_str(),
        "type": post.kind,
        "channel": post.channel,
        "urgency": post.urgency,
        "task_id": post.task_id,
        "thread": post.thread_ts,
    })
}

/// Writes one line per message.
pub(super) struct Lines {
    out: Box<dyn Write + Send>,
}

impl Lines {
    pub(super) const fn new(out: Box<dyn Write + Send>) -> Self {
        Self { out }
    }

    fn post(&mut self, post: &Post) -> Answer {
        match self.write(post) {
            Ok(()) => Answer::Posted(Receipt { ts: post.id.to_string(), channel_id: None }),
            Err(error) => Answer::Failed(format!("standard output: {error}")),
        }
    }

    fn write(&mut self, post: &Post) -> io::Result<()> {
        let about = post.task_id.as_deref().unwrap_or("-");
        let line =
            format!("{} {} #{} {} {}: {}", post.id, post.urgency, post.channel, post.kind, about, post.text);
        self.out.write_all(plain(&line).as_bytes())?;
        self.out.write_all(b"\n")?;
        self.out.flush()
    }
}

/// One line, whatever the message has in it: a terminal obeys control characters.
fn plain(text: &str) -> String {
    text.chars().map(|char| if char.is_control() { ' ' } else { char }).collect()
}

/// Shorter than the time after which a role without a sign of life is missed.
const TIMEOUT: Duration = Duration::from_secs(9);
/// For a server that does not say how long.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);
const BODY_BYTES_MAX: usize = 4 * 1024 * 1024;
