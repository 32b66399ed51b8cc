//! `muster agent`: a PC with devices (I11). It takes jobs of any backend that speaks contract N.

use super::{
    secret, serve,
    worker_program::{self, list_set_aside, with_line},
};
use crate::{
    config::LogFormat,
    failure::{Exit, Failure},
    reach,
};
use axum::{Json, Router, routing::get};
use clap::{Args, Subcommand, ValueEnum};
use muster_agent::{
    Backend,
    core::Drain,
    driver::{DeviceSource, Fleet, command::CommandDriver},
    execute::{Executor, Scratch},
    runtime::{Agent as Running, Options, Report},
    upload::Uploads,
    workflow::Workflows,
};
use muster_coordinator::{Clock, SystemClock};
use muster_worker_kit::process::Guards;
use std::{path::PathBuf, sync::Arc};
use tokio::{sync::watch, task::JoinHandle};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Agent {
    /// The backend's address; several, given again or with commas, are tried in turn [default: $MUSTER_SERVER, else http://127.0.0.1:7400]
    #[arg(long, value_name = "URL")]
    server: Vec<String>,
    /// The name of this PC, such as PC-01
    #[arg(long, value_name = "NAME", required = true, value_parser = node_name)]
    node: Option<String>,
    /// Its devices: adb, simulated:COUNT or simulated:COUNT@FIRST, vendor:URL, command:FILE
    #[arg(long, value_name = "KIND", default_value = "adb")]
    devices: DeviceSource,
    /// Number of tasks that run at once
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1000))]
    slots: u32,
    /// Directory for reports until the backend has them
    #[arg(long, value_name = "DIR", default_value = "./muster-spool")]
    spool: PathBuf,
    /// Size of a spool file at which the next is begun
    #[arg(long, value_name = "N", default_value_t = 4096, value_parser = clap::value_parser!(u64).range(4..=1_048_576))]
    segment_kib: u64,
    /// Workflows besides the shipped ones, as WORKFLOW_ID.toml
    #[arg(long, value_name = "DIR")]
    workflows: Option<PathBuf>,
    /// A file that holds the node secret [default: $NODE_AGENT_SHARED_SECRET]
    #[arg(long, value_name = "FILE")]
    secret_file: Option<PathBuf>,
    /// What becomes of running tasks on SIGTERM
    #[arg(long, value_enum, default_value_t = OnStop::Finish)]
    on_stop: OnStop,
    /// Serve GET /status and /healthz here, such as 127.0.0.1:7401
    #[arg(long, value_name = "HOST:PORT")]
    status: Option<String>,
    /// Format of log lines
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    log_format: LogFormat,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show events that the backend refused for good
    Aside(Aside),
}

// Events that a backend refused for good (N19).
#[derive(Debug, Args)]
struct Aside {
    /// The spool's directory
    #[arg(long, value_name = "DIR", default_value = "./muster-spool")]
    spool: PathBuf,
    /// Print one JSON document and nothing else
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum OnStop {
    /// They end by themselves
    Finish,
    /// They are ended and reported as failed, so that they can be tried again elsewhere or later
    HandBack,
}

impl Agent {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        if let Some(Command::Aside(aside)) = &self.command {
            return list_set_aside(&aside.spool, "event", "type", aside.json);
        }
        worker_program::run(self.log_format, FILE_THREADS, async |shows_line| self.work(shows_line).await)
    }

    async fn work(self, shows_line: bool) -> Result<Exit, Failure> {
        let agent = self.open().await?;
        let report = agent.watch();
        let page = match &self.status {
            Some(address) => Some(serve_status(address, report.clone()).await?),
            None => None,
        };
        with_line(shows_line, report, line, agent.run(self.stop_signal()?)).await;
        if let Some(page) = page {
            page.abort();
        }
        tracing::info!("stopped");
        Ok(Exit::Fine)
    }

    async fn open(&self) -> Result<Running, Failure> {
        let node = self.node.clone().expect("clap asks for it");
        let servers = reach::servers(&self.server, |name| std::env::var(name).ok())?;
        let secret = secret::NODE.find(self.secret_file.as_deref())?;
        let workflows = Workflows::load(self.workflows.as_deref())?;
        let clock = SystemClock::start();
        let options = Options {
            node: node.clone(),
            slots: self.slots,
            // Programs run in directories of their own and must find it from there.
            spool: std::path::absolute(&self.spool)?,
            segment_bytes: self.segment_kib * 1024,
            new_spool_id: format!("{:032x}", rand::random::<u128>()),
            now: Arc::new(move || clock.now()),
        };
        let backend = Backend::new(servers.client().no_proxy().build()?, servers, &node, &secret);
        let executor = Executor {
            workflows,
            fleet: Fleet::new(self.devices.clone(), &node, Arc::clone(&options.now)),
            programs: CommandDriver { guards: Guards::of_own_binary(options.guard_lock()) },
            uploads: Arc::new(Uploads::new(backend.clone())),
            scratch: Scratch::new(options.scratch()),
        };
        Ok(Running::open(options, backend, executor).await?)
    }

    /// Becomes what to do with running tasks when somebody asks to stop.
    ///
    /// Any death is safe: what runs ends with this process and is reported at the next start (N22b).
    fn stop_signal(&self) -> Result<watch::Receiver<Option<Drain>>, Failure> {
        let drain = match self.on_stop {
            OnStop::Finish => Drain::Finish,
            OnStop::HandBack => Drain::HandBack,
        };
        let (stop, stopped) = watch::channel(None);
        worker_program::on_request(move || {
            tracing::info!("draining: no new tasks; once more ends at once");
            stop.send_replace(Some(drain));
        })?;
        Ok(stopped)
    }
}

/// Serves the agent's state on an address; says on standard output where, when port 0 took a free one.
async fn serve_status(address: &str, report: watch::Receiver<Report>) -> Result<JoinHandle<()>, Failure> {
    let listener = serve::bind(address).await?;
    crate::output::line(&format!("status on http://{}/status", listener.local_addr()?));
    // The health is always good: the agent keeps what it cannot deliver, so there is no reason to restart it.
    let health = report.clone();
    let routes = Router::new()
        .route("/status", get(async move || Json(report.borrow().clone())))
        .route("/healthz", get(async move || health.borrow().state));
    Ok(tokio::spawn(async move {
        if let Err(error) = axum::serve(listener, routes).await {
            tracing::error!(%error, "the status page has ended");
        }
    }))
}

/// The status of an agent, in one line.
fn line(report: &Report) -> String {
    let Report { node, state, devices, online, running, slots, queued, spooled, .. } = report;
    format!(
        "{node}  {state}  devices {online}/{devices}  running {running}/{slots}  queued {queued}  spool {spooled}"
    )
}

fn node_name(text: &str) -> Result<String, String> {
    muster_model::Name::new(text).map(|name| name.to_string()).map_err(|error| error.to_string())
}

/// Threads that wait for the disk: making directories of tasks, reading what is uploaded.
const FILE_THREADS: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    /// I11: devices, running, queued, spool depth and degraded, in one line.
    #[test]
    fn the_line_says_how_the_agent_is() {
        let report = Report {
            node: "PC-01".into(),
            state: "degraded",
            devices: 100,
            online: 98,
            running: 20,
            slots: 20,
            queued: 3,
            spooled: 412,
            reachable: false,
            degraded: true,
        };
        let expected = "PC-01  degraded  devices 98/100  running 20/20  queued 3  spool 412";
        assert_eq!(line(&report), expected);
    }
}
