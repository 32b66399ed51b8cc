//! `muster backup` and `muster restore`: one state of all tables in a file, written while the server goes on.

use super::store_side::{CopyProgress, Side, StoreLocation};
use crate::{
    failure::{Exit, Failure},
    output,
};
use clap::Args;
use muster_archive::{Archive, Contents, Tally, raise_epoch};
use muster_coordinator::{Clock, SystemClock};
use muster_store_postgres::Stage;
use muster_tables::TABLES_VERSION;
use serde_json::{Value, json};
use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufRead, BufReader, BufWriter, IsTerminal, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

#[derive(Debug, Args)]
pub(crate) struct Backup {
    /// Where to put it; - for standard output (what is told of it then goes to standard error)
    file: PathBuf,
    #[command(flatten)]
    place: StoreLocation,
    /// Leave the server's secrets out
    #[arg(long)]
    without_secrets: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl Backup {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        self.check()?;
        let side = Side::open_to_read(&self.place)?;
        let secrets = if self.without_secrets { Vec::new() } else { side.secrets()? };
        let contents = Contents { schema: TABLES_VERSION, secrets };
        if self.file == Path::new("-") {
            let tallies = write(&side, &contents, &mut BufWriter::new(io::stdout().lock()))?;
            // Standard output is the backup, and nothing else.
            eprintln!("{}", summary(&tallies, &[]));
            return Ok(Exit::Fine);
        }
        let tallies = write_file(&side, &contents, &self.file)?;
        let bytes = fs::metadata(&self.file)?.len();
        let file = self.file.display().to_string();
        let document = summary(&tallies, &[("file", json!(file)), ("bytes", json!(bytes))]);
        if self.json {
            output::document(&document);
        } else {
            output::members(&document);
        }
        Ok(Exit::Fine)
    }

    /// Checks that need no reading.
    fn check(&self) -> Result<(), Failure> {
        if self.file != Path::new("-") && self.file.exists() {
            let file = self.file.display();
            return Err(Failure::Refused(format!("{file} is there already; name another file")));
        }
        if self.file == Path::new("-") && io::stdout().is_terminal() {
            return Err(Failure::Usage(
                "a backup, with its secrets, does not belong on a terminal: name a file".to_owned(),
            ));
        }
        Ok(())
    }
}

fn summary(tallies: &[Tally], more: &[(&str, Value)]) -> Value {
    let rows: u64 = tallies.iter().map(|tally| tally.rows).sum();
    let mut document = json!({ "tables": tallies.len(), "rows": rows });
    for (name, value) in more {
        document[*name] = value.clone();
    }
    document
}

/// Writes beside its name first: what has the name is whole.
fn write_file(side: &Side, contents: &Contents, path: &Path) -> Result<Vec<Tally>, Failure> {
    let mut part = path.as_os_str().to_owned();
    part.push(format!(".part-{}", std::process::id()));
    let part = PathBuf::from(part);
    let written = write_part(side, contents, &part).and_then(|tallies| {
        let named = fs::rename(&part, path).and_then(|()| sync_directory_of(path));
        named.map(|()| tallies).map_err(|error| unwritable(path, &error))
    });
    if written.is_err() {
        // Half a backup is of no use, and holds secrets.
        let _ = fs::remove_file(&part);
    }
    written
}

fn write_part(side: &Side, contents: &Contents, part: &Path) -> Result<Vec<Tally>, Failure> {
    // It holds secrets and hashes of passwords: nobody else's file, nor through a link of theirs.
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(part);
    let mut writer = BufWriter::with_capacity(1 << 20, file.map_err(|error| unwritable(part, &error))?);
    let tallies = write(side, contents, &mut writer)?;
    let file = writer.into_inner().map_err(|error| unwritable(part, &error.into_error()))?;
    file.sync_all().map_err(|error| unwritable(part, &error))?;
    Ok(tallies)
}

fn sync_directory_of(path: &Path) -> io::Result<()> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(directory)?.sync_all()
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    Failure::Usage(format!("cannot write {}: {error}", path.display()))
}

fn write(side: &Side, contents: &Contents, file: &mut dyn Write) -> Result<Vec<Tally>, Failure> {
    let told = CopyProgress::new("reading");
    let tallies = side.read(|sql| {
        muster_archive::write(sql, contents, file, &mut |table, rows| told.say(table, rows))
            .map_err(Failure::from)
    });
    told.finish();
    tallies
}

#[derive(Debug, Args)]
pub(crate) struct Restore {
    /// A backup; - for standard input
    file: PathBuf,
    #[command(flatten)]
    place: StoreLocation,
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
        let told = CopyProgress::new("restoring");
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
