//! From the store to an engine to be, as the driver does it.

use crate::{checker::Broken, planted::Planted};
use muster_coordinator::hand_over;
use muster_engine::Restoring;
use muster_model::Settings;
use muster_store::{Loaded, StoreError};

/// What a term begins with: what the driver builds from what the store hands over, now or before the term.
pub(super) fn load<T>(
    settings: Settings,
    planted: Option<Planted>,
    read: impl FnOnce(&mut dyn FnMut(Loaded)) -> Result<T, StoreError>,
) -> Result<(Restoring, T), Broken> {
    let mut engine = Restoring::new(settings);
    plant(&mut engine, planted);
    let done = read(&mut |loaded| hand_over(loaded, &mut engine));
    Ok((engine, done.map_err(store_broke)?))
}

#[cfg(feature = "mutants")]
fn plant(engine: &mut Restoring, planted: Option<Planted>) {
    if let Some(Planted::Engine(mutant)) = planted {
        engine.plant(mutant);
    }
}

#[cfg(not(feature = "mutants"))]
fn plant(_: &mut Restoring, _: Option<Planted>) {}

/// A store that fails without having been told to is broken.
pub(super) fn store_broke(error: StoreError) -> Broken {
    Broken::new("store", error.to_string())
}
