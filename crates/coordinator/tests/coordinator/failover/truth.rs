//! Responses and stored data while two servers believe that they lead.

use crate::failover::stage::{Server, ended, name, submission, until, until_moving};
use muster_coordinator::{Effects, Refusal, TokenHash};
use muster_model::{
    Digest, Effect, FrameQuery, JobId, Pull, Rejection, Role, Roles, SessionId, SessionSubmission, Subject,
    TaskId, Timestamp,
    ask::{accounts::AddUser, devices},
};
use muster_store::{Cursor, MemoryStore, Store};
use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

/// S18, invariant 10: what a replaced leader decides is not kept, and nobody hears of it.
#[tokio::test(flavor = "multi_thread")]
async fn a_replaced_leader_keeps_nothing() {
    let (store, a, b) = replaced().await;
    // By its own clock, which stood still, it leads; only the store knows better.
    assert!(a.coordinator.is_ready());
    assert!(matches!(a.submit("late").await, Err(Refusal::Unavailable)));
    until("a's term ends", || a.leads().is_none()).await;
    a.until_follows(&b, 2).await;
    assert_eq!(jobs(&store), 0);
    stop([a, b]).await;
}

/// S18: a replaced leader refuses nobody and confirms nothing from memory once its lease may be another's, although
/// there is nothing to write down.
#[tokio::test(flavor = "multi_thread")]
async fn a_replaced_leader_answers_nobody_from_memory() {
    let (_, a, b) = replaced().await;
    let unknown = devices::Cancel { job: JobId::new(Timestamp(1), 1) };
    let refused = b.coordinator.ask(unknown.clone()).await;
    assert!(matches!(refused, Err(Refusal::Rejected(Rejection::JobUnknown))), "who leads does");
    a.clock.advance(crate::failover::stage::TIMES.reconnect());
    assert!(!a.coordinator.is_ready());
    assert!(matches!(a.coordinator.ask(unknown).await, Err(Refusal::Unavailable)));
    stop([a, b]).await;
}

/// S18: while it is unknown whether another leads, what memory knows is told to nobody; a sign of life makes it the
/// truth again.
#[tokio::test(flavor = "multi_thread")]
async fn memory_is_told_only_while_nobody_else_can_lead() {
    let store = MemoryStore::shared();
    let a = Server::leading(&store, "a", 0).await;
    let add =
        AddUser { name: "ada".into(), password_hash: "hash".into(), roles: Roles::NONE.with(Role::Admin) };
    a.coordinator.ask(add).await.expect("it leads");
    let secret = a.coordinator.new_secret();
    enrol(&a, &secret).await;
    assert!(tells_all(&a, &secret).await);
    a.wire.mute(true);
    a.clock.advance(crate::failover::stage::TIMES.reconnect());
    assert!(!a.coordinator.is_ready());
    assert!(tells_nothing(&a, &secret).await);
    assert_eq!(a.leads(), Some(1), "its term goes on");
    a.submit("k").await.expect("what the store confirms is the truth");
    a.wire.mute(false);
    until("it showed life", || a.coordinator.is_ready()).await;
    assert!(tells_all(&a, &secret).await);
    a.coordinator.stop().await;
    assert!(tells_nothing(&a, &secret).await, "what it knew is forgotten");
}

/// S18: commands under way when another takes over, decided or waiting, have no known fate; a repeat finds the truth.
#[tokio::test(flavor = "multi_thread")]
async fn commands_under_way_at_a_takeover_have_no_known_fate() {
    let store = MemoryStore::shared();
    let (a, b) = (Server::leading(&store, "a", 0).await, Server::join(&store, "b", 0));
    b.until_follows(&a, 1).await;
    a.wire.shut(true);
    let ask = |command| {
        let coordinator = a.coordinator.clone();
        tokio::spawn(async move { coordinator.ask(command).await })
    };
    let before = a.coordinator.stats().commands();
    let deciding = ask(submission("k"));
    until("it is decided", || a.coordinator.stats().commands() > before).await;
    let duplicate = ask(submission("k"));
    let waiting = tokio::spawn({
        let coordinator = a.coordinator.clone();
        let pull = Pull { worker: name("PC-01"), max: 1, devices: None };
        async move { coordinator.pull(pull, Duration::from_secs(3_600)).await }
    });
    until("it waits", || a.coordinator.stats().waiting_pulls() == 1).await;
    a.wire.mute(true);
    until_moving(&[&b], "b leads", || b.leads() == Some(2)).await;
    a.wire.shut(false);
    for fate in [ended(deciding).await, ended(duplicate).await] {
        assert!(matches!(fate, Err(Refusal::Unavailable)));
    }
    assert!(matches!(ended(waiting).await, Err(Refusal::Unavailable)));
    assert_eq!(jobs(&store), 0);
    b.submit("k").await.expect("it leads");
    assert_eq!(jobs(&store), 1);
    stop([a, b]).await;
}

/// S18: what a term asked for outside is not done by a server that leads no more; whoever leads derives it again.
#[tokio::test(flavor = "multi_thread")]
async fn effects_of_a_term_that_is_over_are_passed_over() {
    let store = MemoryStore::shared();
    let (a, b) = (Server::leading(&store, "a", 0).await, Server::join(&store, "b", 0));
    b.until_follows(&a, 1).await;
    let mut due = [&a, &b].map(|server| server.coordinator.take_effects().expect("nobody has them"));
    let session = SessionSubmission {
        session: SessionId::new("s1").expect("a name"),
        digest: Digest(1),
        total_frames: 10,
        frames_per_task: 5,
        strict: false,
        output: "s1".into(),
        body: "{}".into(),
    };
    a.coordinator.ask(session).await.expect("it leads");
    a.wire.cut(true);
    until_moving(&[&a, &b], "b leads", || b.leads() == Some(2) && a.leads().is_none()).await;
    b.coordinator.ask(devices::Sweep {}).await.expect("it leads");
    let derived = gathered(&mut due[1]).await;
    assert!(!derived.is_empty());
    assert_eq!(gathered(&mut due[0]).await, [], "it leads no more");
    a.wire.cut(false);
    b.coordinator.stop().await;
    until("a leads", || a.leads() == Some(3)).await;
    a.coordinator.ask(devices::Sweep {}).await.expect("it leads");
    assert_eq!(gathered(&mut due[0]).await, derived);
    a.coordinator.stop().await;
}

/// S18, invariants 5 and 10: takeover after takeover under load, nothing that was acknowledged is lost or doubled.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_acknowledged_is_lost_over_many_takeovers() {
    let store = MemoryStore::shared();
    let a = Server::leading(&store, "a", 1_000).await;
    let servers = Arc::new([a, Server::join(&store, "b", 2_000), Server::join(&store, "c", 3_000)]);
    let (done, acknowledged) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(BTreeMap::new())));
    let clients: Vec<_> = (0..4)
        .map(|client| {
            let (servers, done) = (Arc::clone(&servers), Arc::clone(&done));
            let acknowledged = Arc::clone(&acknowledged);
            tokio::spawn(async move {
                for number in 0.. {
                    let key = format!("{client}-{number}");
                    let job = submit_somewhere(&servers, &key, client).await;
                    acknowledged.lock().unwrap().insert(key, job);
                    if done.load(Ordering::SeqCst) {
                        return;
                    }
                }
            })
        })
        .collect();
    let all: Vec<&Server> = servers.iter().collect();
    for _ in 0..6 {
        let leader = newest(&servers);
        let epoch = leader.leads();
        let so_far = acknowledged.lock().unwrap().len();
        until_moving(&all, "work gets on", || acknowledged.lock().unwrap().len() > so_far + 20).await;
        leader.wire.cut(true);
        until_moving(&all, "another leads", || newest(&servers).leads() > epoch).await;
        leader.wire.cut(false);
    }
    done.store(true, Ordering::SeqCst);
    for client in clients {
        ended(client).await;
    }
    let acknowledged = acknowledged.lock().unwrap().clone();
    let leader = newest(&servers);
    for (key, job) in &acknowledged {
        assert_eq!(leader.submit(key).await.expect("it leads"), *job, "{key}");
    }
    assert_eq!(jobs(&store), acknowledged.len());
    for server in servers.iter() {
        server.coordinator.stop().await;
    }
}

/// The one that leads in the newest term.
fn newest(servers: &[Server; 3]) -> &Server {
    servers.iter().max_by_key(|server| server.leads()).expect("there are some")
}

/// Two servers of which the second has taken over while the first one's clock stood still.
async fn replaced() -> (MemoryStore, Server, Server) {
    let store = MemoryStore::shared();
    let (a, b) = (Server::leading(&store, "a", 0).await, Server::join(&store, "b", 0));
    b.until_follows(&a, 1).await;
    a.wire.mute(true);
    until_moving(&[&b], "b leads", || b.leads() == Some(2)).await;
    assert_eq!(a.leads(), Some(1));
    (store, a, b)
}

async fn submit_somewhere(servers: &[Server; 3], key: &str, first: usize) -> JobId {
    for turn in first.. {
        match servers[turn % servers.len()].submit(key).await {
            Ok(job) => return job,
            Err(Refusal::Unavailable) => tokio::time::sleep(Duration::from_millis(2)).await,
            Err(other) => panic!("{other}"),
        }
    }
    unreachable!("turns do not end");
}

/// All effects due now.
async fn gathered(effects: &mut Effects) -> Vec<Effect> {
    let mut all = Vec::new();
    loop {
        tokio::select! {
            biased;
            effect = effects.recv() => all.extend(effect),
            () = std::future::ready(()) => return all,
        }
    }
}

async fn enrol(server: &Server, secret: &str) {
    let hash: [u8; 32] = <sha2::Sha256 as sha2::Digest>::digest(secret.as_bytes()).into();
    server.coordinator.ask(devices::Heartbeat { worker: name("PC-01") }).await.expect("it leads");
    let rotate = devices::RotateSecret { worker: name("PC-01"), hash };
    server.coordinator.ask(rotate).await.expect("it leads");
}

async fn tells_all(server: &Server, secret: &str) -> bool {
    let known = &server.coordinator;
    let explained = known.explain(Subject::Worker(name("PC-01"))).await.is_ok();
    let viewed = known.frames(FrameQuery::Status).await.is_ok() && known.pool_status().await.is_ok();
    let user = known.look_up(|known| known.accounts().user_named("ada"));
    known.knows_secret(None, &TokenHash::of(secret))
        && explained
        && viewed
        && user.is_ok_and(|user| user.is_some())
        && known.look_up(|known| known.accounts().user_named("bob")).is_ok_and(|user| user.is_none())
        && known.last_seen(&name("PC-01")).is_some()
}

async fn tells_nothing(server: &Server, secret: &str) -> bool {
    let known = &server.coordinator;
    let task = TaskId { job: JobId::new(Timestamp(1), 1), ordinal: 1 };
    !known.knows_secret(None, &TokenHash::of(secret))
        && known.explain(Subject::Worker(name("PC-01"))).await.is_err_and(is_unavailable)
        && known.task(task).await.is_err_and(is_unavailable)
        && known.frames(FrameQuery::Status).await.is_err_and(is_unavailable)
        && known.pool_status().await.is_err_and(is_unavailable)
        && known.accounts().user_named("ada").is_none()
        && known.look_up(|known| known.accounts().user_named("ada")).is_err_and(is_unavailable)
        && known.last_seen(&name("PC-01")).is_none()
}

fn is_unavailable(refusal: Refusal) -> bool {
    matches!(refusal, Refusal::Unavailable)
}

fn jobs(store: &MemoryStore) -> usize {
    let page = Cursor { after: None, limit: 100_000 };
    store.reader().jobs(&Default::default(), &page).expect("a list").items.len()
}

async fn stop(servers: [Server; 2]) {
    for server in servers {
        server.coordinator.stop().await;
    }
}
