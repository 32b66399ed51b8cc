//! Copies of embedded stores.

use crate::rows::{self, Failed, contents, fill};
use muster_archive::{Archive, RestoreError, Tally, WriteError, align, raise_epoch, write};
use muster_store::Store;
use muster_store_sqlite::{SCHEMA_VERSION, SqliteStore, read_tables};
use muster_tables::{TABLES, TABLES_VERSION};
use std::{
    io::{self, Write as _},
    path::Path,
};

fn backup(directory: &Path) -> Vec<u8> {
    read_tables(directory, rows::backup).expect("the backup is written")
}

fn tallies(directory: &Path) -> Vec<Tally> {
    read_tables(directory, rows::tallies).expect("the tables are read")
}

fn bring_back(mut file: &[u8], directory: &Path) -> Result<Vec<Tally>, Failed> {
    let archive = Archive::open(&mut file, TABLES_VERSION)?;
    assert_eq!(archive.head().secrets, contents().secrets);
    let store = SqliteStore::open(directory)?;
    store.fill(|whole| archive.restore(whole, &mut |_, _| ()).map_err(Failed::from))
}

/// The embedded store's schema is the tables and nothing more.
#[test]
fn the_versions_go_together() {
    assert_eq!(SCHEMA_VERSION, TABLES_VERSION);
}

/// A backup of what was restored from a backup is that backup, byte for byte, whatever texts hold.
#[test]
fn what_is_restored_is_what_was_there() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    // More than a page, so that pages meet.
    fill(&SqliteStore::open(one.path()).unwrap(), 1..2_301);
    let file = backup(one.path());
    let restored = bring_back(&file, other.path()).unwrap();
    assert_eq!(restored, tallies(one.path()));
    assert!(restored.iter().any(|tally| tally.rows == 2_300));
    assert!(file == backup(other.path()), "the backups are the same");
}

/// A file that is not whole, or not what was written, restores nothing at all.
#[test]
fn a_damaged_backup_restores_nothing() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fill(&SqliteStore::open(one.path()).unwrap(), 1..4);
    let file = backup(one.path());
    SqliteStore::open(other.path()).unwrap();
    let empty = tallies(other.path());
    let ends: Vec<usize> = (0..file.len()).filter(|at| file[*at] == b'\n').collect();
    let mut damaged: Vec<Vec<u8>> = ends.iter().step_by(7).map(|end| file[..*end].to_vec()).collect();
    damaged.push(file[..file.len() - 1].to_vec());
    for line in [2, 5, ends.len() / 2, ends.len() - 2] {
        // A line less, and a line with one digit changed.
        damaged.push([&file[..=ends[line - 1]], &file[ends[line] + 1..]].concat());
        let mut changed = file.clone();
        let digit = (ends[line - 1]..ends[line]).rev().find(|at| changed[*at].is_ascii_digit());
        if let Some(at) = digit {
            changed[at] = if changed[at] == b'7' { b'8' } else { b'7' };
            damaged.push(changed);
        }
    }
    assert!(damaged.len() > 20);
    for file in damaged {
        let error = bring_back(&file, other.path()).expect_err("it is damaged");
        assert!(matches!(error.downcast_ref(), Some(RestoreError::Senseless { .. })), "{error:?}");
        assert_eq!(tallies(other.path()), empty);
    }
}

/// A store that holds something is left alone; so is any by a backup of a newer version.
#[test]
fn what_cannot_be_restored_is_refused() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fill(&SqliteStore::open(one.path()).unwrap(), 1..2);
    let file = backup(one.path());
    let error = bring_back(&file, one.path()).unwrap_err();
    assert!(matches!(error.downcast_ref(), Some(RestoreError::NotEmpty)), "{error:?}");
    let newer = String::from_utf8(file).unwrap().replacen("\"schema\":", "\"schema\":9", 1);
    let error = bring_back(newer.as_bytes(), other.path()).unwrap_err();
    assert!(matches!(error.downcast_ref(), Some(RestoreError::TooNew { .. })), "{error:?}");
}

/// Aligned twice, a store is like the other one, and the second time only what changed meanwhile was written.
#[test]
fn only_differences_are_written() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (source, target) = (SqliteStore::open(one.path()).unwrap(), SqliteStore::open(other.path()).unwrap());
    let align_both = || {
        read_tables(one.path(), |sql| {
            target.fill(|whole| align(sql, whole, &mut |_, _| ()).map_err(Failed::from))
        })
        .unwrap()
    };
    fill(&source, 1..1_501);
    let tables = TABLES.len() as u64 - 2;
    assert_eq!(align_both().written, 1_500 * tables);
    assert_eq!(tallies(one.path()), tallies(other.path()));

    fill(&source, 1_501..1_511);
    source
        .fill(|whole| {
            whole.sql().execute("DELETE FROM pc_logs WHERE id <= 3 OR id = 1200", &[])?;
            whole.sql().execute("UPDATE alerts SET message = 'other'", &[])?;
            whole.sql().execute("UPDATE meta SET value = 7 WHERE key = 'epoch'", &[]).map_err(Failed::from)
        })
        .unwrap();
    let again = align_both();
    assert_eq!((again.written, again.deleted), (10 * tables + 1_500 + 1, 4));
    assert_eq!(tallies(one.path()), tallies(other.path()));
    assert_eq!(align_both().written, 0);
}

/// A directory whose data were moved is not taken again by mistake.
#[test]
fn moved_data_are_not_served() {
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(directory.path()).unwrap();
    store.mark_moved("postgres://db/muster").unwrap();
    drop(store);
    let error = SqliteStore::open(directory.path()).err().unwrap().to_string();
    assert!(error.contains("moved to postgres://db/muster"), "{error}");
}

/// A failed write of a backup is reported, and no second store is needed to report it.
#[test]
fn a_full_disk_is_told() {
    struct Full;
    impl io::Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let directory = tempfile::tempdir().unwrap();
    SqliteStore::open(directory.path()).unwrap();
    let mut full = io::BufWriter::new(Full);
    let written = read_tables(directory.path(), |sql| {
        write(sql, &contents(), &mut full, &mut |_, _| ()).map_err(Failed::from)
    });
    let _ = full.flush();
    assert!(matches!(written.unwrap_err().downcast_ref(), Some(WriteError::File(_))));
}

/// S18: a restored store begins above every epoch that was given before: seconds since 1970 are, and where the clock says
/// otherwise a large step is taken.
#[test]
fn epochs_after_a_restore_are_new() {
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(directory.path()).unwrap();
    let raise = |now_s| store.fill(|whole| raise_epoch(whole.sql(), now_s).map_err(Failed::from));
    store.begin_term().unwrap();
    assert_eq!(raise(1_800_000_000).unwrap(), 1_800_000_000);
    assert_eq!(store.begin_term().unwrap().epoch, 1_800_000_001);
    assert_eq!(raise(5).unwrap(), 1_801_000_001, "the clock was set back");
    for senseless in
        ["UPDATE meta SET value = -1", "UPDATE meta SET value = 9007199254740993", "DELETE FROM meta"]
    {
        let set = |whole: &mut dyn muster_tables::Whole| {
            whole.sql().execute(&format!("{senseless} WHERE key = 'epoch'"), &[])?;
            raise_epoch(whole.sql(), 5).map_err(Failed::from)
        };
        let error = store.fill(set).unwrap_err();
        assert!(matches!(error.downcast_ref(), Some(RestoreError::NoEpoch)), "{senseless}: {error}");
    }
}
