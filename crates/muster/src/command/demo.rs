//! `muster demo`: the real server on a store that is thrown away, three PCs with simulated devices, and runs that flow
//! through the real HTTP API (I2).

mod check;
mod conductor;
mod fleet;
mod ledger;
mod node;
mod paint;
mod plan;
mod server;
mod summary;
mod tally;
mod view;
mod wire;

use super::serve;
use crate::{
    config::LogFormat,
    failure::{Exit, Failure},
    logging, output,
};
use check::Evidence;
use clap::Args;
use conductor::{Conductor, Performance};
use fleet::Fleet;
use ledger::Ledger;
use paint::Paint;
use plan::{DEVICES_PER_PC, PCS, Plan};
use server::Server;
use std::{io::IsTerminal, time::Duration};
use summary::Summary;
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::watch,
    time::Instant,
};
use view::View;

#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Go on for so many seconds, then cancel what is open and close
    #[arg(long, value_name = "S", value_parser = seconds)]
    duration: Option<Duration>,
    /// End when each planned run has ended once
    #[arg(long)]
    exit_when_done: bool,
    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:0")]
    listen: String,
    /// Print one JSON document and nothing else on standard output
    #[arg(long)]
    json: bool,
}

impl Demo {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        logging::start(LogFormat::Text, "warn");
        serve::raise_open_files();
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let shown = runtime.block_on(self.show());
        runtime.shutdown_timeout(Duration::from_millis(500));
        shown.map(|is_good| if is_good { Exit::Fine } else { Exit::Failed })
    }

    /// Everything from the first line to the last; says whether all ended as it should.
    async fn show(&self) -> Result<bool, Failure> {
        let stop = self.stop_signal()?;
        let plan = Plan { seed: SEED };
        let server = Server::start(&self.listen).await?;
        let url = server.url.clone();
        self.greet(&server);
        let client = server.client();
        let mut fleet = Fleet::enrol(plan, &server).await;
        conductor::label(&client).await?;
        fleet.start();

        let began = Instant::now();
        let mut view = View::new(server.slots, PCS.len());
        let conductor = Conductor::new(&client, &fleet, &mut view, stop);
        let Performance { runs, returned } = self.conduct(conductor).await?;
        let is_idle = fleet.finish().await;
        let elapsed = began.elapsed();
        view.close();
        let directory = server.stop().await;
        let ledger = Ledger::read(directory.path())?;

        let (runs, fleet, ledger) = (&runs, &fleet, &ledger);
        let findings = &Evidence { plan, runs, fleet, ledger, is_idle, returned: &returned }.findings();
        let summary = Summary { server: &url, seed: SEED, runs, fleet, ledger, findings, elapsed };
        self.close(&summary);
        Ok(summary.is_good())
    }

    /// Plays rounds until there has been enough.
    async fn conduct(&self, mut conductor: Conductor<'_>) -> Result<Performance, Failure> {
        loop {
            conductor.play_round().await?;
            if self.exit_when_done || conductor.is_stopping() {
                return Ok(conductor.performance());
            }
        }
    }

    /// Becomes true when the time is over or somebody presses Ctrl-C; whoever asks twice does not want to wait.
    fn stop_signal(&self) -> Result<watch::Receiver<bool>, Failure> {
        let (mut interrupt, mut terminate) =
            (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        let duration = self.duration;
        let (stop, stopped) = watch::channel(false);
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
            std::process::exit(Exit::Failed as i32);
        });
        Ok(stopped)
    }

    /// Says where everything is, before anything moves.
    fn greet(&self, server: &Server) {
        let paint = if self.json { Paint::on(&std::io::stderr()) } else { Paint::on(&std::io::stdout()) };
        let Server { url, slots, .. } = server;
        let token = server.token_file();
        let lines = [
            format!(
                "{}  {} PCs, {DEVICES_PER_PC} simulated devices each, {slots} slots each, over the real HTTP API",
                paint.strong("Muster demo"),
                PCS.len(),
            ),
            String::new(),
            format!("  API    {}", paint.accent(url)),
            format!("  Docs   {}", paint.accent(&format!("{url}/docs"))),
            format!("  Token  {}", paint.accent(&token.display().to_string())),
            String::new(),
            paint.faint("  To look on from another shell:"),
            paint.faint(&format!("  export MUSTER_SERVER={url}")),
            paint.faint(&format!("  export MUSTER_TOKEN=$(cat {})", token.display())),
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

/// Any would do; a fixed one makes every demo fail the same devices.
const SEED: u64 = 2026;
