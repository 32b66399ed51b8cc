//! Sources as they behave, and as they should not.

use super::{Pace, Sentinel, SentinelError, Source, SourceError, check, github::Github, jira::Jira, run};
use crate::{
    Document, Folder, Id, Place, Wake,
    config::{self, CommandSource, Tokens},
    scene::{FakeServer, ReceivedRequest, Reply, court, id, reply},
};
use muster_worker_kit::process::Guards;
use serde_json::{Value, json};
use std::{
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// A court with nothing in it.
pub(super) struct Scene {
    pub(super) folder: Arc<Folder>,
    directory: TempDir,
}

impl Scene {
    pub(super) fn new() -> Self {
        let (directory, folder) = court();
        Self { folder: Arc::new(folder), directory }
    }

    pub(super) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The ids of the events that wait for the king.
    pub(super) fn pending(&self) -> Vec<String> {
        let mut ids: Vec<String> =
            self.folder.ids(Place::EventsPending).unwrap().iter().map(Id::to_string).collect();
        ids.sort();
        ids
    }

    pub(super) fn event(&self, name: &str) -> Document {
        self.folder.read(Place::EventsPending, &id(name)).unwrap()
    }

    /// The record of a source.
    pub(super) fn record(&self, source: &str) -> Option<Document> {
        self.folder.read(Place::Sources, &id(source)).ok()
    }

    /// The names in `rejected/`.
    pub(super) fn rejected(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.path().join("rejected")).unwrap().flatten();
        let mut names: Vec<String> = entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

/// The guard that `cargo test` builds of `examples/court_general.rs`.
pub(super) fn guards(scene: &Scene) -> Guards {
    let test = std::env::current_exe().unwrap();
    let program = test.parent().and_then(Path::parent).unwrap().join("examples/court_general");
    assert!(program.exists(), "{} is built by `cargo build --examples`", program.display());
    Guards { program, args: vec!["guard".into()], lock: scene.path().join("state/locks/sources.lock") }
}

fn tokens() -> Tokens {
    let token = |text: &str| Some(text.to_owned());
    Tokens { github: token("gh-secret"), jira_api: token("j-secret"), ..Tokens::default() }
}

/// C18: a source that fails, one that never answers and a program that cannot be started hold up no other; the sentinel
/// shows that it lives, and ends when it is told to.
#[tokio::test]
async fn no_source_holds_up_another() {
    let scene = Scene::new();
    let failing = FakeServer::new(|_| reply(500, &[], "down")).await;
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let command = |argv: &[&str]| CommandSource {
        command: argv.iter().map(|word| (*word).to_owned()).collect(),
        poll_s: 0.05,
    };
    let line = r#"{"type": "t", "payload": {}}"#;
    let settings = config::Sentinel {
        github: Some(config::Github { base_url: failing.url.clone(), poll_s: 0.05 }),
        jira: Some(config::Jira {
            base_url: format!("http://{}", silent.local_addr().unwrap()),
            jql: String::new(),
            poll_s: 0.05,
        }),
        command: [
            ("good".to_owned(), command(&["echo", line])),
            ("bad".to_owned(), command(&["/no/such/program"])),
        ]
        .into(),
    };
    let (stop, pending) = (CancellationToken::new(), scene.path().join("queue/events/pending"));
    let wake = Wake::on(&[&pending], Duration::from_millis(100));
    let sentinel = Sentinel { settings, tokens: tokens(), guards: guards(&scene) };
    let running = tokio::spawn(sentinel.run(Arc::clone(&scene.folder), stop.clone()));
    while scene.pending().len() < 3 || failing.asked().is_empty() {
        wake.wait(None).await;
    }
    assert!(scene.path().join("state/heartbeats/sentinel").exists());
    stop.cancel();
    running.await.unwrap().unwrap();
    let first = scene.pending().remove(0);
    assert_eq!(scene.event(&first).text("source").as_deref(), Some("command.good"));
}

/// C18: what is not configured is off, and needs no token; what is configured without its token is an error at once.
#[tokio::test]
async fn what_is_not_configured_is_off() {
    let scene = Scene::new();
    let stop = CancellationToken::new();
    let github = config::Sentinel { github: Some(config::Github::default()), ..config::Sentinel::default() };
    let refused = check(&scene.folder, &github, &Tokens::default());
    assert!(matches!(refused, Err(SentinelError::NoToken { variable: "GITHUB_TOKEN", .. })));
    assert!(check(&scene.folder, &github, &tokens()).is_ok());
    let refused = run(Arc::clone(&scene.folder), github, Tokens::default(), stop.clone()).await;
    assert!(matches!(refused, Err(SentinelError::NoToken { variable: "GITHUB_TOKEN", .. })));
    stop.cancel();
    run(Arc::clone(&scene.folder), config::Sentinel::default(), Tokens::default(), stop).await.unwrap();
}

/// The notifications that GitHub has, and how often they changed.
#[derive(Clone, Default)]
struct Hub(Arc<Mutex<(u64, Vec<Value>)>>);

impl Hub {
    fn notify(&self, id: u64, updated_at: &str) {
        let (shown, mut hub) = (&id.to_string(), self.0.lock().unwrap());
        hub.0 += 1;
        hub.1.retain(|known| known["id"] != *shown);
        hub.1.insert(0, json!({
            "id": shown, "reason": "mention", "updated_at": updated_at,
            "subject": {"title": format!("title {id}"), "type": "PullRequest", "url": format!("https://api/pulls/{id}")},
            "repository": {"full_name": "o/r"}
        }));
    }

    /// Answers as GitHub does: a version it is asked for is not sent again, and pages have at most fifty.
    fn answer(&self, asked: &ReceivedRequest) -> Reply {
        let (version, all) = self.0.lock().unwrap().clone();
        let etag = format!("W/\"v{version}\"");
        if asked.header("if-none-match") == Some(&etag) {
            return reply(304, &[("etag", &etag), ("x-poll-interval", "90")], "");
        }
        let page: usize = asked.query.get("page").map_or(1, |page| page.parse().unwrap());
        let shown: Vec<&Value> = all.iter().skip((page - 1) * 50).take(50).collect();
        let host = asked.header("host").unwrap();
        let link = format!(
            "<http://{host}/notifications?page=1>; rel=\"first\", <http://{host}/notifications?page={}>; rel=\"next\"",
            page + 1
        );
        let mut headers =
            vec![("etag", etag.as_str()), ("last-modified", SOME_DAY), ("x-poll-interval", "60")];
        if all.len() > page * 50 {
            headers.push(("link", &link));
        }
        reply(200, &headers, json!(shown).to_string())
    }
}

fn github(scene: &Scene, base_url: &str) -> Github {
    let settings = config::Github { base_url: base_url.to_owned(), ..config::Github::default() };
    Github::new(Arc::clone(&scene.folder), &settings, &tokens()).unwrap()
}

async fn look_at_github(scene: &Scene, base_url: &str) -> Result<Option<Duration>, SourceError> {
    github(scene, base_url).look(&CancellationToken::new()).await
}

/// C8, C18: notifications become events once; a version that was read is asked for by its marks, also by a new life,
/// and is not read again; a notification that changed is a new event.
#[tokio::test]
async fn notifications_become_events_once() {
    let (scene, hub) = (Scene::new(), Hub::default());
    hub.notify(7, "2026-02-07T10:00:00Z");
    let answering = hub.clone();
    let server = FakeServer::new(move |asked| answering.answer(asked)).await;

    assert_eq!(look_at_github(&scene, &server.url).await.unwrap(), Some(Duration::from_secs(60)));
    let asked = server.asked().remove(0);
    assert_eq!(asked.path, "/notifications");
    assert_eq!((asked.query["all"].as_str(), asked.query["per_page"].as_str()), ("false", "50"));
    assert_eq!(asked.header("authorization"), Some("Bearer gh-secret"));
    assert_eq!(asked.header("accept"), Some("application/vnd.github+json"));
    assert_eq!(asked.header("x-github-api-version"), Some("2022-11-28"));
    assert!(asked.header("user-agent").is_some() && asked.header("if-none-match").is_none());
    assert_eq!(scene.pending(), ["evt-github-7-2026-02-07T10:00:00Z"]);
    let event = scene.event("evt-github-7-2026-02-07T10:00:00Z");
    assert_eq!(event.text("type").as_deref(), Some("github.pr.mention"));
    assert_eq!(
        (event.text("repo").as_deref(), event.text("status").as_deref()),
        (Some("o/r"), Some("pending"))
    );
    assert_eq!(event.object("payload").unwrap().text("pr_number").as_deref(), Some("7"));

    assert_eq!(
        look_at_github(&scene, &server.url).await.unwrap(),
        Some(Duration::from_secs(90)),
        "nothing is new"
    );
    let asked = server.asked().remove(0);
    assert_eq!(asked.header("if-none-match"), Some("W/\"v1\""));
    assert_eq!(asked.header("if-modified-since"), Some(SOME_DAY));

    hub.notify(7, "2026-02-07T11:00:00Z");
    look_at_github(&scene, &server.url).await.unwrap();
    assert_eq!(scene.pending(), ["evt-github-7-2026-02-07T10:00:00Z", "evt-github-7-2026-02-07T11:00:00Z"]);
}

/// C8: what GitHub still shows when the court's files were pruned does not happen once more.
#[tokio::test]
async fn what_was_pruned_does_not_come_back() {
    let (scene, hub) = (Scene::new(), Hub::default());
    hub.notify(1, "2026-02-07T10:00:00Z");
    let answering = hub.clone();
    let server = FakeServer::new(move |asked| answering.answer(asked)).await;
    look_at_github(&scene, &server.url).await.unwrap();
    let id = Id::parse("evt-github-1-2026-02-07T10:00:00Z").unwrap();
    scene.folder.remove(Place::EventsPending, &id).unwrap();
    hub.notify(2, "2026-02-07T12:00:00Z");
    look_at_github(&scene, &server.url).await.unwrap();
    assert_eq!(scene.pending(), ["evt-github-2-2026-02-07T12:00:00Z"]);
}

/// C18: marks of another token or another address are not shown: they would hide what was never read.
#[tokio::test]
async fn marks_belong_to_a_token_and_an_address() {
    let (scene, hub) = (Scene::new(), Hub::default());
    let server = FakeServer::new(move |asked| hub.answer(asked)).await;
    look_at_github(&scene, &server.url).await.unwrap();
    let settings = config::Github { base_url: server.url.clone(), ..config::Github::default() };
    let other = Tokens { github: Some("another".to_owned()), ..Tokens::default() };
    let mut other = Github::new(Arc::clone(&scene.folder), &settings, &other).unwrap();
    server.asked();
    other.look(&CancellationToken::new()).await.unwrap();
    assert_eq!(server.asked()[0].header("if-none-match"), None);
    let record = scene.record("github").unwrap().to_file();
    assert!(!record.contains("another") && !record.contains("gh-secret"), "{record}");
}

/// C6, C18: all pages are read; how far it was read is kept only when the last of them is durable, so a page that
/// fails is read again with those before it, and nothing is doubled.
#[tokio::test]
async fn pages_are_kept_when_all_are_read() {
    let (scene, hub) = (Scene::new(), Hub::default());
    (100..220).for_each(|id| hub.notify(id, "2026-02-07T10:00:00Z"));
    let is_down = Arc::new(Mutex::new(true));
    let down = Arc::clone(&is_down);
    let server = FakeServer::new(move |asked| match asked.query.get("page").map(String::as_str) {
        Some("3") if *down.lock().unwrap() => reply(502, &[], "bad gateway"),
        _ => hub.answer(asked),
    })
    .await;
    assert!(matches!(look_at_github(&scene, &server.url).await, Err(SourceError::Failed(_))));
    assert_eq!((scene.pending().len(), scene.record("github")), (100, None));
    *is_down.lock().unwrap() = false;
    look_at_github(&scene, &server.url).await.unwrap();
    assert_eq!(scene.pending().len(), 120);
    assert!(scene.record("github").unwrap().text("etag").is_some());
    assert!(server.asked().iter().skip(1).all(|asked| asked.header("if-none-match").is_none()));
}

/// C23: the token goes nowhere else: neither a link nor a redirect to another server is followed.
#[tokio::test]
async fn nothing_leads_elsewhere() {
    let elsewhere = FakeServer::new(|_| reply(200, &[], "[]")).await;
    for headers in [
        ("link", format!("<{}/notifications>; rel=\"next\"", elsewhere.url)),
        ("location", elsewhere.url.clone()),
    ] {
        let scene = Scene::new();
        let status = if headers.0 == "link" { 200 } else { 302 };
        let server = FakeServer::new(move |_| reply(status, &[(headers.0, &headers.1)], "[]")).await;
        assert!(look_at_github(&scene, &server.url).await.is_err());
        assert!(elsewhere.asked().is_empty(), "{status}");
        assert_eq!(scene.record("github"), None, "the rest is still to be read");
    }
}

/// C18: a limit is waited for as told; a token that is not taken is told as such and tried again much later.
#[tokio::test]
async fn limits_and_refusals_are_told_apart() {
    let scene = Scene::new();
    let pause =
        |looked: &Result<Option<Duration>, SourceError>| Pace::new(Duration::from_secs(60)).after(looked);
    let server = FakeServer::new(|_| reply(429, &[("retry-after", "77")], "slow down")).await;
    assert_eq!(pause(&look_at_github(&scene, &server.url).await), Duration::from_secs(77));
    let server = FakeServer::new(|_| {
        reply(403, &[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "32503680000")], "")
    })
    .await;
    assert!(matches!(look_at_github(&scene, &server.url).await, Err(SourceError::Busy { .. })));
    let server = FakeServer::new(|_| reply(401, &[], "{\"message\": \"Bad credentials\"}")).await;
    let refused = look_at_github(&scene, &server.url).await;
    assert_eq!(pause(&refused), Duration::from_secs(600));
    let told = refused.unwrap_err().to_string();
    assert!(
        told.contains("token") && told.contains("Bad credentials") && !told.contains("gh-secret"),
        "{told}"
    );
    let gone = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let nobody = look_at_github(&scene, &format!("http://{gone}")).await;
    assert_eq!(pause(&nobody), Duration::from_secs(60), "{nobody:?}");
    assert!(scene.pending().is_empty());
}

/// C23: ten megabytes, nonsense and hostile texts harm nobody; what is sound beside them is taken, the rest is counted.
#[tokio::test]
async fn hostile_answers_harm_nobody() {
    let scene = Scene::new();
    for body in [vec![b' '; 10_000_000], b"<html>".to_vec(), b"{}".to_vec(), vec![0xff; 100]] {
        let server = FakeServer::new(move |_| reply(200, &[("etag", "\"x\"")], body.clone())).await;
        assert!(matches!(look_at_github(&scene, &server.url).await, Err(SourceError::Failed(_))));
    }
    assert_eq!(scene.record("github"), None);
    let good = |id: &str, title: &str| {
        json!({"id": id, "reason": "mention", "updated_at": "2026-02-07T10:00:00Z",
               "subject": {"title": title, "type": "Issue"}})
    };
    let hostile = "$(touch /tmp/x); `id` {} %s \u{0}\u{1b}[2J \u{202e} <!channel> ../../x";
    let page =
        json!([good("../../../x", "a"), good("5", hostile), good("6", &"x".repeat(2_000_000)), null, 7]);
    let server = FakeServer::new(move |_| reply(200, &[("etag", "\"x\"")], page.to_string())).await;
    look_at_github(&scene, &server.url).await.unwrap();
    assert_eq!(scene.pending(), ["evt-github-5-2026-02-07T10:00:00Z"]);
    let event = scene.event("evt-github-5-2026-02-07T10:00:00Z");
    assert_eq!(event.object("payload").unwrap().text("title").as_deref(), Some(hostile));
    assert_eq!(scene.record("github").unwrap().number("refused"), Some(4));
}

/// C0, C18: without its token, or with an address that is none, the source says so before anything is done.
#[test]
fn what_can_never_work_is_told_at_the_start() {
    let scene = Scene::new();
    let new = |base_url: &str, tokens: &Tokens| {
        let settings = config::Github { base_url: base_url.to_owned(), ..config::Github::default() };
        Github::new(Arc::clone(&scene.folder), &settings, tokens).err().unwrap()
    };
    let none = new("http://localhost", &Tokens::default());
    assert!(
        matches!(none, SentinelError::NoToken { .. }) && none.to_string().contains("GITHUB_TOKEN"),
        "{none}"
    );
    let wrong = new("localhost:80", &tokens()).to_string();
    assert!(wrong.contains("sentinel.github") && wrong.contains("base_url"), "{wrong}");
}

fn jira(scene: &Scene, base_url: &str, email: Option<&str>) -> Jira {
    let (base_url, jql) = (base_url.to_owned(), JQL.to_owned());
    let settings = config::Jira { base_url, jql, poll_s: 60.0 };
    let tokens = Tokens { jira_email: email.map(str::to_owned), ..tokens() };
    Jira::new(Arc::clone(&scene.folder), &settings, &tokens).unwrap()
}

async fn look_at_jira(scene: &Scene, base_url: &str) -> Result<Option<Duration>, SourceError> {
    jira(scene, base_url, Some("me@example.com")).look(&CancellationToken::new()).await
}

fn issues(numbers: std::ops::Range<u64>) -> Vec<Value> {
    let issue = |number| {
        json!({"key": format!("QP-{number}"), "fields": {
            "summary": "s", "status": {"name": "Open"}, "updated": "2026-02-07T19:00:00.000+0900"}})
    };
    numbers.map(issue).collect()
}

fn number(asked: &ReceivedRequest, name: &str) -> u64 {
    asked.query.get(name).map_or(0, |text| text.parse().unwrap())
}

/// The cloud: 250 issues in pages of a hundred, chained by tokens.
fn cloud(asked: &ReceivedRequest) -> Reply {
    if asked.path != "/rest/api/3/search/jql" {
        return reply(410, &[], "{\"errorMessages\": [\"The requested API has been removed.\"]}");
    }
    let from = number(asked, "nextPageToken");
    let to = (from + number(asked, "maxResults")).min(250);
    let mut answer = json!({"issues": issues(from..to), "isLast": to == 250});
    if to < 250 {
        answer["nextPageToken"] = to.to_string().into();
    }
    reply(200, &[], answer.to_string())
}

/// A site at home: 250 issues in pages that it makes smaller than asked for.
fn at_home(asked: &ReceivedRequest) -> Reply {
    if asked.path != "/rest/api/2/search" {
        return reply(404, &[], "<html>dead link</html>");
    }
    let from = number(asked, "startAt");
    let to = (from + 50).min(250);
    reply(
        200,
        &[],
        json!({"issues": issues(from..to), "startAt": from, "maxResults": 50, "total": 250}).to_string(),
    )
}

/// C8, C18: the search of the cloud, page by page; a second look repeats nothing.
#[tokio::test]
async fn the_cloud_is_searched() {
    let (scene, server) = (Scene::new(), FakeServer::new(cloud).await);
    look_at_jira(&scene, &server.url).await.unwrap();
    assert_eq!(scene.pending().len(), 250);
    assert!(scene.pending().contains(&"evt-jira-QP-123-20260207100000".to_owned()));
    let asked = server.asked();
    assert_eq!(asked.len(), 3);
    assert_eq!(asked[0].query["jql"], JQL);
    assert!(asked[0].query["fields"].contains("updated") && asked[2].query["nextPageToken"] == "200");
    assert_eq!(asked[0].header("authorization"), Some("Basic bWVAZXhhbXBsZS5jb206ai1zZWNyZXQ="));
    look_at_jira(&scene, &server.url).await.unwrap();
    assert_eq!(scene.pending().len(), 250);
}

/// C18: a site at home has the older search; it is remembered, also by a new life, and a site that moves to the cloud
/// is found again.
#[tokio::test]
async fn the_search_that_is_there_is_found_and_remembered() {
    let (scene, moved) = (Scene::new(), Arc::new(Mutex::new(false)));
    let has_moved = Arc::clone(&moved);
    let server =
        FakeServer::new(move |asked| if *has_moved.lock().unwrap() { cloud(asked) } else { at_home(asked) })
            .await;
    look_at_jira(&scene, &server.url).await.unwrap();
    assert_eq!(scene.pending().len(), 250);
    let paths = |asked: Vec<ReceivedRequest>| asked.into_iter().map(|asked| asked.path).collect::<Vec<_>>();
    assert_eq!(paths(server.asked())[..2], ["/rest/api/3/search/jql", "/rest/api/2/search"]);
    look_at_jira(&scene, &server.url).await.unwrap();
    assert_eq!(paths(server.asked()), vec!["/rest/api/2/search"; 5]);
    *moved.lock().unwrap() = true;
    look_at_jira(&scene, &server.url).await.unwrap();
    assert_eq!(paths(server.asked())[..2], ["/rest/api/2/search", "/rest/api/3/search/jql"]);
    look_at_jira(&scene, &server.url).await.unwrap();
    assert_eq!(paths(server.asked()), vec!["/rest/api/3/search/jql"; 3]);
}

/// C18: a token without an email is shown as it is; no token at all is told at the start.
#[tokio::test]
async fn a_token_alone_is_borne() {
    let (scene, server) = (Scene::new(), FakeServer::new(cloud).await);
    jira(&scene, &server.url, None).look(&CancellationToken::new()).await.unwrap();
    assert_eq!(server.asked()[0].header("authorization"), Some("Bearer j-secret"));
    let settings = config::Jira { base_url: server.url.clone(), jql: JQL.to_owned(), poll_s: 60.0 };
    let none = Jira::new(Arc::clone(&scene.folder), &settings, &Tokens::default()).err().unwrap();
    assert!(
        matches!(none, SentinelError::NoToken { .. }) && none.to_string().contains("JIRA_API_TOKEN"),
        "{none}"
    );
}

/// C18, C23: limits are waited for as told; what a site refuses is told with its own words; a site that has neither
/// search, leads elsewhere, or answers without end is not obeyed.
#[tokio::test]
async fn trouble_is_told() {
    let scene = Scene::new();
    let server = FakeServer::new(|_| reply(429, &[("retry-after", "33")], "")).await;
    let busy = look_at_jira(&scene, &server.url).await;
    assert_eq!(Pace::new(Duration::from_secs(60)).after(&busy), Duration::from_secs(33));
    for (status, body, word) in [
        (400, "{\"errorMessages\": [\"Field 'x' does not exist\"]}", "Field 'x' does not exist"),
        (404, "", "base_url"),
        (302, "", "base_url"),
    ] {
        let server =
            FakeServer::new(move |_| reply(status, &[("location", "http://127.0.0.1:9/")], body)).await;
        let told = look_at_jira(&scene, &server.url).await.unwrap_err();
        assert!(matches!(&told, SourceError::Refused(text) if text.contains(word)), "{told}");
    }
    let server = FakeServer::new(|_| reply(200, &[], vec![b'['; 10_000_000])).await;
    assert!(matches!(look_at_jira(&scene, &server.url).await, Err(SourceError::Failed(_))));
    let server = FakeServer::new(|_| reply(200, &[], "{\"issues\": [], \"nextPageToken\": \"again\"}")).await;
    look_at_jira(&scene, &server.url).await.unwrap();
    assert_eq!(server.asked().len(), 50, "pages that never end are left after as many as are read");
    assert!(scene.pending().is_empty());
}

const SOME_DAY: &str = "Sat, 07 Feb 2026 10:00:00 GMT";
const JQL: &str = "project = \"QP\" AND updated >= -1d & # ../?";
