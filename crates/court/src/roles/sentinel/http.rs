//! The way to a source that speaks HTTP: one address, one secret, bounded answers, nothing followed elsewhere (C23).

use super::intake::SourceError;
use crate::{file::instant, folder::sentence};
use jiff::Timestamp;
use muster_worker_kit::http::{because, body, client_for, retry_after};
use reqwest::{
    Client, Response, StatusCode, Url,
    header::{AUTHORIZATION, HeaderMap, HeaderValue},
};
use std::time::Duration;

/// The reason why a source cannot be reached.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The address leads nowhere.
    #[error("base_url must be an http or https address without a query, as https://host/path; not {0:?}")]
    Address(String),
    /// The secret does not fit in a request.
    #[error("cannot use {0}: it holds characters that do not fit in a header")]
    Token(&'static str),
    /// No client can be made.
    #[error("no client can be made: {0}")]
    Client(String),
}

/// The credentials for a source.
#[derive(Clone)]
pub(super) enum Key {
    /// A bearer token.
    Bearer(String),
    /// A user name and its secret.
    Basic(String, String),
}

/// The way to one source.
pub(super) struct SourceClient {
    client: Client,
    base: Url,
    key: Key,
}

/// The response of a source.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
    retry_after: Option<Duration>,
}

impl SourceClient {
    /// A way to `base_url`; `variable` is where the key comes from.
    pub(super) fn new(base_url: &str, key: Key, variable: &'static str) -> Result<Self, ClientError> {
        let wrong = || ClientError::Address(base_url.to_owned());
        let base = Url::parse(base_url).map_err(|_| wrong())?;
        let has_more = base.query().is_some() || base.fragment().is_some() || !base.username().is_empty();
        if !["http", "https"].contains(&base.scheme()) || base.host().is_none() || has_more {
            return Err(wrong());
        }
        if matches!(&key, Key::Bearer(token) if HeaderValue::from_str(&format!("Bearer {token}")).is_err()) {
            return Err(ClientError::Token(variable));
        }
        let client = client_for(base_url).user_agent(USER_AGENT).connect_timeout(CONNECT).timeout(ANSWER);
        let client = client.build().map_err(|error| ClientError::Client(because(&error)))?;
        Ok(Self { client, base, key })
    }

    /// An address under the base; what is asked for is encoded.
    pub(super) fn url(&self, path: &[&str], query: &[(&str, &str)]) -> Url {
        let mut url = self.base.clone();
        url.path_segments_mut().expect("http addresses have paths").pop_if_empty().extend(path);
        url.query_pairs_mut().extend_pairs(query);
        url
    }

    /// True if the credentials may be sent there.
    pub(super) fn leads_to(&self, url: &Url) -> bool {
        url.origin() == self.base.origin()
    }

    /// Asks for something; any answer that is read whole is one.
    pub(super) async fn get(&self, url: Url, headers: HeaderMap) -> Result<Answer, SourceError> {
        let failed = |error: reqwest::Error| SourceError::Failed(because(&error.without_url()));
        debug_assert!(self.leads_to(&url) && !headers.contains_key(AUTHORIZATION), "the key stays at home");
        let request = self.client.get(url).headers(headers);
        let request = match &self.key {
            Key::Bearer(token) => request.bearer_auth(token),
            Key::Basic(user, token) => request.basic_auth(user, Some(token)),
        };
        let mut response = request.send().await.map_err(failed)?;
        let body = bounded(&mut response).await?;
        let (status, retry_after) = (response.status(), retry_after(&response));
        Ok(Answer { status, headers: std::mem::take(response.headers_mut()), body, retry_after })
    }
}

impl Answer {
    /// A header as text.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Says what is in the way of reading an answer, if anything is.
    pub(super) fn check(&self, now: Timestamp) -> Result<(), SourceError> {
        let status = self.status;
        let busy = |told| SourceError::Busy { told, why: format!("HTTP {status}") };
        let refused =
            |what: &str| Err(SourceError::Refused(format!("{what} (HTTP {status}): {}", self.detail())));
        match status.as_u16() {
            200..=299 => Ok(()),
            403 | 429 | 503 if self.patience(now).is_some() => {
                Err(busy(self.patience(now).unwrap_or(UNTOLD)))
            }
            429 => Err(busy(UNTOLD)),
            300..=399 => {
                refused("it leads elsewhere, which is not followed; set base_url to where it lives now")
            }
            401 => refused("it does not take the token; check what is in the environment"),
            403 => refused("the token is not allowed to read this"),
            500..=599 => Err(SourceError::Failed(format!("it failed (HTTP {status}): {}", self.detail()))),
            _ => refused("it refuses the request; check base_url and what is asked for"),
        }
    }

    /// The pause that the source asks for.
    fn patience(&self, now: Timestamp) -> Option<Duration> {
        let until_reset = || {
            self.header("x-ratelimit-remaining").filter(|left| left.trim() == "0")?;
            let reset = self.header("x-ratelimit-reset")?.trim();
            let reset =
                reset.parse().ok().and_then(|unix| Timestamp::from_second(unix).ok()).or(instant(reset))?;
            // The rest of the reset second still belongs to the old limit.
            Some(Duration::try_from(reset.duration_since(now)).unwrap_or_default() + Duration::from_secs(1))
        };
        self.retry_after.or_else(until_reset)
    }

    /// The beginning of what it said, on one line.
    fn detail(&self) -> String {
        let text = String::from_utf8_lossy(&self.body).chars().take(DETAIL_CHARS_MAX).collect::<String>();
        sentence(&text)
    }
}

/// Reads an answer that is not too long; one that is costs no more than the limit.
async fn bounded(response: &mut Response) -> Result<Vec<u8>, SourceError> {
    let body = body(response, ANSWER_BYTES_MAX).await;
    let body = body.map_err(|error| SourceError::Failed(because(&error.without_url())))?;
    body.ok_or_else(|| SourceError::Failed(format!("it answers with more than {ANSWER_BYTES_MAX} bytes")))
}

const USER_AGENT: &str = concat!("muster/", env!("CARGO_PKG_VERSION"));
const CONNECT: Duration = Duration::from_secs(10);
const ANSWER: Duration = Duration::from_secs(30);
const ANSWER_BYTES_MAX: usize = 4 * 1024 * 1024;
const DETAIL_CHARS_MAX: usize = 200;
/// For who is too busy to say how long.
const UNTOLD: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, headers: &[(&'static str, &str)], retry_after: Option<u64>) -> Answer {
        let header = |(name, value): &(&'static str, &str)| {
            (reqwest::header::HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())
        };
        Answer {
            status: StatusCode::from_u16(status).unwrap(),
            headers: headers.iter().map(header).collect(),
            body: b"{\"message\":\"no\x1b[31m\"}".to_vec(),
            retry_after: retry_after.map(Duration::from_secs),
        }
    }

    fn told(answer: &Answer) -> Option<u64> {
        match answer.check(Timestamp::from_second(1_000).unwrap()) {
            Err(SourceError::Busy { told, .. }) => Some(told.as_secs()),
            _ => None,
        }
    }

    /// C18: who is told to wait waits as told, by whichever header; what only looks like it is a refusal.
    #[test]
    fn limits_are_understood() {
        let limit = |left: &'static str, reset: &'static str| {
            vec![("x-ratelimit-remaining", left), ("x-ratelimit-reset", reset)]
        };
        for status in [403, 429, 503] {
            assert_eq!(told(&answer(status, &[], Some(17))), Some(17), "{status}");
            assert_eq!(told(&answer(status, &limit("0", "1030"), None)), Some(31));
            assert_eq!(told(&answer(status, &limit("0", "1970-01-01T00:17:10Z"), None)), Some(31));
            assert_eq!(told(&answer(status, &limit("0", "900"), None)), Some(1), "a reset that has passed");
        }
        assert_eq!(told(&answer(429, &limit("5", "nonsense"), None)), Some(60));
        for (status, headers) in
            [(403, limit("5", "1030")), (403, limit("0", "soon")), (401, vec![]), (404, vec![])]
        {
            let refused = answer(status, &headers, None).check(Timestamp::UNIX_EPOCH);
            assert!(matches!(refused, Err(SourceError::Refused(_))), "{status}");
        }
        assert!(matches!(answer(500, &[], None).check(Timestamp::UNIX_EPOCH), Err(SourceError::Failed(_))));
        assert!(answer(200, &[], None).check(Timestamp::UNIX_EPOCH).is_ok());
    }

    /// C18, C23: a redirect is told, not followed; what a source says is quoted without what could move a terminal.
    #[test]
    fn refusals_are_told_in_one_line() {
        let told = answer(301, &[], None).check(Timestamp::UNIX_EPOCH).unwrap_err().to_string();
        assert!(told.contains("base_url") && told.contains("301"), "{told}");
        assert!(!told.contains('\x1b'), "{told:?}");
    }

    /// C18, C23: only addresses of the web are taken, what is asked for is encoded, and a base with a path keeps it.
    #[test]
    fn addresses_stay_under_their_base() {
        let door = |base: &str| SourceClient::new(base, Key::Bearer("t".to_owned()), "GITHUB_TOKEN");
        for wrong in ["", "api.github.com", "file:///etc", "http://", "https://a/?x=1", "https://me@a/"] {
            assert!(matches!(door(wrong), Err(ClientError::Address(_))), "{wrong:?}");
        }
        let forged = SourceClient::new("http://a", Key::Bearer("a\nHost: b".to_owned()), "GITHUB_TOKEN");
        assert!(matches!(forged, Err(ClientError::Token("GITHUB_TOKEN"))));
        for base in ["http://a:1/api/v3", "http://a:1/api/v3/"] {
            let url = door(base).unwrap().url(&["rest", "search"], &[("jql", "a = \"b\" & c#")]);
            assert_eq!(url.as_str(), "http://a:1/api/v3/rest/search?jql=a+%3D+%22b%22+%26+c%23");
        }
        let door = door("https://a/x").unwrap();
        assert!(door.leads_to(&Url::parse("https://a/notifications?page=2").unwrap()));
        for elsewhere in ["http://a/", "https://a:444/", "https://b/", "https://a.b/"] {
            assert!(!door.leads_to(&Url::parse(elsewhere).unwrap()), "{elsewhere}");
        }
    }
}
