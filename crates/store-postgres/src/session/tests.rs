#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use super::*;
use crate::{store::PostgresStore, target::Environment};
use muster_pg_harness::Cluster;

/// A database with tables, and how it is reached.
fn target() -> Target {
    let url = Cluster::shared().fresh_database();
    drop(PostgresStore::open(&url, &crate::PostgresOptions::default()).unwrap());
    Target::parse(&url, &Environment::default(), Duration::from_secs(3)).unwrap()
}

fn run(session: &Session, sql: &str) -> Result<(), String> {
    session.ask(session.client().batch_execute(sql)).map_err(|fault| StoreError::from(fault).to_string())
}

/// S18: should the beginning of a commit fail alone, nothing of the rest that was sent along with it is kept.
#[test]
fn nothing_is_written_outside_of_a_transaction() {
    let target = target();
    for purpose in [Purpose::Write, Purpose::Fill] {
        let session = Session::open(&target, purpose).unwrap();
        let refused = run(&session, "UPDATE fence SET commits = commits + 1").unwrap_err();
        assert!(refused.contains("25006"), "{refused}");
        run(&session, "BEGIN READ WRITE; UPDATE fence SET commits = commits + 1; COMMIT").unwrap();
    }
}

/// S18: a warning that a wait was cancelled comes before the acknowledgement, which is not believed then; others do no harm.
#[test]
fn a_wait_that_was_cancelled_ends_the_session() {
    let target = target();
    for code in ["57014", "57P01"] {
        let session = Session::open(&target, Purpose::Write).unwrap();
        let warn = |code| format!("DO $$ BEGIN RAISE WARNING 'it is over' USING ERRCODE = '{code}'; END $$");
        run(&session, &warn("01000")).unwrap();
        let told = run(&session, &warn(code)).unwrap_err();
        assert!(told.contains("it is over") && told.contains(code), "{told}");
        assert!(!session.is_open());
    }
}

/// Whoever leads knows soon that a connection is lost; a transfer that stands still for a moment is not.
#[test]
fn a_transfer_may_stand_still() {
    let target = target();
    for (purpose, patience) in [
        (Purpose::Lead, "3000"),
        (Purpose::Lookup, "3000"),
        (Purpose::Write, "6000"),
        (Purpose::Fill, "60000"),
        (Purpose::Read, "60000"),
        (Purpose::Migrate, "60000"),
    ] {
        let session = Session::open(&target, purpose).unwrap();
        let row = session.ask(session.client().query_one("SHOW tcp_user_timeout", &[])).unwrap();
        assert_eq!(row.get::<_, String>(0), patience, "{purpose:?}");
    }
}
