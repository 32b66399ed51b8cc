//! `muster court`: events, tasks, results and messages as files (contract C).

mod roles;

use crate::{
    failure::{Exit, Failure},
    output,
};
use clap::{Args, Subcommand, ValueEnum};
use muster_court::{
    Clock, Document, FILE_BYTES_MAX, Folder, Id, Kind as FileKind, config,
    doctor::{self, Findings, Timeline},
    emit::{Emitted, emit, send},
    file::{MessageKind, NewMessage, Urgency},
    inbox::{self, Question},
    init::init,
    prune::{self, Pruned, Removal, RemovalFailure},
    schema,
};
use roles::{Part, play_alone, play_every_role};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    io::{self, Read},
    path::{Path, PathBuf},
};

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
    Init,
    /// Run every role in one process
    Run(roles::Options),
    /// Run the king alone: makes events tasks, and ends of tasks messages
    King(roles::Options),
    /// Run one general alone: has the tasks of its domain done
    General(roles::General),
    /// Run the sentinel alone: brings in events from GitHub, Jira and programs
    Sentinel(roles::Options),
    /// Run the envoy alone: posts messages and brings in replies
    Envoy(roles::Options),
    /// Run the chamberlain alone: watches how busy the host is
    Chamberlain(roles::Options),
    /// Hand in one event, as JSON on standard input; prints its id
    Emit,
    /// Have the envoy tell people something; prints the message's id
    Send(Send),
    /// List the questions that wait for an answer
    Inbox(Inbox),
    /// Answer a question; its work then goes on
    Reply(Reply),
    /// Tell all that happened to one task, or find what is stuck
    Doctor(Doctor),
    /// Say what one task waits for, in one sentence
    Explain(Explain),
    /// Remove what is over and old, as retention in court.toml says
    Prune(Prune),
    /// Print the JSON Schema that files are held against
    Schema(Schema),
}

impl Court {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let home = &self.home;
        match self.command {
            Command::Init => make(home),
            Command::Run(options) => play_every_role(home, &options),
            Command::King(options) => play_alone(home, &options, Part::King),
            Command::General(general) => general.run(home),
            Command::Sentinel(options) => play_alone(home, &options, Part::Sentinel),
            Command::Envoy(options) => play_alone(home, &options, Part::Envoy),
            Command::Chamberlain(options) => play_alone(home, &options, Part::Chamberlain),
            Command::Emit => hand_in(home),
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
    super::explain::print(&document(&why), [&why.sentence, &why.rule], json);
    Ok(Exit::Fine)
}

/// Opens a court that exists; a wrong `--home` must not make a new one on the side.
fn open(home: &Path) -> Result<(Folder, config::Court), Failure> {
    let court = config::Court::read(home)?;
    Ok((Folder::open(home)?, court))
}

/// The channel in which people hear of tasks: `$SLACK_DEFAULT_CHANNEL`, else what court.toml says (C14).
fn default_channel(court: &config::Court) -> Result<String, Failure> {
    let variable = std::env::var("SLACK_DEFAULT_CHANNEL").ok().filter(|channel| !channel.is_empty());
    if let Some(channel) = &variable {
        let wrong = |reason| Failure::Usage(format!("SLACK_DEFAULT_CHANNEL {reason}"));
        config::check_channel(channel).map_err(wrong)?;
    }
    let configured = || court.settings.king.default_channel.clone();
    Ok(variable.or_else(configured).unwrap_or_else(|| "general".to_owned()))
}

#[derive(Debug, Args)]
pub(crate) struct Inbox {
    /// Print one JSON document and nothing else
    #[arg(long)]
    json: bool,
}

impl Inbox {
    fn run(self, home: &Path) -> Result<Exit, Failure> {
        let (folder, _) = open(home)?;
        let questions: Vec<Value> = inbox::open_questions(&folder)?.iter().map(row).collect();
        if questions.is_empty() && !self.json {
            eprintln!("nobody waits for an answer");
            return Ok(Exit::Fine);
        }
        let columns = ["task_id", "general", "asked_at", "question"];
        output::listing(&json!({ "questions": questions }), "questions", &columns, self.json);
        Ok(Exit::Fine)
    }
}

#[derive(Debug, Args)]
pub(crate) struct Reply {
    /// The task that asks, as `muster court inbox` shows it
    task: String,
    /// The answer
    #[arg(required = true, num_args = 1..)]
    text: Vec<String>,
}

impl Reply {
    fn run(self, home: &Path) -> Result<Exit, Failure> {
        let (folder, _) = open(home)?;
        if self.task.trim().is_empty() {
            return Err(Failure::Usage(
                "no task is named; `muster court inbox` lists those that ask".to_owned(),
            ));
        }
        let task = Id::parse(&self.task).map_err(|error| Failure::Usage(error.to_string()))?;
        let emitted = inbox::reply(&folder, &task, &self.text.join(" "), Clock.now())?;
        if let Emitted::Duplicate(id) = &emitted {
            return Err(Failure::Refused(format!("{id} was given before; give the answer once more")));
        }
        output::line(emitted.id().as_str());
        Ok(Exit::Fine)
    }
}

fn row(question: &Question) -> Value {
    json!({
        "task_id": question.task_id.as_str(),
        "general": question.general,
        "asked_at": question.asked_at.to_string(),
        "question": question.question,
        "channel": question.channel,
        "thread_ts": question.thread_ts,
    })
}

/// Hands in the event on standard input.
fn hand_in(home: &Path) -> Result<Exit, Failure> {
    let (folder, _) = open(home)?;
    let bytes = standard_input()?;
    if bytes.trim_ascii().is_empty() {
        return Err(Failure::Refused(
            "nothing came on standard input; an event is a JSON object with type, source and payload"
                .to_owned(),
        ));
    }
    let event = Document::parse(&bytes)
        .map_err(|error| Failure::Refused(format!("the event was refused: {error}")))?;
    let emitted = emit(&folder, event, Clock.now())
        .map_err(|fault| Failure::refused("the event was refused", fault))?;
    if let Emitted::Duplicate(id) = &emitted {
        eprintln!("{id} was handed in before; this one is dropped");
    }
    output::line(emitted.id().as_str());
    Ok(Exit::Fine)
}

#[derive(Debug, Args)]
pub(crate) struct Send {
    /// What it is about
    #[arg(long = "type", value_enum, default_value_t = Kind::Report)]
    kind: Kind,
    /// Where it goes [default: the court's default channel]
    #[arg(long, value_name = "CHANNEL")]
    channel: Option<String>,
    /// How soon somebody should look
    #[arg(long, value_enum, default_value_t = MessageUrgency::Normal)]
    urgency: MessageUrgency,
    /// The task it belongs to: goes to that task's thread
    #[arg(long, value_name = "TASK")]
    task: Option<String>,
    /// What people read; - reads it from standard input
    #[arg(value_name = "TEXT")]
    content: String,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
#[value(rename_all = "snake_case")]
enum Kind {
    ThreadStart,
    ThreadUpdate,
    HumanInputRequest,
    Notification,
    Report,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum MessageUrgency {
    Normal,
    High,
    Urgent,
}

impl Send {
    fn run(self, home: &Path) -> Result<Exit, Failure> {
        let (folder, court) = open(home)?;
        let channel = self.channel.clone().map_or_else(|| default_channel(&court), Ok)?;
        let message = NewMessage {
            kind: self.kind.into(),
            channel,
            urgency: self.urgency.into(),
            context: context(self.task.as_deref())?,
            content: self.content()?,
        };
        let id = send(&folder, &message, Clock.now())
            .map_err(|fault| Failure::refused("the message was refused", fault))?;
        output::line(id.as_str());
        Ok(Exit::Fine)
    }

    fn content(self) -> Result<String, Failure> {
        let content = match self.content.as_str() {
            "-" => String::from_utf8(standard_input()?)
                .map_err(|_| Failure::Usage("the text is not UTF-8".to_owned()))?,
            _ => self.content,
        };
        if content.trim().is_empty() {
            return Err(Failure::Usage("the text is empty; say what people are to read".to_owned()));
        }
        Ok(content)
    }
}

fn context(task: Option<&str>) -> Result<Document, Failure> {
    let mut context = Document::new();
    if let Some(task) = task {
        let id = Id::parse(task).map_err(|error| Failure::Usage(format!("--task: {error}")))?;
        context.set("task_id", id.as_str());
    }
    Ok(context)
}

/// A little more than is taken, so that too much is seen to be.
fn standard_input() -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    io::stdin().lock().take(2 * FILE_BYTES_MAX as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

impl From<Kind> for MessageKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::ThreadStart => Self::ThreadStart,
            Kind::ThreadUpdate => Self::ThreadUpdate,
            Kind::HumanInputRequest => Self::HumanInputRequest,
            Kind::Notification => Self::Notification,
            Kind::Report => Self::Report,
        }
    }
}

impl From<MessageUrgency> for Urgency {
    fn from(haste: MessageUrgency) -> Self {
        match haste {
            MessageUrgency::Normal => Self::Normal,
            MessageUrgency::High => Self::High,
            MessageUrgency::Urgent => Self::Urgent,
        }
    }
}

/// Makes a court.
fn make(home: &Path) -> Result<Exit, Failure> {
    for path in init(home)? {
        output::line(&path.display().to_string());
    }
    let home = home.display();
    eprintln!("a court that runs as it is: muster court run --home {home}");
    eprintln!(
        "and an event for it: echo '{{\"type\": \"greet.hello\", \"source\": \"me\", \"payload\": {{\"name\": \"Ada\"}}}}' | muster court emit --home {home}"
    );
    Ok(Exit::Fine)
}

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// A task, or an event: tell all that happened to it
    id: Option<String>,
    /// Print one JSON document and nothing else
    #[arg(long)]
    json: bool,
}

impl Doctor {
    fn run(self, home: &Path) -> Result<Exit, Failure> {
        let (folder, court) = open(home)?;
        match &self.id {
            Some(id) => self.tell(&folder, id),
            None => self.look(&folder, &court),
        }
    }

    fn tell(&self, folder: &Folder, id: &str) -> Result<Exit, Failure> {
        let unknown = || Failure::NotFound(format!("no file of this court knows {id:?}"));
        let timeline = Id::parse(id).ok().and_then(|id| doctor::timeline(folder, &id)).ok_or_else(unknown)?;
        if self.json {
            output::document(&document(&timeline))
        } else {
            print_timeline(&timeline)
        }
        Ok(Exit::Fine)
    }

    fn look(&self, folder: &Folder, court: &config::Court) -> Result<Exit, Failure> {
        let findings = doctor::stuck(folder, court, Clock.now())?;
        if self.json {
            output::document(&document(&findings))
        } else {
            print_findings(&findings)
        }
        Ok(if findings.stuck.is_empty() { Exit::Fine } else { Exit::Failed })
    }
}

#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// A task, or the event it comes from
    id: String,
    /// Print one JSON document and nothing else
    #[arg(long)]
    json: bool,
}

impl Explain {
    fn run(self, home: &Path) -> Result<Exit, Failure> {
        explain(home, &self.id, self.json)
    }
}

#[derive(Debug, Args)]
pub(crate) struct Prune {
    /// Only say what would go
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON document and nothing else
    #[arg(long)]
    json: bool,
}

impl Prune {
    fn run(self, home: &Path) -> Result<Exit, Failure> {
        let (folder, court) = open(home)?;
        let plan = prune::plan(&folder, &court.settings.retention, Clock.now())?;
        let Pruned { removed, failed } =
            if self.dry_run { Pruned { removed: plan, failed: Vec::new() } } else { prune::execute(plan) };
        let rows = by_place(&removed);
        if self.json {
            output::document(
                &json!({ "dry_run": self.dry_run, "removed": rows, "files": removed, "failed": failed }),
            );
        } else {
            output::table(&rows, &["place", "files", "bytes"]);
            let (word, files) = (if self.dry_run { "would go" } else { "are gone" }, removed.len());
            eprintln!("{files} files {word}");
        }
        for RemovalFailure { path, error } in &failed {
            eprintln!("{} cannot be removed: {error}", path.display());
        }
        Ok(if failed.is_empty() { Exit::Fine } else { Exit::Failed })
    }
}

#[derive(Debug, Args)]
pub(crate) struct Schema {
    /// Of what
    #[arg(value_enum)]
    kind: FileKindName,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum FileKindName {
    Event,
    Task,
    Message,
    Result,
}

impl Schema {
    fn run(self) -> Result<Exit, Failure> {
        let kind = match self.kind {
            FileKindName::Event => FileKind::Event,
            FileKindName::Task => FileKind::Task,
            FileKindName::Message => FileKind::Message,
            FileKindName::Result => FileKind::Result,
        };
        output::line(schema::text(kind).trim_end());
        Ok(Exit::Fine)
    }
}

fn print_timeline(timeline: &Timeline) {
    let word = |word: &Option<String>| word.clone().unwrap_or_else(|| "-".to_owned());
    output::line(&format!(
        "{} of {} for {}: {}",
        word(&timeline.task_id),
        word(&timeline.event_id),
        word(&timeline.general),
        word(&timeline.status)
    ));
    let rows = document(&timeline.entries);
    output::table(rows.as_array().map_or(&[], Vec::as_slice), &["at", "what", "file"]);
}

fn print_findings(findings: &Findings) {
    let rows = document(&findings.stuck);
    match rows.as_array().filter(|rows| !rows.is_empty()) {
        Some(rows) => output::table(rows, &["what", "id", "place", "since", "why", "next"]),
        None => output::line("nothing is stuck"),
    }
    for note in &findings.notes {
        eprintln!("{note}");
    }
}

/// Number and size of the files of each place.
fn by_place(plan: &[Removal]) -> Vec<Value> {
    let mut places: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for removal in plan {
        let (files, bytes) = places.entry(removal.place).or_default();
        (*files, *bytes) = (*files + 1, *bytes + removal.bytes);
    }
    let row = |(place, (files, bytes))| json!({ "place": place, "files": files, "bytes": bytes });
    places.into_iter().map(row).collect()
}

fn document(value: &impl serde::Serialize) -> Value {
    serde_json::to_value(value).expect("these have only text keys")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::tests::parse_flags;
    use muster_court::{Folder, Place};

    fn send(arguments: &[&str]) -> Result<Exit, Exit> {
        let home = tempfile::tempdir().unwrap();
        let folder = Folder::open(home.path()).unwrap();
        let send: Send = parse_flags(["send"].iter().chain(arguments)).unwrap();
        let sent = send.run(home.path()).map_err(|failure| failure.exit());
        assert_eq!(folder.ids(Place::MessagesPending).unwrap().len(), usize::from(sent.is_ok()));
        sent
    }

    /// C16b: any message can be written, but for one that says nothing.
    #[test]
    fn what_says_nothing_is_not_sent() {
        assert_eq!(send(&["it is done"]), Ok(Exit::Fine));
        assert_eq!(
            send(&["--type", "human_input_request", "--task", "task-20260207-001", "x"]),
            Ok(Exit::Fine)
        );
        assert_eq!(send(&[" "]), Err(Exit::Usage));
    }
}
