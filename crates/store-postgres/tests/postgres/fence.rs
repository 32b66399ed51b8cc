//! The fence that every commit passes (S18): found at once, wherever it stands, and closed for good.

use crate::scene::{self, Held, Server, fresh};
use muster_model::Timestamp;
use muster_pg_harness::Cluster;
use muster_store::{Batch, Cutoffs, StoreError, conformance::scenes::batch};

/// A session that reads an old snapshot keeps all versions of the row alive; no commit walks past them.
#[test]
fn a_commit_does_not_look_for_the_fence() {
    let url = fresh();
    let a = Server::on(&url, "a");
    let mut term = a.lead();
    let snapshot =
        Held::new(&url, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SELECT * FROM muster.fence");
    for _ in 0..500 {
        term.writer.commit(&Batch::default()).unwrap();
    }
    snapshot.commit();
    // A session tells what it did when it ends.
    drop(term);
    let told = "SELECT n_tup_upd >= 500, idx_scan < 50, seq_scan < 50 FROM pg_stat_user_tables WHERE relname = 'fence'";
    let told = scene::until("it is told", || {
        Some(Cluster::shared().sql(&url, told)).filter(|told| told.starts_with('t'))
    });
    assert_eq!(told, "t|t|t");
}

/// S18: a table that was written anew has the row elsewhere; the term goes on, or is over if it is.
#[test]
fn a_fence_that_was_moved_is_found_again() {
    let url = fresh();
    let (a, b) = (Server::on(&url, "a"), Server::on(&url, "b"));
    let mut old = a.lead();
    let move_fence = || Cluster::shared().sql(&url, "VACUUM FULL muster.fence");
    for round in 0..3 {
        old.writer.commit(&batch(round * 10 + 1, 5)).unwrap();
        move_fence();
        old.writer.commit(&batch(round * 10 + 6, 5)).unwrap();
        move_fence();
        old.writer.prune(&NOTHING_IS_OLD).unwrap();
    }
    assert_eq!(a.tasks(), 30);
    let counted = Cluster::shared().sql(&url, "SELECT commits FROM muster.fence");
    assert_eq!(counted, "9", "what was sent again is counted once");
    let mut new = b.lead();
    move_fence();
    assert!(matches!(old.writer.commit(&batch(41, 5)), Err(StoreError::Superseded)));
    assert!(matches!(old.writer.prune(&NOTHING_IS_OLD), Err(StoreError::Superseded)));
    new.writer.commit(&batch(31, 5)).unwrap();
    assert_eq!(b.tasks(), 35);
}

/// S18: where the row of an old term stood, that of the newer one may stand later.
#[test]
fn a_newer_fence_in_the_place_of_an_older_one_is_seen() {
    let url = fresh();
    let (a, b) = (Server::on(&url, "a"), Server::on(&url, "b"));
    let place = || Cluster::shared().sql(&url, "SELECT ctid FROM muster.fence");
    let mut old = a.lead();
    old.writer.commit(&batch(1, 10)).unwrap();
    let left = place();
    let mut new = b.lead();
    let returned = (0..300).any(|_| {
        Cluster::shared().sql(&url, "VACUUM muster.fence");
        new.writer.commit(&Batch::default()).unwrap();
        place() == left
    });
    assert!(returned, "a place that is free is used again");
    assert!(matches!(old.writer.commit(&batch(11, 10)), Err(StoreError::Superseded)));
    assert_eq!((place(), b.tasks()), (left, 10));
}

/// S18: without its row nothing would be fenced off.
#[test]
fn nothing_is_kept_without_a_fence() {
    let url = fresh();
    let a = Server::on(&url, "a");
    let mut term = a.lead();
    Cluster::shared().sql(&url, "DELETE FROM muster.fence");
    for outcome in [term.writer.commit(&batch(1, 10)), term.writer.prune(&NOTHING_IS_OLD).map(drop)] {
        assert!(matches!(&outcome, Err(StoreError::Corrupt(what)) if what.contains("fence")), "{outcome:?}");
    }
    assert_eq!(a.tasks(), 0);
}

const NOTHING_IS_OLD: Cutoffs =
    Cutoffs { history: Timestamp(0), report_ids: Timestamp(0), keys: Timestamp(0) };
