//! Jira's search, in the cloud and at home (C8, C18).

use super::{
    Notice, Reading, SentinelError, Source, SourceError,
    http::{Answer, Key, SourceClient},
};
use crate::{
    Clock, Document, Folder, Id,
    config::{self, Tokens},
    document::document,
    file::instant,
};
use reqwest::{
    StatusCode,
    header::{ACCEPT, HeaderMap, HeaderValue},
};
use serde_json::Value;
use std::{sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

/// A Jira search as a source.
pub(super) struct Jira {
    folder: Arc<Folder>,
    door: SourceClient,
    source: Id,
    base_url: String,
    jql: String,
}

impl Jira {
    pub(super) fn new(
        folder: Arc<Folder>,
        settings: &config::Jira,
        tokens: &Tokens,
    ) -> Result<Self, SentinelError> {
        let section = "jira";
        let no_token = || SentinelError::NoToken { section, variable: TOKEN };
        let token = tokens.jira_api.clone().ok_or_else(no_token)?;
        let key = match tokens.jira_email.clone() {
            Some(email) => Key::Basic(email, token),
            None => Key::Bearer(token),
        };
        let door = SourceClient::new(&settings.base_url, key, TOKEN)
            .map_err(|error| SentinelError::Client { section, error })?;
        let source = Id::parse(section).expect("jira is an id");
        let base_url = settings.base_url.trim_end_matches('/').to_owned();
        Ok(Self { folder, door, source, base_url, jql: settings.jql.clone() })
    }

    async fn read(&self) -> Result<Option<Duration>, SourceError> {
        let mut reading = Reading::begin(&self.folder, &self.source)?;
        let remembered = reading.kept().and_then(|kept| Api::from_word(&kept.text("api")?));
        let (api, mut answer) = self.first(remembered.unwrap_or(Api::Cloud)).await?;
        let mut cursor = Cursor::default();
        for number in 1.. {
            answer.check(Clock.now())?;
            let page = Page::read(&answer.body, &cursor, &self.base_url).map_err(SourceError::Failed)?;
            reading.take(&self.folder, page.notices, Clock.now())?;
            let Some(next) = page.next else { break };
            if number == PAGES_MAX {
                tracing::warn!("the search in Jira has more than {PAGES_MAX} pages; the rest is not read");
                break;
            }
            answer = self.ask(api, &next).await?;
            cursor = next;
        }
        reading.end(&self.folder, document! {"api": api.as_str()})?;
        Ok(None)
    }

    /// The first page, by the API that this site has; a site that moved is found again.
    async fn first(&self, likely: Api) -> Result<(Api, Answer), SourceError> {
        for api in [likely, likely.other()] {
            let answer = self.ask(api, &Cursor::default()).await?;
            if ![StatusCode::NOT_FOUND, StatusCode::GONE].contains(&answer.status) {
                return Ok((api, answer));
            }
        }
        let paths = [Api::Cloud, Api::DataCenter].map(|api| api.path().join("/"));
        Err(SourceError::Refused(format!("it has neither /{} nor /{}; check base_url", paths[0], paths[1])))
    }

    async fn ask(&self, api: Api, cursor: &Cursor) -> Result<Answer, SourceError> {
        let position = cursor.query();
        let mut query = vec![("jql", self.jql.as_str()), ("fields", FIELDS), ("maxResults", "100")];
        query.extend(position.as_ref().map(|(name, value)| (*name, value.as_str())));
        let headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static("application/json"))]);
        self.door.get(self.door.url(api.path(), &query), headers).await
    }
}

impl Source for Jira {
    fn name(&self) -> &str {
        self.source.as_str()
    }

    async fn look(&mut self, stop: &CancellationToken) -> Result<Option<Duration>, SourceError> {
        stop.run_until_cancelled(self.read()).await.unwrap_or(Ok(None))
    }
}

muster_model::words! {
    /// The two search APIs of Jira.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Api {
        /// The cloud's: pages are chained by tokens.
        Cloud = "cloud",
        /// That of a site at home: pages are counted.
        DataCenter = "data_center",
    }
}

/// The start of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Cursor {
    /// At the beginning.
    #[default]
    First,
    /// A token from the page before.
    Token(String),
    /// After this many.
    At(u64),
}

/// The notices of a page, and the start of the next one.
#[derive(Debug, PartialEq, Eq)]
struct Page {
    notices: Vec<Notice>,
    next: Option<Cursor>,
}

impl Api {
    const fn other(self) -> Self {
        match self {
            Self::Cloud => Self::DataCenter,
            Self::DataCenter => Self::Cloud,
        }
    }

    const fn path(self) -> &'static [&'static str] {
        match self {
            Self::Cloud => &["rest", "api", "3", "search", "jql"],
            Self::DataCenter => &["rest", "api", "2", "search"],
        }
    }
}

impl Cursor {
    /// The query parameter for a page that begins here.
    fn query(&self) -> Option<(&'static str, String)> {
        match self {
            Self::First => None,
            Self::Token(token) => Some(("nextPageToken", token.clone())),
            Self::At(position) => Some(("startAt", position.to_string())),
        }
    }
}

impl Page {
    /// Reads a page that began at a cursor; what is strange in one issue says nothing of the others.
    fn read(body: &[u8], cursor: &Cursor, base_url: &str) -> Result<Self, String> {
        let answer: Value = serde_json::from_slice(body)
            .map_err(|error| format!("it answers with something that is no JSON: {error}"))?;
        let Some(issues) = answer.get("issues").and_then(Value::as_array) else {
            return Err("it answers with something else than a list of issues".to_owned());
        };
        if issues.len() > ISSUES_MAX {
            return Err(format!("it answers with {} issues at once", issues.len()));
        }
        let notices = issues.iter().map(|issue| notice(issue, base_url)).collect();
        Ok(Self { notices, next: next(&answer, cursor, issues.len() as u64) })
    }
}

/// The start of the next page. It depends on the answer: a data center knows no tokens.
fn next(answer: &Value, cursor: &Cursor, count: u64) -> Option<Cursor> {
    if let Some(total) = answer.get("total").and_then(Value::as_u64) {
        let from = if let Cursor::At(position) = cursor { *position } else { 0 };
        let position = from.saturating_add(count);
        return (count > 0 && position < total).then_some(Cursor::At(position));
    }
    let token = answer.get("nextPageToken").and_then(Value::as_str)?;
    let is_last = answer.get("isLast") == Some(&Value::Bool(true)) || token.len() > TOKEN_BYTES_MAX;
    (!is_last && !token.is_empty()).then(|| Cursor::Token(token.to_owned()))
}

fn notice(issue: &Value, base_url: &str) -> Notice {
    let text = |path: &str| issue.pointer(path).and_then(Value::as_str);
    let needed = |path: &str| text(path).ok_or_else(|| format!("an issue without {}", &path[1..]));
    let (key, updated) = (needed("/key")?, needed("/fields/updated")?);
    let moment =
        instant(updated).ok_or_else(|| format!("an issue whose updated is no time: {:?}", start(updated)))?;
    let id = format!("evt-jira-{key}-{}", moment.strftime("%Y%m%d%H%M%S"));
    let id = Id::parse(&id).map_err(|error| error.to_string())?;
    let mut payload = Document::new();
    for (name, path) in MEMBERS {
        payload.set(name, &text(path));
    }
    // The id has been checked, so the key is a plain word.
    payload.set("url", &format!("{base_url}/browse/{key}"));
    Ok(document! {
        "id": id, "type": "jira.ticket.updated", "source": "jira", "repo": (), "payload": payload,
        "priority": "normal",
    })
}

fn start(text: &str) -> String {
    text.chars().take(SHOWN_CHARS_MAX).collect()
}

const TOKEN: &str = "JIRA_API_TOKEN";
const FIELDS: &str = "summary,status,updated,issuetype,priority,assignee,project";
const PAGES_MAX: usize = 50;
const MEMBERS: [(&str, &str); 8] = [
    ("ticket_key", "/key"),
    ("summary", "/fields/summary"),
    ("status", "/fields/status/name"),
    ("updated", "/fields/updated"),
    ("issue_type", "/fields/issuetype/name"),
    ("issue_priority", "/fields/priority/name"),
    ("assignee", "/fields/assignee/displayName"),
    ("project", "/fields/project/key"),
];
/// Ten times what is asked for.
const ISSUES_MAX: usize = 1000;
/// Longer ones do not fit in an address.
const TOKEN_BYTES_MAX: usize = 4096;
const SHOWN_CHARS_MAX: usize = 80;

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn issue() -> Value {
        json!({"id": "10001", "key": "QP-123", "fields": {
            "summary": "`rm -rf /` \u{202e}%n", "status": {"name": "In Progress"},
            "updated": "2026-02-07T19:00:00.000+0900", "issuetype": {"name": "Bug"}, "priority": null,
            "assignee": {"displayName": "Eddy"}, "project": {"key": "QP"}
        }})
    }

    fn read(answer: &Value, cursor: &Cursor) -> Page {
        Page::read(answer.to_string().as_bytes(), cursor, "https://jira.example").unwrap()
    }

    fn event(issue: Value) -> Notice {
        read(&json!({ "issues": [issue] }), &Cursor::First).notices.remove(0)
    }

    /// C8, C18: the id of the source's own example, whatever zone Jira writes the time in.
    #[test]
    fn an_issue_becomes_an_event() {
        for updated in [
            "2026-02-07T19:00:00.000+0900",
            "2026-02-07T10:00:00.999+00:00",
            "2026-02-07T10:00:00Z",
            "2026-02-07T05:30:00.000-0430",
        ] {
            let mut issue = issue();
            issue["fields"]["updated"] = updated.into();
            let event = event(issue).unwrap();
            assert_eq!(event.text("id").as_deref(), Some("evt-jira-QP-123-20260207100000"), "{updated}");
            assert_eq!(event.text("type").as_deref(), Some("jira.ticket.updated"));
            assert_eq!((event.text("source").as_deref(), event.raw("repo")), (Some("jira"), Some("null")));
            let payload = event.object("payload").unwrap();
            assert_eq!(payload.text("ticket_key").as_deref(), Some("QP-123"));
            assert_eq!(payload.text("summary").as_deref(), Some("`rm -rf /` \u{202e}%n"));
            assert_eq!(payload.text("status").as_deref(), Some("In Progress"));
            assert_eq!(payload.text("updated").as_deref(), Some(updated));
            assert_eq!(payload.text("url").as_deref(), Some("https://jira.example/browse/QP-123"));
            assert_eq!(payload.raw("issue_priority"), Some("null"));
        }
    }

    /// C8, C23: a key that would leave its directory, or a time that is none, is refused, and the others are taken.
    #[test]
    fn strange_issues_are_refused_alone() {
        let mut issues = vec![issue()];
        for key in [json!("../x"), json!("A/B"), json!("A B"), json!("K".repeat(500)), json!(5), Value::Null]
        {
            let mut strange = issue();
            strange["key"] = key;
            issues.push(strange);
        }
        for updated in [json!("yesterday"), json!(""), json!(1.5), json!("x".repeat(1_000_000))] {
            let mut strange = issue();
            strange["fields"]["updated"] = updated;
            issues.push(strange);
        }
        issues.extend([json!([]), Value::Null, json!({"key": "A-1", "fields": null}), issue()]);
        let notices = read(&json!({ "issues": issues }), &Cursor::First).notices;
        assert_eq!(notices.iter().filter(|notice| notice.is_ok()).count(), 2);
        assert!(notices.iter().flat_map(|notice| notice.as_ref().err()).all(|reason| reason.len() < 500));
    }

    /// C18: the cloud chains pages by tokens, a site at home counts; both come to an end.
    #[test]
    fn pages_follow_each_other() {
        let next = |answer: Value, cursor: Cursor| read(&answer, &cursor).next;
        let token = |text: &str| Some(Cursor::Token(text.to_owned()));
        assert_eq!(next(json!({"issues": [], "nextPageToken": "t1"}), Cursor::First), token("t1"));
        assert_eq!(next(json!({"issues": [], "nextPageToken": "t1", "isLast": true}), Cursor::First), None);
        assert_eq!(next(json!({"issues": [], "isLast": true}), Cursor::First), None);
        assert_eq!(next(json!({"issues": [], "nextPageToken": "t".repeat(5000)}), Cursor::First), None);
        let two = json!([issue(), issue()]);
        assert_eq!(next(json!({"issues": two, "total": 5}), Cursor::First), Some(Cursor::At(2)));
        assert_eq!(next(json!({"issues": two, "total": 5}), Cursor::At(2)), Some(Cursor::At(4)));
        assert_eq!(next(json!({"issues": two, "total": 5}), Cursor::At(4)), None);
        assert_eq!(
            next(json!({"issues": [], "total": 5}), Cursor::At(2)),
            None,
            "an empty page would come for ever"
        );
        assert_eq!(next(json!({"issues": two, "total": u64::MAX}), Cursor::At(u64::MAX)), None);
    }

    /// C23: what is no search result is none, however it is made.
    #[test]
    fn other_answers_are_refused() {
        let deep = format!("{{\"issues\":{}", "[".repeat(100_000));
        for body in ["", "[]", "{}", "{\"issues\": 5}", "<html>", &deep] {
            assert!(Page::read(body.as_bytes(), &Cursor::First, "").is_err());
        }
        let many = json!({"issues": vec![0; ISSUES_MAX + 1]}).to_string();
        assert!(Page::read(many.as_bytes(), &Cursor::First, "").unwrap_err().contains("1001"));
    }
}
