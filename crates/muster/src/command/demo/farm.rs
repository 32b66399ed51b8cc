//! The demo's simulation workers, together, and the sessions that they render.

use super::{
    footage::count_pictures,
    ledger,
    server::Server,
    session::{Held, Session},
    worker::{WORKERS, Worker},
};
use crate::{
    client::{Client, ClientError},
    failure::Failure,
};
use serde_json::json;
use std::{path::PathBuf, time::Duration};
use tokio::time::timeout;

/// All workers, at work.
pub(super) struct Farm {
    workers: Vec<Worker>,
    client: Client,
    output: PathBuf,
    sessions: Vec<Session>,
    losses: Vec<Loss>,
}

/// A worker that was killed.
#[derive(Debug)]
pub(super) struct Loss {
    /// The number of the session.
    pub(super) session: usize,
    /// What it was at.
    pub(super) held: Held,
    /// Pictures that it had made of that.
    pub(super) pictures: u64,
}

/// How the workers were found at the end.
#[derive(Debug, Default)]
pub(super) struct FarmRest {
    /// Everything that counts no more is where it belongs.
    pub(super) is_tidy: bool,
    /// Those that did not end well, in words.
    pub(super) unwell: Vec<String>,
}

impl Farm {
    /// Starts the workers and waits until the server knows them.
    pub(super) async fn start(server: &Server) -> Result<Self, Failure> {
        let client = server.client();
        let mut workers = Vec::new();
        for plan in &WORKERS {
            workers.push(Worker::start(plan, server, &client).await?);
        }
        let (sessions, losses) = (Vec::new(), Vec::new());
        Ok(Self { workers, client, output: server.output.clone(), sessions, losses })
    }

    pub(super) fn workers(&self) -> &[Worker] {
        &self.workers
    }

    /// Sessions over all rounds, as they were submitted.
    pub(super) fn sessions(&self) -> &[Session] {
        &self.sessions
    }

    pub(super) fn losses(&self) -> &[Loss] {
        &self.losses
    }

    /// Whether no session is under way.
    pub(super) fn is_done(&self) -> bool {
        self.sessions.last().is_none_or(Session::is_over)
    }

    /// Submits the next session.
    pub(super) async fn submit(&mut self) -> Result<(), Failure> {
        let mut session = Session::planned(self.sessions.len());
        let answer = self.client.post(&["api", "v1", "sessions"], &session.submission()).await?;
        session.update(&answer);
        self.sessions.push(session);
        Ok(())
    }

    /// Looks how all are and how far the session is, and does to it what is planned; asked to stop, cancels it.
    pub(super) async fn look(&mut self, is_stopping: bool) -> Result<(), Failure> {
        for worker in &mut self.workers {
            match worker.down_since() {
                None => worker.look()?,
                Some(since) if since.elapsed() >= DOWN_FOR => worker.start_again(&self.client).await?,
                Some(_) => {}
            }
        }
        let Some(session) = self.sessions.last_mut().filter(|session| !session.is_over()) else {
            return Ok(());
        };
        session.update(&self.client.get(&["api", "v1", "sessions", &session.id], &[]).await?);
        if is_stopping && !session.is_over() {
            return cancel(&self.client, session).await;
        }
        match self.due_for_killing() {
            Some(held) => self.kill(held).await,
            None => Ok(()),
        }
    }

    /// Has the workers leave, then waits until what was given up is set apart.
    pub(super) async fn finish(&mut self, server: &Server) -> Result<FarmRest, Failure> {
        let mut rest = FarmRest::default();
        for worker in &mut self.workers {
            // One that is down has nothing to take leave of.
            if worker.down_since().is_none() {
                rest.unwell.extend(worker.stop().await?);
            }
        }
        rest.is_tidy = match timeout(TIDY_MAX, tidied(server)).await {
            Ok(tidied) => tidied.map(|()| true)?,
            Err(_late) => false,
        };
        Ok(rest)
    }

    /// What the worker is at that is to be killed now: enough of it for some pictures to be there, and some not.
    fn due_for_killing(&self) -> Option<Held> {
        let session = self.sessions.last()?;
        let was_killed = self.losses.iter().any(|loss| loss.session == session.number && loss.is_midway());
        let held = session.held_midway(session.victim().id).filter(|_| !was_killed)?;
        held.is_begun_with(self.pictures(session, &held)).then_some(held)
    }

    async fn kill(&mut self, held: Held) -> Result<(), Failure> {
        for worker in self.workers.iter_mut().filter(|worker| worker.plan.id == held.worker) {
            worker.kill().await?;
        }
        if let Some(session) = self.sessions.last() {
            let pictures = self.pictures(session, &held);
            self.losses.push(Loss { session: session.number, held, pictures });
        }
        Ok(())
    }

    fn pictures(&self, session: &Session, held: &Held) -> u64 {
        let directory = self.output.join(format!("session_{}/chunks/{}", session.id, held.chunk));
        count_pictures(&directory)
    }
}

impl Loss {
    /// Whether it was killed before it had made all: then it cannot have handed them in.
    pub(super) fn is_midway(&self) -> bool {
        self.pictures < self.held.frames.end - self.held.frames.start
    }
}

/// Cancels a session, unless it ended just before.
async fn cancel(client: &Client, session: &mut Session) -> Result<(), Failure> {
    match client.post(&["api", "v1", "sessions", &session.id, "cancel"], &json!({})).await {
        Ok(_) => session.is_cancelled = true,
        Err(ClientError::Refused { status, .. }) if status.as_u16() == 409 => {}
        Err(error) => return Err(error.into()),
    }
    Ok(())
}

async fn tidied(server: &Server) -> Result<(), Failure> {
    while ledger::moves_owed(server.directory())? > 0 {
        tokio::time::sleep(BETWEEN_LOOKS).await;
    }
    Ok(())
}

/// Longer than it takes the server to miss a worker.
const DOWN_FOR: Duration = Duration::from_millis(1200);
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);
const TIDY_MAX: Duration = Duration::from_secs(20);
