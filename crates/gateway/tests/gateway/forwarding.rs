//! Requests as they arrive at the coordinator, and responses as they come back.

use crate::stage::{Stage, Standin, header, request, status};
use muster_gateway::Settings;

/// P16: path and query arrive byte for byte; Host is the coordinator's.
#[tokio::test]
async fn a_path_arrives_as_it_was_sent() {
    let mut coordinator = Standin::start().await;
    let stage = Stage::before(&[&coordinator]).await;
    for path in ["/jobs/%2e%2e/x?b=%0d%0a&c=a/../b&&", "/a/../b//c", "/%41?", "/jobs;a=b", "/a%00"] {
        let (answer, ()) = tokio::join!(stage.exchange(request(&format!("GET {path}"), "")), async {
            let call = coordinator.call().await;
            assert_eq!(call.line(), format!("GET {path} HTTP/1.1"));
            assert_eq!(call.header("host"), coordinator.url.strip_prefix("http://"));
            call.answer("200 OK", "", "fine").await;
        });
        assert_eq!(status(&answer), 200);
        assert!(answer.ends_with("\r\n\r\nfine"));
    }
}

/// P16: headers for one connection stay on it, both ways; what a caller claims to stand for is replaced.
#[tokio::test]
async fn headers_are_made_clean_both_ways() {
    let mut coordinator = Standin::start().await;
    let stage = Stage::before(&[&coordinator]).await;
    let lines = "Connection: x-mine\r\nX-Mine: 1\r\nKeep-Alive: 5\r\nTE: trailers\r\nProxy-Authorization: x\r\n\
                 X-Forwarded-For: 10.9.9.9\r\nForwarded: for=10.9.9.9\r\nX-Forwarded-Host: evil\r\nX-Kept: yes\r\n";
    let (answer, head) = tokio::join!(stage.exchange(request("GET /jobs", lines)), async {
        let call = coordinator.call().await;
        let head = call.head.clone();
        let lines =
            "Connection: x-theirs\r\nX-Theirs: 1\r\nProxy-Authenticate: x\r\nTrailer: y\r\nX-Back: yes\r\n";
        call.answer("201 Created", lines, "").await;
        head
    });
    for gone in
        ["x-mine", "keep-alive", "te", "proxy-authorization", "forwarded", "x-forwarded-host", "connection"]
    {
        assert_eq!(header(&head, gone), None, "{gone}");
    }
    assert_eq!(header(&head, "x-forwarded-for"), Some("127.0.0.1"));
    assert_eq!(header(&head, "x-forwarded-proto"), Some("http"));
    assert_eq!(header(&head, "x-kept"), Some("yes"));
    assert_eq!(header(&head, "authorization"), Some("Bearer good"));
    assert_eq!(status(&answer), 201);
    for gone in ["x-theirs", "proxy-authenticate", "trailer"] {
        assert_eq!(header(&answer, gone), None, "{gone}");
    }
    assert_eq!(header(&answer, "x-back"), Some("yes"));
}

/// P16: a request has one id on both sides: the caller's if it is harmless, else a new one.
#[tokio::test]
async fn a_request_has_one_id() {
    let mut coordinator = Standin::start().await;
    let stage = Stage::before(&[&coordinator]).await;
    for (lines, kept) in [("X-Request-Id: mine-1\r\n", true), ("X-Request-Id: a b\r\n", false), ("", false)] {
        let (answer, there) = tokio::join!(stage.exchange(request("GET /jobs", lines)), async {
            let call = coordinator.call().await;
            let id = call.header("x-request-id").unwrap().to_owned();
            call.answer("200 OK", "X-Request-Id: other\r\n", "").await;
            id
        });
        assert_eq!(header(&answer, "x-request-id"), Some(there.as_str()));
        assert_eq!(there == "mine-1", kept, "{there}");
        assert!(kept || there.len() == 16);
    }
    let refused = stage.exchange(request("GET /jobs", "Authorization: Bearer bad\r\n")).await;
    assert_eq!(header(&refused, "x-request-id").unwrap().len(), 16);
}

/// P16: what a caller expects of the next machine ends here, and so does a change of protocol.
#[tokio::test]
async fn expectations_and_upgrades_end_here() {
    let mut coordinator = Standin::start().await;
    let stage = Stage::before(&[&coordinator]).await;
    let upgrade = request("GET /jobs", "Upgrade: websocket\r\n");
    assert_eq!(status(&stage.exchange(&upgrade).await), 501);
    assert_eq!(status(&stage.exchange(request("GET /jobs", "Expect: magic\r\n")).await), 417);
    let mut caller = stage.caller().await;
    caller.send(&request("POST /jobs", "Expect: 100-continue\r\nContent-Length: 2\r\n")).await;
    let (_, ()) = tokio::join!(caller.until("100 Continue\r\n\r\n"), async {});
    caller.send("{}").await;
    let mut call = coordinator.call().await;
    assert_eq!(call.header("expect"), None);
    assert_eq!(call.body_until("{}").await, "{}");
    call.answer("201 Created", "", "").await;
    assert_eq!(status(&caller.rest().await), 201);
}

/// P16: an answer to HEAD has the length of what it does not bring.
#[tokio::test]
async fn a_head_has_no_body() {
    let mut coordinator = Standin::start().await;
    let stage = Stage::before(&[&coordinator]).await;
    let (answer, ()) = tokio::join!(stage.exchange(request("HEAD /jobs", "")), async {
        let mut call = coordinator.call().await;
        call.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\n").await;
    });
    assert_eq!(header(&answer, "content-length"), Some("5"));
    assert!(answer.ends_with("\r\n\r\n"));
}

/// I7: a name that an attacker's DNS points at the gateway is refused.
#[tokio::test]
async fn a_foreign_name_is_refused() {
    let coordinator = Standin::start().await;
    let stage = Stage::before(&[&coordinator]).await;
    let answer =
        stage.exchange("GET /docs HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n").await;
    assert_eq!(status(&answer), 403);
}

/// P16: redirects are the caller's to follow.
#[tokio::test]
async fn a_redirect_is_passed_on() {
    let mut coordinator = Standin::start().await;
    let stage = Stage::before(&[&coordinator]).await;
    let (answer, ()) = tokio::join!(stage.exchange(request("GET /jobs", "")), async {
        coordinator.call().await.answer("307 Elsewhere", "Location: http://192.0.2.1/\r\n", "").await;
    });
    assert_eq!((status(&answer), header(&answer, "location")), (307, Some("http://192.0.2.1/")));
}

/// P16: what a caller sends arrives while it still sends, however long the whole is.
#[tokio::test]
async fn a_body_arrives_while_it_is_sent() {
    let mut coordinator = Standin::start().await;
    let settings = Settings { body_limit_bytes: 1 << 30, ..Settings::default() };
    let stage = Stage::with(settings, &[&coordinator]).await;
    let mut caller = stage.caller().await;
    caller.send(&request("POST /jobs", "Transfer-Encoding: chunked\r\n")).await;
    let piece = "x".repeat(100_000);
    let mut call = None;
    for number in 0..20 {
        // The next piece is sent only after this one has arrived.
        caller
            .send(&format!("{:x}\r\n{piece}<{number}>\r\n", piece.len() + format!("<{number}>").len()))
            .await;
        if call.is_none() {
            call = Some(coordinator.call().await);
        }
        call.as_mut().unwrap().body_until(&format!("<{number}>")).await;
    }
    caller.send("0\r\n\r\n").await;
    let mut call = call.unwrap();
    call.body_until("0\r\n\r\n").await;
    call.answer("201 Created", "", "done").await;
    assert!(caller.rest().await.ends_with("done"));
}

/// P16: an event arrives when it is sent, not when the stream ends.
#[tokio::test]
async fn events_arrive_as_they_happen() {
    let mut coordinator = Standin::start().await;
    let stage = Stage::before(&[&coordinator]).await;
    let mut caller = stage.caller().await;
    caller.send(&request("GET /api/events", "")).await;
    let mut call = coordinator.call().await;
    call.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        .await;
    assert_eq!(status(&caller.until("\r\n\r\n").await), 200);
    for number in 0..5 {
        let event = format!("data: {number}\n\n");
        call.send(&format!("{:x}\r\n{event}\r\n", event.len())).await;
        assert!(caller.until(&event).await.contains(&event));
    }
    call.send("0\r\n\r\n").await;
    assert!(caller.rest().await.ends_with("0\r\n\r\n"));
}

/// P16: a caller that goes away takes its request with it, while it waits and while it is answered.
#[tokio::test]
async fn who_leaves_is_not_waited_for() {
    let mut coordinator = Standin::start().await;
    let stage = Stage::before(&[&coordinator]).await;
    let mut waiting = stage.caller().await;
    waiting.send(&request("POST /jobs/poll", "Content-Length: 2\r\n")).await;
    waiting.send("{}").await;
    let mut call = coordinator.call().await;
    call.body_until("{}").await;
    drop(waiting);
    assert_eq!(call.until_closed().await, "");

    let mut reading = stage.caller().await;
    reading.send(&request("GET /api/events", "")).await;
    let mut call = coordinator.call().await;
    call.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n").await;
    reading.until("x").await;
    drop(reading);
    assert_eq!(call.until_closed().await, "");

    let mut sending = stage.caller().await;
    sending.send(&request("POST /jobs", "Content-Length: 10\r\n")).await;
    sending.send("12345").await;
    let mut call = coordinator.call().await;
    call.body_until("12345").await;
    drop(sending);
    assert_eq!(call.until_closed().await, "");
}

/// P16: an answer that breaks off does not look whole.
#[tokio::test]
async fn a_broken_answer_does_not_look_whole() {
    let mut coordinator = Standin::start().await;
    let stage = Stage::before(&[&coordinator]).await;
    let (answer, ()) = tokio::join!(stage.exchange(request("GET /jobs", "")), async {
        let mut call = coordinator.call().await;
        call.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n").await;
    });
    assert!(!answer.contains("0\r\n\r\n"), "{answer}");
}

/// P16: a coordinator may answer before it was sent everything.
#[tokio::test]
async fn an_early_answer_is_passed_on() {
    let mut coordinator = Standin::start().await;
    let stage = Stage::before(&[&coordinator]).await;
    let mut caller = stage.caller().await;
    caller.send(&request("POST /jobs", "Content-Length: 1000\r\n")).await;
    coordinator.call().await.answer("403 Forbidden", "", "no").await;
    assert_eq!(status(&caller.until("\r\n\r\nno").await), 403);
}
