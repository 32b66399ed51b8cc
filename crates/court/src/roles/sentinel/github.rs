//! GitHub's notifications (C8, C18).

mod notification;

use super::{
    Reading, SentinelError, Source, Trouble,
    door::{Answer, HttpState, Key},
};
use crate::{
    Clock, Document, Folder, Id,
    config::{self, Tokens},
};
use muster_proof::sha256_hex;
use reqwest::{
    Url,
    header::{ACCEPT, HeaderMap, HeaderName, HeaderValue, IF_MODIFIED_SINCE, IF_NONE_MATCH},
};
use std::{sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

/// The notifications of whoever the token belongs to.
pub(super) struct Github {
    folder: Arc<Folder>,
    door: HttpState,
    source: Id,
    /// Tells addresses and tokens apart: what one said of changes means nothing to another.
    whose: String,
}

impl Github {
    pub(super) fn new(
        folder: Arc<Folder>,
        settings: &config::Github,
        tokens: &Tokens,
    ) -> Result<Self, SentinelError> {
        let section = "github";
        let no_token = || SentinelError::NoToken { section, variable: TOKEN };
        let token = tokens.github.clone().ok_or_else(no_token)?;
        let whose = sha256_hex(format!("{}\n{token}", settings.base_url).as_bytes());
        let door = HttpState::new(&settings.base_url, Key::Bearer(token), TOKEN)
            .map_err(|error| SentinelError::HttpState { section, error })?;
        let source = Id::parse(section).expect("github is an id");
        Ok(Self { folder, door, source, whose })
    }

    async fn read(&self) -> Result<Option<Duration>, Trouble> {
        let mut reading = Reading::begin(&self.folder, &self.source)?;
        let query = [("all", "false"), ("per_page", "50")];
        let first = self.door.url(&["notifications"], &query);
        let mut answer = self.door.get(first, self.conditions(reading.kept())).await?;
        let (asked, marks) = (poll_interval(&answer), self.marks(&answer));
        if answer.status == reqwest::StatusCode::NOT_MODIFIED {
            return Ok(asked);
        }
        for page in 1.. {
            answer.check(Clock.now())?;
            let notices = notification::notices(&answer.body).map_err(Trouble::Failed)?;
            reading.take(&self.folder, notices, Clock.now())?;
            let Some(next) = self.next_page(&answer)? else { break };
            if page == PAGES_MAX {
                tracing::warn!(
                    "GitHub has more than {PAGES_MAX} pages of notifications; older ones are not read"
                );
                break;
            }
            answer = self.door.get(next, headers()).await?;
        }
        reading.end(&self.folder, marks)?;
        Ok(asked)
    }

    /// Asks for changes alone, where it is known what they would be changes to.
    fn conditions(&self, kept: Option<&Document>) -> HeaderMap {
        let mut headers = headers();
        let Some(kept) = kept.filter(|kept| kept.text("whose").as_deref() == Some(&self.whose)) else {
            return headers;
        };
        for (name, key) in [(IF_NONE_MATCH, "etag"), (IF_MODIFIED_SINCE, "last_modified")] {
            if let Some(value) = kept.text(key).and_then(|text| HeaderValue::try_from(text).ok()) {
                headers.insert(name, value);
            }
        }
        headers
    }

    /// What the first page says of its version.
    fn marks(&self, answer: &Answer) -> Document {
        let mut marks = Document::new();
        marks.set_text("whose", &self.whose);
        for (key, header) in [("etag", "etag"), ("last_modified", "last-modified")] {
            if let Some(text) = answer.header(header).filter(|text| text.len() <= MARK_CHARS_MAX) {
                marks.set_text(key, text);
            }
        }
        marks
    }

    /// The page after this one; the token goes nowhere but to the configured address.
    fn next_page(&self, answer: &Answer) -> Result<Option<Url>, Trouble> {
        let Some(target) = answer.header("link").and_then(next_link) else { return Ok(None) };
        let base = self.door.url(&["notifications"], &[]);
        match base.join(target) {
            Ok(url) if self.door.leads_to(&url) => Ok(Some(url)),
            _ => {
                Err(Trouble::Failed(format!("its next page is elsewhere, which is not followed: {target:?}")))
            }
        }
    }
}

impl Source for Github {
    fn name(&self) -> &str {
        self.source.as_str()
    }

    async fn look(&mut self, stop: &CancellationToken) -> Result<Option<Duration>, Trouble> {
        stop.run_until_cancelled(self.read()).await.unwrap_or(Ok(None))
    }
}

fn headers() -> HeaderMap {
    let version = (HeaderName::from_static("x-github-api-version"), HeaderValue::from_static("2022-11-28"));
    HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static("application/vnd.github+json")), version])
}

fn poll_interval(answer: &Answer) -> Option<Duration> {
    answer.header("x-poll-interval")?.trim().parse().ok().map(Duration::from_secs)
}

/// The target of `rel="next"` in a Link header.
fn next_link(header: &str) -> Option<&str> {
    header.split('<').skip(1).find_map(|link| {
        let (target, parameters) = link.split_once('>')?;
        let is_next = |parameter: &str| {
            let (name, value) = parameter.split_once('=').unwrap_or_default();
            let value = value.trim().trim_end_matches(',').trim_end().trim_matches('"');
            name.trim().eq_ignore_ascii_case("rel") && value.split_whitespace().any(|word| word == "next")
        };
        parameters.split(';').any(is_next).then_some(target)
    })
}

const TOKEN: &str = "GITHUB_TOKEN";
const PAGES_MAX: usize = 100;
const MARK_CHARS_MAX: usize = 500;

#[cfg(test)]
mod tests {
    use super::*;

    /// C18: the next page is the one that is called so, wherever it stands.
    #[test]
    fn links_are_read() {
        let both = r#"<https://a/n?page=1>; rel="prev", <https://a/n?page=3>; rel="next", <https://a/n?page=9>; rel="last""#;
        assert_eq!(next_link(both), Some("https://a/n?page=3"));
        assert_eq!(next_link("</n?page=2>; title=x; REL=next"), Some("/n?page=2"));
        assert_eq!(next_link(r#"<https://a/>; rel="last next""#), Some("https://a/"));
        for none in [
            "",
            "<",
            "<https://a/",
            r#"<https://a/>; rel="last""#,
            r#"<https://a/>; title="next""#,
            "<a>;rel",
        ] {
            assert_eq!(next_link(none), None, "{none}");
        }
    }
}
