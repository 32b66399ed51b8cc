//! The way to a court's directory.

use crate::{board::board, wire::Board};
use axum::{Extension, extract::FromRequestParts, http::request::Parts};
use muster_court::{Clock, Fault, Folder, config::Court};
use muster_http::{HttpState, Kept, Problem};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};
use tokio::sync::Semaphore;

/// The court that a server shows, if any.
#[derive(Clone)]
pub struct CourtDesk(Option<Arc<Shown>>);

struct Shown {
    home: PathBuf,
    /// Drawing one up is dear, and every open page asks for one again and again.
    board: Kept<Arc<Board>>,
    /// Looks at a time: none may fill the disk's queue or all threads.
    looks: Arc<Semaphore>,
    /// Answers at a time; they do not wait for looks.
    answers: Arc<Semaphore>,
}

/// A look at a court that is there.
pub(crate) struct Look {
    pub(crate) folder: Folder,
    pub(crate) court: Court,
    pub(crate) now: jiff::Timestamp,
}

impl CourtDesk {
    /// Shows the court in this directory; it may be made later.
    #[must_use]
    pub fn new(home: Option<PathBuf>) -> Self {
        let places = |max| Arc::new(Semaphore::new(max));
        let shown = |home| Shown {
            home,
            board: Kept::default(),
            looks: places(LOOKS_MAX),
            answers: places(ANSWERS_MAX),
        };
        Self(home.map(|home| Arc::new(shown(home))))
    }

    /// Looks at the court off the async threads; nothing there is changed.
    pub(crate) async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Look) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let shown = self.shown()?;
        let home = shown.home.clone();
        within(&shown.looks, move || look(&open(&home, Folder::look)?)).await
    }

    /// Writes to the court off the async threads.
    pub(crate) async fn answer<T: Send + 'static>(
        &self,
        answer: impl FnOnce(&Look) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let shown = self.shown()?;
        let home = shown.home.clone();
        within(&shown.answers, move || answer(&open(&home, Folder::open)?)).await
    }

    /// What lies where; all who ask within a moment share one board.
    pub(crate) async fn board(&self) -> Result<Arc<Board>, Problem> {
        self.shown()?.board.get_or(async { self.look(board).await.map(Arc::new) }).await
    }

    fn shown(&self) -> Result<&Shown, Problem> {
        self.0.as_deref().ok_or_else(|| Problem::not_found(NO_COURT))
    }
}

/// Does it when there is a place for it, which is taken until it is done, though nobody waits for it any more.
async fn within<T: Send + 'static>(
    places: &Arc<Semaphore>,
    work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let place = Arc::clone(places).acquire_owned().await.map_err(|closed| Problem::internal(&closed))?;
    let worked = tokio::task::spawn_blocking(move || {
        let _place = place;
        work()
    });
    worked.await.map_err(|failed| Problem::internal(&failed))?
}

/// Opens a court that exists; a wrong directory must not become a new one.
fn open(home: &Path, opening: fn(&Path) -> Result<Folder, Fault>) -> Result<Look, Problem> {
    let away = |why: &dyn std::fmt::Display| {
        Problem::not_found(format!("the court of this server cannot be read: {why}; see court.directory"))
    };
    let court = Court::read(home).map_err(|error| away(&error))?;
    let folder = opening(home).map_err(|fault| away(&fault))?;
    Ok(Look { folder, court, now: Clock.now() })
}

impl FromRequestParts<HttpState> for CourtDesk {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, http: &HttpState) -> Result<Self, Problem> {
        let desk = Extension::<Self>::from_request_parts(parts, http).await;
        desk.map(|Extension(desk)| desk).map_err(|missing| Problem::internal(&missing))
    }
}

/// A file or the disk was not as it must be.
pub(crate) fn faulty(fault: &Fault) -> Problem {
    Problem::internal(fault)
}

const LOOKS_MAX: usize = 4;
const ANSWERS_MAX: usize = 2;
const NO_COURT: &str =
    "this server shows no court; start it with `muster serve --court DIR`, or set court.directory";

#[cfg(test)]
mod tests;
