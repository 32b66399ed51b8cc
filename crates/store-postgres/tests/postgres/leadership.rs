//! Of several servers one writes (S18): what the suite for all shared stores cannot do, for it knows no sessions.

use crate::scene::{self, Held, Server, fresh, until};
use muster_pg_harness::Cluster;
use muster_store::{Batch, StoreError, conformance::scenes::batch};
use muster_store_postgres::Stage;
use std::thread;

/// S18: a commit that waits at the fence while another server closes it comes before the takeover, which then knows of it,
/// or is not kept at all.
#[test]
fn a_commit_that_came_before_the_takeover_ended_is_refused() {
    let url = fresh();
    let (a, b) = (Server::on(&url, "a"), Server::on(&url, "b"));
    let mut old = a.lead();
    old.writer.commit(&batch(1, 10)).unwrap();
    // Another session holds the fence for a moment, so that a commit and then a takeover line up for it.
    let held = Held::row_of_fence(&url);
    let commit = thread::spawn(move || (old.writer.commit(&batch(11, 10)), old));
    until("the commit waits", || (held.waiting() == 1).then_some(()));
    let takeover = thread::spawn(move || (b.lead(), b));
    // The takeover throws out whoever holds the fence; the commit may be quicker than its turn to be thrown out.
    let (term, b) = takeover.join().unwrap();
    let (outcome, mut old) = commit.join().unwrap();
    let kept = b.tasks();
    assert!((term.commits, kept) == (2, 20) || ((term.commits, kept) == (1, 10) && outcome.is_err()));
    assert_eq!(term.epoch, 2);
    assert!(old.writer.commit(&batch(21, 10)).is_err());
    assert_eq!(b.tasks(), kept);
}

/// S18: a takeover that is under way when a commit comes is waited for, and the commit is told that its time is over.
#[test]
fn a_commit_that_waits_for_the_takeover_is_superseded() {
    let url = fresh();
    let a = Server::on(&url, "a");
    let mut old = a.lead();
    old.writer.commit(&batch(1, 10)).unwrap();
    // Does by hand what a takeover does, so that it can be stopped in the middle.
    let takeover = Held::new(&url, "UPDATE muster.fence SET epoch = epoch + 1");
    let commit = thread::spawn(move || (old.writer.commit(&batch(11, 10)), old));
    until("the commit waits", || (takeover.waiting() == 1).then_some(()));
    takeover.commit();
    let (outcome, mut old) = commit.join().unwrap();
    assert!(matches!(outcome, Err(StoreError::Superseded)), "{outcome:?}");
    assert!(matches!(old.writer.commit(&Batch::default()), Err(StoreError::Superseded)));
    assert_eq!(a.tasks(), 10);
}

/// S18: a leader that stands still in the middle of a commit, fence in hand, keeps nobody from taking over.
#[test]
fn a_leader_that_stalls_in_a_commit_is_replaced() {
    let url = fresh();
    let b = Server::on(&url, "b");
    let stalled = Held::row_of_fence(&url);
    let mut term = b.lead();
    term.writer.commit(&batch(1, 10)).unwrap();
    assert_eq!(b.tasks(), 10);
    until("its session is over", || (!stalled.is_alive()).then_some(()));
}

/// S18: the connection that a leader shows life by is seen to end.
#[test]
fn a_leader_that_lost_its_connection_is_seen_to() {
    let url = fresh();
    let (a, b) = (Server::on(&url, "a"), Server::on(&url, "b"));
    let term = a.lead();
    assert!(b.election.look().unwrap().connected);
    let end = "SELECT pg_terminate_backend(pid) FROM muster.leader";
    Cluster::shared().sql(&url, end);
    until("its session is over", || (!b.election.look().unwrap().connected).then_some(()));
    until("it comes back with another", || a.election.renew(term.epoch).ok());
    assert!(b.election.look().unwrap().connected);
    drop((a, term));
    until("it is gone", || (!b.election.look().unwrap().connected).then_some(()));
}

/// S18: a leader that cannot show life learns so while it matters, and goes on when it can again.
#[test]
fn a_sign_of_life_that_is_held_up_is_given_up() {
    let url = fresh();
    let (a, b) = (Server::on(&url, "a"), Server::on(&url, "b"));
    let term = a.lead();
    let seen = b.election.look().unwrap();
    let held = Held::new(&url, "UPDATE muster.leader SET renewed_at = renewed_at");
    let error = a.election.renew(term.epoch).expect_err("nobody answers").to_string();
    assert!(error.contains("no answer within"), "{error}");
    assert!(
        b.election.take(&seen, &b.candidate, 0).unwrap().is_none(),
        "whoever would lead does not wait either"
    );
    held.commit();
    until("it is heard", || a.election.renew(term.epoch).ok());
    assert_eq!(b.election.look().unwrap().leader, Some(a.candidate.clone()));
}

/// S18: a database that was set back gives no epoch twice, and an epoch that it forgot writes nothing.
#[test]
fn an_epoch_that_the_database_forgot_is_over() {
    let url = fresh();
    let a = Server::on(&url, "a");
    let mut forgotten = a.lead();
    for table in ["leader", "fence"] {
        Cluster::shared().sql(&url, &format!("UPDATE muster.{table} SET epoch = 0"));
    }
    Cluster::shared().sql(&url, "UPDATE muster.meta SET value = 0 WHERE key = 'epoch'");
    assert!(matches!(forgotten.writer.commit(&batch(1, 1)), Err(StoreError::Superseded)));
    assert!(matches!(a.election.renew(forgotten.epoch), Err(StoreError::Superseded)));
    let seen = a.election.look().unwrap();
    let next = a.election.take(&seen, &a.candidate, forgotten.epoch).unwrap().unwrap();
    assert_eq!((forgotten.epoch, next.epoch), (1, 2));
}

/// S18: what a leader sent before it resigned may come after a store was filled, and is refused then.
#[test]
fn a_filled_store_takes_nothing_of_an_older_term() {
    let a = Server::on(&fresh(), "a");
    let mut old = a.lead();
    a.election.resign(old.epoch).unwrap();
    a.store.fill(Stage::Whole, &[], |_| Ok::<_, StoreError>(())).unwrap();
    assert!(matches!(old.writer.commit(&batch(1, 10)), Err(StoreError::Superseded)));
    assert_eq!((a.tasks(), a.lead().epoch), (0, 3));
}

/// S18: whatever cuts a commit off in the middle, the next term has all of it or nothing.
#[test]
fn a_commit_that_is_cut_off_is_whole_or_not_there() {
    let url = fresh();
    let a = Server::on(&url, "a");
    for round in 0..10 {
        let before = a.tasks();
        let mut term = a.lead();
        let commit = thread::spawn(move || term.writer.commit(&batch(round * 1_000 + 1, 1_000)));
        Cluster::shared().sql(
            &url,
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
             WHERE datname = current_database() AND pid <> pg_backend_pid() AND state <> 'idle'",
        );
        let outcome = commit.join().unwrap();
        drop(a.lead());
        let kept = a.tasks() - before;
        assert!(kept == 1_000 || (kept == 0 && outcome.is_err()), "{kept} tasks after {outcome:?}");
    }
}

/// S18: the database is stopped as by a crash and started again; nothing that was acknowledged is lost, and a new term
/// begins with the same handles.
#[test]
fn a_database_that_crashed_is_used_again_when_it_is_back() {
    let cluster = Cluster::start();
    let a = Server::on(&cluster.fresh_database(), "a");
    let mut term = a.lead();
    term.writer.commit(&batch(1, 10)).unwrap();
    assert_eq!(a.tasks(), 10);
    cluster.stop_immediately();
    assert!(term.writer.commit(&batch(11, 10)).is_err());
    assert!(a.election.renew(term.epoch).is_err());
    assert!(a.election.look().is_err());
    cluster.start_again();
    let seen = until("it answers again", || a.election.look().ok());
    assert!(!seen.connected);
    let mut next = a.lead();
    assert_eq!((next.epoch, a.tasks()), (2, 10));
    next.writer.commit(&batch(11, 10)).unwrap();
    assert_eq!(a.tasks(), 20);
}

/// S18: of the hosts in an address the one that takes writes is used; after a promotion that is another, and with
/// synchronous replication it has all that was acknowledged.
#[test]
fn a_promoted_standby_is_found_and_has_everything() {
    let first = Cluster::start();
    let url = first.fresh_database();
    drop(scene::open(&url));
    let second = first.standby();
    first.replicate_synchronously(true);
    let port = |cluster: &Cluster| format!("127.0.0.1:{}", cluster.port());
    let both = url.replace(&port(&first), &format!("{},{}", port(&second), port(&first)));
    let a = Server::on(&both, "a");
    let mut term = a.lead();
    term.writer.commit(&batch(1, 100)).unwrap();
    first.stop_immediately();
    second.promote();
    assert!(term.writer.commit(&batch(101, 1)).is_err());
    let mut next = a.lead();
    assert_eq!((next.epoch, a.tasks()), (2, 100));
    next.writer.commit(&batch(101, 1)).unwrap();
}

/// S18: a term is over when another server of the database takes over, also before it writes anything: what it remembers
/// need not have reached that one.
#[test]
fn a_term_does_not_move_to_a_promoted_standby() {
    let first = Cluster::start();
    let url = first.fresh_database();
    drop(scene::open(&url));
    let second = first.standby();
    let port = |cluster: &Cluster| format!("127.0.0.1:{}", cluster.port());
    let both = url.replace(&port(&first), &format!("{},{}", port(&second), port(&first)));
    let a = Server::on(&both, "a");
    let term = a.lead();
    a.election.renew(term.epoch).unwrap();
    first.wait_for_standby();
    first.stop_immediately();
    second.promote();
    until("it is told", || match a.election.renew(term.epoch) {
        Ok(()) => panic!("it leads on"),
        Err(StoreError::Superseded) => Some(()),
        Err(_) => None,
    });
    assert_eq!(a.election.look().unwrap().epoch, 1, "nobody else led");
    let next = a.lead();
    a.election.renew(next.epoch).unwrap();
}

/// S18: whoever cancels a commit that waits for the standby has it acknowledged, though the standby may lack it; it
/// counts as one whose fate is unknown.
#[test]
fn a_cancelled_wait_for_the_standby_is_no_commit() {
    let first = Cluster::start();
    let url = first.fresh_database();
    drop(scene::open(&url));
    let second = first.standby();
    first.replicate_synchronously(true);
    let a = Server::on(&url, "a");
    let mut term = a.lead();
    second.stop_immediately();
    first.wait_until_alone();
    let commit = thread::spawn(move || (term.writer.commit(&batch(1, 10)), term));
    let cancel = "SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
    until("it waits", || (first.sql(&url, cancel) == "1").then_some(()));
    let (outcome, mut term) = commit.join().unwrap();
    let told = matches!(&outcome, Err(StoreError::Backend(what)) if what.contains("synchronous replication"));
    assert!(told, "{outcome:?}");
    assert!(term.writer.commit(&Batch::default()).is_err(), "nobody knows what became of it");
}

/// S18
#[test]
fn what_is_read_ahead_is_what_is_loaded_and_every_commit_is_counted() {
    let url = fresh();
    let (a, b) = (Server::on(&url, "a"), Server::on(&url, "b"));
    let mut term = a.lead();
    let mut last = None;
    for round in 0..3 {
        term.writer.commit(&batch(round * 10 + 1, 10)).unwrap();
        let mut commits = 0;
        let ahead = scene::texts(|sink| commits = b.election.preload(sink).unwrap());
        assert!(last.replace(commits).is_none_or(|last| last < commits));
        assert_eq!(ahead, scene::texts(|sink| term.writer.load(sink).unwrap()));
    }
    let next = b.lead();
    assert_eq!(Some(next.commits), last);
}
