//! GitHub as its API documents it: versions, pages, limits.

use super::Scene;
use crate::roles::tests::{FakeServer, ReceivedRequest, Reply, reply};
use crate::{
    Id, Place,
    config::{self, Tokens},
    roles::sentinel::{Pace, SentinelError, Source, SourceError, github::Github},
};
use serde_json::{Value, json};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio_util::sync::CancellationToken;

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

fn tokens() -> Tokens {
    Tokens { github: Some("gh-secret".to_owned()), ..Tokens::default() }
}

fn source(scene: &Scene, base_url: &str) -> Github {
    let settings = config::Github { base_url: base_url.to_owned(), ..config::Github::default() };
    Github::new(Arc::clone(&scene.folder), &settings, &tokens()).unwrap()
}

async fn look(scene: &Scene, base_url: &str) -> Result<Option<Duration>, SourceError> {
    source(scene, base_url).look(&CancellationToken::new()).await
}

/// C8, C18: notifications become events once; a version that was read is asked for by its marks, also by a new life,
/// and is not read again; a notification that changed is a new event.
#[tokio::test]
async fn notifications_become_events_once() {
    let (scene, hub) = (Scene::new(), Hub::default());
    hub.notify(7, "2026-02-07T10:00:00Z");
    let answering = hub.clone();
    let server = FakeServer::new(move |asked| answering.answer(asked)).await;

    assert_eq!(look(&scene, &server.url).await.unwrap(), Some(Duration::from_secs(60)));
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

    assert_eq!(look(&scene, &server.url).await.unwrap(), Some(Duration::from_secs(90)), "nothing is new");
    let asked = server.asked().remove(0);
    assert_eq!(asked.header("if-none-match"), Some("W/\"v1\""));
    assert_eq!(asked.header("if-modified-since"), Some(SOME_DAY));

    hub.notify(7, "2026-02-07T11:00:00Z");
    look(&scene, &server.url).await.unwrap();
    assert_eq!(scene.pending(), ["evt-github-7-2026-02-07T10:00:00Z", "evt-github-7-2026-02-07T11:00:00Z"]);
}

/// C8: what GitHub still shows when the court's files were pruned does not happen once more.
#[tokio::test]
async fn what_was_pruned_does_not_come_back() {
    let (scene, hub) = (Scene::new(), Hub::default());
    hub.notify(1, "2026-02-07T10:00:00Z");
    let answering = hub.clone();
    let server = FakeServer::new(move |asked| answering.answer(asked)).await;
    look(&scene, &server.url).await.unwrap();
    let id = Id::parse("evt-github-1-2026-02-07T10:00:00Z").unwrap();
    scene.folder.remove(Place::EventsPending, &id).unwrap();
    hub.notify(2, "2026-02-07T12:00:00Z");
    look(&scene, &server.url).await.unwrap();
    assert_eq!(scene.pending(), ["evt-github-2-2026-02-07T12:00:00Z"]);
}

/// C18: marks of another token or another address are not shown: they would hide what was never read.
#[tokio::test]
async fn marks_belong_to_a_token_and_an_address() {
    let (scene, hub) = (Scene::new(), Hub::default());
    let server = FakeServer::new(move |asked| hub.answer(asked)).await;
    look(&scene, &server.url).await.unwrap();
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
    assert!(matches!(look(&scene, &server.url).await, Err(SourceError::Failed(_))));
    assert_eq!((scene.pending().len(), scene.record("github")), (100, None));
    *is_down.lock().unwrap() = false;
    look(&scene, &server.url).await.unwrap();
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
        assert!(look(&scene, &server.url).await.is_err());
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
    assert_eq!(pause(&look(&scene, &server.url).await), Duration::from_secs(77));
    let server = FakeServer::new(|_| {
        reply(403, &[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "32503680000")], "")
    })
    .await;
    assert!(matches!(look(&scene, &server.url).await, Err(SourceError::Busy { .. })));
    let server = FakeServer::new(|_| reply(401, &[], "{\"message\": \"Bad credentials\"}")).await;
    let refused = look(&scene, &server.url).await;
    assert_eq!(pause(&refused), Duration::from_secs(600));
    let told = refused.unwrap_err().to_string();
    assert!(
        told.contains("token") && told.contains("Bad credentials") && !told.contains("gh-secret"),
        "{told}"
    );
    let gone = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let nobody = look(&scene, &format!("http://{gone}")).await;
    assert_eq!(pause(&nobody), Duration::from_secs(60), "{nobody:?}");
    assert!(scene.pending().is_empty());
}

/// C23: ten megabytes, nonsense and hostile texts harm nobody; what is sound beside them is taken, the rest is counted.
#[tokio::test]
async fn hostile_answers_harm_nobody() {
    let scene = Scene::new();
    for body in [vec![b' '; 10_000_000], b"<html>".to_vec(), b"{}".to_vec(), vec![0xff; 100]] {
        let server = FakeServer::new(move |_| reply(200, &[("etag", "\"x\"")], body.clone())).await;
        assert!(matches!(look(&scene, &server.url).await, Err(SourceError::Failed(_))));
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
    look(&scene, &server.url).await.unwrap();
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

const SOME_DAY: &str = "Sat, 07 Feb 2026 10:00:00 GMT";
