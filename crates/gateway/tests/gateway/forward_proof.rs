//! Servers believe nothing of each other without proof.

use crate::{
    server::{Manner, Server},
    stage::{Caller, Standin, header, request, status},
};
use muster_gateway::Rates;
use std::time::Duration;

/// S18: through another server the leader sees who really calls, and nothing of what was told for that.
#[tokio::test]
async fn the_leader_sees_the_real_caller() {
    let (leader, server) = (Server::start().await, Server::start().await);
    leader.lead();
    server.follow(&leader.url());
    for (own, lines) in [("127.0.0.1", ""), ("127.0.0.2", "Muster-Peer: 10.0.0.1\r\nMuster-Hops: 1\r\n")] {
        let mut caller = Caller::from(own, &server.address).await;
        caller.send(&request("GET /x", lines)).await;
        let answer = caller.rest().await;
        assert!(answer.ends_with(&format!("GET /x of {own}, 0 bytes, 0 told\n")), "{answer}");
    }
}

/// S18: what anybody writes into the servers' own headers is not believed, by no server.
#[tokio::test]
async fn claims_without_proof_are_ignored() {
    let leader = Server::start().await;
    leader.lead();
    let lines = "Muster-Peer: 10.0.0.1\r\nMuster-Hops: 1\r\nMuster-Peer-Proof: AAAA\r\n";
    let answer = leader.exchange(request("GET /x", lines)).await;
    assert!(answer.ends_with("GET /x of 127.0.0.1, 0 bytes, 0 told\n"), "{answer}");
}

/// P16, S18: the leader limits callers, not the servers that they came through; those do not limit.
#[tokio::test]
async fn the_leader_limits_real_callers() {
    let rates = Rates { per_key: 0, per_address: 1, burst: 2 };
    let leader = Server::with(Manner { rates, ..Manner::default() }).await;
    let server = Server::with(Manner { rates, ..Manner::default() }).await;
    leader.lead();
    server.follow(&leader.url());
    for (own, statuses) in [("127.0.0.1", [200, 200, 429]), ("127.0.0.2", [200, 200, 429])] {
        for expected in statuses {
            let mut caller = Caller::from(own, &server.address).await;
            caller.send(&request("GET /x", "")).await;
            assert_eq!(status(&caller.rest().await), expected, "{own}");
        }
    }
}

/// S18: two servers that each take the other for the leader do not send a request round for ever.
#[tokio::test]
async fn a_request_does_not_go_in_circles() {
    let (other, server) = (Server::hasty().await, Server::hasty().await);
    server.follow(&other.url());
    other.follow(&server.url());
    let answer = server.exchange(request("POST /x", "Content-Length: 2\r\n") + "{}").await;
    assert_eq!((status(&answer), header(&answer, "retry-after")), (503, Some("1")));
    assert!(answer.contains("urn:muster:problem:not-leading"), "{answer}");
}

/// S18: a server that was thought to lead and does not is asked again, and then whoever leads instead.
#[tokio::test]
async fn a_server_that_does_not_lead_says_so() {
    let (first, second, server) = (Server::start().await, Server::start().await, Server::start().await);
    second.lead();
    server.follow(&first.url());
    let mut caller = server.caller().await;
    caller.send(&(request("POST /x", "Content-Length: 7\r\n") + "payload")).await;
    server.follow(&second.url());
    assert!(caller.rest().await.contains("POST /x of 127.0.0.1, 7 bytes"));

    server.follow(&first.url());
    let mut caller = server.caller().await;
    caller.send(&(request("POST /x", "Content-Length: 7\r\n") + "payload")).await;
    first.lead();
    assert!(caller.rest().await.contains("POST /x of 127.0.0.1, 7 bytes"), "by the one that leads only now");
}

/// I7: names are judged where a request comes in: a page elsewhere cannot reach the leader through another server.
#[tokio::test]
async fn names_are_judged_at_the_first_door() {
    let mut leader = Standin::start().await;
    let server = Server::behind(&leader).await;
    let forged = request("GET /x", "").replace("Host: 127.0.0.1", "Host: evil.example");
    assert_eq!(status(&server.exchange(forged).await), 403);
    let foreign = request("GET /x", "Origin: https://evil.example\r\n");
    assert_eq!(status(&server.exchange(foreign).await), 403);
    assert!(leader.call_now().is_none());
}

/// S18, I9: a body has one length on its way, and what follows it stays behind.
#[tokio::test]
async fn nothing_is_smuggled_past_a_server() {
    let mut leader = Standin::start().await;
    let server = Server::behind(&leader).await;
    let bytes = request("POST /x", "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n")
        + "2\r\n{}\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n";
    let (answer, ()) = tokio::join!(server.exchange(&bytes), async {
        let answering = async {
            let mut call = leader.call().await;
            assert_eq!(call.header("content-length"), None);
            call.body_until("0\r\n\r\n").await;
            call.answer("200 OK", "", "").await;
        };
        let _ = tokio::time::timeout(Duration::from_secs(2), answering).await;
    });
    assert!([200, 400].contains(&status(&answer)), "{answer}");
    assert!(leader.call_now().is_none());

    let lines = "Connection: authorization, muster-peer\r\nContent-Length: 0\r\n";
    let (_, ()) = tokio::join!(server.exchange(request("POST /x", lines)), async {
        let call = leader.call().await;
        assert_eq!(call.header("authorization"), None);
        assert_eq!(call.header("muster-peer"), Some("127.0.0.1"));
        call.answer("200 OK", "", "").await;
    });
    for target in ["*", "http://127.0.0.1:1/x"] {
        let answer = server.exchange(request(&format!("OPTIONS {target}"), "")).await;
        assert!((400..500).contains(&status(&answer)), "{target} {answer}");
    }
    assert!(leader.call_now().is_none());
}

/// S18: nothing is sent, no token first of all, to somebody at the leader's address who is none of ours: another
/// installation, one of ours that goes by another address, or whoever answers what they like.
#[tokio::test]
async fn nothing_is_sent_to_a_stranger() {
    let mut stranger = Standin::start().await;
    stranger.turn_strange();
    let other = Server::with(Manner { key: "another key", ..Manner::default() }).await;
    let elsewhere = Some("http://127.0.0.1:1".to_owned());
    let relay = Server::with(Manner { address: elsewhere, ..Manner::default() }).await;
    for leader in [&other, &relay] {
        leader.lead();
    }
    for url in [stranger.url.clone(), other.url(), relay.url()] {
        let server = Server::hasty().await;
        server.follow(&url);
        let answer = server.exchange(request("GET /x", "")).await;
        assert_eq!((status(&answer), header(&answer, "retry-after")), (503, Some("1")), "{answer}");
        let words = format!("whoever answers at {url} is no server of this installation");
        assert!(answer.contains(&words), "{answer}");
        let ready = server.exchange(request("GET /readyz", "")).await;
        assert_eq!(status(&ready), 503);
        assert!(ready.ends_with(&words), "{ready}");
    }
    assert!(stranger.call_now().is_none());
}

/// S18: a leader proves on every new connection what it is: who cannot any more gets no further request.
#[tokio::test]
async fn every_connection_is_proven() {
    let mut leader = Standin::start().await;
    let server = Server::hasty().await;
    server.follow(&leader.url);
    for _ in 0..3 {
        let (answer, ()) = tokio::join!(server.exchange(request("GET /x", "")), async {
            leader.call().await.answer("200 OK", "", "").await;
        });
        assert_eq!(status(&answer), 200);
    }
    let before = leader.times_challenged();
    assert!(before >= 3, "{before}");
    leader.turn_strange();
    refused_by_a_stranger(&server, &mut leader).await;
    assert!(leader.times_challenged() > before);
}

/// S18: a connection that was proven is used again, without another proof.
#[tokio::test]
async fn a_proof_is_for_a_whole_connection() {
    let leader = Standin::start().await;
    leader.keep_connections();
    let server = Server::behind(&leader).await;
    for _ in 0..20 {
        assert_eq!(status(&server.exchange(request("GET /x", "")).await), 200);
    }
    assert!(leader.times_challenged() < 20, "{}", leader.times_challenged());
}

/// S18: whoever listens where the leader did, before anybody knows that it is gone, sees no token and is not believed,
/// however long ago the leader proved itself and whatever is answered.
#[tokio::test]
async fn who_takes_over_a_leaders_port_is_a_stranger() {
    let mut leader = Standin::start().await;
    let server = Server::hasty().await;
    server.follow(&leader.url);
    let (answer, ()) = tokio::join!(server.exchange(request("GET /x", "")), async {
        leader.call().await.answer("200 OK", "", "").await;
    });
    assert_eq!(status(&answer), 200);
    leader.stop().await;
    let mut stranger = Standin::at(leader.url.strip_prefix("http://").unwrap()).await;
    stranger.turn_strange();
    refused_by_a_stranger(&server, &mut stranger).await;

    server.follow_nobody();
    server.follow(&leader.url);
    refused_by_a_stranger(&server, &mut stranger).await;
}

/// Sends something that is not passed on, though it would be answered.
async fn refused_by_a_stranger(server: &Server, stranger: &mut Standin) {
    let posted = request("POST /x", "Content-Length: 0\r\n");
    let mut seen = Vec::new();
    let answer = tokio::select! {
        answer = server.exchange(&posted) => answer,
        () = async {
            loop {
                let call = stranger.call().await;
                seen.push(call.head.clone());
                call.answer("200 OK", "", "forged").await;
            }
        } => unreachable!("it answers for ever"),
    };
    assert!(seen.is_empty(), "{seen:?}");
    assert_eq!(status(&answer), 503);
    assert!(answer.contains("not-leading") && answer.contains("no server of this installation"), "{answer}");
}

/// S18: a leader that has just been started again, and cannot prove anything yet, is away and no stranger: what is sent
/// waits for it.
#[tokio::test]
async fn a_leader_that_starts_is_no_stranger() {
    let mut leader = Standin::start().await;
    leader.turn_early();
    let server = Server::hasty().await;
    server.follow(&leader.url);
    let ready = server.exchange(request("GET /readyz", "")).await;
    assert!(ready.ends_with(&format!("the leader at {} cannot be reached", leader.url)), "{ready}");
    let answer = server.exchange(request("POST /x", "Content-Length: 0\r\n")).await;
    assert_eq!(status(&answer), 503);
    assert!(answer.contains("not-leading"), "{answer}");
    assert!(leader.call_now().is_none());
}

/// S18: an answer that tells no epoch, or one of an earlier term, is not the leader's: it is not passed back.
#[tokio::test]
async fn an_answer_without_the_epoch_is_not_believed() {
    let mut leader = Standin::start().await;
    let server = Server::behind(&leader).await;
    for (lines, is_believed) in [
        ("", false),
        ("Muster-Epoch: 6\r\n", false),
        ("Muster-Epoch: seven\r\n", false),
        ("Muster-Epoch: 7\r\nMuster-Epoch: 8\r\n", false),
        ("Muster-Epoch: 8\r\n", true),
    ] {
        let (answer, ()) =
            tokio::join!(server.exchange(request("POST /x", "Content-Length: 0\r\n")), async {
                leader.call().await.answer_strangely("200 OK", lines, "told").await;
            });
        assert_eq!(status(&answer) == 200, is_believed, "{lines:?}");
        assert_eq!(answer.ends_with("told"), is_believed, "{answer}");
        assert_ne!(answer.contains("broke-off"), is_believed, "{answer}");
    }
}

/// S18, I8: a follower that cannot reach its leader is not ready, and says why; it asks no more than once a second.
#[tokio::test]
async fn a_follower_without_a_way_to_its_leader_is_not_ready() {
    let mut leader = Standin::start().await;
    let server = Server::behind(&leader).await;
    for _ in 0..5 {
        assert!(server.exchange(request("GET /readyz", "")).await.ends_with("own"));
    }
    assert!(leader.times_challenged() < 5);
    leader.stop().await;
    let asking = async {
        loop {
            let answer = server.exchange(request("GET /readyz", "")).await;
            if status(&answer) == 503 {
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let answer = tokio::time::timeout(Duration::from_secs(30), asking).await.expect("it notices");
    assert!(answer.ends_with(&format!("the leader at {} cannot be reached", leader.url)), "{answer}");
}
