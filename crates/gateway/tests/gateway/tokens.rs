//! Whose token is checked, and how often.

use crate::stage::{Stage, Standin, header, request, status};

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
