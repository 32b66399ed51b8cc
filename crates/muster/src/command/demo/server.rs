//! The demo's server: the real one, in this process, on a store that is thrown away; and its tables, read with plain SQL, also
//! while the server runs.

use crate::{
    assembly,
    client::Client,
    command::serve,
    config::{Config, Layers},
    failure::Failure,
    secrets::Secrets,
};
use muster_coordinator::Coordinator;
use muster_http::HttpState;
use muster_store::StoreError;
use muster_worker_kit::http::Servers;
use rusqlite::{Connection, OpenFlags, Params, Row, types::FromSql};
use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
};
use tempfile::TempDir;
use tokio::{sync::watch, task::JoinHandle};

/// A running server.
pub(super) struct Server {
    pub(super) url: String,
    pub(super) address: SocketAddr,
    pub(super) node_secret: String,
    pub(super) enrol_secret: String,
    /// Directory that sessions write to.
    pub(super) output: PathBuf,
    pub(super) admin_token: String,
    directory: TempDir,
    http: HttpState,
    coordinator: Coordinator,
    stop: watch::Sender<bool>,
    listening: JoinHandle<()>,
    working: JoinHandle<()>,
}

impl Server {
    /// Starts it as `muster serve` does, with secrets of its own whatever the environment says.
    pub(super) async fn start(listen: &str) -> Result<Self, Failure> {
        let directory = tempfile::Builder::new().prefix("muster-demo-").tempdir()?;
        let config = settings(listen, directory.path())?;
        let opened = assembly::open_store(&config)?;
        let secrets = Secrets::load(&opened.vault, |_| None)?;
        let listener = serve::bind(&config.listen).await?;
        let address = listener.local_addr()?;
        let server = assembly::assemble(opened.store, &secrets, &config, address)?;
        let assembly::Assembled { coordinator, http, simulation, dashboard, router } = server;
        let (stop, stopped) = watch::channel(false);
        let listening = tokio::spawn(muster_http::listen(listener, router, serve::wait_for(stopped.clone())));
        Ok(Self {
            url: format!("http://{address}"),
            address,
            node_secret: secrets.node.reveal().to_owned(),
            enrol_secret: secrets.enrolment.reveal().to_owned(),
            output: config.simulation.output_root.clone(),
            admin_token: secrets.admin.reveal().to_owned(),
            directory,
            http,
            coordinator,
            stop,
            listening,
            working: tokio::spawn(async move {
                tokio::select! {
                    () = assembly::work(simulation, dashboard, &config) => {}
                    () = serve::wait_for(stopped) => {}
                }
            }),
        })
    }

    /// An operator's connection to it.
    pub(super) fn client(&self) -> Client {
        self.client_with(Some(self.admin_token.clone()))
    }

    /// A connection with a token, or with none.
    pub(super) fn client_with(&self, token: Option<String>) -> Client {
        let servers = Servers::parse([self.url.as_str()]).expect("made from a socket's address");
        Client::new(servers, token)
    }

    pub(super) fn token_file(&self) -> PathBuf {
        self.directory.path().join("admin-token")
    }

    /// Directory of all the demo's files.
    pub(super) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Leaves the demo's files behind, so that a failure can be examined.
    pub(super) fn keep_files(&mut self) {
        self.directory.disable_cleanup(true);
    }

    /// Number of callbacks it has taken, heartbeats and repeats included.
    pub(super) fn callbacks(&self) -> u64 {
        callbacks_in(&self.http.metrics.text())
    }

    /// Stops it and leaves its files for the check.
    pub(super) async fn stop(self) -> TempDir {
        self.stop.send_replace(true);
        serve::shut_down(&self.http, &self.coordinator).await;
        let _ = tokio::join!(self.listening, self.working);
        self.directory
    }
}

/// The sum over all nodes, from the server's metrics (I8).
fn callbacks_in(metrics: &str) -> u64 {
    let taken = metrics.lines().filter(|line| {
        let counter = line.strip_prefix("muster_http_requests_total{");
        counter.is_some_and(|line| line.contains("/callback\"") && line.contains("status=\"200\""))
    });
    taken.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum()
}

fn settings(listen: &str, data: &Path) -> Result<Config, Failure> {
    let mut layers = Layers::defaults();
    layers.add_toml(SETTINGS, Path::new("the demo's settings"))?;
    let path = |path: &Path| path.to_string_lossy().into_owned();
    let flags = [
        ("server.listen", listen.to_owned()),
        ("server.data", path(data)),
        ("court.directory", path(&data.join(COURT))),
    ];
    layers.add_flags(flags.into())?;
    Ok(Config::parse(&layers)?)
}

/// Directory of the court, below the data.
pub(super) const COURT: &str = "court";

/// The defaults, except: work that a killed agent had not begun is handed out again within the demo, and a killed
/// worker is missed as soon. Workers are killed on purpose, so that never quarantines them. The logins last for a demo
/// that runs for a week.
const SETTINGS: &str = "[nodes]
redeliver_after_s = 1
[simulation]
heartbeat_ms = 250
quarantine_after = 1000
[pool]
token_ttl_s = 604800
";

/// A connection that can only read.
pub(super) struct Tables(Connection);

impl Tables {
    pub(super) fn open(directory: &Path) -> Result<Self, Failure> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
        Connection::open_with_flags(directory.join("muster.db"), flags).map(Self).map_err(failure)
    }

    /// A statement that gives one number.
    pub(super) fn count(&self, sql: &str, params: impl Params) -> Result<u64, Failure> {
        let count = self.0.query_row(sql, params, |row| row.get::<_, i64>(0));
        count.map(i64::unsigned_abs).map_err(failure)
    }

    /// A statement that gives one column.
    pub(super) fn column<T: FromSql>(&self, sql: &str, params: impl Params) -> Result<Vec<T>, Failure> {
        self.rows(sql, params, |row| row.get(0))
    }

    pub(super) fn rows<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, Failure> {
        let mut statement = self.0.prepare(sql).map_err(failure)?;
        let rows = statement.query_map(params, read).map_err(failure)?;
        rows.collect::<rusqlite::Result<Vec<T>>>().map_err(failure)
    }
}

fn failure(error: rusqlite::Error) -> Failure {
    StoreError::Backend(error.to_string()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callbacks_are_found_among_the_metrics() {
        let text = "# TYPE muster_http_requests counter\n\
        muster_http_requests_total{route=\"/api/nodes/callback\",method=\"POST\",status=\"200\"} 12\n\
        muster_http_requests_total{route=\"/api/nodes/callback\",method=\"POST\",status=\"401\"} 3\n\
        muster_http_requests_total{route=\"/api/nodes/pull\",method=\"POST\",status=\"200\"} 4\n";
        assert_eq!(callbacks_in(text), 12);
    }
}
