//! `muster court inbox` and `reply`: questions of tasks, and the answers they go on with (C14).

use super::open;
use crate::{
    failure::{Exit, Failure},
    output,
};
use clap::Args;
use muster_court::{
    Clock, Id,
    emit::Emitted,
    inbox::{self, Question},
};
use serde_json::{Value, json};
use std::path::Path;

#[derive(Debug, Args)]
pub(crate) struct Inbox {
    /// Print one JSON document and nothing else
    #[arg(long)]
    json: bool,
}

impl Inbox {
    pub(super) fn run(self, home: &Path) -> Result<Exit, Failure> {
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
    pub(super) fn run(self, home: &Path) -> Result<Exit, Failure> {
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
