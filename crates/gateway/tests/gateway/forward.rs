//! A server that does not lead brings requests to the one that does, and answers back, as they are.

use crate::{
    server::Server,
    stage::{Standin, header, request, status},
};

/// S18, S19: the leader gets the request as it came, with who sent it, and its answer comes back with its epoch.
#[tokio::test]
async fn the_leader_answers_through_any_server() {
    let mut leader = Standin::start().await;
    let server = Server::behind(&leader).await;
    let lines =
        "Content-Length: 7\r\nX-Own: a\r\nX-Own: b\r\nX-Request-Id: r-1\r\nX-Forwarded-For: 10.9.9.9\r\n";
    let bytes =
        request("POST /jobs/work?a=%2f&b", lines).replace("127.0.0.1", "muster.example:7400") + "payload";
    let (answer, ()) = tokio::join!(server.exchange(&bytes), async {
        let mut call = leader.call().await;
        assert_eq!(call.line(), "POST /jobs/work?a=%2f&b HTTP/1.1");
        assert_eq!(call.header("host"), Some("muster.example:7400"), "the caller's name for us");
        assert_eq!(call.header("authorization"), Some("Bearer good"));
        assert_eq!(call.head.matches("x-own: ").count(), 2);
        assert_eq!(call.header("x-request-id"), Some("r-1"));
        assert_eq!(call.header("x-forwarded-for"), Some("10.9.9.9"), "judged by the leader");
        assert_eq!((call.header("muster-hops"), call.header("muster-peer")), (Some("1"), Some("127.0.0.1")));
        assert!(call.header("muster-peer-proof").is_some());
        assert_eq!(call.header("content-length"), Some("7"));
        call.body_until("payload").await;
        call.answer("201 Created", "Muster-Epoch: 8\r\nX-Request-Id: r-1\r\nX-Theirs: yes\r\n", "made").await;
    });
    assert_eq!(status(&answer), 201);
    assert_eq!(header(&answer, "x-theirs"), Some("yes"));
    assert_eq!(header(&answer, "muster-epoch"), Some("8"), "as the leader says");
    assert_eq!(header(&answer, "x-request-id"), Some("r-1"));
    assert!(answer.ends_with("made"));
    let counted = "route=\"forwarded\",method=\"POST\",status=\"201\"} 1";
    assert!(server.metrics.text().contains(counted), "{}", server.metrics.text());
}

/// S18: the server that leads answers by itself; each server tells of its own health.
#[tokio::test]
async fn each_answers_what_is_its_own() {
    let mut leader = Standin::start().await;
    let server = Server::behind(&leader).await;
    let answer = server.exchange(request("GET /readyz", "")).await;
    assert!(answer.ends_with("own"));
    assert_eq!(header(&answer, "muster-epoch"), Some("7"));
    server.lead();
    let answer = server.exchange(request("GET /jobs", "")).await;
    assert!(answer.ends_with("GET /jobs of 127.0.0.1, 0 bytes, 0 told\n"), "{answer}");
    assert_eq!(header(&answer, "muster-epoch"), Some("7"));
    assert!(leader.call_now().is_none());
}

/// S18: what a caller sends arrives while it still sends, however long the whole is.
#[tokio::test]
async fn a_long_body_passes_piece_by_piece() {
    let mut leader = Standin::start().await;
    let server = Server::behind(&leader).await;
    let mut caller = server.caller().await;
    let (piece, pieces) = ("x".repeat(100_000), 30);
    let length = (0..pieces).map(|number| piece.len() + format!("<{number}>").len()).sum::<usize>();
    caller.send(&request("PUT /upload", &format!("Content-Length: {length}\r\n"))).await;
    let mut call = leader.call().await;
    assert_eq!(call.header("content-length"), Some(&*length.to_string()));
    for number in 0..pieces {
        caller.send(&format!("{piece}<{number}>")).await;
        call.body_until(&format!("<{number}>")).await;
    }
    call.answer("200 OK", "", "done").await;
    assert!(caller.rest().await.ends_with("done"));
}

/// S18, I8: an event arrives when it is sent; the stream ends, as streams end, when another server leads.
#[tokio::test]
async fn events_arrive_as_they_happen() {
    let mut leader = Standin::start().await;
    let server = Server::behind(&leader).await;
    let mut caller = server.caller().await;
    caller.send(&request("GET /api/events", "Last-Event-ID: 5\r\n")).await;
    let mut call = leader.call().await;
    assert_eq!(call.header("last-event-id"), Some("5"));
    call.send("HTTP/1.1 200 OK\r\nMuster-Epoch: 7\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        .await;
    assert_eq!(status(&caller.until("\r\n\r\n").await), 200);
    for number in 0..5 {
        let event = format!("data: {number}\n\n");
        call.send(&format!("{:x}\r\n{event}\r\n", event.len())).await;
        assert!(caller.until(&event).await.contains(&event));
    }
    server.follow("http://127.0.0.1:1");
    assert!(caller.rest().await.ends_with("0\r\n\r\n"));
    assert_eq!(call.until_closed().await, "");
}

/// I1: a server that stops ends the streams that pass through it.
#[tokio::test]
async fn a_stop_ends_streams() {
    let mut leader = Standin::start().await;
    let server = Server::behind(&leader).await;
    let mut caller = server.caller().await;
    caller.send(&request("GET /api/events", "")).await;
    let mut call = leader.call().await;
    call.send("HTTP/1.1 200 OK\r\nMuster-Epoch: 7\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        .await;
    caller.until("\r\n\r\n").await;
    server.close();
    assert!(caller.rest().await.ends_with("0\r\n\r\n"));
}

/// S18: what is no stream of events is never cut short, whoever leads: it would look whole.
#[tokio::test]
async fn an_answer_is_never_cut_short() {
    let mut leader = Standin::start().await;
    let server = Server::behind(&leader).await;
    let mut caller = server.caller().await;
    caller.send(&request("GET /api/artifacts/a", "")).await;
    let mut call = leader.call().await;
    call.send("HTTP/1.1 200 OK\r\nMuster-Epoch: 7\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n").await;
    caller.until("one").await;
    server.follow_nobody();
    call.send("3\r\ntwo\r\n").await;
    caller.until("two").await;
    drop(call);
    assert!(!caller.rest().await.contains("0\r\n\r\n"), "an answer that breaks off does not look whole");
}

/// S18: a caller that goes away takes its request with it, while it waits and while it is answered.
#[tokio::test]
async fn who_leaves_is_not_waited_for() {
    let mut leader = Standin::start().await;
    let server = Server::behind(&leader).await;
    let mut waiting = server.caller().await;
    waiting.send(&(request("POST /api/nodes/pull", "Content-Length: 2\r\n") + "{}")).await;
    let mut call = leader.call().await;
    call.body_until("{}").await;
    drop(waiting);
    assert_eq!(call.until_closed().await, "");

    let mut reading = server.caller().await;
    reading.send(&request("GET /api/events", "")).await;
    let mut call = leader.call().await;
    call.send("HTTP/1.1 200 OK\r\nMuster-Epoch: 7\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n").await;
    reading.until("x").await;
    drop(reading);
    assert_eq!(call.until_closed().await, "");
}

/// S18: HEAD has the length and no body; interim answers and trailers end where they were meant for.
#[tokio::test]
async fn nothing_is_added_and_nothing_is_lost() {
    let mut leader = Standin::start().await;
    let server = Server::behind(&leader).await;
    let (answer, ()) = tokio::join!(server.exchange(request("HEAD /api/artifacts/a", "")), async {
        let mut call = leader.call().await;
        assert!(call.line().starts_with("HEAD "));
        call.send("HTTP/1.1 200 OK\r\nMuster-Epoch: 7\r\nContent-Length: 1234\r\nConnection: close\r\n\r\n")
            .await;
    });
    assert_eq!((status(&answer), header(&answer, "content-length")), (200, Some("1234")));
    assert!(answer.ends_with("\r\n\r\n"));

    let chunked =
        request("POST /jobs", "Expect: 100-continue\r\nTrailer: X-T\r\nTransfer-Encoding: chunked\r\n");
    let (answer, ()) = tokio::join!(server.exchange(chunked + "3\r\nabc\r\n0\r\nX-T: 1\r\n\r\n"), async {
        let mut call = leader.call().await;
        assert_eq!((call.header("expect"), call.header("trailer")), (None, None));
        let body = call.body_until("0\r\n").await;
        assert!(body.contains("abc") && !body.contains("X-T"), "{body}");
        call.send(
            "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nMuster-Epoch: 7\r\nTransfer-Encoding: chunked\r\n",
        )
        .await;
        call.send("Trailer: X-T\r\n\r\n3\r\nabc\r\n0\r\nX-T: 1\r\n\r\n").await;
    });
    assert_eq!(status(answer.trim_start_matches("HTTP/1.1 100 Continue\r\n\r\n")), 200);
    assert!(!answer.contains("103") && !answer.to_lowercase().contains("x-t"), "{answer}");
    assert!(answer.ends_with("3\r\nabc\r\n0\r\n\r\n"), "{answer}");
}
