//! `muster restore`: fills an empty store from a backup.

use crate::{
    command::store_side::{Place, Side, Told},
    failure::{Exit, Failure},
    output,
};
use clap::Args;
use muster_archive::{Archive, raise_epoch};
use muster_coordinator::{Clock, SystemClock};
use muster_store_postgres::Stage;
use muster_tables::TABLES_VERSION;
use serde_json::json;
use std::{
    fs::File,
    io::{self, BufRead, BufReader},
    path::{Path, PathBuf},
};

#[derive(Debug, Args)]
pub(crate) struct Restore {
    /// A backup; - for standard input
    file: PathBuf,
    #[command(flatten)]
    place: Place,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl Restore {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let mut file = open(&self.file)?;
        // Whatever is not a backup is found out before anything is made.
        let archive = Archive::open(&mut *file, TABLES_VERSION)?;
        let side = Side::open_to_fill(&self.place)?;
        let secrets = side.fitting(&archive.head().secrets)?;
        let told = Told::new("restoring");
        let restored = side.fill(Stage::Whole, &secrets, |target| {
            let tallies = archive.restore(target, &mut |table, rows| told.say(table, rows))?;
            let epoch = raise_epoch(target.sql(), SystemClock::start().now().0.div_euclid(1000))?;
            Ok((tallies, epoch))
        });
        told.finish();
        let (tallies, epoch) = restored?;
        let rows: u64 = tallies.iter().map(|tally| tally.rows).sum();
        let document = json!({
            "tables": tallies.len(), "rows": rows, "secrets": secrets.len(), "epoch": epoch, "verified": true,
        });
        if self.json {
            output::document(&document);
        } else {
            output::members(&document);
        }
        Ok(Exit::Fine)
    }
}

fn open(path: &Path) -> Result<Box<dyn BufRead>, Failure> {
    if path == Path::new("-") {
        return Ok(Box::new(BufReader::new(io::stdin())));
    }
    let file = File::open(path);
    let file = file.map_err(|error| Failure::Usage(format!("cannot read {}: {error}", path.display())))?;
    Ok(Box::new(BufReader::with_capacity(1 << 20, file)))
}
