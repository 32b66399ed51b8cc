//! Which coordinator gets a request, and which requests a second one.

use crate::stage::{Stage, Standin, header, request, status};

/// P16: requests go to one that is ready; with none, callers are told to come again.
#[tokio::test]
async fn requests_go_to_who_is_ready() {
    let (mut first, mut second) = (Standin::start().await, Standin::start().await);
    first.set_ready(false);
    let stage = Stage::before(&[&first, &second]).await;
    let (answer, ()) = tokio::join!(stage.exchange(request("GET /jobs", "")), async {
        second.call().await.answer("200 OK", "", "").await;
    });
    assert_eq!(status(&answer), 200);
    assert_eq!(status(&stage.exchange(request("GET /readyz", "")).await), 200);

    second.set_ready(false);
    stage.gateway.check().await;
    let answer = stage.exchange(request("GET /jobs", "")).await;
    assert_eq!(status(&answer), 503);
    assert!(header(&answer, "retry-after").is_some());
    assert_eq!(status(&stage.exchange(request("GET /readyz", "")).await), 503);
    assert_eq!(status(&stage.exchange(request("GET /healthz", "")).await), 200);
    assert!(first.call_now().is_none());
}

/// P16: whoever answered last is asked first, also when another is ready again.
#[tokio::test]
async fn the_last_one_is_preferred() {
    let (mut first, mut second) = (Standin::start().await, Standin::start().await);
    first.set_ready(false);
    let stage = Stage::before(&[&first, &second]).await;
    for is_first_ready in [false, true] {
        first.set_ready(is_first_ready);
        stage.gateway.check().await;
        let (answer, ()) = tokio::join!(stage.exchange(request("GET /jobs", "")), async {
            second.call().await.answer("200 OK", "", "").await;
        });
        assert_eq!(status(&answer), 200);
    }
    assert!(first.call_now().is_none());
}

/// P16: nobody there means nothing was sent: even a POST goes to another, with its whole body.
#[tokio::test]
async fn a_post_that_never_left_goes_elsewhere() {
    let (mut first, mut second) = (Standin::start().await, Standin::start().await);
    let stage = Stage::before(&[&first, &second]).await;
    first.stop().await;
    let bytes = request("POST /jobs", "Content-Length: 7\r\n") + "payload";
    let (answer, ()) = tokio::join!(stage.exchange(&bytes), async {
        let mut call = second.call().await;
        call.body_until("payload").await;
        call.answer("201 Created", "", "").await;
    });
    assert_eq!(status(&answer), 201);
}

/// P16, S18: a server that does not lead and knows nobody who does has done nothing: another one is asked.
#[tokio::test]
async fn who_does_not_lead_is_passed_over() {
    let (mut first, mut second) = (Standin::start().await, Standin::start().await);
    let stage = Stage::before(&[&first, &second]).await;
    let (answer, ()) = tokio::join!(stage.exchange(request("GET /jobs", "")), async {
        let call = first.call().await;
        call.answer("503 Service Unavailable", "Muster-Not-Leading: 1\r\n", "{}").await;
        second.call().await.answer("200 OK", "", "").await;
    });
    assert_eq!(status(&answer), 200);
    let (answer, ()) = tokio::join!(stage.exchange(request("GET /jobs", "")), async {
        second.call().await.answer("503 Service Unavailable", "", "full").await;
    });
    assert!(answer.ends_with("full"), "any other 503 is the caller's");
}

/// P16: a POST that may have arrived is never sent again; its caller is told that nobody knows.
#[tokio::test]
async fn a_post_that_may_have_arrived_is_not_repeated() {
    let (mut first, mut second) = (Standin::start().await, Standin::start().await);
    let stage = Stage::before(&[&first, &second]).await;
    let bytes = request("POST /jobs", "Content-Length: 7\r\n") + "payload";
    let (answer, ()) = tokio::join!(stage.exchange(&bytes), async {
        let mut call = first.call().await;
        call.body_until("payload").await;
    });
    assert_eq!(status(&answer), 502);
    assert!(answer.contains("whether the request took effect is unknown"));
    assert!(first.call_now().is_none() && second.call_now().is_none());
}

/// P16: what changes nothing, or has an idempotency key that is recognised, is sent again, with its body.
#[tokio::test]
async fn what_may_arrive_twice_goes_elsewhere() {
    let (mut first, mut second) = (Standin::start().await, Standin::start().await);
    let stage = Stage::before(&[&first, &second]).await;
    let keyed = request("POST /jobs", "Idempotency-Key: k\r\nTransfer-Encoding: chunked\r\n")
        + "7\r\npayload\r\n0\r\n\r\n";
    for (bytes, body) in [(request("GET /jobs", ""), ""), (keyed, "payload")] {
        let (answer, ()) = tokio::join!(stage.exchange(&bytes), async {
            first.call().await.body_until(body).await;
            let mut call = second.call().await;
            call.body_until(body).await;
            call.answer("200 OK", "", "").await;
        });
        assert_eq!(status(&answer), 200);
        std::mem::swap(&mut first, &mut second);
    }
}

/// P16: a key does not make repeatable what the coordinator does not recognise.
#[tokio::test]
async fn a_key_counts_only_where_it_is_recognised() {
    let (mut first, mut second) = (Standin::start().await, Standin::start().await);
    let stage = Stage::before(&[&first, &second]).await;
    for path in ["/jobs/poll", "/auth/refresh", "/api-keys"] {
        let bytes = request(&format!("POST {path}"), "Idempotency-Key: k\r\nContent-Length: 0\r\n");
        let (answer, ()) = tokio::join!(stage.exchange(&bytes), async {
            drop(first.call().await);
        });
        assert_eq!(status(&answer), 502, "{path}");
        assert!(first.call_now().is_none() && second.call_now().is_none(), "{path}");
    }
}

/// P16: a key that `Connection` takes away is no key.
#[tokio::test]
async fn a_key_that_does_not_travel_does_not_count() {
    let (mut first, mut second) = (Standin::start().await, Standin::start().await);
    let stage = Stage::before(&[&first, &second]).await;
    let lines = "Idempotency-Key: k\r\nConnection: idempotency-key\r\nContent-Length: 0\r\n";
    let (answer, ()) = tokio::join!(stage.exchange(request("POST /jobs", lines)), async {
        drop(first.call().await);
    });
    assert_eq!(status(&answer), 502);
    assert!(second.call_now().is_none());
}

/// P16: with one coordinator, a question is asked again on a new connection, a POST is not.
#[tokio::test]
async fn one_coordinator_is_asked_again() {
    let mut only = Standin::start().await;
    let stage = Stage::before(&[&only]).await;
    let (answer, ()) = tokio::join!(stage.exchange(request("GET /jobs", "")), async {
        drop(only.call().await);
        only.call().await.answer("200 OK", "", "").await;
    });
    assert_eq!(status(&answer), 200);
    only.stop().await;
    let answer = stage.exchange(request("GET /docs", "")).await;
    assert_eq!(status(&answer), 503);
}

/// P16: a coordinator that comes back is found by the watch.
#[tokio::test]
async fn a_coordinator_that_comes_back_is_found() {
    let mut only = Standin::start().await;
    let stage = Stage::before(&[&only]).await;
    let address = only.url.strip_prefix("http://").unwrap().to_owned();
    only.stop().await;
    assert_eq!(status(&stage.exchange(request("GET /docs", "")).await), 503);
    let mut back = Standin::at(&address).await;
    while status(&stage.exchange(request("GET /readyz", "")).await) != 200 {
        tokio::task::yield_now().await;
    }
    let (answer, ()) = tokio::join!(stage.exchange(request("GET /docs", "")), async {
        back.call().await.answer("200 OK", "", "").await;
    });
    assert_eq!(status(&answer), 200);
}
