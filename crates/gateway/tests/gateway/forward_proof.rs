//! What servers believe of each other, and of others: nothing without proof.

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
    let (leader, stranger) = (Server::start().await, Server::with(strange()).await);
    leader.lead();
    stranger.follow(&leader.url());
    let lines = "Muster-Peer: 10.0.0.1\r\nMuster-Hops: 1\r\nMuster-Peer-Proof: AAAA\r\n";
    let answer = leader.exchange(request("GET /x", lines)).await;
    assert!(answer.ends_with("GET /x of 127.0.0.1, 0 bytes, 0 told\n"), "{answer}");
    let mut caller = Caller::from("127.0.0.2", &stranger.address).await;
    caller.send(&request("GET /x", "")).await;
    let answer = caller.rest().await;
    assert!(
        answer.ends_with("GET /x of 127.0.0.1, 0 bytes, 0 told\n"),
        "a server with another key: {answer}"
    );
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
    for other in [Manner::default(), strange()] {
        let other = Server::with(Manner { patience: Duration::from_millis(200), ..other }).await;
        let server = Server::hasty().await;
        server.follow(&other.url());
        other.follow(&server.url());
        let answer = server.exchange(request("POST /x", "Content-Length: 2\r\n") + "{}").await;
        assert_eq!((status(&answer), header(&answer, "retry-after")), (503, Some("1")));
        assert!(answer.contains("urn:muster:problem:not-leading"), "{answer}");
    }
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

fn strange() -> Manner {
    Manner { key: "another key", ..Manner::default() }
}
