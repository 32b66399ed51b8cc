//! Attempts to get a request past the gateway that it did not see.

use crate::stage::{Stage, Standin, header, request, status};

const SMUGGLED: &str = "GET /smuggled HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";

/// Sends bytes and expects them refused, with nothing arriving.
async fn refused(head: &str, body: &str) {
    let mut coordinator = Standin::start().await;
    let stage = Stage::before(&[&coordinator]).await;
    let answer = stage.exchange(format!("{head}{body}")).await;
    assert_eq!(status(&answer), 400, "{head:?}{body:?}: {answer}");
    assert_eq!(answer.matches("HTTP/1.1").count(), 1, "{answer}");
    assert!(coordinator.call_now().is_none(), "{head:?}");
}

fn post(lines: &str) -> String {
    format!("POST /jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer good\r\n{lines}\r\n")
}

/// P16: Content-Length beside Transfer-Encoding is refused, in either order.
#[tokio::test]
async fn two_kinds_of_length_are_refused() {
    for lines in [
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: nonsense\r\n",
    ] {
        refused(&post(lines), &format!("0\r\n\r\n{SMUGGLED}")).await;
    }
}

/// P16: any Transfer-Encoding but one `chunked` is refused.
#[tokio::test]
async fn hidden_encodings_are_refused() {
    for lines in [
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
        "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding: xchunked\r\n",
        "Transfer-Encoding : chunked\r\n",
        "Transfer-Encoding:\u{b}chunked\r\n",
        "Transfer-Encoding: \"chunked\"\r\n",
        "X: y\r\n Transfer-Encoding: chunked\r\n",
        "X: y\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding:\r\n chunked\r\n",
    ] {
        refused(&post(lines), &format!("0\r\n\r\n{SMUGGLED}")).await;
    }
}

/// P16: a repeated or odd Content-Length is refused, even if it says the same twice.
#[tokio::test]
async fn odd_lengths_are_refused() {
    for lines in [
        "Content-Length: 0\r\nContent-Length: 0\r\n",
        "Content-Length: 0\r\nContent-Length: 48\r\n",
        "Content-Length: 0, 0\r\n",
        "Content-Length: +0\r\n",
        "Content-Length: -1\r\n",
        "Content-Length: 0x0\r\n",
        "Content-Length: \r\n",
    ] {
        refused(&post(lines), SMUGGLED).await;
    }
}

/// P16: who is asked, and who asks, is said once; folded lines and bare line ends are refused.
#[tokio::test]
async fn ambiguous_heads_are_refused() {
    for head in [
        post("Host: other\r\n"),
        post("Authorization: Bearer good\r\n"),
        post("X: a\r\n b\r\n"),
        post("X: a\nY: b\r\n"),
        post("X: a\rY: b\r\n"),
        post("X: a\0b\r\n"),
        post("X y: a\r\n"),
        post("").replace('\r', ""),
        "GET /jobs HTTP/1.1\r\nAuthorization: Bearer good\r\n\r\n".to_owned(),
    ] {
        refused(&head, "").await;
    }
}

/// P16: only a path is a target.
#[tokio::test]
async fn odd_targets_are_refused() {
    for line in [
        "GET http://127.0.0.1/jobs HTTP/1.1",
        "GET http://evil.example/jobs HTTP/1.1",
        "OPTIONS * HTTP/1.1",
        "CONNECT 127.0.0.1:80 HTTP/1.1",
        "GET jobs HTTP/1.1",
        "GET /jobs#x HTTP/1.1",
        "GET /a b HTTP/1.1",
        "GET  /jobs HTTP/1.1",
        "GET /jobs\rX: y HTTP/1.1",
        "GET /jobs HTTP/3.0",
    ] {
        refused(&format!("{line}\r\nHost: 127.0.0.1\r\nAuthorization: Bearer good\r\n\r\n"), "").await;
    }
}

/// P16: what stands in a body is never a request, and chunks leave without their extensions and trailers.
#[tokio::test]
async fn a_body_stays_a_body() {
    let mut coordinator = Standin::start().await;
    let stage = Stage::before(&[&coordinator]).await;
    let length = SMUGGLED.len();
    let by_length = request("POST /jobs", &format!("Content-Length: {length}\r\n")) + SMUGGLED;
    let chunks = format!("{length:x};ext=\"a\"\r\n{SMUGGLED}\r\n0;b\r\nX-Trailer: {SMUGGLED}");
    let by_chunks = request("POST /jobs", "Transfer-Encoding: chunked\r\n") + &chunks;
    for bytes in [by_length, by_chunks] {
        let (answer, ()) = tokio::join!(stage.exchange(&bytes), async {
            let mut call = coordinator.call().await;
            assert_eq!(call.line(), "POST /jobs HTTP/1.1");
            let lengths = [call.header("content-length"), call.header("transfer-encoding")];
            assert_eq!(lengths.iter().flatten().count(), 1, "{lengths:?}");
            let is_chunked = lengths[1].is_some();
            let body = call.body_until(if is_chunked { "0\r\n\r\n" } else { SMUGGLED }).await;
            assert!(body.contains(SMUGGLED));
            assert!(!body.contains("ext") && !body.contains("railer"), "{body}");
            call.answer("201 Created", "", "").await;
        });
        assert_eq!(status(&answer), 201);
        assert_eq!(answer.matches("HTTP/1.1").count(), 1, "{answer}");
    }
    assert!(coordinator.call_now().is_none());
}

/// P16: a chunk that could end in two places ends the request; nothing after it is read, and the coordinator sees that
/// it is not whole.
#[tokio::test]
async fn a_broken_chunk_ends_everything() {
    for chunk in [
        "2\r\nabc\r\n",
        "2\nab\r\n",
        "2;x\ny\r\nab\r\n",
        "0x2\r\nab\r\n",
        "-1\r\nab\r\n",
        "fffffffffffffffff\r\n",
    ] {
        let mut coordinator = Standin::start().await;
        let stage = Stage::before(&[&coordinator]).await;
        let mut caller = stage.caller().await;
        caller.send(&post("Transfer-Encoding: chunked\r\n")).await;
        caller.send("1\r\n-\r\n").await;
        let mut call = coordinator.call().await;
        call.body_until("1\r\n-\r\n").await;
        caller.send(&format!("{chunk}0\r\n\r\n{SMUGGLED}")).await;
        let rest = call.until_closed().await;
        assert!(!rest.contains("0\r\n\r\n") && !rest.contains("smuggled"), "{chunk:?}: {rest}");
        let answer = caller.rest().await;
        assert!(answer.is_empty() || status(&answer) == 400, "{chunk:?}: {answer}");
        assert!(coordinator.call_now().is_none());
    }
}

/// P16: a good request before a bad one on the same connection is answered, the bad one refused, the next never read.
#[tokio::test]
async fn a_flaw_does_not_fall_back_on_others() {
    let mut coordinator = Standin::start().await;
    let stage = Stage::before(&[&coordinator]).await;
    let good = "GET /docs HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
    let bad = "GET /docs HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: b\r\n\r\n";
    let bytes = format!("{good}{bad}{SMUGGLED}");
    let (answer, ()) = tokio::join!(stage.exchange(&bytes), async {
        coordinator.call().await.answer("200 OK", "", "page").await;
    });
    let (first, second) = answer.split_once("page").unwrap();
    assert_eq!((status(first), status(second)), (200, 400), "{answer}");
    assert_eq!(header(second, "content-type"), Some("application/problem+json"));
    assert_eq!(header(second, "connection"), Some("close"));
    assert!(coordinator.call_now().is_none());
}

/// P16: an answer that has two lengths is no answer.
#[tokio::test]
async fn a_coordinator_cannot_split_answers() {
    let mut coordinator = Standin::start().await;
    let stage = Stage::before(&[&coordinator]).await;
    let (answer, ()) = tokio::join!(stage.exchange(request("POST /jobs", "Content-Length: 0\r\n")), async {
        let mut call = coordinator.call().await;
        call.send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
            .await;
        call.until_closed().await;
    });
    let framing = (header(&answer, "content-length"), header(&answer, "transfer-encoding"));
    assert!(matches!(framing, (Some(_), None) | (None, Some(_))), "{answer}");
    assert_eq!(answer.matches("HTTP/1.1").count(), 1);
}
