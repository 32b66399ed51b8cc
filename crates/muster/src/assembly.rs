//! Puts a server together: the store, the coordinator on it, the dialects in the HTTP layer.

use crate::{
    config::{Config, StoreChoice},
    failure::Failure,
    secrets::{Secrets, Vault},
};
use muster_artifacts::DirectoryStore;
use muster_coordinator::{Coordinator, LeaseTimes, Options};
use muster_court_desk::CourtDesk;
use muster_dashboard::{About, Dashboard};
use muster_gateway::{CoordinatorUrl, ForwardSettings, Forwarder, Limiter};
use muster_http::{HttpSettings, HttpState, Keys, Middleware};
use muster_nodes::Artifacts;
use muster_operations::PostgrestWords;
use muster_simulation::{Simulation, output::OutputRoot};
use muster_store::{Candidate, MemoryStore, Store, StoreError};
use muster_store_postgres::{PostgresOptions, PostgresStore};
use muster_store_sqlite::SqliteStore;
use std::{net::SocketAddr, os::unix::fs::DirBuilderExt, path::Path, sync::Arc, time::Duration};

/// A store, and where its servers' secrets are.
pub(crate) struct Opened {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) vault: Vault,
}

/// Makes the data directory, for its owner only, and opens the store in it or elsewhere. Not for async threads.
pub(crate) fn open_store(config: &Config) -> Result<Opened, Failure> {
    make_directory(&config.data)?;
    let vault = Vault::Files(config.data.clone());
    match &config.store {
        StoreChoice::Sqlite => Ok(Opened { store: Arc::new(SqliteStore::open(&config.data)?), vault }),
        StoreChoice::Memory => {
            tracing::warn!("the store is memory: nothing is kept, everything is gone when this process ends");
            Ok(Opened { store: Arc::new(MemoryStore::default()), vault })
        }
        StoreChoice::Postgres(url) => {
            let store = Arc::new(PostgresStore::open(url.reveal(), &postgres_options(config.lease))?);
            let vault = Vault::Shared(Arc::<PostgresStore>::clone(&store));
            Ok(Opened { store, vault })
        }
    }
}

/// Connection settings of a database that servers share.
pub(crate) fn postgres_options(lease: LeaseTimes) -> PostgresOptions {
    let lease = Duration::from_millis(lease.lease.0.unsigned_abs());
    PostgresOptions { lease, ..PostgresOptions::default() }
}

/// A server that is put together: it decides, or follows, and answers nobody yet.
pub(crate) struct Assembled {
    pub(crate) coordinator: Coordinator,
    pub(crate) http: HttpState,
    pub(crate) simulation: Simulation,
    pub(crate) dashboard: Dashboard,
    pub(crate) router: axum::Router,
}

/// Puts a server together that will be reached at `listening`.
pub(crate) fn assemble(
    store: Arc<dyn Store>,
    secrets: &Secrets,
    config: &Config,
    listening: SocketAddr,
) -> Result<Assembled, Failure> {
    let address = advertised(config, listening)?;
    if matches!(config.store, StoreChoice::Postgres(_))
        && config.advertise.is_none()
        && listening.ip().is_loopback()
    {
        tracing::warn!(%listening, "servers on other machines cannot reach this one: see --listen and --advertise");
    }
    let coordinator = join(store, config, &address)?;
    let http = HttpState::new(coordinator.clone(), keys(secrets), door_settings(config, &address));
    let artifacts = open_artifacts(&http, secrets, config)?;
    let output = OutputRoot::open(&config.simulation.output_root)?;
    let simulation = Simulation::new(coordinator.clone(), output, config.simulation.routes.clone());
    let forwarding = ForwardSettings::of(&http, secrets.forwarding.reveal(), &address.to_string());
    let forwarder = Forwarder::new(forwarding)?;
    let dashboard = Dashboard::new(coordinator.clone(), about(config, &address));
    let parts = Parts { artifacts, simulation: simulation.clone(), dashboard: dashboard.clone() };
    let router = routes(&http, parts, forwarder, config);
    Ok(Assembled { coordinator, http, simulation, dashboard, router })
}

/// Does what sessions need done outside, writes checkpoints and counts what happens, for as long as it is polled and while
/// this server leads.
pub(crate) async fn work(simulation: Simulation, dashboard: Dashboard, config: &Config) {
    let directory = config.data.join("checkpoints");
    let keeping = muster_simulation::keep_checkpoints(
        simulation.clone(),
        directory,
        config.simulation.checkpoint_interval,
    );
    tokio::join!(simulation.run_effects(), keeping, dashboard.follow_feed());
}

/// The settings of the HTTP layer. The name by which others reach this server is one of its own names.
pub(crate) fn door_settings(config: &Config, address: &CoordinatorUrl) -> HttpSettings {
    let mut settings = config.http.clone();
    settings.hosts.push(address.host().to_owned());
    settings.advertised_url = config.advertise.as_ref().map(ToString::to_string);
    settings
}

/// Address at which others reach this server.
pub(crate) fn advertised(config: &Config, listening: SocketAddr) -> Result<CoordinatorUrl, Failure> {
    if let Some(url) = &config.advertise {
        return Ok(url.clone());
    }
    let is_shared = matches!(config.store, StoreChoice::Postgres(_));
    if is_shared && listening.ip().is_unspecified() {
        return Err(Failure::Usage(format!(
            "other servers cannot reach {listening}: say where they find this one with --advertise http://HOST:PORT"
        )));
    }
    Ok(format!("http://{listening}").parse().expect("an address and a port make a URL"))
}

/// Facts about this server for the dashboard.
fn about(config: &Config, address: &CoordinatorUrl) -> About {
    let store = match config.store {
        StoreChoice::Sqlite => "sqlite",
        StoreChoice::Memory => "memory",
        StoreChoice::Postgres(_) => "postgres",
    };
    About { address: address.to_string(), store, settings: config.shown.clone() }
}

/// Has the coordinator join whoever shares the store; alone, it leads.
fn join(store: Arc<dyn Store>, config: &Config, address: &CoordinatorUrl) -> Result<Coordinator, StoreError> {
    let Config { settings, queue_length, history, lease, .. } = *config;
    let node = format!("{:016x}", rand::random::<u64>());
    let candidate = Candidate { node, address: address.to_string() };
    Coordinator::join(store, Options { settings, queue_length, history, lease }, candidate)
}

fn keys(secrets: &Secrets) -> Keys {
    let keys = Keys::new(secrets.node.reveal(), secrets.admin.reveal());
    keys.enrolling(secrets.enrolment.reveal()).signing(secrets.token.reveal())
}

fn open_artifacts(http: &HttpState, secrets: &Secrets, config: &Config) -> Result<Artifacts, Failure> {
    let path = config.artifact_root.clone();
    let store = DirectoryStore::open(&path).map_err(|error| Failure::Data { path, error })?;
    muster_nodes::sweep(&store, http.coordinator.now());
    Ok(Artifacts::new(Arc::new(store), secrets.artifact_key.reveal(), config.artifacts.clone()))
}

/// The parts of a server that have state of their own.
struct Parts {
    artifacts: Artifacts,
    simulation: Simulation,
    dashboard: Dashboard,
}

/// All routes, each dialect's and the server's own, and what stands before them.
fn routes(http: &HttpState, parts: Parts, forwarder: Forwarder, config: &Config) -> axum::Router {
    let Parts { artifacts, simulation, dashboard } = parts;
    let nodes = muster_nodes::routes().merge(muster_nodes::artifact_routes(artifacts));
    let dialects =
        nodes.merge(muster_operations::routes()).merge(muster_simulation::routes(http, simulation));
    let accounts = muster_accounts::routes(http, config.pool.accounts);
    let dialects = dialects.merge(accounts).merge(muster_pool::routes(http));
    let dialects = dialects.merge(muster_gateway::proof_routes(forwarder.clone()));
    let dialects = dialects.merge(muster_dashboard::routes(dashboard));
    let dialects = dialects.merge(muster_court_desk::routes(CourtDesk::new(config.court.clone())));
    let limiter = Limiter::new(config.rates).sparing(&config.http.trusted_proxies);
    let outer = PostgrestWords.around(forwarder).around(limiter);
    muster_http::assemble_behind(outer, http.clone(), dialects)
}

fn make_directory(path: &Path) -> Result<(), Failure> {
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|error| Failure::Data { path: path.to_owned(), error })
}

#[cfg(test)]
mod tests;
