//! Sources as they behave, and as they should not.

mod github;
mod jira;

use super::{Sentinel, SentinelError, check, run};
use crate::roles::tests::{FakeServer, reply};
use crate::{
    Document, Folder, Id, Place, Wake,
    config::{self, CommandSource, Tokens},
};
use muster_worker_kit::process::Guards;
use std::{path::Path, sync::Arc, time::Duration};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// A court with nothing in it.
pub(super) struct Scene {
    pub(super) folder: Arc<Folder>,
    directory: TempDir,
}

impl Scene {
    pub(super) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        Self { folder: Arc::new(Folder::open(directory.path()).unwrap()), directory }
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

    pub(super) fn event(&self, id: &str) -> Document {
        self.folder.read(Place::EventsPending, &Id::parse(id).unwrap()).unwrap()
    }

    /// What is kept of a source.
    pub(super) fn record(&self, source: &str) -> Option<Document> {
        self.folder.read(Place::Sources, &Id::parse(source).unwrap()).ok()
    }

    /// The names in `rejected/`.
    pub(super) fn rejected(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.path().join("rejected")).unwrap().flatten();
        let mut names: Vec<String> = entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

/// The guard that `cargo test` builds of `examples/court_guard.rs`.
pub(super) fn guards(scene: &Scene) -> Guards {
    let test = std::env::current_exe().unwrap();
    let program = test.parent().and_then(Path::parent).unwrap().join("examples/court_guard");
    assert!(program.exists(), "{} is built by `cargo build --examples`", program.display());
    Guards { program, args: Vec::new(), lock: scene.path().join("state/locks/sources.lock") }
}

fn tokens() -> Tokens {
    let token = Some("t".to_owned());
    Tokens { github: token.clone(), jira_api: token, ..Tokens::default() }
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
