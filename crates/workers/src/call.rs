//! Calls to servers that stand for each other, and what their answers mean.

use crate::trouble::{Refusal, Trouble};
use muster_model::Millis;
use muster_worker_kit::http::{self, Manner, Servers, Unanswered, because, detail, retry_after};
use reqwest::{Client, RequestBuilder, Response, StatusCode, Url};
use std::{fmt::Display, time::Duration};

/// The way to the servers.
#[derive(Debug)]
pub(crate) struct Way {
    client: Client,
    pub(crate) servers: Servers,
}

impl Way {
    pub(crate) const fn new(client: Client, servers: Servers) -> Self {
        Self { client, servers }
    }

    /// Makes a call and gives the body of a good answer.
    pub(crate) async fn call(
        &self,
        manner: Manner,
        request: impl Fn(&Client, &Url) -> RequestBuilder + Send + Sync,
    ) -> Result<Vec<u8>, Trouble> {
        understand(self.send(manner, request).await?).await
    }

    /// Makes a call and gives the body of a good answer; nothing where that is longer than it may be.
    pub(crate) async fn call_up_to(
        &self,
        bytes_max: usize,
        manner: Manner,
        request: impl Fn(&Client, &Url) -> RequestBuilder + Send + Sync,
    ) -> Result<Option<Vec<u8>>, Trouble> {
        understand_up_to(bytes_max, self.send(manner, request).await?).await
    }

    /// Makes a call and gives the answer, good or bad.
    pub(crate) async fn send(
        &self,
        manner: Manner,
        request: impl Fn(&Client, &Url) -> RequestBuilder + Send + Sync,
    ) -> Result<Response, Trouble> {
        let answer = self.servers.ask(manner, |server| request(&self.client, server)).await;
        answer.map_err(|error: Unanswered| {
            tracing::debug!(%error, "no answer");
            Trouble::NoAnswer(error.retry_after().map(millis))
        })
    }
}

/// Gives a call a JSON body.
pub(crate) fn json(request: RequestBuilder, body: Vec<u8>) -> RequestBuilder {
    request.header("content-type", "application/json").body(body)
}

/// Gives the body of a good answer.
pub(crate) async fn understand(answer: Response) -> Result<Vec<u8>, Trouble> {
    understand_up_to(BODY_BYTES_MAX, answer).await?.ok_or(Trouble::NoAnswer(None))
}

async fn understand_up_to(bytes_max: usize, answer: Response) -> Result<Option<Vec<u8>>, Trouble> {
    match meaning(&answer) {
        None => body(bytes_max, answer).await.map_err(no_answer),
        Some(Trouble::Refused(refusal)) => {
            Err(Trouble::Refused(Refusal { detail: detail(answer).await.into(), ..refusal }))
        }
        Some(trouble) => Err(trouble),
    }
}

/// Reads a body. An answer of which no sense can be made did not come from the server.
pub(crate) fn read<T, E: Display>(
    bytes: &[u8],
    reader: impl Fn(&[u8]) -> Result<T, E>,
) -> Result<T, Trouble> {
    reader(bytes).map_err(|error| {
        tracing::warn!(%error, "an answer makes no sense: is that the server?");
        Trouble::NoAnswer(None)
    })
}

fn no_answer(error: reqwest::Error) -> Trouble {
    tracing::debug!(error = because(&error.without_url()), "no answer from the server");
    Trouble::NoAnswer(None)
}

/// What a status means; nothing where it is a good one. A redirect is none: some page is not the server.
fn meaning(answer: &Response) -> Option<Trouble> {
    match answer.status() {
        status if status.is_success() => None,
        StatusCode::UNAUTHORIZED => Some(Trouble::Unauthorized),
        StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_EARLY | StatusCode::TOO_MANY_REQUESTS => {
            Some(Trouble::NoAnswer(patience(answer)))
        }
        status if status.is_client_error() => {
            Some(Trouble::Refused(Refusal { status: status.as_u16(), detail: "".into() }))
        }
        _ => Some(Trouble::NoAnswer(patience(answer))),
    }
}

fn patience(answer: &Response) -> Option<Millis> {
    retry_after(answer).map(millis)
}

fn millis(span: Duration) -> Millis {
    Millis(i64::try_from(span.as_millis()).unwrap_or(i64::MAX))
}

/// A body of a size that makes sense.
async fn body(bytes_max: usize, mut answer: Response) -> reqwest::Result<Option<Vec<u8>>> {
    let body = http::body(&mut answer, bytes_max).await?;
    if body.is_none() {
        tracing::warn!(bytes_max, "an answer of the server is too long");
    }
    Ok(body)
}

/// How long an answer may be, where nothing else is said.
pub(crate) const BODY_BYTES_MAX: usize = 4 << 20;
