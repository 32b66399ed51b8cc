//! Jira in the cloud and at home.

use super::Scene;
use crate::roles::tests::{FakeServer, ReceivedRequest, Reply, reply};
use crate::{
    config::{self, Tokens},
    roles::sentinel::{Pace, SentinelError, Source, SourceError, jira::Jira},
};
use serde_json::{Value, json};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio_util::sync::CancellationToken;

fn source(scene: &Scene, base_url: &str, email: Option<&str>) -> Jira {
    let (base_url, jql) = (base_url.to_owned(), JQL.to_owned());
    let settings = config::Jira { base_url, jql, poll_s: 60.0 };
    let jira_email = email.map(str::to_owned);
    let tokens = Tokens { jira_api: Some("j-secret".to_owned()), jira_email, ..Tokens::default() };
    Jira::new(Arc::clone(&scene.folder), &settings, &tokens).unwrap()
}

async fn look(scene: &Scene, base_url: &str) -> Result<Option<Duration>, SourceError> {
    source(scene, base_url, Some("me@example.com")).look(&CancellationToken::new()).await
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
    look(&scene, &server.url).await.unwrap();
    assert_eq!(scene.pending().len(), 250);
    assert!(scene.pending().contains(&"evt-jira-QP-123-20260207100000".to_owned()));
    let asked = server.asked();
    assert_eq!(asked.len(), 3);
    assert_eq!(asked[0].query["jql"], JQL);
    assert!(asked[0].query["fields"].contains("updated") && asked[2].query["nextPageToken"] == "200");
    assert_eq!(asked[0].header("authorization"), Some("Basic bWVAZXhhbXBsZS5jb206ai1zZWNyZXQ="));
    look(&scene, &server.url).await.unwrap();
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
    look(&scene, &server.url).await.unwrap();
    assert_eq!(scene.pending().len(), 250);
    let paths = |asked: Vec<ReceivedRequest>| asked.into_iter().map(|asked| asked.path).collect::<Vec<_>>();
    assert_eq!(paths(server.asked())[..2], ["/rest/api/3/search/jql", "/rest/api/2/search"]);
    look(&scene, &server.url).await.unwrap();
    assert_eq!(paths(server.asked()), vec!["/rest/api/2/search"; 5]);
    *moved.lock().unwrap() = true;
    look(&scene, &server.url).await.unwrap();
    assert_eq!(paths(server.asked())[..2], ["/rest/api/2/search", "/rest/api/3/search/jql"]);
    look(&scene, &server.url).await.unwrap();
    assert_eq!(paths(server.asked()), vec!["/rest/api/3/search/jql"; 3]);
}

/// C18: a token without an email is shown as it is; no token at all is told at the start.
#[tokio::test]
async fn a_token_alone_is_borne() {
    let (scene, server) = (Scene::new(), FakeServer::new(cloud).await);
    source(&scene, &server.url, None).look(&CancellationToken::new()).await.unwrap();
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
    let busy = look(&scene, &server.url).await;
    assert_eq!(Pace::new(Duration::from_secs(60)).after(&busy), Duration::from_secs(33));
    for (status, body, word) in [
        (400, "{\"errorMessages\": [\"Field 'x' does not exist\"]}", "Field 'x' does not exist"),
        (404, "", "base_url"),
        (302, "", "base_url"),
    ] {
        let server =
            FakeServer::new(move |_| reply(status, &[("location", "http://127.0.0.1:9/")], body)).await;
        let told = look(&scene, &server.url).await.unwrap_err();
        assert!(matches!(&told, SourceError::Refused(text) if text.contains(word)), "{told}");
    }
    let server = FakeServer::new(|_| reply(200, &[], vec![b'['; 10_000_000])).await;
    assert!(matches!(look(&scene, &server.url).await, Err(SourceError::Failed(_))));
    let server = FakeServer::new(|_| reply(200, &[], "{\"issues\": [], \"nextPageToken\": \"again\"}")).await;
    look(&scene, &server.url).await.unwrap();
    assert_eq!(server.asked().len(), 50, "pages that never end are left after as many as are read");
    assert!(scene.pending().is_empty());
}

const JQL: &str = "project = \"QP\" AND updated >= -1d & # ../?";
