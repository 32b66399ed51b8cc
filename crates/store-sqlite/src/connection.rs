//! Opening the file: who may, how, and with which settings.

use crate::{migrate, sql::Fault};
use muster_store::StoreError;
use rusqlite::{Connection, OpenFlags};
use std::{
    fs::{DirBuilder, File, OpenOptions, TryLockError},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    time::Duration,
};

/// A data directory that this process alone may write.
pub(crate) struct Home {
    database: PathBuf,
    /// Locked as long as it is open.
    _lock: File,
}

impl Home {
    /// Makes the directory where it is missing and takes it.
    pub(crate) fn take(directory: &Path) -> Result<Self, Fault> {
        if rusqlite::version_number() < SQLITE_VERSION_MIN {
            return Err(Fault::OldSqlite { found: rusqlite::version() });
        }
        make_directory(directory)?;
        let lock = lock(directory)?;
        check_moved(directory)?;
        let database = directory.join("muster.db");
        // SQLite would make it readable to all; the WAL beside it takes over its mode.
        private_file(&database)?;
        Ok(Self { database, _lock: lock })
    }

    /// The connection that writes, to a file that is ours or empty.
    pub(crate) fn writer(&self) -> Result<Connection, Fault> {
        let connection = Connection::open_with_flags(
            &self.database,
            OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
        )?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        // Even the mode of its journal is an alteration: first see whose it is.
        migrate::check(&connection)?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
        // The cache is small on purpose: a commit that balanced a tree walks all of it (SQLite renumbers pages to beyond the
        // end of the file meanwhile), and what it lacks is in the system's page cache.
        connection.execute_batch(
            "PRAGMA journal_mode = WAL;
             PRAGMA synchronous = FULL;
             PRAGMA locking_mode = NORMAL;
             PRAGMA foreign_keys = OFF;
             PRAGMA temp_store = MEMORY;
             PRAGMA cache_size = -8192;
             PRAGMA wal_autocheckpoint = 4000;
             PRAGMA journal_size_limit = 67108864;",
        )?;
        Ok(connection)
    }

    /// A connection that can only read.
    pub(crate) fn reader(&self) -> Result<Connection, Fault> {
        open_reader(&self.database)
    }

    /// Notes that the data are elsewhere from now on: nobody takes this directory any more.
    pub(crate) fn mark_moved(&self, to: &str) -> Result<(), Fault> {
        let directory = self.database.parent().unwrap_or(Path::new("."));
        let mark = directory.join(MOVED);
        let mut file = private_file(&mark)?;
        let written = file.write_all(to.as_bytes()).and_then(|()| file.sync_all());
        let written = written.and_then(|()| File::open(directory)?.sync_all());
        written.map_err(Fault::io("cannot write", &mark))
    }
}

/// A connection that can only read, also while a server writes.
pub(crate) fn open_reader(database: &Path) -> Result<Connection, Fault> {
    let connection = Connection::open_with_flags(
        database,
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    Ok(connection)
}

/// Refuses a directory whose data are elsewhere by now.
pub(crate) fn check_moved(directory: &Path) -> Result<(), Fault> {
    let mark = directory.join(MOVED);
    match std::fs::read_to_string(&mark) {
        Ok(to) => Err(Fault::Moved { to, mark }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(Fault::io("cannot read", &mark)(error)),
    }
}

fn make_directory(directory: &Path) -> Result<(), Fault> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
        .map_err(Fault::io("cannot create", directory))
}

/// Says whether a server, or whoever fills a store, has this data directory right now. Nothing is made or altered.
#[must_use]
pub fn is_in_use(directory: &Path) -> bool {
    let Ok(file) = File::open(directory.join(LOCK)) else { return false };
    // Shared, so that two who only ask do not see each other as the holder.
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
}

fn lock(directory: &Path) -> Result<File, Fault> {
    let path = directory.join(LOCK);
    let file = private_file(&path)?;
    let mut locked = file.try_lock();
    for _ in 0..TRIES {
        if !matches!(locked, Err(TryLockError::WouldBlock)) {
            break;
        }
        // A process that only checks the lock holds it for a moment as well.
        std::thread::sleep(BETWEEN_TRIES);
        locked = file.try_lock();
    }
    match locked {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StoreError::InUse(directory.display().to_string()).into()),
        Err(TryLockError::Error(source)) => Err(Fault::io("cannot lock", &path)(source)),
    }
}

fn private_file(path: &Path) -> Result<File, Fault> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
        .map_err(Fault::io("cannot open", path))
}

const LOCK: &str = "muster.lock";
const TRIES: u32 = 5;
const BETWEEN_TRIES: Duration = Duration::from_millis(20);

/// Says where the data went.
const MOVED: &str = "moved-to";

/// Earlier ones can lose data when a WAL is reset.
const SQLITE_VERSION_MIN: i32 = 3_051_003;

/// Timeout for a locked file, because a user of the sqlite3 shell may hold it for a moment.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// More than there are different statements: none is prepared twice.
const STATEMENTS_MAX: usize = 192;
