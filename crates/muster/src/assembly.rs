//! Puts a server together: the store, the coordinator on it, the dialects at the door.

use crate::{
    config::{Config, StoreChoice},
    failure::Failure,
    secrets::Secrets,
};
use muster_artifacts::DirectoryStore;
use muster_coordinator::{Coordinator, Options};
use muster_door::{Door, Keys};
use muster_gateway::Limiter;
use muster_nodes::Artifacts;
use muster_simulation::{Simulation, output::OutputRoot};
use muster_store::{MemoryStore, Store, StoreError};
use muster_store_sqlite::SqliteStore;
use std::{os::unix::fs::DirBuilderExt, path::Path, sync::Arc};

/// Makes the data directory, for its owner only, and opens the store in it.
pub(crate) fn open_store(config: &Config) -> Result<Arc<dyn Store>, Failure> {
    make_directory(&config.data)?;
    match config.store {
        StoreChoice::Sqlite => Ok(Arc::new(SqliteStore::open(&config.data)?)),
        StoreChoice::Memory => {
            tracing::warn!("the store is memory: nothing is kept, everything is gone when this process ends");
            Ok(Arc::new(MemoryStore::default()))
        }
    }
}

/// Starts the coordinator on a store.
pub(crate) fn start_coordinator(store: Arc<dyn Store>, config: &Config) -> Result<Coordinator, StoreError> {
    let Config { settings, queue_length, history, .. } = *config;
    Coordinator::start(store, Options { settings, queue_length, history, ..Options::default() })
}

/// Builds the door and everything behind it.
pub(crate) fn build_door(coordinator: Coordinator, secrets: &Secrets, config: &Config) -> Door {
    let keys = Keys::new(secrets.node.reveal(), secrets.admin.reveal());
    let keys = keys.enrolling(secrets.enrolment.reveal()).signing(secrets.token.reveal());
    Door::new(coordinator, keys, config.door.clone())
}

/// Opens the place for artifacts in the data directory.
pub(crate) fn open_artifacts(door: &Door, secrets: &Secrets, config: &Config) -> Result<Artifacts, Failure> {
    let path = config.data.join("artifacts");
    let store = DirectoryStore::open(&path).map_err(|error| Failure::Data { path, error })?;
    muster_nodes::sweep(&store, door.coordinator.now());
    Ok(Artifacts::new(Arc::new(store), secrets.artifact_key.reveal(), config.artifacts.clone()))
}

/// Opens the output root, where sessions write.
pub(crate) fn open_simulation(coordinator: Coordinator, config: &Config) -> Result<Simulation, Failure> {
    let output = OutputRoot::open(&config.simulation.output_root)?;
    Ok(Simulation::new(coordinator, output, config.simulation.routes.clone()))
}

/// Does what sessions need done outside, and writes checkpoints, for as long as it is polled.
pub(crate) async fn work(simulation: Simulation, config: &Config) {
    let directory = config.data.join("checkpoints");
    let keeping = muster_simulation::keep_checkpoints(
        simulation.clone(),
        directory,
        config.simulation.checkpoint_interval,
    );
    tokio::join!(simulation.run_effects(), keeping);
}

/// What the routes need beside the door.
pub(crate) struct Behind {
    pub(crate) artifacts: Artifacts,
    pub(crate) simulation: Simulation,
}

/// All routes, each dialect's and the door's own.
pub(crate) fn routes(door: Door, behind: Behind, config: &Config) -> axum::Router {
    let Behind { artifacts, simulation } = behind;
    let nodes = muster_nodes::routes().merge(muster_nodes::artifact_routes(artifacts));
    let dialects =
        nodes.merge(muster_operations::routes()).merge(muster_simulation::routes(&door, simulation));
    let accounts = muster_accounts::routes(&door, config.pool.accounts);
    let dialects = dialects.merge(accounts).merge(muster_pool::routes(&door));
    let limiter = Arc::new(Limiter::new(config.rates).sparing(&config.door.trusted_proxies));
    let router = muster_gateway::limited(muster_door::assemble(door, dialects), limiter);
    muster_operations::speak_postgrest(router)
}

fn make_directory(path: &Path) -> Result<(), Failure> {
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|error| Failure::Data { path: path.to_owned(), error })
}
