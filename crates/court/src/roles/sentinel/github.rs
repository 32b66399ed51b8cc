//! GitHub's notifications (C8, C18).

use super::{
    Notice, Reading, SentinelError, Source, SourceError,
    http::{Answer, Key, SourceClient},
};
use crate::{
    Clock, Document, Folder, Id,
    config::{self, Tokens},
    document::document,
};
use muster_proof::sha256_hex;
use reqwest::{
    Url,
    header::{ACCEPT, HeaderMap, HeaderName, HeaderValue, IF_MODIFIED_SINCE, IF_NONE_MATCH},
};
use serde_json::Value;
use std::{sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

/// The notifications of whoever the token belongs to.
pub(super) struct Github {
    folder: Arc<Folder>,
    door: SourceClient,
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
        let door = SourceClient::new(&settings.base_url, Key::Bearer(token), TOKEN)
            .map_err(|error| SentinelError::Client { section, error })?;
        let source = Id::parse(section).expect("github is an id");
        Ok(Self { folder, door, source, whose })
    }

    async fn read(&self) -> Result<Option<Duration>, SourceError> {
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
            let notices = notices(&answer.body).map_err(SourceError::Failed)?;
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

    /// The version marks of the first page.
    fn marks(&self, answer: &Answer) -> Document {
        let mut marks = document! {"whose": self.whose};
        for (key, header) in [("etag", "etag"), ("last_modified", "last-modified")] {
            if let Some(text) = answer.header(header).filter(|text| text.len() <= MARK_CHARS_MAX) {
                marks.set(key, text);
            }
        }
        marks
    }

    /// The page after this one; the token goes nowhere but to the configured address.
    fn next_page(&self, answer: &Answer) -> Result<Option<Url>, SourceError> {
        let Some(target) = answer.header("link").and_then(next_link) else { return Ok(None) };
        let base = self.door.url(&["notifications"], &[]);
        match base.join(target) {
            Ok(url) if self.door.leads_to(&url) => Ok(Some(url)),
            _ => Err(SourceError::Failed(format!(
                "its next page is elsewhere, which is not followed: {target:?}"
            ))),
        }
    }
}

impl Source for Github {
    fn name(&self) -> &str {
        self.source.as_str()
    }

    async fn look(&mut self, stop: &CancellationToken) -> Result<Option<Duration>, SourceError> {
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

/// Reads a page of notifications; what is strange in one of them says nothing of the others.
fn notices(body: &[u8]) -> Result<Vec<Notice>, String> {
    match serde_json::from_slice(body) {
        Ok(Value::Array(all)) if all.len() <= NOTICES_MAX => Ok(all.iter().map(notice).collect()),
        Ok(Value::Array(all)) => Err(format!("it answers with {} notifications at once", all.len())),
        Ok(_) => Err("it answers with something else than a list of notifications".to_owned()),
        Err(error) => Err(format!("it answers with something that is no JSON: {error}")),
    }
}

fn notice(notification: &Value) -> Notice {
    let text = |path: &str| notification.pointer(path).and_then(Value::as_str);
    let needed = |path: &str| text(path).ok_or_else(|| format!("a notification without {}", &path[1..]));
    let (id, updated_at) = (needed("/id")?, needed("/updated_at")?);
    let (subject, reason) = (needed("/subject/type")?, needed("/reason")?);
    let id = Id::parse(&format!("evt-github-{id}-{updated_at}")).map_err(|error| error.to_string())?;
    Ok(document! {
        "id": id, "type": event_type(subject, reason)?, "source": "github", "repo": text("/repository/full_name"),
        "payload": payload(notification), "priority": "normal",
    })
}

/// A type is made of words that could be an id: generals subscribe to it, people read it.
fn event_type(subject: &str, reason: &str) -> Result<Id, String> {
    let domain = match subject {
        "PullRequest" => "pr".to_owned(),
        other => other.to_ascii_lowercase(),
    };
    let event_type = format!("github.{domain}.{reason}");
    Id::parse(&event_type).map_err(|_| format!("{:?} is no type of an event", shortened(&event_type)))
}

fn payload(notification: &Value) -> Document {
    let text = |path: &str| notification.pointer(path).and_then(Value::as_str);
    let number = text("/subject/url").and_then(number);
    let (pages, named) = match text("/subject/type") {
        Some("PullRequest") => ("pull", Some("pr_number")),
        Some("Issue") => ("issues", Some("issue_number")),
        _ => ("", None),
    };
    let html_url = text("/repository/html_url").zip(number).filter(|_| named.is_some());
    let html_url = html_url.map(|(repository, number)| format!("{repository}/{pages}/{number}"));
    let mut payload = Document::new();
    if let Some(name) = named {
        payload.set(name, &number);
    }
    for (key, path) in MEMBERS {
        payload.set(key, &text(path));
    }
    payload.set("html_url", &html_url);
    payload
}

/// The number at the end of an address like `…/pulls/123`.
fn number(url: &str) -> Option<&str> {
    let last = url.rsplit('/').next()?;
    let is_number =
        (1..=NUMBER_DIGITS_MAX).contains(&last.len()) && last.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then_some(last)
}

fn shortened(text: &str) -> String {
    text.chars().take(SHOWN_CHARS_MAX).collect()
}

const TOKEN: &str = "GITHUB_TOKEN";
const PAGES_MAX: usize = 100;
const MARK_CHARS_MAX: usize = 500;
const MEMBERS: [(&str, &str); 7] = [
    ("title", "/subject/title"),
    ("url", "/subject/url"),
    ("reason", "/reason"),
    ("subject_type", "/subject/type"),
    ("notification_id", "/id"),
    ("updated_at", "/updated_at"),
    ("latest_comment_url", "/subject/latest_comment_url"),
];
/// Twenty times what is asked for.
const NOTICES_MAX: usize = 1000;
const NUMBER_DIGITS_MAX: usize = 19;
const SHOWN_CHARS_MAX: usize = 80;

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

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

    fn pull_request() -> Value {
        json!({
            "id": "12345678", "unread": true, "reason": "review_requested", "updated_at": "2026-02-07T10:00:00Z",
            "subject": {
                "title": "Fix $(reboot) %s", "type": "PullRequest", "latest_comment_url": null,
                "url": "https://api.github.com/repos/querypie/frontend/pulls/42"
            },
            "repository": {"full_name": "querypie/frontend", "html_url": "https://github.com/querypie/frontend"}
        })
    }

    fn read(notification: &Value) -> Notice {
        notices(json!([notification]).to_string().as_bytes()).unwrap().remove(0)
    }

    /// C8, C18: the id, type, repo and payload of the source's own example.
    #[test]
    fn a_pull_request_becomes_an_event() {
        let event = read(&pull_request()).unwrap();
        let text = |key: &str| event.text(key).unwrap();
        assert_eq!(text("id"), "evt-github-12345678-2026-02-07T10:00:00Z");
        assert_eq!(text("type"), "github.pr.review_requested");
        assert_eq!(
            (text("source"), text("repo"), text("priority")),
            ("github".into(), "querypie/frontend".into(), "normal".into())
        );
        let payload = event.object("payload").unwrap();
        assert_eq!(payload.text("pr_number").as_deref(), Some("42"));
        assert_eq!(payload.text("title").as_deref(), Some("Fix $(reboot) %s"));
        assert_eq!(payload.text("html_url").as_deref(), Some("https://github.com/querypie/frontend/pull/42"));
        assert_eq!(payload.text("reason").as_deref(), Some("review_requested"));
    }

    /// C18: issues and whatever else notifies; a pull request whose number is not known has null for it.
    #[test]
    fn other_subjects_have_their_own_types() {
        let mut other = pull_request();
        other["subject"]["url"] = Value::Null;
        other["repository"] = Value::Null;
        let event = read(&other).unwrap();
        assert_eq!(
            (event.raw("repo"), event.object("payload").unwrap().raw("pr_number")),
            (Some("null"), Some("null"))
        );
        for (subject, expected) in [
            ("Issue", "github.issue.mention"),
            ("CheckSuite", "github.checksuite.mention"),
            ("Release", "github.release.mention"),
        ] {
            other["subject"]["type"] = subject.into();
            other["reason"] = "mention".into();
            let event = read(&other).unwrap();
            assert_eq!(event.text("type").as_deref(), Some(expected));
            assert!(!event.object("payload").unwrap().has("pr_number"));
        }
    }

    /// C8, C23: what would leave its directory or is no word is refused, beside others that are taken.
    #[test]
    fn strange_notifications_are_refused_alone() {
        let mut page = vec![pull_request()];
        for (member, hostile) in [
            ("id", json!("../../etc/passwd")),
            ("id", json!("a".repeat(300))),
            ("id", json!("a\u{0}b")),
            ("id", json!({"a": 1})),
            ("updated_at", json!("x/../y")),
            ("updated_at", Value::Null),
            ("reason", json!("$(touch /tmp/x)")),
            ("reason", json!("r".repeat(100_000))),
            ("subject", json!([])),
        ] {
            let mut notification = pull_request();
            notification[member] = hostile;
            page.push(notification);
        }
        page.extend([json!(7), Value::Null, json!([]), pull_request()]);
        let read = notices(Value::Array(page).to_string().as_bytes()).unwrap();
        assert_eq!(read.iter().filter(|notice| notice.is_ok()).count(), 2, "{read:?}");
        assert!(read.iter().flat_map(|notice| notice.as_ref().err()).all(|reason| reason.len() < 500));
    }

    /// C23: what is no list of notifications is none, however it is made.
    #[test]
    fn other_answers_are_refused() {
        let deep = "[".repeat(100_000);
        for body in ["", "{}", "{\"message\": \"hi\"}", "[", "\u{0}", "<html>", &deep] {
            assert!(notices(body.as_bytes()).is_err());
        }
        let many = format!("[{}0]", "0,".repeat(NOTICES_MAX));
        assert!(notices(many.as_bytes()).unwrap_err().contains("1001"));
        assert_eq!(notices(b"[]").unwrap().len(), 0);
    }

    /// C18: numbers end an address; nothing else is one.
    #[test]
    fn numbers_are_digits_at_the_end() {
        assert_eq!(number("https://a/pulls/7"), Some("7"));
        for none in ["", "https://a/pulls/", "https://a/pulls/7?x", "/-1", "/٣", "/99999999999999999999"] {
            assert_eq!(number(none), None, "{none}");
        }
    }
}
