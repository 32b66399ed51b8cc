//! The way to a court's directory.

use axum::{Extension, extract::FromRequestParts, http::request::Parts};
use muster_court::{Clock, Fault, Folder, config::Court};
use muster_door::{Door, Problem};
use std::{
    path::PathBuf,
    sync::{Arc, OnceLock},
};
use tokio::sync::Semaphore;

/// The court that a server shows, if any.
#[derive(Clone)]
pub struct CourtDesk(Option<Arc<Shown>>);

struct Shown {
    home: PathBuf,
    folder: OnceLock<Folder>,
    /// Looks at a time: none may fill the disk's queue or all threads.
    places: Semaphore,
}

/// A look at a court that is there.
pub(crate) struct Look<'a> {
    pub(crate) folder: &'a Folder,
    pub(crate) court: Court,
    pub(crate) now: jiff::Timestamp,
}

impl CourtDesk {
    /// Shows the court in this directory; it may be made later.
    #[must_use]
    pub fn new(home: Option<PathBuf>) -> Self {
        let shown = |home| Shown { home, folder: OnceLock::new(), places: Semaphore::new(LOOKS_MAX) };
        Self(home.map(|home| Arc::new(shown(home))))
    }

    /// Looks at the court off the async threads.
    pub(crate) async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Look<'_>) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let shown = self.0.clone().ok_or_else(|| Problem::not_found(NO_COURT))?;
        let place = Arc::clone(&shown);
        let _place = place.places.acquire().await.map_err(|closed| Problem::internal(&closed))?;
        let looked = tokio::task::spawn_blocking(move || look(&shown.open()?)).await;
        looked.map_err(|failed| Problem::internal(&failed))?
    }
}

impl Shown {
    /// Opens a court that exists; a wrong directory must not become a new one.
    fn open(&self) -> Result<Look<'_>, Problem> {
        let away = |why: &dyn std::fmt::Display| {
            Problem::not_found(format!("the court of this server cannot be read: {why}; see court.directory"))
        };
        let court = Court::read(&self.home).map_err(|error| away(&error))?;
        let folder = match self.folder.get() {
            Some(folder) => folder,
            None => {
                let opened = Folder::open(&self.home).map_err(|fault| away(&fault))?;
                self.folder.get_or_init(|| opened)
            }
        };
        Ok(Look { folder, court, now: Clock.now() })
    }
}

impl FromRequestParts<Door> for CourtDesk {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, door: &Door) -> Result<Self, Problem> {
        let desk = Extension::<Self>::from_request_parts(parts, door).await;
        desk.map(|Extension(desk)| desk).map_err(|missing| Problem::internal(&missing))
    }
}

/// A file or the disk was not as it must be.
pub(crate) fn faulty(fault: &Fault) -> Problem {
    Problem::internal(fault)
}

const LOOKS_MAX: usize = 4;
const NO_COURT: &str =
    "this server shows no court; start it with `muster serve --court DIR`, or set court.directory";
