//! `muster migrate`: moves an embedded installation to PostgreSQL, with a short pause.

use crate::{
    command::store_side::{Place, Side, Told},
    failure::{Exit, Failure},
    output,
};
use clap::Args;
use muster_archive::{Aligned, Tally, align, tally};
use muster_store::StoreError;
use muster_store_sqlite::SqliteStore;
use muster_tables::TABLES;
use serde_json::json;
use std::{
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

#[derive(Debug, Args)]
pub(crate) struct Migrate {
    /// The data directory of the embedded installation [default: ./muster-data]
    #[arg(long, value_name = "DIR")]
    data: Option<String>,
    /// The database to move to, which no server has served from yet: postgres://…
    #[arg(long, value_name = "URL")]
    to: String,
    /// A file of settings; give the one that the server is started with
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl Migrate {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let from =
            Place { data: self.data.clone(), store: Some("sqlite".to_owned()), config: self.config.clone() };
        let to = Place { store: Some(self.to.clone()), ..from.clone() };
        let (source, target) = (Side::open(&from)?, Side::open(&to)?);
        let (Side::Embedded(data), Side::Shared(database)) = (&source, &target) else {
            return Err(Failure::Usage("--to must be a database: postgres://…".to_owned()));
        };
        if !database.is_unused()? {
            return Err(Failure::Refused(
                "a server has served from that database; name an empty one".to_owned(),
            ));
        }
        let first = bring_over(&source, &target, "copying")?;
        let home = wait_until_stopped(data)?;
        let last = bring_over(&source, &target, "copying what changed")?;
        let tallies = compare(&source, &target)?;
        let secrets = target.keep_secrets(&source.secrets()?)?;
        home.mark_moved(&database.place())?;
        self.say((first, last), &tallies, secrets);
        Ok(Exit::Fine)
    }

    fn say(&self, (first, last): (Aligned, Aligned), tallies: &[Tally], secrets: usize) {
        let document = json!({
            "tables": tallies.len(),
            "rows": tallies.iter().map(|tally| tally.rows).sum::<u64>(),
            "copied_while_serving": first.written,
            "copied_in_the_pause": last.written + last.deleted,
            "secrets": secrets,
            "verified": true,
        });
        if self.json {
            output::document(&document);
        } else {
            output::members(&document);
            output::line("now start the server with --store, the database's address, and the same --data");
        }
    }
}

fn bring_over(source: &Side, target: &Side, what: &'static str) -> Result<Aligned, Failure> {
    let told = Told::new(what);
    let aligned = source.read(|sql| {
        target
            .fill(|whole| align(sql, whole, &mut |table, rows| told.say(table, rows)).map_err(Failure::from))
    });
    told.finish();
    aligned
}

/// Waits for the directory to be free, and takes it: from here on nothing changes there.
fn wait_until_stopped(data: &Path) -> Result<SqliteStore, Failure> {
    let mut is_told = false;
    loop {
        match SqliteStore::open(data) {
            Err(StoreError::InUse(_)) if is_told => {}
            Err(StoreError::InUse(_)) => {
                eprintln!("stop the server now; the rest follows by itself");
                is_told = true;
            }
            other => return Ok(other?),
        }
        thread::sleep(LOOK_EVERY);
    }
}

/// Counts and hashes every table on both sides.
fn compare(source: &Side, target: &Side) -> Result<Vec<Tally>, Failure> {
    let told = Told::new("comparing");
    let tallies = |side: &Side| {
        side.read(|sql| {
            let each = TABLES.iter().map(|shape| {
                told.say(shape.name, 0);
                tally(sql, shape).map_err(Failure::from)
            });
            each.collect::<Result<Vec<_>, _>>()
        })
    };
    let (wanted, found) = (tallies(source)?, tallies(target)?);
    told.finish();
    match wanted.iter().zip(&found).find(|(wanted, found)| wanted != found) {
        None => Ok(found),
        Some((wanted, _)) => Err(Failure::Refused(format!(
            "table {} is not the same on both sides: nothing was marked as moved; did somebody write to the database?",
            wanted.table
        ))),
    }
}

const LOOK_EVERY: Duration = Duration::from_millis(100);
