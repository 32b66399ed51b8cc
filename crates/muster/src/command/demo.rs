//! `muster demo`: the real server on a store that is thrown away, three real agents with simulated devices, three real
//! simulation workers, four real workers of a pool and a real court, each a process of its own, and runs, sessions and
//! jobs that flow through the real HTTP API, some of them on the court's behalf (I2).

mod agent;
mod check;
mod conductor;
mod court;
mod farm;
mod fleet;
mod footage;
mod ledger;
mod life;
mod paint;
mod path;
mod plan;
mod pool;
mod process;
mod report;
mod server;
mod session;
mod summary;
mod tour;
mod view;
mod worker;

use super::serve;
use crate::{
    config::LogFormat,
    failure::{Exit, Failure},
    logging, output,
};
use check::{CourtEvidence, Evidence, Finding, FrameEvidence, PoolEvidence};
use clap::Args;
use conductor::{Cast, Conductor, Performance};
use court::{Court, CourtRest, GENERALS};
use farm::{Farm, FarmRest};
use fleet::{Fleet, Rest};
use footage::Footage;
use ledger::Ledger;
use muster_coordinator::instant_now;
use paint::Paint;
use plan::{DEVICES_PER_PC, PCS, Plan};
use pool::{MEMBERS, Pool, PoolRest};
use server::Server;
use std::{collections::BTreeSet, io::IsTerminal, time::Duration};
use summary::{CourtSummary, FrameSummary, PoolSummary, Summary};
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::{oneshot, watch},
};
use tour::Tour;
use view::View;
use worker::WORKERS;

#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Go on for so many seconds, then cancel what is open and close
    #[arg(long, value_name = "S", value_parser = seconds)]
    duration: Option<Duration>,
    /// End when each planned run, the session of frames, the jobs of the pool and the events of the court have ended once
    #[arg(long)]
    exit_when_done: bool,
    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:0")]
    listen: String,
    /// Be told at each moment what is happening, which rule makes it safe, and where to look
    #[arg(long)]
    tour: bool,
    /// Print one JSON document and nothing else on standard output
    #[arg(long)]
    json: bool,
}

/// What has happened when nothing moves any more.
struct Played {
    performance: Performance,
    fleet: Fleet,
    rest: Rest,
    farm: Farm,
    farm_rest: FarmRest,
    pool: Pool,
    pool_rest: PoolRest,
    court: Court,
    court_rest: CourtRest,
    callbacks: u64,
    elapsed: Duration,
}

impl Played {
    fn evidence<'a>(&'a self, ledger: &'a Ledger, footage: &'a Footage) -> Evidence<'a> {
        let Self { performance: Performance { runs, returned }, fleet, rest, farm, farm_rest, .. } = self;
        let (sessions, losses) = (farm.sessions(), farm.losses());
        let frames = FrameEvidence { sessions, losses, ledger, footage, rest: farm_rest };
        let (jobs, losses) = (self.pool.jobs(), self.pool.losses());
        let court = self.court_evidence(ledger);
        let others = court.count_of("job") as u64;
        let pool = PoolEvidence { jobs, losses, ledger: &ledger.pool, rest: &self.pool_rest, others };
        let (crashes, cuts) = (fleet.crashes(), fleet.cuts());
        Evidence { plan: PLAN, runs, ledger, crashes, cuts, rest, returned, frames, pool, court }
    }

    fn court_evidence(&self, ledger: &Ledger) -> CourtEvidence<'_> {
        let Self { court, court_rest: rest, .. } = self;
        let (errands, losses, was_spared) = (court.errands(), court.losses(), court.was_spared());
        CourtEvidence { errands, losses, was_spared, rest, others: self.handed_in_by_others(ledger) }
    }

    /// What the server has that the demo did not hand in itself.
    fn handed_in_by_others(&self, ledger: &Ledger) -> BTreeSet<(String, String)> {
        let runs: BTreeSet<&String> = self.performance.runs.iter().map(|run| &run.id).collect();
        let sessions: BTreeSet<&String> = self.farm.sessions().iter().map(|session| &session.id).collect();
        let jobs: BTreeSet<u64> = self.pool.jobs().iter().map(|job| job.id).collect();
        let of = |kind: &str, id: String| (kind.to_owned(), id);
        let runs = ledger.runs.keys().filter(|id| !runs.contains(id)).map(|id| of("run", id.clone()));
        let sessions = ledger.sessions.keys().filter(|id| !sessions.contains(id));
        let sessions = sessions.map(|id| of("session", id.clone()));
        let jobs =
            ledger.pool.ends.keys().filter(|id| !jobs.contains(id)).map(|id| of("job", id.to_string()));
        runs.chain(sessions).chain(jobs).collect()
    }

    fn summary<'a>(&'a self, server: &'a str, ledger: &'a Ledger, findings: &'a [Finding]) -> Summary<'a> {
        let Self { performance: Performance { runs, .. }, fleet, farm, .. } = self;
        let (seed, callbacks, elapsed) = (PLAN.seed, self.callbacks, self.elapsed);
        let frames = FrameSummary { farm, ledger };
        let pool = PoolSummary { pool: &self.pool, ledger: &ledger.pool };
        let court = CourtSummary { court: &self.court, rest: &self.court_rest };
        Summary { server, seed, runs, fleet, ledger, frames, pool, court, findings, callbacks, elapsed }
    }
}

impl Demo {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        logging::start(LogFormat::Text, "warn");
        serve::raise_open_files();
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let shown = runtime.block_on(self.show_or_leave());
        runtime.shutdown_timeout(Duration::from_millis(500));
        shown.map(|is_good| if is_good { Exit::Fine } else { Exit::Failed })
    }

    /// Whoever asks twice to stop does not want to wait: everything is dropped where it stands, and ends with that.
    async fn show_or_leave(&self) -> Result<bool, Failure> {
        let (stopped, hurry) = self.stop_signals()?;
        tokio::select! {
            shown = self.show(stopped) => shown,
            Ok(()) = hurry => Ok(false),
        }
    }

    /// Everything from the first line to the last; says whether all ended as it should.
    async fn show(&self, stop: watch::Receiver<bool>) -> Result<bool, Failure> {
        let mut server = Server::start(&self.listen).await?;
        self.greet(&server);
        let shown = self.play(&server, stop).await;
        let played = shown.inspect_err(|_| server.keep_files())?;
        let (url, output) = (server.url.clone(), server.output.clone());
        let directory = server.stop().await;
        let ledger = Ledger::read(directory.path())?;
        let footage = Footage::read(&output, played.farm.sessions())?;

        let findings = played.evidence(&ledger, &footage).findings();
        let summary = played.summary(&url, &ledger, &findings);
        self.close(&summary);
        Ok(summary.is_good())
    }

    /// Everything that moves.
    async fn play(&self, server: &Server, stop: watch::Receiver<bool>) -> Result<Played, Failure> {
        let (mut fleet, mut farm) = (Fleet::start(server).await?, Farm::start(server).await?);
        let (mut pool, mut court) = (Pool::start(server).await?, Court::start(server).await?);
        let began = instant_now();
        let mut view = View::new(server.slots, PCS.len(), Tour::new(&server.url, self.tour));
        let cast =
            Cast { fleet: &mut fleet, farm: &mut farm, pool: &mut pool, court: &mut court, view: &mut view };
        let performance = self.conduct(Conductor::new(PLAN, server, cast, stop)).await?;
        let court_rest = court.finish().await?;
        let rest = fleet.finish(server).await?;
        let (callbacks, elapsed) = (server.callbacks(), began.elapsed());
        let (farm_rest, pool_rest) = (farm.finish(server).await?, pool.finish().await?);
        view.close();
        Ok(Played {
            performance,
            fleet,
            rest,
            farm,
            farm_rest,
            pool,
            pool_rest,
            court,
            court_rest,
            callbacks,
            elapsed,
        })
    }

    /// Plays rounds until there has been enough.
    async fn conduct(&self, mut conductor: Conductor<'_>) -> Result<Performance, Failure> {
        conductor.label().await?;
        loop {
            conductor.play_round().await?;
            if self.exit_when_done || conductor.is_stopping() {
                return Ok(conductor.performance());
            }
        }
    }

    /// The first becomes true when the time is over or somebody presses Ctrl-C, the second comes with the next Ctrl-C.
    fn stop_signals(&self) -> Result<(watch::Receiver<bool>, oneshot::Receiver<()>), Failure> {
        let (mut interrupt, mut terminate) =
            (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        let duration = self.duration;
        let (stop, stopped) = watch::channel(false);
        let (leave, hurry) = oneshot::channel();
        tokio::spawn(async move {
            let time_is_over = async {
                match duration {
                    Some(duration) => tokio::time::sleep(duration).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = time_is_over => {}
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            stop.send_replace(true);
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            // Nobody waits for it any more when the demo is over.
            let _ = leave.send(());
        });
        Ok((stopped, hurry))
    }

    /// Says where everything is, before anything moves.
    fn greet(&self, server: &Server) {
        let paint = if self.json { Paint::on(&std::io::stderr()) } else { Paint::on(&std::io::stdout()) };
        let Server { url, slots, .. } = server;
        let token = server.token_file();
        let lines = [
            format!(
                "{}  {} PCs, each a real agent with {DEVICES_PER_PC} simulated devices and {slots} slots, over HTTP",
                paint.strong("Muster demo"),
                PCS.len(),
            ),
            format!(
                "             {} real simulation workers, one of which has its tasks brought to it",
                WORKERS.len()
            ),
            format!(
                "             {} real pool workers of different owners, one of which lies about its results",
                MEMBERS.len()
            ),
            format!(
                "             a real court with {} generals, whose tasks are runs, sessions, jobs and programs",
                GENERALS.len()
            ),
            String::new(),
            format!("  Dashboard {}", paint.accent(&format!("{url}/"))),
            format!("  Log in with the token {}", paint.accent(&server.admin_token)),
            paint.faint("  (of this demo alone: it ends with it)"),
            format!("  API docs  {}", paint.accent(&format!("{url}/docs"))),
            format!("  Frames    {}", paint.accent(&server.output.display().to_string())),
            String::new(),
            paint.faint("  To look on from another shell:"),
            paint.faint(&format!("  export MUSTER_SERVER={url}")),
            paint.faint(&format!("  export MUSTER_TOKEN=$(cat {})", token.display())),
            paint.faint("  muster top"),
            String::new(),
        ];
        for line in lines {
            if self.json { eprintln!("{line}") } else { output::line(&line) }
        }
    }

    fn close(&self, summary: &Summary<'_>) {
        if self.json {
            output::document(&summary.document());
        } else {
            let stdout = std::io::stdout();
            output::line(&summary.text(Paint::on(&stdout), stdout.is_terminal()));
        }
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "must be a number of seconds".to_owned())?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

/// Any seed would do; a fixed one makes every demo fail the same devices.
const PLAN: Plan = Plan { seed: 2026 };
