//! Bodies pass while they come, and whoever leaves is not waited for.

use crate::stage::{Stage, Standin, request, status};
use muster_gateway::Settings;

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
