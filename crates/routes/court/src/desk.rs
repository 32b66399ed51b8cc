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
pub struct CourtDesk(Option<Arc<ShownCourt>>);

struct ShownCourt {
    home: PathBuf,
    /// Drawing one up is dear, and every open page asks for one again and again.
    board: Kept<Arc<Board>>,
    /// Looks at a time: none may fill the disk's queue or all threads.
    looks: Arc<Semaphore>,
    /// Answers at a time; they do not wait for looks.
    answers: Arc<Semaphore>,
}

/// A look at a court that is there.
pub(crate) struct OpenedCourt {
    pub(crate) folder: Folder,
    pub(crate) court: Court,
    pub(crate) now: jiff::Timestamp,
}

impl CourtDesk {
    /// Shows the court in this directory; it may be made later.
    #[must_use]
    pub fn new(home: Option<PathBuf>) -> Self {
        let places = |max| Arc::new(Semaphore::new(max));
        let shown = |home| ShownCourt {
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
        look: impl FnOnce(&OpenedCourt) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let shown = self.shown()?;
        let home = shown.home.clone();
        within(&shown.looks, move || look(&open(&home, Folder::look)?)).await
    }

    /// Writes to the court off the async threads.
    pub(crate) async fn answer<T: Send + 'static>(
        &self,
        answer: impl FnOnce(&OpenedCourt) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let shown = self.shown()?;
        let home = shown.home.clone();
        within(&shown.answers, move || answer(&open(&home, Folder::open)?)).await
    }

    /// The board; all requests within a moment share one.
    pub(crate) async fn board(&self) -> Result<Arc<Board>, Problem> {
        self.shown()?.board.get_or(async { self.look(board).await.map(Arc::new) }).await
    }

    fn shown(&self) -> Result<&ShownCourt, Problem> {
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
fn open(home: &Path, opening: fn(&Path) -> Result<Folder, Fault>) -> Result<OpenedCourt, Problem> {
    let away = |why: &dyn std::fmt::Display| {
        Problem::not_found(format!("the court of this server cannot be read: {why}; see court.directory"))
    };
    let court = Court::read(home).map_err(|error| away(&error))?;
    let folder = opening(home).map_err(|fault| away(&fault))?;
    Ok(OpenedCourt { folder, court, now: Clock.now() })
}

impl FromRequestParts<HttpState> for CourtDesk {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, http: &HttpState) -> Result<Self, Problem> {
        let desk = Extension::<Self>::from_request_parts(parts, http).await;
        desk.map(|Extension(desk)| desk).map_err(|missing| Problem::internal(&missing))
    }
}

const LOOKS_MAX: usize = 4;
const ANSWERS_MAX: usize = 2;
const NO_COURT: &str =
    "this server shows no court; start it with `muster serve --court DIR`, or set court.directory";

#[cfg(test)]
mod tests {
    use super::*;
    use muster_court::{Document, Id, Place};
    use serde_json::{Value, json};
    use std::fs;

    struct Scene {
        home: tempfile::TempDir,
        desk: CourtDesk,
    }

    fn scene() -> Scene {
        let home = tempfile::tempdir().unwrap();
        muster_court::init::init(home.path()).unwrap();
        let desk = CourtDesk::new(Some(home.path().into()));
        Scene { home, desk }
    }

    impl Scene {
        fn put(&self, place: Place, id: &str, document: &Value) {
            let folder = Folder::open(self.home.path()).unwrap();
            let document = Document::parse(document.to_string().as_bytes()).unwrap();
            folder.write(place, &Id::parse(id).unwrap(), &document).unwrap();
        }

        fn task(&self, id: &str, status: &str) {
            let task = json!({"id": id, "event_id": "e", "target_general": "greet", "type": "greet.hello", "payload": {},
                "priority": "normal", "created_at": "2026-01-01T10:00:00Z", "status": status});
            self.put(Place::TasksCompleted, id, &task);
        }

        fn names(&self) -> Vec<String> {
            let name =
                |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
            let mut names: Vec<String> = fs::read_dir(self.home.path()).unwrap().map(name).collect();
            names.sort();
            names
        }

        async fn column(&self, place: &str) -> Value {
            let board = serde_json::to_value(&*self.desk.board().await.unwrap()).unwrap();
            board["places"]
                .as_array()
                .unwrap()
                .iter()
                .find(|column| column["place"] == place)
                .unwrap()
                .clone()
        }
    }

    /// C21: looking at a court that has not run yet makes nothing there.
    #[tokio::test]
    async fn looking_makes_nothing() {
        let scene = scene();
        let before = scene.names();
        assert_eq!(scene.column("events/pending").await["count"], 0);
        scene
            .desk
            .look(|look| look.folder.listed(Place::QuestionsOpen).map_err(|fault| Problem::internal(&fault)))
            .await
            .unwrap();
        assert_eq!(scene.names(), before);
    }

    /// C14: whoever waits for an answer is shown, however many tasks were over since; the answer says how many it shows.
    #[tokio::test]
    async fn old_questions_are_not_buried() {
        let scene = scene();
        scene.task("task-20260101-001", "needs_human");
        let file =
            fs::File::open(scene.home.path().join("queue/tasks/completed/task-20260101-001.json")).unwrap();
        file.set_modified(std::time::UNIX_EPOCH).unwrap();
        scene.put(Place::QuestionsOpen, "task-20260101-001", &json!({"question": "?"}));
        for number in 0..1005 {
            fs::write(
                scene.home.path().join(format!("queue/tasks/completed/task-20260102-{number:04}.json")),
                "",
            )
            .unwrap();
        }
        let asking = scene.column("tasks/needs_human").await;
        assert_eq!((&asking["count"], &asking["shown"]), (&json!(1), &json!(1)));
        assert_eq!(asking["items"][0]["general"], "greet");
        let done = scene.column("tasks/completed").await;
        assert_eq!((&done["count"], &done["shown"]), (&json!(1005), &json!(100)));
    }

    /// I9: many pages share one board.
    #[tokio::test]
    async fn a_board_is_shared() {
        let scene = scene();
        let boards = tokio::join!(scene.desk.board(), scene.desk.board());
        assert!(Arc::ptr_eq(&boards.0.unwrap(), &boards.1.unwrap()));
    }

    /// C14: an answer does not wait for those who look.
    #[tokio::test]
    async fn an_answer_waits_for_no_look() {
        let scene = scene();
        let looks = Arc::clone(&scene.desk.shown().unwrap().looks);
        let _all = looks.acquire_many_owned(u32::try_from(LOOKS_MAX).unwrap()).await.unwrap();
        let answered = scene.desk.answer(|_| Ok(()));
        tokio::time::timeout(std::time::Duration::from_secs(30), answered)
            .await
            .expect("it does not wait")
            .unwrap();
    }
}
