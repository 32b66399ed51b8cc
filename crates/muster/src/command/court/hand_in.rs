//! `muster court emit` and `send`: events and messages of anybody on this host (C16b, C18).

use super::{default_channel, open};
use crate::{
    failure::{Exit, Failure},
    output,
};
use clap::{Args, ValueEnum};
use muster_court::{
    Clock, Document, FILE_BYTES_MAX, Id,
    emit::{Emitted, emit, send},
    file::{MessageKind, NewMessage, Urgency},
};
use std::{
    io::{self, Read},
    path::Path,
};

#[derive(Debug, Args)]
pub(crate) struct Emit {}

impl Emit {
    pub(super) fn run(self, home: &Path) -> Result<Exit, Failure> {
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
    #[arg(long, value_enum, default_value_t = Haste::Normal)]
    urgency: Haste,
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
enum Haste {
    Normal,
    High,
    Urgent,
}

impl Send {
    pub(super) fn run(self, home: &Path) -> Result<Exit, Failure> {
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
        context.set_text("task_id", id.as_str());
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

impl From<Haste> for Urgency {
    fn from(haste: Haste) -> Self {
        match haste {
            Haste::Normal => Self::Normal,
            Haste::High => Self::High,
            Haste::Urgent => Self::Urgent,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_court::{Folder, Place};

    fn send(arguments: &[&str]) -> Result<Exit, Exit> {
        #[derive(clap::Parser)]
        struct Line {
            #[command(flatten)]
            send: Send,
        }
        let home = tempfile::tempdir().unwrap();
        let folder = Folder::open(home.path()).unwrap();
        let line = <Line as clap::Parser>::try_parse_from(["send"].iter().chain(arguments)).unwrap();
        let sent = line.send.run(home.path()).map_err(|failure| failure.exit());
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
