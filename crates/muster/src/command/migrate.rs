//! `muster migrate`: moves an embedded installation to PostgreSQL, with a short pause.

use crate::{
    command::store_side::{CopyProgress, Side, StoreLocation},
    config::StoreChoice,
    failure::{Exit, Failure},
    output,
};
use clap::Args;
use muster_archive::{Aligned, Tally, align, is_empty, tally};
use muster_store::StoreError;
use muster_store_postgres::{PostgresStore, Stage};
use muster_store_sqlite::SqliteStore;
use muster_tables::{Sql, TABLES};
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
    /// The database to move to, which no server has served from yet: postgres://USER@HOST/DATABASE
    #[arg(long, value_name = "URL")]
    to: Option<String>,
    /// A file of settings; give the one that the server is started with
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl Migrate {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let to = self.to.clone().filter(|to| matches!(StoreChoice::read(to), Some(StoreChoice::Postgres(_))));
        let to =
            to.ok_or_else(|| Failure::Usage(format!("{TO} must name the database to move to: {FORM}")))?;
        let from = StoreLocation {
            data: self.data.clone(),
            store: Some("sqlite".to_owned()),
            config: self.config.clone(),
        };
        // First see that there is something to move.
        let source = Side::open_to_read(&from)?;
        source.read(|_| Ok(()))?;
        let target = Side::open_to_fill(&StoreLocation { store: Some(to), ..from })?;
        let (Side::Embedded(data), Side::Shared(database)) = (&source, &target) else {
            return Err(Failure::Usage(format!("{TO} must name the database to move to: {FORM}")));
        };
        check_unused(database, &source)?;
        let first = bring_over(&source, &target)?;
        let home = wait_until_stopped(data)?;
        let moved = bring_over_the_rest(first, &source, &target)?;
        home.mark_moved(&database.place())?;
        self.say(&moved);
        Ok(Exit::Fine)
    }

    fn say(&self, moved: &Moved) {
        let Moved { first, last, tallies, secrets } = moved;
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

/// An installation that was copied and compared.
struct Moved {
    /// Rows copied while the server ran.
    first: Aligned,
    /// Rows copied after it stopped.
    last: Aligned,
    tallies: Vec<Tally>,
    secrets: usize,
}

/// Refuses a database that servers have served from, or that another installation was copied to.
fn check_unused(database: &PostgresStore, source: &Side) -> Result<(), Failure> {
    if !database.is_unused()? {
        return Err(Failure::Refused("a server has served from that database; name an empty one".to_owned()));
    }
    let (theirs, ours) = (database.secrets()?, source.secrets()?);
    let pairs = theirs.iter().flat_map(|(name, value)| {
        ours.iter().filter(move |(own, _)| own == name).map(move |(_, kept)| kept == value)
    });
    // Secrets come with the first rows: by them an earlier attempt is known.
    let is_ours = pairs.reduce(|one, other| one && other).unwrap_or(false);
    if !is_ours && !database.read_tables(|sql| is_empty(sql).map_err(Failure::from))? {
        return Err(Failure::Refused(
            "that database holds what came from another installation; name an empty one, or empty it with \
             DROP SCHEMA muster CASCADE"
                .to_owned(),
        ));
    }
    Ok(())
}

fn bring_over(source: &Side, target: &Side) -> Result<Aligned, Failure> {
    let (told, secrets) = (CopyProgress::new("copying"), target.fitting(&source.secrets()?)?);
    let aligned = source.read(|sql| {
        target.fill(Stage::First, &secrets, |whole| {
            Ok(align(sql, whole, &mut |table, rows| told.say(table, rows))?)
        })
    });
    told.finish();
    aligned
}

/// Brings over what changed since, and compares both sides: only what is the same is left to be served from.
fn bring_over_the_rest(first: Aligned, source: &Side, target: &Side) -> Result<Moved, Failure> {
    let (told, secrets) = (CopyProgress::new("copying what changed"), target.fitting(&source.secrets()?)?);
    let brought = source.read(|sql| {
        target.fill(Stage::Last, &secrets, |whole| {
            let aligned = align(sql, whole, &mut |table, rows| told.say(table, rows))?;
            Ok((aligned, compare(sql, whole.sql(), &told)?))
        })
    });
    told.finish();
    brought.map(|(last, tallies)| Moved { first, last, tallies, secrets: secrets.len() })
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
fn compare(source: &dyn Sql, target: &dyn Sql, told: &CopyProgress) -> Result<Vec<Tally>, Failure> {
    let same = TABLES.iter().map(|shape| {
        told.say(shape.name, 0);
        let (wanted, found) = (tally(source, shape)?, tally(target, shape)?);
        if wanted == found { Ok(found) } else { Err(unlike(shape.name)) }
    });
    same.collect()
}

fn unlike(table: &str) -> Failure {
    Failure::Refused(format!(
        "table {table} is not the same on both sides: nothing was marked as moved; did somebody write to the database?"
    ))
}

const TO: &str = "--to";

const FORM: &str = "postgres://USER@HOST/DATABASE";

const LOOK_EVERY: Duration = Duration::from_millis(100);
