//! Limits on work that a server would otherwise repeat again and again.

use crate::failover::stage::{Server, until, until_moving};
use muster_coordinator::Lead;
use muster_coordinator::instant_now;
use muster_model::Millis;
use muster_store::{Election, MemoryStore};
use std::time::Duration;

/// S18: where nothing can be written, terms follow each other ever more slowly; callers hear why, and who leads is looked
/// at all the while.
#[tokio::test(flavor = "multi_thread")]
async fn epochs_do_not_race_on_a_full_disk() {
    let store = MemoryStore::shared();
    let a = Server::leading(&store, "a", 0).await;
    a.wire.fill(true);
    let began = instant_now();
    for epoch in 1..=4 {
        until("it leads", || a.leads() == Some(epoch)).await;
        assert!(a.submit("k").await.is_err());
        until("its term ended", || a.leads().is_none()).await;
        let trouble = a.coordinator.trouble().expect("there is some");
        assert!(trouble.contains("no space left"), "{trouble}");
    }
    assert!(began.elapsed() >= Duration::from_millis(500 + 1_000 + 2_000));
    let looks = a.wire.looks();
    until("it looks on", || a.wire.looks() > looks + 10).await;
    assert_eq!(a.coordinator.lead(), Lead::Nowhere);
    a.wire.fill(false);
    until("it leads", || a.leads() == Some(5)).await;
    a.submit("k").await.expect("there is room");
    assert_eq!(a.coordinator.trouble(), None);
    a.coordinator.stop().await;
}

/// S18: a leader that is slow again and again does not make its followers read everything each time.
#[tokio::test(flavor = "multi_thread")]
async fn everything_is_not_read_at_each_alarm() {
    let store = MemoryStore::shared();
    let (a, b) = (Server::leading(&store, "a", 0).await, Server::join(&store, "b", 0));
    b.until_follows(&a, 1).await;
    // Long enough for an alarm, too short for a takeover; then the leader shows life.
    let alarm = || async {
        a.wire.mute(true);
        settle(&b).await;
        b.clock.advance(Millis(100));
        settle(&b).await;
        a.wire.mute(false);
        showed_life(&store).await;
        settle(&b).await;
    };
    alarm().await;
    assert_eq!(b.wire.reads(), (1, 0));
    alarm().await;
    assert_eq!(b.wire.reads(), (1, 0), "the last was for nothing");
    for _ in 0..8 {
        b.clock.advance(Millis(60));
        showed_life(&store).await;
        settle(&b).await;
    }
    alarm().await;
    assert_eq!(b.wire.reads(), (2, 0));
    stop([a, b]).await;
}

/// S18: a silence that began too early to read everything again may last until it is time.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_not_read_when_a_silence_began_is_read_in_it() {
    let store = MemoryStore::shared();
    let (a, b) = (Server::leading(&store, "a", 0).await, Server::join(&store, "b", 0));
    b.until_follows(&a, 1).await;
    let mut reads = Vec::new();
    // An alarm for nothing; signs of life; and another one before twice the lease is over, which lasts.
    for (mute, span) in [(true, 100), (false, 100), (false, 100), (false, 100), (true, 100), (true, 100)] {
        a.wire.mute(mute);
        settle(&b).await;
        b.clock.advance(Millis(span));
        if !mute {
            showed_life(&store).await;
        }
        settle(&b).await;
        reads.push(b.wire.reads().0);
    }
    assert_eq!(reads, [1, 1, 1, 1, 1, 2]);
    stop([a, b]).await;
}

/// S18, I8: a database that is away is the cause that is told, until it is back.
#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_is_away_is_told_of() {
    let store = MemoryStore::shared();
    let (a, b) = (Server::leading(&store, "a", 0).await, Server::join(&store, "b", 0));
    b.until_follows(&a, 1).await;
    assert!(a.coordinator.reaches_store() && a.coordinator.trouble().is_none());
    for server in [&a, &b] {
        server.wire.cut(true);
        until_moving(&[server], "it is noticed", || !server.coordinator.reaches_store()).await;
        let trouble = server.coordinator.trouble().expect("there is some");
        assert_eq!(trouble, "the database does not answer: the wire is cut");
        server.wire.cut(false);
        until_moving(&[server], "it is back", || server.coordinator.reaches_store()).await;
    }
    for server in [&a, &b] {
        until_moving(&[&a, &b], "somebody leads", || server.coordinator.lead() != Lead::Nowhere).await;
        assert_eq!(server.coordinator.trouble(), None);
        server.coordinator.stop().await;
    }
}

async fn stop(servers: [Server; 2]) {
    for server in servers {
        server.coordinator.stop().await;
    }
}

async fn showed_life(store: &MemoryStore) {
    let renewals = || store.look().expect("it stands").renewals;
    let before = renewals();
    until("the leader shows life", || renewals() > before).await;
}

/// Until what was there has been looked at.
async fn settle(server: &Server) {
    let looks = server.wire.looks();
    until("it looks", || server.wire.looks() >= looks + 3).await;
}
