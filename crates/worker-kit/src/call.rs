//! Calls to servers that stand in for each other, and the meaning of their responses.

use crate::{
    Text,
    http::{self, Manner, Servers, Unanswered, because, detail, detail_of, retry_after_in},
};
use muster_model::Millis;
use reqwest::{Client, RequestBuilder, Response, StatusCode, Url, header::HeaderMap};
use std::{fmt::Display, time::Duration};

/// The reason why a call did not do what it was for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// No response came, or one that asks to try again; not before the given time, where one was given.
    NoAnswer(Option<Millis>),
    /// The token, or the secret, is not known.
    Unauthorized,
    /// Another try will not change the response.
    Refused(Refusal),
}

/// A response that another try will not change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The HTTP status.
    pub status: u16,
    /// The server's explanation.
    pub detail: Text,
}

/// Makes calls to the servers of one installation.
#[derive(Debug)]
pub struct Caller {
    client: Client,
    /// The servers.
    pub servers: Servers,
}

impl Caller {
    /// Creates a caller.
    #[must_use]
    pub const fn new(client: Client, servers: Servers) -> Self {
        Self { client, servers }
    }

    /// Makes a call and returns the body of a successful response.
    ///
    /// # Errors
    /// The call failed.
    pub async fn call(
        &self,
        manner: Manner,
        request: impl Fn(&Client, &Url) -> RequestBuilder + Send + Sync,
    ) -> Result<Vec<u8>, Trouble> {
        understand(self.send(manner, request).await?).await
    }

    /// Makes a call and returns the body of a successful response; nothing if that is longer than allowed.
    ///
    /// # Errors
    /// The call failed.
    pub async fn call_up_to(
        &self,
        bytes_max: usize,
        manner: Manner,
        request: impl Fn(&Client, &Url) -> RequestBuilder + Send + Sync,
    ) -> Result<Option<Vec<u8>>, Trouble> {
        understand_up_to(bytes_max, self.send(manner, request).await?).await
    }

    /// Makes a call and returns the response, whatever its status.
    ///
    /// # Errors
    /// No server answered.
    pub async fn send(
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

/// Adds a JSON body to a request.
pub fn json(request: RequestBuilder, body: Vec<u8>) -> RequestBuilder {
    request.header("content-type", "application/json").body(body)
}

/// Returns the body of a successful response.
///
/// # Errors
/// The response is not a success, or is too long.
pub async fn understand(answer: Response) -> Result<Vec<u8>, Trouble> {
    understand_up_to(BODY_BYTES_MAX, answer).await?.ok_or(Trouble::NoAnswer(None))
}

/// Returns the body of a successful response that was received as a whole.
///
/// # Errors
/// The response is not a success.
pub fn understand_whole(status: StatusCode, headers: &HeaderMap, body: Vec<u8>) -> Result<Vec<u8>, Trouble> {
    match trouble_of(status, headers) {
        Some(Trouble::Refused(refusal)) => {
            Err(Trouble::Refused(Refusal { detail: detail_of(&body).into(), ..refusal }))
        }
        Some(trouble) => Err(trouble),
        None => Ok(body),
    }
}

async fn understand_up_to(bytes_max: usize, mut answer: Response) -> Result<Option<Vec<u8>>, Trouble> {
    match trouble_of(answer.status(), answer.headers()) {
        Some(Trouble::Refused(refusal)) => {
            return Err(Trouble::Refused(Refusal { detail: detail(answer).await.into(), ..refusal }));
        }
        Some(trouble) => return Err(trouble),
        None => {}
    }
    let body = http::body(&mut answer, bytes_max).await.map_err(|error| {
        tracing::debug!(error = because(&error.without_url()), "no answer from the server");
        Trouble::NoAnswer(None)
    })?;
    if body.is_none() {
        tracing::warn!(bytes_max, "an answer of the server is too long");
    }
    Ok(body)
}

/// Parses a body. A response that makes no sense did not come from the server.
///
/// # Errors
/// The body makes no sense.
pub fn read<T, E: Display>(bytes: &[u8], reader: impl Fn(&[u8]) -> Result<T, E>) -> Result<T, Trouble> {
    reader(bytes).map_err(|error| {
        tracing::warn!(%error, "an answer makes no sense: is that the server?");
        Trouble::NoAnswer(None)
    })
}

/// The meaning of a status; nothing for a success. A redirect is not a success: some page is not the server.
fn trouble_of(status: StatusCode, headers: &HeaderMap) -> Option<Trouble> {
    let later = || Trouble::NoAnswer(retry_after_in(headers).map(millis));
    match status {
        status if status.is_success() => None,
        StatusCode::UNAUTHORIZED => Some(Trouble::Unauthorized),
        StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_EARLY | StatusCode::TOO_MANY_REQUESTS => Some(later()),
        status if status.is_client_error() => {
            Some(Trouble::Refused(Refusal { status: status.as_u16(), detail: "".into() }))
        }
        _ => Some(later()),
    }
}

/// Converts a duration.
#[must_use]
pub fn millis(span: Duration) -> Millis {
    Millis(i64::try_from(span.as_millis()).unwrap_or(i64::MAX))
}

/// A schedule of delays between retries.
#[derive(Clone, Copy, Debug)]
pub struct Backoff {
    /// The delays after 0, 1, 2 … failures in a row.
    pub delays_ms: &'static [i64],
    /// The delay after more failures than the list has.
    pub delay_ms_max: i64,
    /// The longest delay that a server may ask for: it may ask for patience, but not for silence.
    pub retry_after_ms_max: i64,
}

impl Backoff {
    /// The delay after so many failures in a row.
    #[must_use]
    pub fn delay(&self, failures: u32) -> Millis {
        let place = usize::try_from(failures).unwrap_or(usize::MAX);
        Millis(self.delays_ms.get(place).copied().unwrap_or(self.delay_ms_max))
    }

    /// The longer of that delay and the one that the server asked for.
    #[must_use]
    pub fn patience(&self, failures: u32, retry_after: Option<Millis>) -> Millis {
        let asked = retry_after.unwrap_or_default().min(Millis(self.retry_after_ms_max));
        self.delay(failures).max(asked)
    }
}

/// The size limit of a response, unless a call has its own.
pub const BODY_BYTES_MAX: usize = 4 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    /// N20: the last delay repeats, and a server cannot ask for silence.
    #[test]
    fn delays_grow_and_stay_bounded() {
        let backoff = Backoff { delays_ms: &[0, 100], delay_ms_max: 300, retry_after_ms_max: 1_000 };
        let delays: Vec<i64> =
            [0, 1, 2, u32::MAX].into_iter().map(|failures| backoff.delay(failures).0).collect();
        assert_eq!(delays, [0, 100, 300, 300]);
        assert_eq!(backoff.patience(1, Some(Millis(50))), Millis(100));
        assert_eq!(backoff.patience(1, Some(Millis(9_999))), Millis(1_000));
    }
}
