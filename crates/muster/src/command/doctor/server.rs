//! The server and its store: does it answer, who leads, is every page of the file whole.

use super::{
    super::store_copy::{Side, StoreLocation},
    Report,
};
use crate::{
    client::{Client, ClientError},
    config::{Config, StoreChoice},
    failure::{Exit, Failure},
    reach::{self, Reach},
};
use jiff::{Timestamp, fmt::rfc2822};
use muster_accounts::wire::Me;
use muster_contract_operations::{Alert, AlertList};
use muster_court::Clock;
use muster_model::AlertKind;
use muster_worker_kit::http::{below, root_cause};
use reqwest::{Response, Url, header::DATE};
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;
use std::{io, path::Path, time::Duration};

pub(super) async fn look(reach: &Reach, report: &mut Report) {
    let servers = match reach::servers(&reach.server, |name| std::env::var(name).ok()) {
        Ok(servers) => servers,
        Err(error) => {
            return report.bad(
                "server",
                error.to_string(),
                "give --server or MUSTER_SERVER as http://HOST:PORT",
            );
        }
    };
    let http = servers
        .client()
        .no_proxy()
        .timeout(PATIENCE)
        .build()
        .expect("TLS fails at the first request, not here");
    let mut is_any_ready = false;
    for url in servers.urls() {
        is_any_ready |= one(&http, url, report).await;
    }
    if is_any_ready {
        match Client::find(reach) {
            Ok(client) => {
                token(&client, report).await;
                contested(&client, report).await;
            }
            Err(error) => unknown_token(&error, report),
        }
    }
}

/// Looks at one server; says whether it is ready.
async fn one(http: &reqwest::Client, url: &Url, report: &mut Report) -> bool {
    let shown = url.as_str().trim_end_matches('/');
    let answer = match http.get(below(url, ["readyz"])).send().await {
        Ok(answer) => answer,
        Err(error) => {
            let says = format!("cannot reach {shown}: {}", root_cause(&error));
            report.unreachable("server", says, "is `muster serve` running there? (--server, MUSTER_SERVER)");
            return false;
        }
    };
    clock(&answer, report);
    let (is_ready, body) = (answer.status().is_success(), answer.text().await.unwrap_or_default());
    if !is_ready {
        let why = serde_json::from_str::<Value>(&body)
            .ok()
            .and_then(|body| Some(body.get("detail")?.as_str()?.to_owned()));
        let says = format!("{shown} is not ready: {}", why.unwrap_or_else(|| "no reason given".to_owned()));
        report.unreachable("server", says, "wait for its start, or look at its log");
        return false;
    }
    let leader = body.lines().nth(1).unwrap_or("ready, whoever leads");
    report.fine("server", format!("{shown} is ready: {leader}"));
    version(http, url, report).await;
    true
}

/// Leases and tokens end by the clock: minutes apart is too far.
fn clock(answer: &Response, report: &mut Report) {
    let date = answer.headers().get(DATE).and_then(|date| date.to_str().ok()).and_then(moment);
    let Some(there) = date else {
        return report.doubtful("clock", "the server does not tell its time".to_owned(), "");
    };
    let apart = (Clock.now().as_second() - there.as_second()).abs();
    let says = format!("{apart} s apart from the server's");
    match apart {
        0..=5 => report.fine("clock", says),
        6..=60 => report.doubtful("clock", says, "let NTP keep both clocks"),
        _ => report.bad("clock", says, "let NTP keep both clocks: tokens and schedules go by them"),
    }
}

fn moment(date: &str) -> Option<Timestamp> {
    rfc2822::DateTimeParser::new().parse_timestamp(date).ok()
}

async fn version(http: &reqwest::Client, url: &Url, report: &mut Report) {
    let own = env!("CARGO_PKG_VERSION");
    let described = async { http.get(below(url, ["openapi.json"])).send().await?.json::<Value>().await };
    let there =
        described.await.ok().and_then(|document| Some(document["info"]["version"].as_str()?.to_owned()));
    match there {
        Some(there) if there == own => report.fine("version", format!("{own}, here and there")),
        Some(there) => {
            report.doubtful("version", format!("{own} here, {there} there"), "use the same on both sides");
        }
        None => report.doubtful("version", "the server does not tell its version".to_owned(), ""),
    }
}

async fn token(client: &Client, report: &mut Report) {
    match client.get(&["auth", "me"], &[]).await {
        Ok(Me { username, roles, .. }) => {
            let name = username.replace(char::is_control, " ");
            report.fine("token", format!("of {name}: {}", roles.join(", ")));
        }
        Err(error @ ClientError::Unauthorized) => {
            report.doubtful("token", error.to_string(), "client commands need one");
        }
        Err(error) if error.exit() == Exit::Unreachable => {
            report.unreachable("token", error.to_string(), "look again");
        }
        Err(error) => report.bad("token", error.to_string(), "run `muster login`, or set MUSTER_TOKEN"),
    }
}

/// Two nodes that report the same devices (N1b); whoever may not see alerts has been told about the token.
async fn contested(client: &Client, report: &mut Report) {
    let asked = client.get(&["api", "alerts"], &[("limit", "1000".to_owned())]).await;
    let Ok(AlertList { alerts, .. }) = asked else { return };
    let since = Clock.now().as_millisecond() - CONTESTED_MS;
    let is_contest = |alert: &Alert| alert.kind == AlertKind::DeviceContested.as_str() && alert.at > since;
    for alert in alerts.into_iter().filter(is_contest) {
        let advice = "let one of them report it; `--devices simulated:COUNT@FIRST` begins at another number";
        report.doubtful("devices", alert.message.replace(char::is_control, " "), advice);
    }
}

fn unknown_token(error: &Failure, report: &mut Report) {
    report.bad("token", error.to_string(), "run `muster login` again, or set MUSTER_TOKEN");
}

/// As long as it goes on there is an alert every hour.
const CONTESTED_MS: i64 = 3_600_000;
const PATIENCE: Duration = Duration::from_secs(10);

/// Thoroughness of the check of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depth {
    /// Not in the way of a server that runs.
    Easy,
    /// Every page, whoever waits for it.
    Deep,
}

pub(super) fn look_at_store(place: &StoreLocation, depth: Depth, config: &Config, report: &mut Report) {
    match &config.store {
        StoreChoice::Sqlite => embedded(&config.data, depth, report),
        StoreChoice::Postgres(_) => shared(place, report),
        StoreChoice::Memory => report.doubtful(
            "store",
            "it is memory: everything is gone with the server".to_owned(),
            "set server.store for anything but tests",
        ),
    }
}

/// Looks into the file without changing it. Looking at every page is one long transaction, during which the log of a
/// server that writes only grows.
fn embedded(data: &Path, depth: Depth, report: &mut Report) {
    const NAME: &str = "store";
    let file = &data.join("muster.db");
    match file.metadata() {
        Ok(_) if depth == Depth::Easy && muster_store_sqlite::is_in_use(data) => {
            let says = "a server uses it; every page is looked at only with --deep, or while none runs";
            report.fine(NAME, format!("{}: {says}", file.display()));
        }
        Ok(_) => whole(file, report),
        Err(error) if error.kind() == io::ErrorKind::NotFound => report.doubtful(
            NAME,
            format!("{} does not exist yet", file.display()),
            "it is made when the server starts",
        ),
        Err(error) => {
            report.bad(NAME, format!("{}: {error}", file.display()), "run this as the server's user");
        }
    }
}

fn whole(file: &Path, report: &mut Report) {
    const NAME: &str = "store";
    match quick_check(file) {
        Ok(answer) if answer == "ok" => {
            report.fine(NAME, format!("{} is whole (SQLite {})", file.display(), rusqlite::version()));
        }
        Ok(answer) => {
            let todo =
                "stop the server, keep a copy of the directory, and restore a backup (`muster restore`)";
            report.bad(NAME, format!("{} is damaged: {answer}", file.display()), todo);
        }
        Err(error) => {
            report.bad(NAME, format!("{}: {error}", file.display()), "run this as the server's user");
        }
    }
}

fn quick_check(file: &Path) -> rusqlite::Result<String> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(file, flags)?;
    connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
}

fn shared(place: &StoreLocation, report: &mut Report) {
    const NAME: &str = "store";
    let names = Side::open_to_read(place).and_then(|side| side.secrets());
    match names {
        Ok(names) => report.fine(NAME, format!("PostgreSQL answers, and keeps {} secrets", names.len())),
        Err(error) => {
            let todo = "check server.store, and that the database runs and lets this machine in";
            report.bad(NAME, error.to_string(), todo);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{client::tests::serve, failure::Exit};
    use axum::{Json, Router, http::StatusCode, routing::get};
    use muster_store_sqlite::SqliteStore;
    use muster_worker_kit::http::Servers;
    use serde_json::json;

    #[test]
    fn a_date_of_http_is_understood() {
        assert_eq!(moment("Sun, 06 Nov 1994 08:49:37 GMT").unwrap().as_second(), 784_111_777);
        assert!(moment("yesterday").is_none());
    }

    async fn exit_at(router: Router) -> Exit {
        let server = serve(router).await;
        let mut report = Report::default();
        look(&Reach { server: vec![server], json: false }, &mut report).await;
        report.exit()
    }

    /// I4: a server that is there but not ready counts as not reachable.
    #[tokio::test]
    async fn a_server_that_is_not_ready_cannot_serve() {
        let busy = || async { (StatusCode::SERVICE_UNAVAILABLE, Json(json!({"detail": "starting"}))) };
        assert_eq!(exit_at(Router::new().route("/readyz", get(busy))).await, Exit::Unreachable);
    }

    /// N1b: two nodes that report the same devices are named.
    #[tokio::test]
    async fn a_contest_is_told() {
        let (now, kind) = (Clock.now().as_millisecond(), "device_contested");
        let alert = move |at: i64, message: &str| json!({"id": "a", "kind": kind, "pc_id": "PC-01", "run_id": null, "message": message, "at": at});
        let alerts =
            json!({"alerts": [alert(now, "PC-01 and PC-02"), alert(now - 2 * CONTESTED_MS, "long ago")]});
        let router = Router::new().route("/api/alerts", get(move || async { Json(alerts) }));
        let url = serve(router).await;
        let mut report = Report::default();
        contested(&Client::new(Servers::parse([url.as_str()]).unwrap(), None), &mut report).await;
        let told = format!("{report:?}");
        assert!(told.contains("PC-01 and PC-02") && !told.contains("long ago"), "{told}");
    }

    #[tokio::test]
    async fn a_server_that_is_not_there_is_told() {
        let mut report = Report::default();
        look(&Reach { server: vec!["http://127.0.0.1:1".to_owned()], json: false }, &mut report).await;
        assert_eq!(report.exit(), Exit::Unreachable);
        let mut report = Report::default();
        look(&Reach { server: vec!["nonsense".to_owned()], json: false }, &mut report).await;
        assert_eq!(report.exit(), Exit::Failed);
    }

    fn told(data: &Path, depth: Depth) -> Report {
        let mut report = Report::default();
        embedded(data, depth, &mut report);
        report
    }

    fn exit(data: &Path) -> Exit {
        told(data, Depth::Easy).exit()
    }

    #[test]
    fn a_damaged_file_is_found() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("muster.db");
        assert_eq!(exit(home.path()), Exit::Fine, "a server that was never started has none");
        Connection::open(&file)
            .unwrap()
            .execute_batch("CREATE TABLE t (a); INSERT INTO t VALUES (1);")
            .unwrap();
        assert_eq!(exit(home.path()), Exit::Fine);
        std::fs::write(&file, "this is no database, however long it is looked at").unwrap();
        assert_eq!(exit(home.path()), Exit::Failed);
    }

    /// I3: a server at work is not held up, unless somebody wants that.
    #[test]
    fn a_store_in_use_is_looked_at_only_when_told_to() {
        let home = tempfile::tempdir().unwrap();
        let _server = SqliteStore::open(home.path()).unwrap();
        assert!(format!("{:?}", told(home.path(), Depth::Easy)).contains("--deep"));
        assert!(format!("{:?}", told(home.path(), Depth::Deep)).contains("is whole"));
    }

    /// I3: what cannot be looked at is not what is not there.
    #[test]
    fn what_cannot_be_reached_is_told() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert_eq!(exit(&file), Exit::Failed);
    }
}
