//! What arrives at the coordinator, and what comes back.

use crate::stage::{Stage, Standin, header, request, status};

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
