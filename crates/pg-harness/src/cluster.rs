//! One server.

use crate::{
    binaries::{Binaries, run},
    guard::Guard,
};
use std::{
    env, fs,
    hash::{BuildHasher, Hasher, RandomState},
    iter,
    net::TcpListener,
    path::PathBuf,
    process::Command,
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    },
};

/// Location of a server: directory, network namespace and address.
#[derive(Clone, Debug, Default)]
pub struct Lodging {
    /// The directory that its own is made in, such as a small disk; `None`: that for temporary files.
    pub below: Option<PathBuf>,
    /// The network namespace that it runs in, which takes root; `None`: the test's.
    pub namespace: Option<String>,
    /// The address it listens on; `None`: 127.0.0.1.
    pub address: Option<String>,
}

/// A PostgreSQL server with a directory of its own. It is gone, directory included, when this value is.
#[derive(Debug)]
pub struct Cluster {
    pub(crate) binaries: Binaries,
    /// Holds `data`, `run` (the socket) and `log`.
    pub(crate) home: PathBuf,
    address: String,
    port: u16,
    _guard: Guard,
}

impl Cluster {
    /// Starts a server. It listens on 127.0.0.1.
    #[must_use]
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts a server with further lines of `postgresql.conf`.
    #[must_use]
    pub fn start_with(settings: &[&str]) -> Self {
        Self::start_at(Lodging::default(), settings)
    }

    /// Starts a server somewhere, with further lines of `postgresql.conf`.
    #[must_use]
    pub fn start_at(lodging: Lodging, settings: &[&str]) -> Self {
        let cluster = Self::prepare(lodging);
        let mut init = cluster.binaries.command("initdb");
        init.args(["--no-sync", "--auth=trust", "--username", SUPERUSER, "--encoding=UTF8", "--pgdata"]);
        run(init.arg(cluster.data()));
        cluster.write_private("data/pg_hba.conf", ACCESS);
        let listen = format!("listen_addresses = '{}'", cluster.address);
        cluster.configure(&[&listen, "max_connections = 200"]);
        cluster.configure(&[&format!("port = {}", cluster.port), &cluster.socket_setting()]);
        cluster.configure(settings);
        cluster.start_again();
        cluster.sql("postgres", &format!("CREATE ROLE {USER} LOGIN PASSWORD '{PASSWORD}'"));
        cluster
    }

    /// The server that all tests of a process may share.
    ///
    /// It is not dropped, for Rust drops no statics; the process beside it notices that the test is over.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Cluster> = OnceLock::new();
        SHARED.get_or_init(Self::start)
    }

    /// The address of a database, for a user who owns the databases of tests but may do nothing else.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        format!("postgres://{USER}:{PASSWORD}@{}:{}/{database}", self.address, self.port)
    }

    /// Makes an empty database; answers its address.
    #[must_use]
    pub fn fresh_database(&self) -> String {
        self.fresh_database_like("template1")
    }

    /// Makes a copy of a database that nobody is connected to any more; answers its address.
    ///
    /// Takes the name of the other, or the address that [`Cluster::url`] made of it.
    #[must_use]
    pub fn fresh_database_like(&self, other: &str) -> String {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let name = format!("test_{}", MADE.fetch_add(1, Ordering::Relaxed));
        self.sql("postgres", &format!("CREATE DATABASE {name} OWNER {USER} TEMPLATE {}", database_of(other)));
        self.url(&name)
    }

    /// Everything it logged, over all its starts.
    #[must_use]
    pub fn log(&self) -> String {
        let log = fs::read(self.home.join("log")).unwrap_or_default();
        String::from_utf8_lossy(&log).into_owned()
    }

    /// The port it listens on.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Does as the server's superuser; answers what came of it, a line per row, `|` between columns.
    ///
    /// Takes the name of a database, or the address that [`Cluster::url`] made of it.
    pub fn sql(&self, database: &str, sql: &str) -> String {
        let mut psql = self.client("psql");
        psql.args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "-v", "ON_ERROR_STOP=1"]);
        run(psql.args(["--dbname", database_of(database), "--command", sql]))
    }

    /// Adds lines to `postgresql.conf`; the server takes them over when it starts, or by [`Cluster::reload`].
    pub fn configure(&self, settings: &[&str]) {
        let file = self.data().join("postgresql.conf");
        let mut text = fs::read_to_string(&file).expect("initdb made it");
        for setting in settings {
            text.extend([setting, "\n"]);
        }
        fs::write(&file, text).expect("the settings are written");
    }

    /// Has the running server read its settings anew.
    pub fn reload(&self) {
        self.sql("postgres", "SELECT pg_reload_conf()");
    }

    /// Stops the server as a crash would: no connection is taken leave of, nothing is written that was not.
    pub fn stop_immediately(&self) {
        self.control(&["stop", "--wait", "--mode=immediate"]);
    }

    /// True if it runs: it may have given up, without room or memory.
    #[must_use]
    pub fn is_running(&self) -> bool {
        let status = self.control_command(&["status"]).output();
        status.is_ok_and(|output| output.status.success())
    }

    /// Starts the server after a stop, on the same port.
    pub fn start_again(&self) {
        let log = self.home.join("log");
        let mut start = self.control_command(&["start", "--wait", "--timeout=60", "--log"]);
        let output = start.arg(&log).output().expect("pg_ctl can be run");
        let said = || fs::read_to_string(&log).unwrap_or_default();
        assert!(output.status.success(), "PostgreSQL did not start: {}", said());
    }

    /// A server of which nothing exists but its directory.
    pub(crate) fn prepare(lodging: Lodging) -> Self {
        let binaries = Binaries::find();
        let below = lodging.below.unwrap_or_else(env::temp_dir);
        let home = tempfile::Builder::new().prefix("muster-pg-").tempdir_in(below);
        let home = home.expect("a directory can be made").keep();
        let guard = Guard::over(&home, &binaries).expect("a shell can be run");
        let binaries = binaries.in_namespace(lodging.namespace);
        fs::create_dir(home.join("run")).expect("the directory is new");
        for path in [home.clone(), home.join("run")] {
            binaries.give(&path);
        }
        let address = lodging.address.unwrap_or_else(|| "127.0.0.1".to_owned());
        Self { binaries, home, address, port: free_port(), _guard: guard }
    }

    /// A program that connects as the superuser.
    pub(crate) fn client(&self, program: &str) -> Command {
        let mut command = self.binaries.command(program);
        command
            .args(["--username", SUPERUSER, "--port", &self.port.to_string(), "--host"])
            .arg(self.home.join("run"));
        command
    }

    /// Runs `pg_ctl`.
    pub(crate) fn control(&self, arguments: &[&str]) {
        run(&mut self.control_command(arguments));
    }

    /// Writes a file that the server's user alone may read.
    pub(crate) fn write_private(&self, name: &str, text: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let path = self.home.join(name);
        fs::write(&path, text).expect("the file can be written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("the file is ours");
        self.binaries.give(&path);
        path
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.home.join("data")
    }

    pub(crate) fn socket_setting(&self) -> String {
        format!("unix_socket_directories = '{}'", self.home.join("run").display())
    }

    fn control_command(&self, arguments: &[&str]) -> Command {
        let mut command = self.binaries.command("pg_ctl");
        command.arg("--pgdata").arg(self.data()).args(arguments);
        command
    }
}

/// The name of a database in its address.
fn database_of(url: &str) -> &str {
    url.rsplit('/').next().expect("there is always a last part")
}

/// A port that nobody listens on at this moment.
///
/// Below those that the system gives to outgoing connections: one of these could take it while the server is stopped.
fn free_port() -> u16 {
    let ports = iter::repeat_with(|| 10_000 + (RandomState::new().build_hasher().finish() % 20_000) as u16);
    let free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    ports.take(1000).find(free).expect("there is a free port")
}

/// May do anything; reached by the socket only.
const SUPERUSER: &str = "postgres";
const USER: &str = "muster";
const PASSWORD: &str = "a-long-secret";

/// Connections over the socket are trusted, because its directory belongs to the test; the network requires a password.
const ACCESS: &str = "local all all trust\n\
    local replication all trust\n\
    host all all all scram-sha-256\n\
    host replication all all scram-sha-256\n";
