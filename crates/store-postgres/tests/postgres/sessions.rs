//! Terms whose sessions are blocked or ended by the database or by another session (S18).

use crate::scene::{Held, Server, count, fresh, until};
use muster_model::Key;
use muster_pg_harness::Cluster;
use muster_store::{
    Batch, Store, StoreError,
    conformance::scenes::{batch, job},
};
use muster_store_postgres::{PostgresOptions, PostgresStore};
use std::{thread, time::Duration};

/// S18: somebody who locks a table ends a term within leases, not minutes, and the log says what to look for.
#[test]
fn a_lock_is_not_waited_for_for_long() {
    let url = fresh();
    let options = PostgresOptions { lease: Duration::from_millis(300), ..PostgresOptions::default() };
    let store = PostgresStore::open(&url, &options).unwrap();
    let mut term = store.begin_term().unwrap();
    let held = Held::new(&url, "LOCK TABLE muster.fence, muster.tasks IN ACCESS EXCLUSIVE MODE");
    let looked_up = term.lookup.facts(&[Key::Job(job())]).map(drop);
    for outcome in [term.writer.commit(&batch(1, 10)), looked_up] {
        let told = matches!(&outcome, Err(StoreError::Backend(what)) if what.contains("holds a lock"));
        assert!(told, "{outcome:?}");
    }
    held.commit();
    term.writer.commit(&batch(1, 10)).unwrap();
    assert_eq!(count(store.reader().as_ref()), 10);
}

/// S18: no default of the server, the database or the user ends a session for being idle.
#[test]
fn sessions_outlive_what_the_database_grants_others() {
    let url = fresh();
    let name = url.rsplit('/').next().unwrap();
    for setting in ["idle_session_timeout", "idle_in_transaction_session_timeout", "statement_timeout"] {
        Cluster::shared().sql(&url, &format!("ALTER DATABASE {name} SET {setting} = '500ms'"));
    }
    let a = Server::on(&url, "a");
    let mut term = a.lead();
    assert_eq!(a.tasks(), 0);
    let sessions = || {
        let sql = "SELECT string_agg(pid::text, ' ' ORDER BY pid) FROM pg_stat_activity \
                   WHERE datname = current_database() AND application_name = 'muster'";
        Cluster::shared().sql(&url, sql)
    };
    let before = sessions();
    assert_eq!(before.split(' ').count(), 4, "to show life, to write, to look up, to read");
    let begin_nothing = Held::new(&url, "COMMIT");
    let sql =
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = ''";
    until("another was ended", || (Cluster::shared().sql(&url, sql) == "0").then_some(()));
    drop(begin_nothing);
    assert_eq!(sessions(), before);
    term.writer.commit(&batch(1, 10)).unwrap();
    assert_eq!(a.tasks(), 10);
}

/// S18: whoever ends idle sessions ends no term.
#[test]
fn a_term_outlives_its_sessions() {
    let url = fresh();
    let a = Server::on(&url, "a");
    let mut term = a.lead();
    for round in 0..3 {
        term.writer.commit(&batch(round * 10 + 1, 10)).unwrap();
        end_sessions(&url, "true");
        term.lookup.facts(&[Key::Job(job())]).unwrap();
    }
    term.writer.commit(&batch(31, 10)).unwrap();
    until("it shows life", || a.election.renew(term.epoch).ok());
    assert_eq!(a.tasks(), 40);
    end_sessions(&url, "true");
    let next = a.lead();
    assert!(matches!(term.writer.commit(&batch(41, 10)), Err(StoreError::Superseded)));
    assert_eq!((next.epoch, a.tasks()), (2, 40));
}

/// S18: what was asked when a session was lost has a fate that nobody knows; the term is over.
#[test]
fn a_session_that_is_lost_in_a_commit_is_not_replaced() {
    let url = fresh();
    let a = Server::on(&url, "a");
    let mut term = a.lead();
    let held = Held::row_of_fence(&url);
    let commit = thread::spawn(move || (term.writer.commit(&batch(1, 10)), term));
    until("the commit waits", || (held.waiting() == 1).then_some(()));
    end_sessions(&url, "wait_event_type = 'Lock'");
    held.commit();
    let (outcome, mut term) = commit.join().unwrap();
    assert!(matches!(outcome, Err(StoreError::Backend(_))), "{outcome:?}");
    assert!(term.writer.commit(&Batch::default()).is_err());
    assert_eq!(a.tasks(), 0);
}

/// S18: a database that was started anew may lack what it said it kept; a term remembers that and must not go on.
#[test]
fn a_term_ends_with_the_database() {
    let cluster = Cluster::start();
    let a = Server::on(&cluster.fresh_database(), "a");
    let mut term = a.lead();
    term.writer.commit(&batch(1, 10)).unwrap();
    cluster.stop_immediately();
    cluster.start_again();
    let looked_up = term.lookup.facts(&[Key::Job(job())]).map(drop);
    for outcome in [term.writer.commit(&batch(11, 10)), looked_up] {
        assert!(outcome.is_err_and(|error| error.to_string().contains("started anew")));
    }
    assert_eq!(a.tasks(), 10);
}

fn end_sessions(url: &str, which: &str) {
    let sql = format!(
        "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity \
         WHERE datname = current_database() AND pid <> pg_backend_pid() AND {which}"
    );
    Cluster::shared().sql(url, &sql);
}
