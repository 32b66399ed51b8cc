//! `muster court`: events, tasks, results and messages as files (contract C).

mod hand_in;
mod keep;
mod people;
mod roles;

use crate::failure::{Exit, Failure};
use clap::{Args, Subcommand};
use muster_court::{Clock, Folder, Id, config, doctor};
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub(crate) struct Court {
    /// The court's directory
    #[arg(long, value_name = "DIR", default_value = "./court", global = true)]
    home: PathBuf,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make a court that runs as it is, with every setting explained
    Init(keep::Init),
    /// Run every role in one process
    Run(roles::Run),
    /// Run the king alone: makes events tasks, and ends of tasks messages
    King(roles::King),
    /// Run one general alone: has the tasks of its domain done
    General(roles::General),
    /// Run the sentinel alone: brings in events from GitHub, Jira and programs
    Sentinel(roles::Sentinel),
    /// Run the envoy alone: posts messages and brings in replies
    Envoy(roles::Envoy),
    /// Run the chamberlain alone: watches how busy the host is
    Chamberlain(roles::Chamberlain),
    /// Hand in one event, as JSON on standard input; prints its id
    Emit(hand_in::Emit),
    /// Have the envoy tell people something; prints the message's id
    Send(hand_in::Send),
    /// List the questions that wait for an answer
    Inbox(people::Inbox),
    /// Answer a question; its work then goes on
    Reply(people::Reply),
    /// Tell all that happened to one task, or find what is stuck
    Doctor(keep::Doctor),
    /// Say what one task waits for, in one sentence
    Explain(keep::Explain),
    /// Remove what is over and old, as retention in court.toml says
    Prune(keep::Prune),
    /// Print the JSON Schema that files are held against
    Schema(keep::Schema),
}

impl Court {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let home = &self.home;
        match self.command {
            Command::Init(init) => init.run(home),
            Command::Run(run) => run.run(home),
            Command::King(king) => king.run(home),
            Command::General(general) => general.run(home),
            Command::Sentinel(sentinel) => sentinel.run(home),
            Command::Envoy(envoy) => envoy.run(home),
            Command::Chamberlain(chamberlain) => chamberlain.run(home),
            Command::Emit(emit) => emit.run(home),
            Command::Send(send) => send.run(home),
            Command::Inbox(inbox) => inbox.run(home),
            Command::Reply(reply) => reply.run(home),
            Command::Doctor(doctor) => doctor.run(home),
            Command::Explain(explain) => explain.run(home),
            Command::Prune(prune) => prune.run(home),
            Command::Schema(schema) => schema.run(),
        }
    }
}

/// Says why a task of a court is not running, from its files (Q16).
pub(super) fn explain(home: &Path, id: &str, json: bool) -> Result<Exit, Failure> {
    let (folder, court) = open(home)?;
    let unknown = || Failure::NotFound(format!("no task or event of this court is called {id:?}"));
    let id = Id::parse(id).map_err(|_| unknown())?;
    let why = doctor::why(&folder, &court, &id, Clock.now())?.ok_or_else(unknown)?;
    super::explain::print(&serde_json::to_value(why).expect("an explanation is plain JSON"), json);
    Ok(Exit::Fine)
}

/// Opens a court that exists; a wrong `--home` must not make a new one on the side.
fn open(home: &Path) -> Result<(Folder, config::Court), Failure> {
    let court = config::Court::read(home)?;
    Ok((Folder::open(home)?, court))
}

/// Where people hear of tasks: `$SLACK_DEFAULT_CHANNEL`, else what court.toml says (C14).
fn default_channel(court: &config::Court) -> Result<String, Failure> {
    let variable = std::env::var("SLACK_DEFAULT_CHANNEL").ok().filter(|channel| !channel.is_empty());
    if let Some(channel) = &variable {
        let wrong = |reason| Failure::Usage(format!("SLACK_DEFAULT_CHANNEL {reason}"));
        config::check_channel(channel).map_err(wrong)?;
    }
    let configured = || court.settings.king.default_channel.clone();
    Ok(variable.or_else(configured).unwrap_or_else(|| "general".to_owned()))
}
