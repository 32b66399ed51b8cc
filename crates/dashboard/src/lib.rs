//! The operator's pages, and the snapshots they begin with.
//!
//! [`pages`] serves the files of `assets/`: plain modules that a browser loads as they are, without a build step and
//! without anything from elsewhere. [`routes`] has what they ask for and no contract has: the fleet, all figures, and the
//! settings, at one moment. Each snapshot tells the feed's number from before it was read, so that whoever follows the feed
//! from there on knows how things stand without asking again.

mod assets;
mod dashboard;
mod fleet;
mod overview;
mod pages;
mod pulse;
mod settings;

pub use dashboard::{About, Dashboard};
pub use pages::pages;
pub use settings::Setting;

use axum::Extension;
use muster_http::HttpState;
use utoipa_axum::router::OpenApiRouter;

/// The pages, and the snapshots they begin with.
#[must_use]
pub fn routes(dashboard: Dashboard) -> OpenApiRouter<HttpState> {
    let snapshots = overview::routes().merge(fleet::routes()).merge(settings::routes());
    pages().merge(snapshots.layer(Extension(dashboard)))
}
