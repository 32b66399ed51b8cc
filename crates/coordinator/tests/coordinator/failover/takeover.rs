//! Takeovers of leadership by another server.

use crate::failover::stage::{Server, ended, name, until, until_moving};
use muster_coordinator::{FeedError, Lead, Refusal};
use muster_model::{Attachment, DeviceReport, Millis, Pull, Timestamp, WorkerStatus, ask::devices::Sweep};
use muster_store::{Candidate, MemoryStore, Store};
use std::time::Duration;

/// S18: a leader that falls silent is replaced, what it acknowledged is there, and it follows when it comes back.
#[tokio::test(flavor = "multi_thread")]
async fn a_silent_leader_is_replaced_and_follows() {
    let store = MemoryStore::shared();
    let a = Server::leading(&store, "a", 1_000_000).await;
    let b = Server::join(&store, "b", 77);
    b.until_follows(&a, 1).await;
    assert!(matches!(b.submit("k").await, Err(Refusal::Unavailable)), "who follows decides nothing");
    let job = a.submit("k").await.expect("it leads");
    a.wire.cut(true);
    until_moving(&[&a, &b], "b leads", || b.leads() == Some(2)).await;
    assert_eq!(b.submit("k").await.expect("it leads"), job, "what was acknowledged is not lost");
    until_moving(&[&a], "a knows that it leads no more", || a.coordinator.lead() == Lead::Nowhere).await;
    assert!(matches!(a.submit("other").await, Err(Refusal::Unavailable)));
    a.wire.cut(false);
    a.until_follows(&b, 2).await;
    assert!(!a.coordinator.is_ready() && b.coordinator.is_ready());
    stop([a, b]).await;
}

/// S7: every server names the one that leads, by its advertised URL, also after a takeover; none while no server leads.
#[tokio::test(flavor = "multi_thread")]
async fn every_server_names_the_leader() {
    let store = MemoryStore::shared();
    let a = Server::leading(&store, "a", 1_000_000).await;
    let b = Server::join(&store, "b", 77);
    b.until_follows(&a, 1).await;
    for server in [&a, &b] {
        assert_eq!(server.coordinator.leader_url().as_ref(), Some(&a.address));
    }
    a.wire.cut(true);
    until_moving(&[&a, &b], "b leads", || b.leads() == Some(2)).await;
    assert_eq!(b.coordinator.leader_url().as_ref(), Some(&b.address));
    until_moving(&[&a], "a leads no more", || a.coordinator.leader_url().is_none()).await;
    a.wire.cut(false);
    a.until_follows(&b, 2).await;
    assert_eq!(a.coordinator.leader_url().as_ref(), Some(&b.address));
    stop([a, b]).await;
}

/// S18: a server that was started anew does not take its former life for a leader that it could follow.
#[tokio::test(flavor = "multi_thread")]
async fn nobody_follows_a_former_life() {
    let store = MemoryStore::shared();
    let former = Candidate { node: "killed".into(), address: "http://a:7000".into() };
    let election = store.election().expect("it is shared");
    let seen = election.look().expect("it stands");
    let term = election.take(&seen, &former, 0).expect("it is there").expect("nobody else wants it");
    let again = Server::join(&store, "a", 0);
    until_moving(&[&again], "it leads", || {
        assert!(!matches!(again.coordinator.lead(), Lead::There { .. }));
        again.leads() == Some(term.epoch + 1)
    })
    .await;
    again.coordinator.stop().await;
}

/// S18: whoever stops hands over at once: no clock moves, nobody waits for silence.
#[tokio::test(flavor = "multi_thread")]
async fn who_stops_hands_over_at_once() {
    let store = MemoryStore::shared();
    let (a, b) = (Server::leading(&store, "a", 5).await, Server::join(&store, "b", 9));
    b.until_follows(&a, 1).await;
    let job = a.submit("k").await.expect("it leads");
    a.coordinator.stop().await;
    until("b leads", || b.leads() == Some(2)).await;
    assert_eq!(b.submit("k").await.expect("it leads"), job);
    b.coordinator.stop().await;
}

/// S18: a leader that cannot show life any more stops to answer, and leads again when it can and nobody else does.
#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_cannot_show_life_ends_its_term() {
    let store = MemoryStore::shared();
    let a = Server::leading(&store, "a", 0).await;
    let job = a.submit("k").await.expect("it leads");
    let waiting = tokio::spawn({
        let coordinator = a.coordinator.clone();
        let pull = Pull { worker: name("PC-01"), max: 1, devices: None };
        async move { coordinator.pull(pull, Duration::from_secs(3_600)).await }
    });
    until("it waits", || a.coordinator.stats().waiting_pulls() == 1).await;
    a.wire.cut(true);
    until_moving(&[&a], "its term ends", || a.coordinator.lead() == Lead::Nowhere).await;
    assert!(matches!(ended(waiting).await, Err(Refusal::Unavailable)));
    a.wire.cut(false);
    until("it leads again", || a.leads() == Some(2)).await;
    assert_eq!(a.submit("k").await.expect("it leads"), job);
    a.coordinator.stop().await;
}

/// S18: a leader that was stopped for long, and found nobody in its place, leads on.
#[tokio::test(flavor = "multi_thread")]
async fn a_stall_that_nobody_noticed_ends_no_term() {
    let store = MemoryStore::shared();
    let a = Server::leading(&store, "a", 0).await;
    for _ in 0..3 {
        a.clock.advance(Millis(10_000));
        until("it showed life", || a.coordinator.is_ready()).await;
        a.submit("k").await.expect("it leads");
    }
    assert_eq!((a.coordinator.epoch(), a.coordinator.stats().terms()), (1, 1));
    a.coordinator.stop().await;
}

/// S18: what was read while the leader was silent is used if nothing was written since, and only then.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_read_ahead_is_used_while_it_is_the_truth() {
    for writes_on in [false, true] {
        let store = MemoryStore::shared();
        let (a, b) = (Server::leading(&store, "a", 0).await, Server::join(&store, "b", 0));
        b.until_follows(&a, 1).await;
        let mut jobs = vec![a.submit("k0").await.expect("it leads")];
        a.wire.mute(true);
        until_moving(&[&b], "b reads ahead", || b.wire.reads().0 == 1).await;
        if writes_on {
            jobs.push(a.submit("k1").await.expect("it leads"));
        }
        until_moving(&[&b], "b leads", || b.leads() == Some(2)).await;
        assert_eq!(b.wire.reads(), (1, usize::from(writes_on)));
        for (number, job) in jobs.into_iter().enumerate() {
            assert_eq!(b.submit(&format!("k{number}")).await.expect("it leads"), job);
        }
        stop([a, b]).await;
    }
}

/// S18: what was read in another term is not used, though as many commits were counted since.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_read_in_another_term_is_read_again() {
    let store = MemoryStore::shared();
    let (a, b) = (Server::leading(&store, "a", 0).await, Server::join(&store, "b", 0));
    b.until_follows(&a, 1).await;
    a.wire.mute(true);
    until_moving(&[&b], "b reads ahead", || b.wire.reads().0 == 1).await;
    drop(store.begin_term().expect("a term begins"));
    until("b leads", || b.leads() == Some(3)).await;
    assert_eq!(b.wire.reads(), (1, 1));
    stop([a, b]).await;
}

/// S18: a takeover that failed is tried again at once; the silence it came from need not be waited for anew.
#[tokio::test(flavor = "multi_thread")]
async fn a_takeover_that_failed_is_tried_again_at_once() {
    let store = MemoryStore::shared();
    let (a, b) = (Server::leading(&store, "a", 0).await, Server::join(&store, "b", 0));
    b.until_follows(&a, 1).await;
    a.wire.mute(true);
    b.wire.bar(true);
    until_moving(&[&b], "b tries to lead", || b.wire.takes() > 0).await;
    let says_why = || b.coordinator.trouble().is_some_and(|why| why.contains("the wire is barred"));
    until("callers hear why it does not", says_why).await;
    b.wire.bar(false);
    until("b leads", || b.leads() == Some(2)).await;
    assert_eq!(b.coordinator.trouble(), None);
    stop([a, b]).await;
}

/// S18, N15: silence of workers counts from the takeover, however long before it their rows were read.
#[tokio::test(flavor = "multi_thread")]
async fn silence_of_workers_counts_from_the_takeover() {
    let store = MemoryStore::shared();
    let (a, b) = (Server::leading(&store, "a", 0).await, Server::join(&store, "b", 0));
    b.until_follows(&a, 1).await;
    let device = DeviceReport { device: name("d1"), handle: name("h1"), attachment: Attachment::Online };
    let pull = Pull { worker: name("PC-01"), max: 0, devices: Some(vec![device]) };
    a.coordinator.pull(pull, Duration::ZERO).await.expect("it leads");
    a.wire.mute(true);
    b.wire.shut(true);
    until_moving(&[&b], "b reads ahead", || b.wire.reads().0 == 1).await;
    b.clock.advance(Millis::from_secs(3_600));
    b.wire.shut(false);
    until("b leads", || b.leads() == Some(2)).await;
    assert_eq!(b.wire.reads(), (1, 0));
    let status = || async {
        b.coordinator.ask(Sweep {}).await.expect("it leads");
        store.reader().worker(&name("PC-01")).expect("it is read").expect("it is known").worker.status
    };
    assert_eq!(status().await, WorkerStatus::Online);
    b.clock.advance(Millis::from_secs(3_600));
    until("it showed life", || b.coordinator.is_ready()).await;
    assert_eq!(status().await, WorkerStatus::Offline);
    stop([a, b]).await;
}

/// S18: time is the store's, however wrong the servers' clocks are, and goes on where the term before left it.
#[tokio::test(flavor = "multi_thread")]
async fn time_is_the_store_s_and_never_goes_back() {
    let store = MemoryStore::shared();
    store.set_clock(Timestamp(5_000_000));
    let a = Server::leading(&store, "a", 9_000_000_000).await;
    assert_eq!(a.coordinator.now(), Timestamp(5_000_000));
    a.clock.advance(Millis(1_000));
    until("it showed life", || a.coordinator.is_ready()).await;
    let job = a.submit("k").await.expect("it leads");
    let created_at = store.reader().job(job).expect("it is read").expect("it is kept").created_at;
    assert_eq!(created_at, Timestamp(5_001_000));
    store.set_clock(Timestamp(4_000_000));
    let b = Server::join(&store, "b", 3);
    b.until_follows(&a, 1).await;
    a.coordinator.stop().await;
    until("b leads", || b.leads() == Some(2)).await;
    assert_eq!(b.coordinator.now(), Timestamp(5_001_000));
    b.coordinator.stop().await;
}

/// S18, I8: subscribers of a leader that is none any more are sent away; numbers go on where it stopped.
#[tokio::test(flavor = "multi_thread")]
async fn the_feed_goes_on_where_leadership_goes() {
    let store = MemoryStore::shared();
    let (a, b) = (Server::leading(&store, "a", 0).await, Server::join(&store, "b", 0));
    b.until_follows(&a, 1).await;
    assert!(matches!(b.coordinator.feed().newest(), Err(FeedError::Closed)));
    assert!(matches!(b.coordinator.feed().after(0).await, Err(FeedError::Closed)));
    a.submit("k").await.expect("it leads");
    let last = a.coordinator.feed().newest().expect("it leads");
    assert!(last > 0);
    let listening = tokio::spawn({
        let coordinator = a.coordinator.clone();
        async move { coordinator.feed().after(last).await }
    });
    a.wire.cut(true);
    until_moving(&[&a, &b], "b leads", || b.leads() == Some(2)).await;
    until_moving(&[&a], "a leads no more", || a.leads().is_none()).await;
    assert!(matches!(ended(listening).await, Err(FeedError::Closed)));
    b.submit("other").await.expect("it leads");
    let next = b.coordinator.feed().after(last).await.expect("it goes on");
    assert_eq!(next.first().map(|entry| entry.seq), Some(last + 1));
    a.wire.cut(false);
    b.coordinator.stop().await;
    until("a leads", || a.leads() == Some(3)).await;
    let all = a.coordinator.feed().after(0).await.expect("it is kept");
    assert!(all.iter().map(|entry| entry.seq).eq(1..=all.len() as u64));
    a.coordinator.stop().await;
}

async fn stop(servers: [Server; 2]) {
    for server in servers {
        server.wire.cut(false);
        server.coordinator.stop().await;
    }
}
