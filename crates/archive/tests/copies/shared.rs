//! Copies from an embedded store to a database, and back.

use crate::rows::{self, Failed, fill};
use muster_archive::{Aligned, Archive, RestoreError, align};
use muster_pg_harness::Cluster;
use muster_store::{Candidate, Store, StoreError};
use muster_store_postgres::{PostgresOptions, PostgresStore, Stage};
use muster_store_sqlite::{SqliteStore, read_tables};
use muster_tables::{TABLES_VERSION, Whole};
use std::path::Path;

fn database() -> (String, PostgresStore) {
    let url = Cluster::shared().fresh_database();
    let store = PostgresStore::open(&url, &PostgresOptions::default()).expect("the database is open");
    (url, store)
}

fn bring_over(directory: &Path, target: &PostgresStore) -> Aligned {
    let aligned = read_tables(directory, |sql| {
        target.fill(Stage::Whole, &[], |whole| align(sql, whole, &mut |_, _| ()).map_err(Failed::from))
    });
    aligned.expect("the stores are aligned")
}

fn bring_back(mut file: &[u8], whole: &mut dyn Whole) -> Result<(), Failed> {
    Archive::open(&mut file, TABLES_VERSION)?.restore(whole, &mut |_, _| ())?;
    Ok(())
}

/// Moved to a database, a store is the same, whatever its texts hold; and so it is when it is moved back by a file.
#[test]
fn a_store_survives_the_way_to_a_database_and_back() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let source = SqliteStore::open(one.path()).unwrap();
    source.begin_term().unwrap();
    fill(&source, 1..1_201);
    let (url, target) = database();
    assert!(target.is_unused().unwrap());
    bring_over(one.path(), &target);
    fill(&source, 1_100..1_300);
    let second = bring_over(one.path(), &target);
    assert!(second.written > 0 && second.written < second.rows / 4, "{second:?}");
    assert_eq!(target.read_tables(rows::tallies).unwrap(), read_tables(one.path(), rows::tallies).unwrap());

    let file = target.read_tables(rows::backup).unwrap();
    assert!(file == read_tables(one.path(), rows::backup).unwrap(), "the backups are the same");
    let back = SqliteStore::open(other.path()).unwrap();
    back.fill(|whole| bring_back(&file, whole)).unwrap();
    assert!(file == read_tables(other.path(), rows::backup).unwrap(), "and the same again");

    let added = Cluster::shared().sql(
        &url,
        "INSERT INTO muster.pc_logs (pc_id, event_type, at) VALUES ('x', 'online', 1) RETURNING id",
    );
    assert_eq!(added.lines().next(), Some("1300"), "what the database numbers goes on");
}

/// S18: epochs go on where the embedded store was: no worker sees one twice.
#[test]
fn epochs_go_on() {
    let one = tempfile::tempdir().unwrap();
    let source = SqliteStore::open(one.path()).unwrap();
    (0..7).for_each(|_| drop(source.begin_term().unwrap()));
    let (_, target) = database();
    bring_over(one.path(), &target);
    assert!(target.is_unused().unwrap(), "a copy is no use");
    assert_eq!(target.begin_term().unwrap().epoch, 8);
    let epoch = "SELECT value FROM meta WHERE key = 'epoch'";
    let told = target.read_tables(|sql| {
        let mut told = None;
        sql.each(epoch, &[], &mut |row| {
            told = Some(format!("{:?}", row.cell(0)?));
            Ok(())
        })?;
        Ok::<_, Failed>(told)
    });
    assert_eq!(told.unwrap().as_deref(), Some("Integer(8)"));
}

/// Nothing is written under a server that leads, nor into a database that holds something.
#[test]
fn a_database_in_use_is_left_alone() {
    let (_, target) = database();
    let file = target.read_tables(rows::backup).unwrap();
    let bring_back = || target.fill(Stage::Whole, &[], |whole| bring_back(&file, whole));
    bring_back().unwrap();
    let election = target.election().unwrap();
    let candidate = Candidate { node: "n".into(), address: "http://127.0.0.1:1".into() };
    let term = election.take(&election.look().unwrap(), &candidate, 0).unwrap().unwrap();
    let error = bring_back().unwrap_err();
    assert!(matches!(error.downcast_ref(), Some(StoreError::Led(at)) if *at == candidate.address), "{error}");
    election.resign(term.epoch).unwrap();
    drop(term);
    bring_back().unwrap();
    target.fill(Stage::Whole, &[], |whole| rows::put_everywhere(whole, 1..2).map_err(Failed::from)).unwrap();
    let error = bring_back().unwrap_err();
    assert!(matches!(error.downcast_ref(), Some(RestoreError::NotEmpty)), "{error}");
}

/// A database that is filled in steps is not served, read or restored into before the last step. After it, it is, with
/// the given secrets. A database that a server led on in between is not filled any further.
#[test]
fn half_a_copy_is_nobodys() {
    let (url, target) = database();
    let options = PostgresOptions::default();
    let secret = |value: &str| [("admin-token".to_owned(), value.to_owned())];
    target.secret("admin-token", "theirs").unwrap();
    let put = |stage, rows| {
        target.fill(stage, &secret("ours"), |whole| rows::put_everywhere(whole, rows).map_err(Failed::from))
    };
    put(Stage::First, 1..3).unwrap();
    for opened in [PostgresStore::open(&url, &options), PostgresStore::open_to_read(&url, &options)] {
        let error = opened.err().expect("it is half filled").to_string();
        assert!(error.contains("DROP SCHEMA muster CASCADE"), "{error}");
    }
    let error = put(Stage::Whole, 3..4).unwrap_err().to_string();
    assert!(error.contains("DROP SCHEMA muster CASCADE"), "{error}");
    drop(PostgresStore::open_to_fill(&url, &options).unwrap());
    put(Stage::First, 3..4).unwrap();
    put(Stage::Last, 4..5).unwrap();
    drop(PostgresStore::open(&url, &options).unwrap());
    let read = PostgresStore::open_to_read(&url, &options).unwrap();
    assert_eq!(read.secrets().unwrap(), secret("ours"));

    put(Stage::First, 5..6).unwrap();
    target.begin_term().unwrap();
    let error = put(Stage::Last, 6..7).unwrap_err().to_string();
    assert!(error.contains("has served from this database"), "{error}");
}

/// Reading makes nothing: no schema, no table, no newer version; and a standby will do.
#[test]
fn reading_changes_nothing() {
    let url = Cluster::shared().fresh_database();
    let read = |url: &str| PostgresStore::open_to_read(url, &PostgresOptions::default());
    let error = read(&url).err().expect("there is nothing to read");
    assert!(matches!(&error, StoreError::Absent(words) if words.contains("right database")), "{error}");
    assert_eq!(Cluster::shared().sql(&url, "SELECT to_regnamespace('muster') IS NULL"), "t");
    drop(PostgresStore::open(&url, &PostgresOptions::default()).unwrap());
    for version in [TABLES_VERSION - 1, TABLES_VERSION + 1] {
        Cluster::shared().sql(&url, &format!("UPDATE muster.schema_version SET version = {version}"));
        let error = read(&url).err().expect("it has another version").to_string();
        assert!(error.contains(&format!("version {version}, this binary reads {TABLES_VERSION}")), "{error}");
    }
    let kept = Cluster::shared().sql(&url, "SELECT version FROM muster.schema_version");
    assert_eq!(kept, (TABLES_VERSION + 1).to_string());
}

/// A standby can be read, so that its primary need not be.
#[test]
fn a_standby_can_be_copied() {
    let primary = Cluster::start();
    let standby = primary.standby();
    let url = primary.fresh_database();
    let store = PostgresStore::open(&url, &PostgresOptions::default()).unwrap();
    store.fill(Stage::Whole, &[], |whole| rows::put_everywhere(whole, 1..50).map_err(Failed::from)).unwrap();
    primary.wait_for_standby();
    let name = url.rsplit('/').next().unwrap();
    let read = PostgresStore::open_to_read(&standby.url(name), &PostgresOptions::default()).unwrap();
    assert_eq!(read.read_tables(rows::tallies).unwrap(), store.read_tables(rows::tallies).unwrap());
    assert!(read.secrets().unwrap().is_empty());
}
