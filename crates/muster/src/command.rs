//! The commands, one file each. A new one is a variant here and a file below.

mod account;
mod agent;
mod artifact;
mod audit;
mod checkpoint;
mod client_command;
mod config;
mod court;
mod demo;
mod doctor;
mod explain;
mod faultsim;
mod fleet;
mod gateway;
mod job;
mod man;
mod manifest;
mod pool_worker;
mod proof;
mod run;
mod schedule;
mod secret;
mod serve;
mod session;
mod sim_worker;
mod store_copy;
mod top;
mod watch;
mod worker_program;

use crate::failure::{Exit, Failure};
use clap::{Parser, Subcommand};

/// One control plane for fleets of workers that come and go.
#[derive(Debug, Parser)]
#[command(name = "muster", version, about, propagate_version = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the server
    Serve(serve::Serve),
    /// Run the agent of a PC with devices
    Agent(agent::Agent),
    /// Run a worker of simulation sessions
    SimWorker(Box<sim_worker::SimWorker>),
    /// Hand in jobs for the pool and follow them
    Job(job::Job),
    /// Run a worker of the pool
    PoolWorker(Box<pool_worker::PoolWorker>),
    /// Stand before coordinators: check tokens, limit rates, pass requests on
    Gateway(gateway::Gateway),
    /// Run roles that pass events, tasks and messages as files, on one host
    Court(court::Court),
    /// Show everything at work: a server, three PCs with simulated devices, runs, frames, jobs, and a court that has some of it done
    Demo(demo::Demo),
    /// Run the fault simulator: random worlds full of faults, checked after every step
    #[command(alias = "simulate")]
    Faultsim(faultsim::Faultsim),
    /// Show the settings in force and where each came from
    Config(config::Config),
    /// Print a secret that servers made for themselves
    Secret(secret::Secret),
    /// Submit, list, show, cancel, retry and watch runs
    Run(run::Run),
    /// Have runs submitted by the calendar
    Schedule(schedule::Schedule),
    /// Submit, list, show, steer, retry and watch sessions of frames
    Session(session::Session),
    /// List and retire chunks of ids that were given out for frames
    Chunk(session::Chunk),
    /// List simulation workers, approve them or put them into quarantine
    Worker(fleet::Worker),
    /// List devices and return them to service
    Device(fleet::Device),
    /// List nodes, drain and resume them, give them secrets
    Node(fleet::Node),
    /// Watch fleet, queues and events live on one screen
    Top(top::Top),
    /// Say why something is not running
    Explain(explain::Explain),
    /// List alerts, newest first
    Alerts(audit::Alerts),
    /// Log in at a server; client commands then act as that user
    Login(account::Login),
    /// End the login at a server
    Logout(account::Logout),
    /// Add, list and change users
    User(account::User),
    /// Make, list and revoke your API keys
    Key(account::Key),
    /// List what privileged people did, newest first
    Audit(audit::Audit),
    /// List and fetch files that tasks left behind, and make links to them
    Artifact(artifact::Artifact),
    /// Merge the manifest fragments of a session, and verify the result
    Manifest(manifest::Manifest),
    /// Fetch everything about sessions in one file, or begin anew with it
    Checkpoint(checkpoint::Checkpoint),
    /// Write everything that a store holds to a file, while the server runs
    Backup(store_copy::Backup),
    /// Fill an empty store from a backup
    Restore(store_copy::Restore),
    /// Move an embedded installation to PostgreSQL
    Migrate(store_copy::Migrate),
    /// Print a JSON document in its canonical form
    Canonical(proof::Canonical),
    /// Check receipts of results offline
    Receipt(proof::Receipt),
    /// Check an installation and say what to do about what is not in order
    Doctor(doctor::Doctor),
    /// Run one program for the agent and end all of it with the agent
    #[command(hide = true)]
    Guard(worker_program::Guard),
    /// Print completions for a shell
    Completions(man::Completions),
    /// Print the manual page, or write those of all commands
    Man(man::Man),
}

impl Cli {
    /// Does what was asked.
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        match self.command {
            Command::Serve(serve) => serve.run(),
            Command::Agent(agent) => agent.run(),
            Command::SimWorker(worker) => worker.run(),
            Command::Job(job) => job.run(),
            Command::PoolWorker(worker) => worker.run(),
            Command::Gateway(gateway) => gateway.run(),
            Command::Court(court) => court.run(),
            Command::Demo(demo) => demo.run(),
            Command::Faultsim(faultsim) => faultsim.run(),
            Command::Config(config) => config.run(),
            Command::Secret(secret) => secret.run(),
            Command::Run(run) => run.run(),
            Command::Schedule(schedule) => schedule.run(),
            Command::Session(session) => session.run(),
            Command::Chunk(chunk) => chunk.run(),
            Command::Worker(worker) => worker.run(),
            Command::Device(device) => device.run(),
            Command::Node(node) => node.run(),
            Command::Top(top) => top.run(),
            Command::Explain(explain) => explain.run(),
            Command::Alerts(alerts) => alerts.run(),
            Command::Login(login) => login.run(),
            Command::Logout(logout) => logout.run(),
            Command::User(user) => user.run(),
            Command::Key(key) => key.run(),
            Command::Audit(audit) => audit.run(),
            Command::Artifact(artifact) => artifact.run(),
            Command::Manifest(manifest) => manifest.run(),
            Command::Checkpoint(checkpoint) => checkpoint.run(),
            Command::Backup(backup) => backup.run(),
            Command::Restore(restore) => restore.run(),
            Command::Migrate(migrate) => migrate.run(),
            Command::Canonical(canonical) => canonical.run(),
            Command::Receipt(receipt) => receipt.run(),
            Command::Doctor(doctor) => doctor.run(),
            Command::Guard(guard) => guard.run(),
            Command::Completions(completions) => Ok(completions.run()),
            Command::Man(man) => man.run(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Args, CommandFactory};
    use std::ffi::OsString;

    /// Reads the flags of a command from a line; its first word is the program.
    pub(super) fn parse_flags<T: Args>(
        line: impl IntoIterator<Item: Into<OsString> + Clone>,
    ) -> Result<T, clap::Error> {
        let matches = T::augment_args(clap::Command::new("muster")).try_get_matches_from(line)?;
        T::from_arg_matches(&matches)
    }

    fn usage_exit(line: &str) -> i32 {
        Cli::try_parse_from(line.split(' ')).unwrap_err().exit_code()
    }

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    /// I4: what is not understood ends with 2.
    #[test]
    fn a_wrong_command_is_usage() {
        for line in
            ["muster", "muster nonsense", "muster run submit", "muster explain run", "muster serve --nope"]
        {
            assert_eq!(usage_exit(line), Exit::Usage as i32, "{line}");
        }
        for line in [
            "muster session retry",
            "muster session retry demo --frames 9-3",
            "muster session retry demo --frames all",
            "muster chunk retire 7",
            "muster chunk retire x --reason y",
            "muster chunk list --state lost",
        ] {
            assert_eq!(usage_exit(line), Exit::Usage as i32, "{line}");
        }
        assert_eq!(usage_exit("muster --help"), 0);
    }

    /// I1, I3, I5, I11: the command lines of the contract are understood.
    #[test]
    fn the_contracts_command_lines_are_understood() {
        for line in CONTRACT_LINES {
            assert!(Cli::try_parse_from(line.split(' ')).is_ok(), "{line}");
        }
    }

    const CONTRACT_LINES: &[&str] = &[
        "muster serve --listen 127.0.0.1:0 --data d --store sqlite --config f --log-format json",
        "muster serve --store postgres://u@h/db --advertise http://10.0.0.7:7400",
        "muster secret show admin --store postgres://u@h/db --data d --config f",
        "muster run submit --workflow w --params {} --pcs a,b --queue q --title t --wait",
        "muster run submit --workflow w --label k=v --label l=w --idempotency-key k",
        "muster run list --json",
        "muster run --server http://a:1 show r1",
        "muster run watch r1 --server http://a:1 --server http://b:1,https://c",
        "muster run cancel r1 --server http://a:1 --reason wrong-build",
        "muster run watch r1",
        "muster run failures r1 --json",
        "muster run retry r1 --failure-reason adb_offline --wait --reason new-cables",
        "muster schedule add --cron @daily --timezone Asia/Seoul --missed once --workflow w --pcs a,b --json",
        "muster schedule list --json",
        "muster schedule show s1",
        "muster schedule delete s1",
        "muster session retry demo",
        "muster session retry demo --frames 7,120-130 --reason new-scene --json",
        "muster session diagnostics demo --limit 50 --json",
        "muster chunk list --session demo --state retired --limit 10 --json",
        "muster chunk retire 7 --reason wrong-ids --json",
        "muster device list --json",
        "muster device return d1 --note fixed",
        "muster node list",
        "muster node drain PC-01 --reason new-disks",
        "muster node resume PC-01",
        "muster node secret PC-01",
        "muster explain device d1",
        "muster top --server http://a:1 --json",
        "muster alerts --json",
        "muster login --user ann --password-stdin --server http://a:1",
        "muster logout",
        "muster user add ann --role CLIENT --role WORKER_OWNER --password-stdin",
        "muster user passwd ann --password-stdin",
        "muster user disable ann",
        "muster user enable ann",
        "muster user list --json",
        "muster key add build --scope CLIENT",
        "muster key list --json",
        "muster key revoke 1",
        "muster audit --json",
        "muster audit --action cancel_run --actor ann --about r1 --limit 10",
        "muster job retry 1 2 3 --reason new-workers --json",
        "muster artifact list --run r1 --json",
        "muster artifact list --device d1",
        "muster artifact get videos/_/PC-01/d1/r1/1.png -o shot.png",
        "muster artifact link videos/_/PC-01/d1/r1/1.png --json",
        "muster manifest merge meta --total-frames 100 --json",
        "muster manifest verify meta --json",
        "muster checkpoint export backup.json",
        "muster canonical --lines",
        "muster receipt verify receipt.json --key -K_y",
        "muster completions bash",
        "muster man --output d",
        "muster doctor --server http://a:1 --data d --config f --deep --json",
        "muster config --json",
        "muster agent --server http://a:1 --node PC-01 --devices simulated:100 --slots 20 --spool d --workflows w",
        "muster agent --server http://a:1,http://b:1 --server https://c --node PC-01 --devices adb --on-stop hand-back --status 127.0.0.1:0 --log-format json",
        "muster agent --node PC-01 --devices vendor:ws://127.0.0.1:22222 --secret-file f",
        "muster agent --node PC-01 --devices command:devices.toml",
        "muster agent aside --spool d --json",
        "muster sim-worker --server http://a:1 --id W1 --fps 60 --exec render --fast -- -x",
        "muster sim-worker --id W1 --listen 127.0.0.1:0 --slots 2 --cameras 4 --gpu RTX --role sim --output-root /out",
        "muster pool-worker --server http://a:1 --user u --name n --key f --slots 4 --exec work --fast -- -x",
        "muster pool-worker --name n --key f --region eu --spec gpu=true --spec ram=64 --spool d --rotate-key",
        "muster pool-worker --name n --key f --password-file p --grace 5 --timeout 60 --heartbeat 0.5",
        "muster pool-worker aside --spool d --json",
        "muster gateway --coordinator http://a:1 https://b --listen 127.0.0.1:0 --rate-per-key 5 --rate-per-address 9 --burst 7",
        "muster checkpoint export f --server http://a:1 --json",
        "muster checkpoint restore f --data d --config c --json",
        "muster guard --lock f -- true",
        "muster demo --duration 30 --exit-when-done --listen 127.0.0.1:0 --json",
    ];
}
