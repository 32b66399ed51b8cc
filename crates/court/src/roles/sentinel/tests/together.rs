//! All sources of a sentinel at once.

use super::{
    Scene, guards,
    stand_in::{StandIn, reply},
};
use crate::{
    Wake,
    config::{self, CommandSource, Tokens},
    roles::sentinel::{Sentinel, SentinelError, check, run},
};
use std::{sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

fn tokens() -> Tokens {
    let token = Some("t".to_owned());
    Tokens { github: token.clone(), jira_api: token, ..Tokens::default() }
}

/// C18: a source that fails, one that never answers and a program that cannot be started hold up no other; the sentinel
/// shows that it lives, and ends when it is told to.
#[tokio::test]
async fn no_source_holds_up_another() {
    let scene = Scene::new();
    let failing = StandIn::new(|_| reply(500, &[], "down")).await;
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
