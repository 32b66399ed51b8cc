//! The routes of N21: a node asks for an upload URL and uploads to it; operators and holders of a link fetch the file.

mod announce;
mod download;
mod link;
mod path;
mod range;
mod upload;

use axum::{
    extract::FromRequestParts,
    http::{HeaderMap, StatusCode, request::Parts},
};
use muster_artifacts::{ArtifactStore, Claim, LinkSigner, Signer, StoreError};
use muster_http::{HttpState, Problem};
use muster_model::{Millis, Timestamp};
use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::{Duration, SystemTime},
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use utoipa_axum::{router::OpenApiRouter, routes};

/// The state that the routes of N21 share. Cheap to clone.
#[derive(Clone)]
pub struct Artifacts(Arc<Shared>);

/// Settings of section `artifacts`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArtifactSettings {
    /// Lifetime of an upload URL.
    pub url_ttl: Millis,
    /// Lifetime of a link to a file; 0 switches links off, and every download needs an operator's token.
    pub public_url_ttl: Millis,
    /// Size limit; larger files are refused.
    pub size_max_bytes: u64,
    /// Media types that may be uploaded, in lower case and without parameters.
    pub types: Vec<String>,
    /// Limit of concurrent uploads; more are refused (I9).
    pub uploads_max: usize,
}

struct Shared {
    store: Arc<dyn ArtifactStore>,
    signer: Signer,
    link_signer: LinkSigner,
    settings: ArtifactSettings,
    places: Arc<Semaphore>,
    /// Downloads by link. Operators have places of their own, so that nobody with a link can keep them out.
    link_places: Arc<Semaphore>,
    swept_at: AtomicI64,
}

/// The parts of a request that every handler here needs.
struct Visit {
    http: HttpState,
    artifacts: Artifacts,
    headers: HeaderMap,
}

/// The routes of N21.
#[must_use]
pub fn artifact_routes(artifacts: Artifacts) -> OpenApiRouter<HttpState> {
    let mut router = OpenApiRouter::default()
        .routes(routes!(announce::announce))
        .routes(routes!(upload::put, upload::head))
        .routes(routes!(download::get));
    announce::allow_only(router.get_openapi_mut(), &artifacts.0.settings);
    router.layer(axum::Extension(artifacts))
}

impl Artifacts {
    /// Puts the parts together. Anyone who knows `key` can sign upload URLs and links.
    #[must_use]
    pub fn new(store: Arc<dyn ArtifactStore>, key: &str, settings: ArtifactSettings) -> Self {
        let places = Arc::new(Semaphore::new(settings.uploads_max));
        let (signer, link_signer) = (Signer::new(key.as_bytes()), LinkSigner::new(key.as_bytes()));
        let link_places = Arc::new(Semaphore::new(DOWNLOADS_BY_LINK_MAX));
        let swept_at = AtomicI64::new(0);
        Self(Arc::new(Shared { store, signer, link_signer, settings, places, link_places, swept_at }))
    }

    /// Runs something on the store, off the async threads.
    async fn with_store<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn ArtifactStore) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, Problem> {
        let store = Arc::clone(&self.0.store);
        let done = tokio::task::spawn_blocking(move || work(&*store)).await;
        done.map_err(|error| Problem::internal(&error))?.map_err(|error| phrase(&error))
    }

    /// A permit for one download by link.
    fn link_permit(&self) -> Result<OwnedSemaphorePermit, Problem> {
        let permit = Arc::clone(&self.0.link_places).try_acquire_owned();
        permit.map_err(|_| Problem::busy("too many downloads by link are in progress; try again"))
    }

    /// A permit for one upload.
    fn place(&self) -> Result<OwnedSemaphorePermit, Problem> {
        let place = Arc::clone(&self.0.places).try_acquire_owned();
        place.map_err(|_| Problem::busy("too many uploads are under way; try again"))
    }

    /// Now and then, uploads that nobody will go on with are removed.
    fn sweep_now_and_then(&self, now: Timestamp) {
        let swept_at = self.0.swept_at.load(Ordering::Relaxed);
        let is_due = now.0 >= swept_at.saturating_add(SWEEP_EVERY.0);
        let is_ours = || {
            let set = self.0.swept_at.compare_exchange(swept_at, now.0, Ordering::Relaxed, Ordering::Relaxed);
            set.is_ok()
        };
        if is_due && is_ours() {
            let store = Arc::clone(&self.0.store);
            tokio::task::spawn_blocking(move || sweep(&*store, now));
        }
    }
}

impl FromRequestParts<HttpState> for Visit {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, http: &HttpState) -> Result<Self, Problem> {
        let artifacts = parts.extensions.get::<Artifacts>().cloned();
        let artifacts =
            artifacts.ok_or_else(|| Problem::internal(&"the routes of artifacts have no store"))?;
        Ok(Self { http: http.clone(), artifacts, headers: parts.headers.clone() })
    }
}

/// Removes uploads that were given up: nobody went on with them for a day.
pub fn sweep(store: &dyn ArtifactStore, now: Timestamp) {
    let before = (now - GIVEN_UP_AFTER).0.max(0).unsigned_abs();
    match store.sweep(SystemTime::UNIX_EPOCH + Duration::from_millis(before)) {
        Ok(0) => {}
        Ok(count) => tracing::info!(count, "removed uploads that were given up"),
        Err(error) => tracing::warn!(%error, "uploads that were given up could not be removed"),
    }
}

/// The problem that a refusal of the store makes.
fn phrase(error: &StoreError) -> Problem {
    match error {
        StoreError::Conflict => {
            Problem::conflict("something else is kept at that path; what is kept never changes")
        }
        StoreError::Superseded => {
            Problem::conflict("another request goes on with this upload; see how far it is").retry_after(1)
        }
        StoreError::Offset { at } => {
            Problem::conflict(format!("the upload stands at byte {at}; go on there"))
        }
        StoreError::TooLong { size } => Problem::too_large(usize::try_from(*size).unwrap_or(usize::MAX)),
        StoreError::Hash { .. } => {
            Problem::unprocessable("sha256", &format!("does not fit: {error}; nothing of it was kept"))
        }
        StoreError::Full => {
            tracing::error!("there is no room left for artifacts");
            let detail = "there is no room left for artifacts; what has arrived is kept";
            Problem::new(StatusCode::INSUFFICIENT_STORAGE, "no-room", "There is no room left", detail)
                .retry_after(FULL_RETRY_AFTER_S)
        }
        StoreError::Io(error) => Problem::internal(error),
    }
}

impl Default for ArtifactSettings {
    fn default() -> Self {
        Self {
            url_ttl: Millis::from_secs(900),
            public_url_ttl: Millis::from_secs(7 * 86_400),
            size_max_bytes: 67_108_864,
            types: TYPES.map(str::to_owned).to_vec(),
            uploads_max: 64,
        }
    }
}

const TYPES: [&str; 8] = [
    "image/png",
    "image/jpeg",
    "image/webp",
    "video/mp4",
    "application/json",
    "text/plain",
    "application/zip",
    "application/octet-stream",
];
const GIVEN_UP_AFTER: Millis = Millis::from_secs(86_400);
const SWEEP_EVERY: Millis = Millis::from_secs(3600);
/// Enough for everyone who reads a report at once.
const DOWNLOADS_BY_LINK_MAX: usize = 256;
/// An operator has to make room first.
const FULL_RETRY_AFTER_S: u32 = 10;
