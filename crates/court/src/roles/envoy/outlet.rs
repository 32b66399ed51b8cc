//! The outlets for messages: Slack, a webhook, or standard output (C18).

use super::{Answer, EnvoyError, Post, Receipt, replies::is_ts};
use muster_worker_kit::http::{self, because, client_for, detail, retry_after};
use reqwest::{
    Client, RequestBuilder, Response, StatusCode, Url,
    header::{AUTHORIZATION, HeaderValue},
};
use serde::Deserialize;
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
fn reach(setting: &'static str, address: &str) -> Result<(Client, Url), EnvoyError> {
    let wrong = |reason: String| EnvoyError::Address { setting, address: address.to_owned(), reason };
    let url = Url::parse(address).map_err(|error| wrong(error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(wrong("it must begin with http:// or https:// and name a host".to_owned()));
    }
    let client = client_for(url.as_str()).timeout(TIMEOUT).connect_timeout(TIMEOUT).build();
    Ok((client.map_err(|error| wrong(because(&error)))?, url))
}

/// The pause that a server asks for, if it does.
fn patience(answer: &Response) -> Option<Duration> {
    let is_limited = answer.status() == StatusCode::TOO_MANY_REQUESTS;
    is_limited.then(|| retry_after(answer).unwrap_or(PATIENCE))
}

/// A body of a size that makes sense.
async fn body(mut answer: Response) -> Result<Vec<u8>, String> {
    let body = http::body(&mut answer, BODY_BYTES_MAX).await.map_err(|error| because(&error))?;
    body.ok_or_else(|| format!("the answer is longer than {BODY_BYTES_MAX} bytes"))
}

/// Webhook at the configured address.
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
        let answer = match self.client.post(self.url.clone()).json(&to_webhook(post)).send().await {
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
fn to_webhook(post: &Post) -> Value {
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

/// A workspace, entered with a bot's token.
#[derive(Clone)]
pub(super) struct Slack {
    client: Client,
    base: String,
    token: HeaderValue,
}

/// The reason why Slack did not do what it was asked.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SlackError {
    /// It wants nothing for a while.
    Limited(Duration),
    /// It said no, or something that nobody understands.
    Refused(String),
}

/// Some of a thread's messages.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Page {
    /// The messages, as they are.
    pub(super) messages: Vec<Value>,
    response_metadata: Onwards,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Onwards {
    next_cursor: String,
}

impl Slack {
    pub(super) fn new(base: Option<&str>, token: Option<&str>) -> Result<Self, EnvoyError> {
        let token = token.ok_or(EnvoyError::NoBotToken)?;
        let (client, url) = reach("envoy.base_url", base.unwrap_or(SLACK))?;
        let mut token = HeaderValue::try_from(format!("Bearer {token}")).map_err(|_| EnvoyError::BotToken)?;
        token.set_sensitive(true);
        Ok(Self { client, base: url.as_str().trim_end_matches('/').to_owned(), token })
    }

    pub(super) async fn post(&self, post: &Post) -> Answer {
        let request = self.client.post(format!("{}/chat.postMessage", self.base)).json(&to_slack(post));
        match self.call(request).await {
            Ok(answer) => Answer::Posted(receipt(post, &answer)),
            Err(SlackError::Limited(wait)) => Answer::Limited(wait),
            Err(SlackError::Refused(error)) => Answer::Failed(error),
        }
    }

    /// Reads the messages of a thread after a post, page by page.
    pub(super) async fn replies(&self, thread: Thread<'_>) -> Result<Page, SlackError> {
        let (channel, ts, from, cursor) = (thread.channel, thread.ts, thread.from, thread.cursor);
        let query =
            [("channel", channel), ("ts", ts), ("oldest", from), ("limit", "200"), ("cursor", cursor)];
        let query = query.iter().filter(|(_, value)| !value.is_empty());
        let url = Url::parse_with_params(&format!("{}/conversations.replies", self.base), query);
        let url = url.map_err(|error| SlackError::Refused(error.to_string()))?;
        let answer = self.call(self.client.get(url)).await?;
        serde_json::from_value(answer)
            .map_err(|error| SlackError::Refused(format!("conversations.replies: {error}")))
    }

    /// One call; Slack says no with a status of 200 as well.
    async fn call(&self, request: RequestBuilder) -> Result<Value, SlackError> {
        let refused = |error: &reqwest::Error| SlackError::Refused(because(error));
        let answer =
            request.header(AUTHORIZATION, &self.token).send().await.map_err(|error| refused(&error))?;
        if let Some(wait) = patience(&answer) {
            return Err(SlackError::Limited(wait));
        }
        let (status, wait) = (answer.status(), retry_after(&answer).unwrap_or(PATIENCE));
        let value = read(answer).await?;
        match value["error"].as_str() {
            _ if status.is_success() && value["ok"] == true => Ok(value),
            Some("ratelimited" | "rate_limited") => Err(SlackError::Limited(wait)),
            Some(error) => Err(SlackError::Refused(format!("Slack says {error}"))),
            None => Err(SlackError::Refused(format!("Slack answered {status} without saying why"))),
        }
    }
}

/// A part of a thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Thread<'a> {
    pub(super) channel: &'a str,
    pub(super) ts: &'a str,
    /// Nothing before this post is asked for.
    pub(super) from: &'a str,
    /// The cursor of the page before; empty for the first.
    pub(super) cursor: &'a str,
}

impl Page {
    /// The cursor of the next page, if there is one.
    pub(super) fn next(&self) -> Option<&str> {
        Some(self.response_metadata.next_cursor.as_str()).filter(|cursor| !cursor.is_empty())
    }
}

/// Reads a body as JSON; anything else counts as an empty object, and the status speaks for itself.
async fn read(answer: Response) -> Result<Value, SlackError> {
    let body = body(answer).await.map_err(SlackError::Refused)?;
    Ok(serde_json::from_slice(&body).unwrap_or_default())
}

fn to_slack(post: &Post) -> Value {
    let mut wire = json!({
        "channel": post.channel,
        "text": escaped(post),
        "unfurl_links": false,
        "metadata": {
            "event_type": "muster_message",
            "event_payload": { "id": post.id.as_str(), "task_id": post.task_id },
        },
    });
    // A thread from the time when messages went elsewhere has a name that Slack does not know.
    if let Some(thread_ts) = post.thread_ts.as_deref().filter(|ts| is_ts(ts)) {
        wire["thread_ts"] = thread_ts.into();
    }
    wire
}

/// A post that was taken is never posted again, even if its name is not understood; it then has ours.
fn receipt(post: &Post, answer: &Value) -> Receipt {
    let ts = answer["ts"].as_str().filter(|ts| is_ts(ts)).unwrap_or(post.id.as_str());
    let channel_id = answer["channel"].as_str().filter(|channel| (1..=CHANNEL_MAX).contains(&channel.len()));
    Receipt { ts: ts.to_owned(), channel_id: channel_id.map(str::to_owned) }
}

/// The text without markup that Slack would obey: `<!channel>` in a payload pings nobody (C23).
fn escaped(post: &Post) -> String {
    let note = format!("\n… (cut; the whole text is in {})", post.id);
    let room = TEXT_CHARS_MAX - note.chars().count();
    let (mut text, mut length, mut cut_at) = (String::new(), 0, 0);
    for char in post.text.chars() {
        let mut buffer = [0; 4];
        let piece = match char {
            '&' => "&amp;",
            '<' => "&lt;",
            '>' => "&gt;",
            other => &*other.encode_utf8(&mut buffer),
        };
        length += piece.chars().count();
        if length > TEXT_CHARS_MAX {
            text.truncate(cut_at);
            text.push_str(&note);
            return text;
        }
        text.push_str(piece);
        if length <= room {
            cut_at = text.len();
        }
    }
    text
}

/// A message that a person wrote.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SlackMessage {
    pub(super) text: String,
    pub(super) ts: String,
    pub(super) user: String,
    pub(super) channel: String,
    /// The thread, where it was said in one.
    pub(super) thread_ts: Option<String>,
    /// True in a direct channel.
    pub(super) is_direct: bool,
    /// True for a plain message, without a subtype.
    pub(super) is_plain: bool,
}

impl SlackMessage {
    /// Reads a message; those of programs (ours among them), changes to messages and empty ones are nobody's.
    pub(super) fn by_somebody(message: &Value) -> Option<Self> {
        let text = |key: &str| message[key].as_str().unwrap_or_default().to_owned();
        let subtype = message["subtype"].as_str();
        if !message["bot_id"].is_null() || !subtype.is_none_or(|subtype| SPOKEN.contains(&subtype)) {
            return None;
        }
        let said = Self {
            text: unescaped(&text("text")),
            ts: text("ts"),
            user: text("user"),
            channel: text("channel"),
            thread_ts: message["thread_ts"].as_str().filter(|ts| is_ts(ts)).map(str::to_owned),
            is_direct: message["channel_type"] == "im",
            is_plain: subtype.is_none(),
        };
        (is_ts(&said.ts) && !said.text.is_empty()).then_some(said)
    }
}

/// Undoes Slack's escaping of three characters. `&` comes last, so that nothing is unescaped twice.
fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

/// Shorter than the time after which a role without a sign of life is missed.
const TIMEOUT: Duration = Duration::from_secs(9);
/// For a server that does not say how long.
const PATIENCE: Duration = Duration::from_secs(10);
const BODY_BYTES_MAX: usize = 4 * 1024 * 1024;
const SLACK: &str = "https://slack.com/api";
/// The longest message that Slack shows.
const TEXT_CHARS_MAX: usize = 40_000;
const CHANNEL_MAX: usize = 200;
/// The kinds of messages that are a person's own words.
const SPOKEN: [&str; 2] = ["thread_broadcast", "file_share"];

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// C15: a soldier reads what a person typed, not how Slack wrote it down.
    #[test]
    fn what_was_typed_is_read() {
        let said = |text: &str| {
            let message = json!({"text": text, "ts": "1707300000.000100", "user": "U1", "channel": "C1"});
            SlackMessage::by_somebody(&message).unwrap().text
        };
        assert_eq!(said("a &lt; b &amp;&amp; c &gt; d"), "a < b && c > d");
        assert_eq!(said("&amp;lt; is written so"), "&lt; is written so");
    }
}
