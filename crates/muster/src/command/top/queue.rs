//! Work that has not ended: runs, sessions, and the pool as a whole.

use super::snapshot::{Overview, Pool, rows};
use serde_json::Value;

/// One line of the queues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) kind: Kind,
    pub(super) id: String,
    pub(super) status: String,
    /// How far it is: so many of so many; nothing where that is not known.
    pub(super) progress: Option<(u64, u64)>,
    pub(super) note: String,
}

/// What kind of work it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Run,
    Session,
    Pool,
}

impl Kind {
    /// As people, and `muster explain`, call it.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Session => "session",
            Self::Pool => "pool",
        }
    }
}

impl Item {
    /// Everything in one line, which filters look at.
    pub(super) fn line(&self) -> String {
        format!("{} {} {} {}", self.kind.word(), self.id, self.status, self.note)
    }
}

/// The lines of a snapshot's document.
pub(super) fn read(document: &Value, overview: &Overview) -> Vec<Item> {
    let runs = rows(&document["runs"]).map(run);
    let sessions = rows(&document["sessions"]).map(session);
    let pool = (overview.pool.workers + overview.pool.jobs_waiting + overview.pool.jobs_running > 0)
        .then(|| pool(overview.pool));
    runs.chain(sessions).chain(pool).collect()
}

fn run(run: &Value) -> Item {
    let count = |name: &str| run["counts"][name].as_u64().unwrap_or(0);
    let ended = count("completed") + count("failed") + count("cancelled");
    let progress = run["counts"].is_object().then(|| (ended, ended + count("running") + count("pending")));
    let mut note = [text(run, "title"), text(run, "workflow_id")].into_iter().find(|text| !text.is_empty());
    if count("failed") > 0 {
        let failed = format!("{} failed", count("failed"));
        note = Some(note.map_or(failed.clone(), |note| format!("{failed}, {note}")));
    }
    Item {
        kind: Kind::Run,
        id: text(run, "run_id"),
        status: text(run, "status"),
        progress,
        note: note.unwrap_or_default(),
    }
}

fn session(session: &Value) -> Item {
    let frames = session["totalFrames"].as_u64().map(|total| {
        let done = session["completedFrames"].as_u64().unwrap_or(0);
        (done, total)
    });
    Item {
        kind: Kind::Session,
        id: text(session, "sessionId"),
        status: text(session, "status"),
        progress: frames,
        note: "frames".to_owned(),
    }
}

fn pool(pool: Pool) -> Item {
    let Pool { jobs_waiting, jobs_running, workers_online, workers } = pool;
    let note = format!("{jobs_waiting} waiting, {workers_online}/{workers} workers online");
    let status = format!("{jobs_running} running");
    Item { kind: Kind::Pool, id: "jobs".to_owned(), status, progress: None, note }
}

fn text(object: &Value, name: &str) -> String {
    object[name].as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn work_says_how_far_it_is() {
        let counts = json!({"pending": 5, "running": 2, "completed": 2, "failed": 1, "cancelled": 0});
        let runs = json!([
            {"run_id": "r1", "status": "running", "title": "warm up", "workflow_id": "w", "counts": counts},
            {"run_id": "r2", "status": "pending", "title": null, "workflow_id": "w"},
        ]);
        let sessions =
            json!([{"sessionId": "s1", "status": "paused", "totalFrames": 100, "completedFrames": 40}]);
        let overview = Overview { pool: Pool { workers: 2, ..Pool::default() }, ..Overview::default() };
        let items = read(&json!({"runs": runs, "sessions": sessions}), &overview);
        let told: Vec<_> = items.iter().map(|item| (item.line(), item.progress)).collect();
        let expected = [
            ("run r1 running 1 failed, warm up".to_owned(), Some((3, 10))),
            ("run r2 pending w".to_owned(), None),
            ("session s1 paused frames".to_owned(), Some((40, 100))),
            ("pool jobs 0 running 0 waiting, 0/2 workers online".to_owned(), None),
        ];
        assert_eq!(told, expected);
    }
}
