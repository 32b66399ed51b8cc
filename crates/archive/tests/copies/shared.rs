//! Copies from an embedded store to a database, and back.

use crate::rows::{self, Failed, fill};
use muster_archive::{Aligned, RestoreError, align, restore};
use muster_pg_harness::Cluster;
use muster_store::{Candidate, Store, StoreError};
use muster_store_postgres::{PostgresOptions, PostgresStore};
use muster_store_sqlite::{SqliteStore, read_tables};
use muster_tables::TABLES_VERSION;
use std::path::Path;

fn database() -> (String, PostgresStore) {
    let url = Cluster::shared().fresh_database();
    let store = PostgresStore::open(&url, &PostgresOptions::default()).expect("the database is open");
    (url, store)
}

fn bring_over(directory: &Path, target: &PostgresStore) -> Aligned {
    let aligned = read_tables(directory, |sql| {
        target.fill(|whole| align(sql, whole, &mut |_, _| ()).map_err(Failed::from))
    });
    aligned.expect("the stores are aligned")
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
    let restored =
        back.fill(|whole| restore(&mut &*file, TABLES_VERSION, whole, &mut |_, _| ()).map_err(Failed::from));
    restored.unwrap();
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
    let bring_back = || {
        target.fill(|whole| {
            restore(&mut &*file, TABLES_VERSION, whole, &mut |_, _| ()).map(|_| ()).map_err(Failed::from)
        })
    };
    bring_back().unwrap();
    let election = target.election().unwrap();
    let candidate = Candidate { node: "n".into(), address: "http://127.0.0.1:1".into() };
    let term = election.take(&election.look().unwrap(), &candidate, 0).unwrap().unwrap();
    let error = bring_back().unwrap_err();
    assert!(matches!(error.downcast_ref(), Some(StoreError::InUse(_))), "{error}");
    election.resign(term.epoch).unwrap();
    drop(term);
    bring_back().unwrap();
    target.fill(|whole| rows::put_everywhere(whole, 1..2).map_err(Failed::from)).unwrap();
    let error = bring_back().unwrap_err();
    assert!(matches!(error.downcast_ref(), Some(RestoreError::NotEmpty)), "{error}");
}
