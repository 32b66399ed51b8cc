//! Copies of a whole store: `muster backup` and `muster restore` (one state of all tables in a file, written while the server
//! goes on), and `muster migrate` (an embedded installation moves to PostgreSQL, with a short pause).

use crate::{
    assembly,
    config::{self, Config, Flags, StoreChoice},
    failure::{Exit, Failure},
    output, secrets,
};
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use muster_archive::{Aligned, Archive, Contents, Tally, align, is_empty, raise_epoch, tally};
use muster_coordinator::{Clock, SystemClock};
use muster_store::StoreError;
use muster_store_postgres::{PostgresOptions, PostgresStore, Stage};
use muster_store_sqlite::SqliteStore;
use muster_tables::{Sql, TABLES, TABLES_VERSION, Whole};
use serde_json::{Value, json};
use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufRead, BufReader, BufWriter, IsTerminal, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

/// Location of a store.
#[derive(Clone, Debug, Args)]
pub(crate) struct StoreLocation {
    /// The data directory of an embedded store, and of files [default: ./muster-data]
    #[arg(long, value_name = "DIR")]
    pub(super) data: Option<String>,
    /// The store: sqlite, or a database, postgres://… [default: sqlite]
    #[arg(long, value_name = "STORE")]
    pub(super) store: Option<String>,
    /// A file of settings; give the one that the server is started with
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
}

/// A store to copy from or to.
pub(super) enum Side {
    /// In a data directory; taken only while it is filled.
    Embedded(PathBuf),
    /// A database.
    Shared(Box<PostgresStore>),
}

impl StoreLocation {
    /// All settings, with what this says laid over them.
    pub(super) fn settings(&self) -> Result<Config, Failure> {
        let flags = [("server.data", &self.data), ("server.store", &self.store)];
        let flags: Flags = flags.into_iter().filter_map(|(key, value)| Some((key, value.clone()?))).collect();
        Ok(Config::parse(&config::gather(self.config.as_deref(), flags)?)?)
    }
}

impl Side {
    /// Finds a store that is only read: nothing is made there, or altered.
    pub(super) fn open_to_read(place: &StoreLocation) -> Result<Self, Failure> {
        Self::open(&place.settings()?, PostgresStore::open_to_read)
    }

    /// Finds a store that is filled; its tables are made where they are missing.
    pub(super) fn open_to_fill(place: &StoreLocation) -> Result<Self, Failure> {
        Self::open(&place.settings()?, PostgresStore::open_to_fill)
    }

    fn open(config: &Config, open: Opening) -> Result<Self, Failure> {
        match &config.store {
            StoreChoice::Sqlite => Ok(Self::Embedded(config.data.clone())),
            StoreChoice::Postgres(url) => {
                let store = open(url.reveal(), &assembly::postgres_options(config.lease))?;
                Ok(Self::Shared(Box::new(store)))
            }
            StoreChoice::Memory => Err(Failure::Usage(
                "the store is memory: there is nothing to copy, or to keep a copy in".to_owned(),
            )),
        }
    }

    /// Reads one state of all tables.
    pub(super) fn read<T>(&self, read: impl FnOnce(&dyn Sql) -> Result<T, Failure>) -> Result<T, Failure> {
        match self {
            Self::Embedded(data) => muster_store_sqlite::read_tables(data, read),
            Self::Shared(store) => store.read_tables(read),
        }
    }

    /// Fills the store in one transaction, while no server uses it; its secrets become those given.
    pub(super) fn fill<T>(
        &self,
        stage: Stage,
        secrets: &[(String, String)],
        fill: impl FnOnce(&mut dyn Whole) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        match self {
            Self::Shared(store) => store.fill(stage, secrets, fill),
            // Secrets without their tables do no harm; tables without their secrets do.
            Self::Embedded(data) => SqliteStore::open(data)?.fill(|whole| {
                let answer = fill(whole)?;
                secrets::replace(data, secrets)?;
                Ok(answer)
            }),
        }
    }

    /// The secrets that the server made for itself, by name.
    pub(super) fn secrets(&self) -> Result<Vec<(String, String)>, Failure> {
        match self {
            Self::Embedded(data) => Ok(secrets::kept_in(data)?),
            Self::Shared(store) => Ok(store.secrets()?),
        }
    }

    /// Those of some secrets that servers on such a store have a use for, checked.
    pub(super) fn fitting(&self, given: &[(String, String)]) -> Result<Vec<(String, String)>, Failure> {
        Ok(match self {
            Self::Embedded(_) => secrets::fitting_files(given)?,
            Self::Shared(_) => secrets::fitting_stores(given)?,
        })
    }
}

type Opening = fn(&str, &PostgresOptions) -> Result<PostgresStore, StoreError>;

/// Tells a person how far a copy is.
pub(super) struct CopyProgress(ProgressBar);

impl CopyProgress {
    pub(super) fn new(what: &'static str) -> Self {
        let bar = ProgressBar::new_spinner().with_prefix(what);
        bar.set_style(ProgressStyle::with_template("{prefix} {msg}").expect("the template is fine"));
        Self(bar)
    }

    pub(super) fn say(&self, table: &str, rows: u64) {
        self.0.set_message(format!("{table}: {rows} rows"));
        self.0.tick();
    }

    pub(super) fn finish(&self) {
        self.0.finish_and_clear();
    }
}

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
        output::object(&document, self.json);
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
        output::object(&document, self.json);
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
