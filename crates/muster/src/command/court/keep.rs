//! `muster court init`, `doctor`, `prune` and `schema`: keeping a court (C0, C12, C21).

use super::open;
use crate::{
    failure::{Exit, Failure},
    output,
};
use clap::{Args, ValueEnum};
use muster_court::{
    Clock, Folder, Id, Kind, config,
    doctor::{self, Findings, Timeline},
    init::init,
    prune::{self, Pruned, Removal, RemovalFailure},
    schema,
};
use serde_json::{Value, json};
use std::{collections::BTreeMap, path::Path};

#[derive(Debug, Args)]
pub(crate) struct Init {}

impl Init {
    pub(super) fn run(self, home: &Path) -> Result<Exit, Failure> {
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
    pub(super) fn run(self, home: &Path) -> Result<Exit, Failure> {
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
            output::document(&document(&timeline));
        } else {
            print_timeline(&timeline);
        }
        Ok(Exit::Fine)
    }

    fn look(&self, folder: &Folder, court: &config::Court) -> Result<Exit, Failure> {
        let findings = doctor::stuck(folder, court, Clock.now())?;
        if self.json {
            output::document(&document(&findings));
        } else {
            print_findings(&findings);
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
    pub(super) fn run(self, home: &Path) -> Result<Exit, Failure> {
        super::explain(home, &self.id, self.json)
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
    pub(super) fn run(self, home: &Path) -> Result<Exit, Failure> {
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
    kind: Which,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Which {
    Event,
    Task,
    Message,
    Result,
}

impl Schema {
    pub(super) fn run(self) -> Result<Exit, Failure> {
        let kind = match self.kind {
            Which::Event => Kind::Event,
            Which::Task => Kind::Task,
            Which::Message => Kind::Message,
            Which::Result => Kind::Result,
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

/// How many files of each place, and how much room they take.
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
