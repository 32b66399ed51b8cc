//! Limits on size and rate, and tokens.

use crate::stage::{Stage, Standin, header, request, status};
use muster_gateway::{Gateway, GatewayError, Rates, Settings};

/// P16, I9: one address has so many requests; probes come through.
#[tokio::test]
async fn an_address_has_its_rate() {
    let coordinator = Standin::start().await;
    let rates = Rates { per_key: 0, per_address: 1, burst: 2 };
    let stage = Stage::with(Settings { rates, ..Settings::default() }, &[&coordinator]).await;
    let mut statuses = Vec::new();
    for _ in 0..10 {
        let answer = stage.exchange(request("GET /jobs", "Authorization: Bearer bad\r\n")).await;
        if status(&answer) == 429 {
            assert!(header(&answer, "retry-after").is_some());
            assert_eq!(header(&answer, "content-type"), Some("application/problem+json"));
        }
        statuses.push(status(&answer));
    }
    assert_eq!(statuses[..2], [401, 401]);
    assert!(statuses.contains(&429));
    assert_eq!(status(&stage.exchange(request("GET /healthz", "")).await), 200);
}

/// P16: one token has so many requests, and those of a stranger do not count against anybody.
#[tokio::test]
async fn a_token_has_its_rate() {
    let mut coordinator = Standin::start().await;
    let rates = Rates { per_key: 1, per_address: 0, burst: 1 };
    let stage = Stage::with(Settings { rates, ..Settings::default() }, &[&coordinator]).await;
    for token in ["good-a", "good-b"] {
        let bytes = request("GET /jobs", &format!("Authorization: Bearer {token}\r\n"));
        let (answer, ()) = tokio::join!(stage.exchange(&bytes), async {
            coordinator.call().await.answer("200 OK", "", "").await;
        });
        assert_eq!(status(&answer), 200, "{token}");
    }
    let bytes = request("GET /jobs", "Authorization: Bearer good-a\r\n");
    let mut answer = String::new();
    while status(&answer) != 429 {
        answer = tokio::select! {
            answer = stage.exchange(&bytes) => answer,
            () = coordinator.answer_all() => unreachable!("it never ends"),
        };
    }
    assert!(header(&answer, "retry-after").is_some());
    for _ in 0..3 {
        let answer = stage.exchange(request("GET /jobs", "Authorization: Bearer bad\r\n")).await;
        assert_eq!(status(&answer), 401);
    }
}

/// I9: a body that is too long is refused when it is announced, or cut off while it passes.
#[tokio::test]
async fn a_long_body_is_refused() {
    let mut coordinator = Standin::start().await;
    let stage = Stage::with(Settings { body_limit_bytes: 10, ..Settings::default() }, &[&coordinator]).await;
    let announced = request("POST /jobs", "Content-Length: 11\r\n");
    assert_eq!(status(&stage.exchange(&announced).await), 413);
    assert!(coordinator.call_now().is_none());

    let sent = request("POST /jobs", "Transfer-Encoding: chunked\r\n")
        + "8\r\n12345678\r\n8\r\n12345678\r\n0\r\n\r\n";
    let (answer, body) =
        tokio::join!(stage.exchange(&sent), async { coordinator.call().await.until_closed().await });
    assert_eq!(status(&answer), 413);
    assert!(!body.contains("0\r\n\r\n"), "{body}");
}

/// P16, I9: many jobs or results at once may be sixteen times as long, if their length is said; it is passed on.
#[tokio::test]
async fn a_batch_may_be_longer() {
    let mut coordinator = Standin::start().await;
    let stage = Stage::with(Settings { body_limit_bytes: 10, ..Settings::default() }, &[&coordinator]).await;
    for path in ["/jobs/batch", "/jobs/work"] {
        let bytes = request(&format!("POST {path}"), "Content-Length: 160\r\n") + &"x".repeat(160);
        let (answer, ()) = tokio::join!(stage.exchange(&bytes), async {
            let mut call = coordinator.call().await;
            assert_eq!(call.header("content-length"), Some("160"));
            call.body_until(&"x".repeat(160)).await;
            call.answer("200 OK", "", "").await;
        });
        assert_eq!(status(&answer), 200, "{path}");
        let longer = request(&format!("POST {path}"), "Content-Length: 161\r\n");
        assert_eq!(status(&stage.exchange(&longer).await), 413, "{path}");

        let unsaid = request(&format!("POST {path}"), "Transfer-Encoding: chunked\r\n")
            + "8\r\n12345678\r\n8\r\n12345678\r\n0\r\n\r\n";
        let (answer, _) =
            tokio::join!(stage.exchange(&unsaid), async { coordinator.call().await.until_closed().await });
        assert_eq!(status(&answer), 413, "{path}");
    }
}

/// I9: the gateway's own refusals have one form, and are neither kept nor guessed at; answers that pass stay as they are.
#[tokio::test]
async fn refusals_have_one_form() {
    let mut coordinator = Standin::start().await;
    let stage = Stage::with(Settings { body_limit_bytes: 10, ..Settings::default() }, &[&coordinator]).await;
    for (bytes, wanted) in [
        (request("GET /jobs", "Host: again\r\n"), 400),
        (request("GET /jobs", "Authorization: Bearer bad\r\n"), 401),
        (request("GET /jobs", "").replace("127.0.0.1", "evil.example"), 403),
        (request("POST /healthz", ""), 405),
        (request("POST /jobs", "Content-Length: 11\r\n"), 413),
        (request("GET /jobs", "Expect: much\r\n"), 417),
        (request("GET /jobs", &format!("X: {}\r\n", "y".repeat(33_000))), 431),
        (request("TRACE /jobs", ""), 501),
    ] {
        let answer = stage.exchange(&bytes).await;
        assert_eq!(status(&answer), wanted, "{bytes}");
        assert_eq!(header(&answer, "content-type"), Some("application/problem+json"), "{wanted}");
        assert_eq!(header(&answer, "x-content-type-options"), Some("nosniff"), "{wanted}");
        assert_eq!(header(&answer, "cache-control"), Some("no-store"), "{wanted}");
    }
    let (answer, ()) = tokio::join!(stage.exchange(request("GET /jobs", "")), async {
        coordinator.call().await.answer("404 Not Found", "Cache-Control: max-age=1\r\n", "").await;
    });
    assert_eq!(header(&answer, "cache-control"), Some("max-age=1"));
    assert_eq!(header(&answer, "x-content-type-options"), None);
}

/// I9: long heads are refused.
#[tokio::test]
async fn a_long_head_is_refused() {
    let mut coordinator = Standin::start().await;
    let stage = Stage::before(&[&coordinator]).await;
    let long = request("GET /jobs", &format!("X: {}\r\n", "y".repeat(40_000)));
    assert_eq!(status(&stage.exchange(&long).await), 431);
    let many = request("GET /jobs", &"X: y\r\n".repeat(200));
    assert_eq!(status(&stage.exchange(&many).await), 431);
    assert!(coordinator.call_now().is_none());
}

/// I9: so many requests are under way, and no more; one that waits counts until its end.
#[tokio::test]
async fn so_many_requests_are_under_way() {
    let mut coordinator = Standin::start().await;
    let stage = Stage::with(Settings { requests_max: 1, ..Settings::default() }, &[&coordinator]).await;
    let mut waiting = stage.caller().await;
    waiting.send(&request("GET /api/events", "")).await;
    let mut call = coordinator.call().await;
    call.send("HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n").await;
    waiting.until("x").await;
    let answer = stage.exchange(request("GET /jobs", "")).await;
    assert_eq!(status(&answer), 503);
    assert!(header(&answer, "retry-after").is_some());
    call.send("0\r\n\r\n").await;
    waiting.rest().await;
    let (answer, ()) = tokio::join!(stage.exchange(request("GET /jobs", "")), async {
        coordinator.call().await.answer("200 OK", "", "").await;
    });
    assert_eq!(status(&answer), 200);
}

/// P16, I9: one address has an eighth of the places for requests, with or without tokens.
#[tokio::test]
async fn an_address_has_so_many_places() {
    let mut coordinator = Standin::start().await;
    let stage = Stage::with(Settings { requests_max: 16, ..Settings::default() }, &[&coordinator]).await;
    let mut waiting = Vec::new();
    for (path, token) in [("GET /docs/scalar.js", "good-a"), ("POST /jobs/poll", "good-b")] {
        let mut caller = stage.caller().await;
        caller.send(&request(path, &format!("Authorization: Bearer {token}\r\n"))).await;
        waiting.push((caller, coordinator.call().await));
    }
    let answer = stage.exchange(request("GET /jobs", "Authorization: Bearer good-c\r\n")).await;
    assert_eq!(status(&answer), 429);
    assert_eq!(header(&answer, "retry-after"), Some("1"));
    let (mut caller, call) = waiting.pop().unwrap();
    call.answer("200 OK", "", "").await;
    caller.rest().await;
    let (answer, ()) = tokio::join!(stage.exchange(request("GET /jobs", "")), async {
        coordinator.call().await.answer("200 OK", "", "").await;
    });
    assert_eq!(status(&answer), 200);
}

/// P16, I9: one token has an eighth of the places, from wherever; others have theirs.
#[tokio::test]
async fn a_token_has_so_many_places() {
    let mut coordinator = Standin::start().await;
    let rates = Rates { per_address: 0, ..Rates::default() };
    let settings = Settings { rates, requests_max: 16, ..Settings::default() };
    let stage = Stage::with(settings, &[&coordinator]).await;
    let poll = |token: &str| request("POST /jobs/poll", &format!("Authorization: Bearer {token}\r\n"));
    let mut waiting = Vec::new();
    for _ in 0..2 {
        let mut caller = stage.caller().await;
        caller.send(&poll("good-a")).await;
        waiting.push((caller, coordinator.call().await));
    }
    assert_eq!(status(&stage.exchange(poll("good-a")).await), 429);
    let (answer, ()) = tokio::join!(stage.exchange(poll("good-b")), async {
        coordinator.call().await.answer("200 OK", "", "").await;
    });
    assert_eq!(status(&answer), 200);
}

/// P16, I9: strangers send little, and have so much time for all of it.
#[tokio::test]
async fn a_stranger_has_little_time() {
    let mut coordinator = Standin::start().await;
    let open_max = std::time::Duration::from_millis(50);
    let stage = Stage::with(Settings { open_max, ..Settings::default() }, &[&coordinator]).await;
    let long = request("POST /auth/login", "Content-Length: 8193\r\n");
    assert_eq!(status(&stage.exchange(&long).await), 413);
    let unfinished = request("POST /auth/login", "Content-Length: 10\r\n") + "12345";
    assert_eq!(status(&stage.exchange(&unfinished).await), 408);
    assert_eq!(status(&stage.exchange(request("GET /openapi.json", "")).await), 504);

    let mut reading = stage.caller().await;
    reading.send(&request("GET /docs", "")).await;
    let mut call = loop {
        let call = coordinator.call().await;
        if call.line().starts_with("GET /docs ") {
            break call;
        }
    };
    call.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n").await;
    assert!(!reading.rest().await.contains("0\r\n\r\n"));
}

/// P16, I9: one address has an eighth of the connections; one more is closed at once, and those that end make room.
#[tokio::test]
async fn an_address_has_so_many_connections() {
    let coordinator = Standin::start().await;
    let settings = Settings { connections_max: 16, ..Settings::default() };
    let stage = Stage::with(settings, &[&coordinator]).await;
    let mut held = Vec::new();
    for _ in 0..2 {
        let mut caller = stage.caller().await;
        caller.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
        assert_eq!(status(&caller.until("ok\n").await), 200);
        held.push(caller);
    }
    assert_eq!(stage.caller().await.rest().await, "");
    drop(held);
    while status(&stage.exchange(request("GET /healthz", "")).await) != 200 {
        tokio::task::yield_now().await;
    }
}

/// P16: where addresses are not told apart, one of them may have all connections there are.
#[tokio::test]
async fn behind_a_proxy_an_address_is_everybody() {
    let coordinator = Standin::start().await;
    let rates = Rates { per_address: 0, ..Rates::default() };
    let settings = Settings { rates, connections_max: 3, ..Settings::default() };
    let stage = Stage::with(settings, &[&coordinator]).await;
    let mut held = Vec::new();
    for _ in 0..3 {
        let mut caller = stage.caller().await;
        caller.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
        assert_eq!(status(&caller.until("ok\n").await), 200);
        held.push(caller);
    }
    assert_eq!(stage.caller().await.rest().await, "");
}

/// P16: a coordinator that does not answer is not waited for for ever, and the request is not repeated.
#[tokio::test]
async fn a_silent_coordinator_is_given_up() {
    let (mut first, mut second) = (Standin::start().await, Standin::start().await);
    let answer_max = std::time::Duration::from_millis(50);
    let stage = Stage::with(Settings { answer_max, ..Settings::default() }, &[&first, &second]).await;
    let (answer, ()) = tokio::join!(stage.exchange(request("GET /docs", "")), async {
        assert_eq!(first.call().await.until_closed().await, "");
    });
    assert_eq!(status(&answer), 504);
    assert!(second.call_now().is_none());
}

/// P16: a gateway without a coordinator is refused.
#[test]
fn a_gateway_needs_a_coordinator() {
    assert!(matches!(Gateway::new(Vec::new(), Settings::default()), Err(GatewayError::NoCoordinator)));
}

/// P2: no token, a malformed and an unknown one are told the same; nothing arrives.
#[tokio::test]
async fn a_stranger_is_turned_away() {
    let mut coordinator = Standin::start().await;
    let stage = Stage::before(&[&coordinator]).await;
    for lines in [
        "Authorization: Bearer bad\r\n",
        "Authorization: Basic good\r\n",
        "Authorization: good\r\n",
        "Authorization: \r\n",
    ] {
        let answer = stage.exchange(request("POST /jobs", lines)).await;
        assert_eq!(status(&answer), 401, "{lines}");
        assert_eq!(header(&answer, "content-type"), Some("application/problem+json"));
        assert!(header(&answer, "www-authenticate").is_some());
        let body: serde_json::Value = serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap()).unwrap();
        assert_eq!(body["detail"], "Invalid token");
        assert_eq!(body["status"], 401);
    }
    let none = "GET /jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n";
    assert_eq!(status(&stage.exchange(none).await), 401);
    assert!(coordinator.call_now().is_none());
}

/// P16: the open paths need no token.
#[tokio::test]
async fn open_paths_need_no_token() {
    let mut coordinator = Standin::start().await;
    let stage = Stage::before(&[&coordinator]).await;
    for path in ["/auth/login", "/openapi.json", "/docs", "/docs/scalar.js"] {
        let bytes = format!("POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n");
        let (answer, ()) = tokio::join!(stage.exchange(&bytes), async {
            coordinator.call().await.answer("200 OK", "", "").await;
        });
        assert_eq!(status(&answer), 200, "{path}");
    }
    assert_eq!(coordinator.times_asked(), 0);
}

/// P16: many who come with one token at once are one question.
#[tokio::test]
async fn a_token_is_asked_about_once() {
    let mut coordinator = Standin::start().await;
    let stage = Stage::before(&[&coordinator]).await;
    let bytes = request("GET /jobs", "");
    let answering = async {
        for _ in 0..20 {
            coordinator.call().await.answer("200 OK", "", "").await;
        }
    };
    let asking = async {
        for _ in 0..2 {
            let asking = futures_util::future::join_all((0..10).map(|_| stage.exchange(&bytes)));
            assert!(asking.await.iter().all(|answer| status(answer) == 200));
        }
    };
    tokio::join!(asking, answering);
    // A slow machine may take longer than an answer is remembered.
    assert!(coordinator.times_asked() < 20, "{}", coordinator.times_asked());
}

/// P16, I9: where nobody can say whose a token is, nobody is let in and nobody is called a stranger.
#[tokio::test]
async fn an_unclear_token_is_no_stranger() {
    let mut coordinator = Standin::start().await;
    let stage = Stage::before(&[&coordinator]).await;
    let answer = stage.exchange(request("GET /jobs", "Authorization: Bearer odd\r\n")).await;
    assert_eq!(status(&answer), 503);
    assert!(header(&answer, "retry-after").is_some());
    assert!(coordinator.call_now().is_none());
}
