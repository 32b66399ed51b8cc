//! `muster demo`: all five contracts at once (I2). The server runs in this process on a store that is thrown away;
//! agents, workers and the court are processes of this binary, and the work flows through the HTTP API.
//!
//! Each part submits its work, kills one of its processes on the way, and afterwards compares what is stored with what
//! was submitted.

mod court;
mod frames;
mod nodes;
mod pool;
mod process;
mod server;
mod show;

use super::serve;
use crate::{
    config::LogFormat,
    failure::{Exit, Failure},
    logging, output,
};
use clap::Args;
use court::Court;
use frames::Frames;
use nodes::Nodes;
use pool::Pool;
use server::{Server, Tables};
use show::{Paint, STARTED, Show, Summary};
use std::{io::IsTerminal, time::Duration};
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::{oneshot, watch},
};

#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Go on for so many seconds, then cancel what is open and close
    #[arg(long, value_name = "S", value_parser = seconds)]
    duration: Option<Duration>,
    /// End after one round: when each planned run, session, job and event has ended once
    #[arg(long)]
    exit_when_done: bool,
    /// Address to listen on; port 0 takes a free one
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:0")]
    listen: String,
    /// Explain at each moment what is happening, which rule makes it safe, and where to look
    #[arg(long)]
    tour: bool,
    /// Print one JSON document and nothing else on standard output
    #[arg(long)]
    json: bool,
}

/// The parts of the demo.
struct Parts {
    nodes: Nodes,
    frames: Frames,
    pool: Pool,
    court: Court,
}

impl Demo {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        logging::start(LogFormat::Text, "warn");
        serve::raise_open_files();
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let result = runtime.block_on(self.run_unless_interrupted_twice());
        runtime.shutdown_timeout(Duration::from_millis(500));
        result.map(|is_good| if is_good { Exit::Fine } else { Exit::Failed })
    }

    /// A second Ctrl-C means that the user does not want to wait: dropping the future ends every process.
    async fn run_unless_interrupted_twice(&self) -> Result<bool, Failure> {
        let (stop, leave) = self.stop_signals()?;
        tokio::select! {
            result = self.perform(stop) => result,
            Ok(()) = leave => Ok(false),
        }
    }

    /// Runs the demo from the first line to the last; true if everything ended as it should.
    async fn perform(&self, stop: watch::Receiver<bool>) -> Result<bool, Failure> {
        let mut server = Server::start(&self.listen).await?;
        self.greet(&server);
        let show = Show::new(&server.url, self.tour);
        let played = self.play(&server, &show, stop).await.inspect_err(|_| server.keep_files())?;
        let (url, callbacks, elapsed) = (server.url.clone(), server.callbacks(), show.elapsed());
        show.close();
        let directory = server.stop().await;
        let tables = Tables::open(directory.path())?;
        let summary = Summary {
            url,
            callbacks,
            elapsed,
            contracts: played.contracts(&tables, callbacks)?,
            findings: played.findings(&tables)?,
        };
        if self.json {
            output::document(&summary.document());
        } else {
            let stdout = std::io::stdout();
            output::line(&summary.text(Paint::on(&stdout), stdout.is_terminal()));
        }
        Ok(summary.is_good())
    }

    /// Plays rounds until the demo is over, then stops every process.
    async fn play(
        &self,
        server: &Server,
        show: &Show,
        stop: watch::Receiver<bool>,
    ) -> Result<Parts, Failure> {
        let mut parts = Parts {
            nodes: Nodes::start(server).await?,
            frames: Frames::start(server).await?,
            pool: Pool::start(server).await?,
            court: Court::start(server).await?,
        };
        show.tell(&STARTED);
        let is_stopping = || *stop.borrow();
        while !is_stopping() {
            parts.begin_round().await?;
            while !parts.is_done() {
                parts.step(is_stopping(), show).await?;
                show.draw(&parts.lines());
                tokio::time::sleep(BETWEEN_STEPS).await;
            }
            if self.exit_when_done {
                break;
            }
        }
        parts.finish().await?;
        Ok(parts)
    }

    /// Two receivers: the first becomes true when the time is over or at the first Ctrl-C; the second fires at the next.
    fn stop_signals(&self) -> Result<(watch::Receiver<bool>, oneshot::Receiver<()>), Failure> {
        let (mut interrupt, mut terminate) =
            (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        let duration = self.duration.unwrap_or(Duration::MAX);
        let (stop, stopped) = watch::channel(false);
        let (leave, left) = oneshot::channel();
        tokio::spawn(async move {
            tokio::select! {
                () = tokio::time::sleep(duration) => {}
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            stop.send_replace(true);
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            // The receiver is gone when the demo is over.
            let _ = leave.send(());
        });
        Ok((stopped, left))
    }

    /// Prints the addresses before anything moves.
    fn greet(&self, server: &Server) {
        let paint = if self.json { Paint::on(&std::io::stderr()) } else { Paint::on(&std::io::stdout()) };
        let url = &server.url;
        let lines = [
            format!("{}  all five contracts, each process a real one", paint.strong("Muster demo")),
            String::new(),
            format!("  Dashboard {}", paint.accent(&format!("{url}/"))),
            format!("  Log in with the token {}", paint.accent(&server.admin_token)),
            paint.faint("  (of this demo alone: it ends with it)"),
            format!("  API docs  {}", paint.accent(&format!("{url}/docs"))),
            format!("  Frames    {}", paint.accent(&server.output.display().to_string())),
            String::new(),
            paint.faint("  To look on from another shell:"),
            paint.faint(&format!("  export MUSTER_SERVER={url}")),
            paint.faint(&format!("  export MUSTER_TOKEN=$(cat {})", server.token_file().display())),
            paint.faint("  muster top"),
            String::new(),
        ];
        for line in lines {
            if self.json { eprintln!("{line}") } else { output::line(&line) }
        }
    }
}

impl Parts {
    async fn begin_round(&mut self) -> Result<(), Failure> {
        self.frames.begin_round().await?;
        self.pool.begin_round().await?;
        self.court.begin_round()?;
        self.nodes.begin_round().await
    }

    /// Takes the next step of each part. Side by side: a process that is to be killed at work is at it only for a moment.
    async fn step(&mut self, is_stopping: bool, show: &Show) -> Result<(), Failure> {
        tokio::try_join!(
            self.nodes.step(is_stopping, show),
            self.frames.step(is_stopping, show),
            self.pool.step(is_stopping, show),
            self.court.step(is_stopping, show)
        )?;
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.nodes.is_done() && self.frames.is_done() && self.pool.is_done() && self.court.is_done()
    }

    fn lines(&self) -> [String; 4] {
        [self.nodes.line(), self.frames.line(), self.pool.line(), self.court.line()]
    }

    /// Stops the processes. The court first: it has work done by the others.
    async fn finish(&mut self) -> Result<(), Failure> {
        self.court.finish().await?;
        self.nodes.finish().await?;
        self.frames.finish().await?;
        self.pool.finish().await
    }

    fn findings(&self, tables: &Tables) -> Result<Vec<show::Finding>, Failure> {
        let own =
            self.nodes.submitted().chain(self.frames.submitted()).chain(self.pool.submitted()).collect();
        let mut findings = self.nodes.findings(tables)?;
        findings.extend(self.frames.findings(tables)?);
        findings.extend(self.pool.findings(tables)?);
        findings.extend(self.court.findings(tables, &own)?);
        Ok(findings)
    }

    fn contracts(&self, tables: &Tables, callbacks: u64) -> Result<Vec<show::Contract>, Failure> {
        let [nodes, operations] = self.nodes.contracts(tables, callbacks)?;
        Ok(vec![
            nodes,
            operations,
            self.frames.contract(),
            self.pool.contract(tables)?,
            self.court.contract(),
        ])
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "must be a number of seconds".to_owned())?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

const BETWEEN_STEPS: Duration = Duration::from_millis(80);
