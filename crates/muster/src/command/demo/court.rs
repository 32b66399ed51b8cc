//! The demo's court: `muster court run`, a process of this binary, whose generals hand tasks to the demo's own fleets, or to
//! soldiers (contract C).
//!
//! In the first round events are handed in as files, and the court is killed while their tasks are under way. What people
//! are told goes to a stand-in for Slack in the demo's own process.

mod errand;
mod record;
mod slack;

pub(super) use errand::{Errand, GENERALS, GeneralPlan};
pub(super) use record::{Record, TaskFile};

use super::{
    life::Orders,
    process::Process,
    server::{COURT, Server},
};
use crate::failure::Failure;
use muster_coordinator::instant_now;
use muster_court::{Clock, Folder, Place, emit::emit};
use slack::Slack;
use std::{fs, path::Path, time::Duration};
use tokio::time::Instant;

/// The court, over all its lives, and what it was given to do.
pub(super) struct Court {
    process: Process,
    folder: Folder,
    slack: Slack,
    errands: Vec<Errand>,
    losses: Vec<CourtLoss>,
    /// How many files are under way.
    open: usize,
    began: Instant,
    took: Option<Duration>,
    stopping_since: Option<Instant>,
}

/// That the court was killed.
#[derive(Debug)]
pub(super) struct CourtLoss {
    /// How many tasks it was at.
    pub(super) held: usize,
}

/// How the court was found at the end.
#[derive(Debug, Default)]
pub(super) struct CourtRest {
    /// What its files say.
    pub(super) record: Record,
    /// The messages that people got, by their ids, as often as they got them.
    pub(super) posts: Vec<String>,
    /// What is wrong with how it ended, in words.
    pub(super) unwell: Option<String>,
}

impl Court {
    /// Writes its configuration and starts it.
    pub(super) async fn start(server: &Server) -> Result<Self, Failure> {
        let home = server.directory().join(COURT);
        let slack = Slack::open().await?;
        configure(&home, &slack.url)?;
        let args = ["court", "run", "--server", &server.url, "--home"].map(str::to_owned);
        let orders = Orders {
            args: args.into_iter().chain([home.display().to_string()]).collect(),
            secrets: vec![
                ("MUSTER_TOKEN", server.admin_token.clone()),
                ("SLACK_BOT_TOKEN", slack.token.clone()),
            ],
            lock: server.directory().join("court.lock"),
            log: server.directory().join("court.log"),
            greeting: Some("court at "),
        };
        let process = Process::start("the court".to_owned(), orders).await?;
        Ok(Self {
            process,
            folder: Folder::open(&home)?,
            slack,
            errands: Vec::new(),
            losses: Vec::new(),
            open: 0,
            began: instant_now(),
            took: None,
            stopping_since: None,
        })
    }

    pub(super) fn errands(&self) -> &[Errand] {
        &self.errands
    }

    pub(super) fn losses(&self) -> &[CourtLoss] {
        &self.losses
    }

    /// How often it was started.
    pub(super) const fn starts(&self) -> u64 {
        self.process.starts
    }

    /// Since when it is not running; nothing while it is.
    pub(super) fn down_since(&self) -> Option<Instant> {
        self.process.down_since()
    }

    /// From the first event to the last post, once there was one.
    pub(super) const fn took(&self) -> Option<Duration> {
        self.took
    }

    /// How many events are over.
    pub(super) fn done(&self) -> usize {
        self.folder.listed(Place::EventsCompleted).map_or(0, |ids| ids.len())
    }

    /// Whether the demo was asked to stop before it could kill the court.
    pub(super) fn was_spared(&self) -> bool {
        self.stopping_since.is_some() && !self.is_killed_midway()
    }

    /// Whether nothing is under way that could be waited for.
    pub(super) fn is_done(&self) -> bool {
        let is_given_up = self.stopping_since.is_some_and(|since| since.elapsed() > PATIENCE);
        self.errands.is_empty() || self.took.is_some() || is_given_up
    }

    /// Hands in the events; later rounds have none.
    pub(super) fn submit(&mut self) -> Result<(), Failure> {
        if !self.errands.is_empty() {
            return Ok(());
        }
        self.began = instant_now();
        self.hand_in(Errand::planned())
    }

    /// Looks how far all is, and kills the court where that is due; asked to stop, lets it finish.
    pub(super) async fn look(&mut self, is_stopping: bool) -> Result<(), Failure> {
        match self.process.down_since() {
            None => self.process.look().map(drop)?,
            Some(since) if since.elapsed() >= DOWN_FOR => return self.process.start_again().await,
            Some(_) => return Ok(()),
        }
        if is_stopping && self.stopping_since.is_none() {
            self.stopping_since = Some(instant_now());
        }
        if self.is_done() {
            return Ok(());
        }
        self.open = self.count(&UNDER_WAY)?;
        match (self.open, self.is_killed_midway() || is_stopping) {
            (0, true) => {
                self.took = Some(self.began.elapsed());
                Ok(())
            }
            // Too fast for the demo: what it did not see under way is handed in once more.
            (0, false) => self.hand_in(Errand::bait(self.errands.len())),
            (_, false) if self.count(&AT_WORK)? >= WORTH_KILLING => self.kill().await,
            _ => Ok(()),
        }
    }

    /// Has the court leave, and reads what it leaves.
    pub(super) async fn finish(&mut self) -> Result<CourtRest, Failure> {
        if self.process.down_since().is_some() {
            self.process.start_again().await?;
        }
        let unwell = self.process.stop().await?;
        Ok(CourtRest { record: Record::read(&self.folder)?, posts: self.slack.posts(), unwell })
    }

    fn hand_in(&mut self, errands: Vec<Errand>) -> Result<(), Failure> {
        for errand in &errands {
            emit(&self.folder, errand.event()?, Clock.now())?;
        }
        self.errands.extend(errands);
        Ok(())
    }

    async fn kill(&mut self) -> Result<(), Failure> {
        self.process.kill().await?;
        let held = self.count(&AT_WORK)?;
        self.losses.push(CourtLoss { held });
        Ok(())
    }

    fn is_killed_midway(&self) -> bool {
        self.losses.iter().any(|loss| loss.held > 0)
    }

    fn count(&self, places: &[Place]) -> Result<usize, Failure> {
        let mut count = 0;
        for place in places {
            count += self.folder.listed(*place)?.len();
        }
        Ok(count)
    }
}

fn configure(home: &Path, slack: &str) -> Result<(), Failure> {
    fs::create_dir_all(home.join("generals"))?;
    fs::write(home.join("court.toml"), format!("[envoy]\nto = \"slack\"\nbase_url = \"{slack}\"\n"))?;
    for general in &GENERALS {
        fs::write(home.join(format!("generals/{}.toml", general.name)), general.manifest())?;
    }
    Ok(())
}

/// In the order in which files go through them, so that none is missed on its way.
const UNDER_WAY: [Place; 5] = [
    Place::EventsPending,
    Place::EventsDispatched,
    Place::TasksPending,
    Place::TasksInProgress,
    Place::MessagesPending,
];
const AT_WORK: [Place; 1] = [Place::TasksInProgress];
/// Tasks of more than one general.
const WORTH_KILLING: usize = 3;
/// Long enough for everybody to see it.
const DOWN_FOR: Duration = Duration::from_millis(600);
/// How long the end is waited for when somebody wants to leave.
const PATIENCE: Duration = Duration::from_secs(20);
