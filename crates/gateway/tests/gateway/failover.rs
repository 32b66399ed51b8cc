//! Which coordinator gets a request, and which requests a second one.

use crate::{
    server::{Manner, Server},
    stage::{Stage, Standin, header, request, status},
};
use std::time::Duration;

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

const POST: &str = "Content-Length: 7\r\n";
const KEYED: &str = "Content-Length: 7\r\nIdempotency-Key: k\r\n";

/// S18: where nobody leads a request waits, and is answered by whoever leads next: here too, with its whole body.
#[tokio::test]
async fn a_request_waits_for_a_leader() {
    let (server, mut leader) = (Server::start().await, Standin::start().await);
    let mut caller = server.caller().await;
    caller.send(&(request("POST /jobs", POST) + "payload")).await;
    server.follow(&leader.url);
    let mut call = leader.call().await;
    call.body_until("payload").await;
    call.answer("201 Created", "", "").await;
    assert_eq!(status(&caller.rest().await), 201);

    server.follow_nobody();
    let mut caller = server.caller().await;
    caller.send(&(request("POST /jobs", POST) + "payload")).await;
    server.lead();
    assert!(caller.rest().await.ends_with("POST /jobs of 127.0.0.1, 7 bytes, 0 told\n"));
}

/// S18: it does not wait for ever, and not with everybody; it is told when to come again, and that nothing was done.
#[tokio::test]
async fn nobody_waits_for_ever() {
    let server = Server::hasty().await;
    let answer = server.exchange(request("POST /jobs", POST) + "payload").await;
    assert_eq!((status(&answer), header(&answer, "retry-after")), (503, Some("1")));
    assert!(answer.contains("urn:muster:problem:not-leading"), "{answer}");
    assert!(answer.contains("no server leads at the moment: the database does not answer"), "{answer}");
    assert!(!answer.contains("hunter2"), "nothing of rows is told: {answer}");
    assert_eq!(header(&answer, "x-request-id").map(str::len), Some(16));

    let server = Server::with(Manner { requests_max: 1, ..Manner::default() }).await;
    let mut waiting = server.caller().await;
    waiting.send(&request("GET /jobs", "")).await;
    let mut other = server.caller().await;
    other.send(&request("GET /jobs", "")).await;
    // Whichever of them came second is turned away while the first still waits.
    let first_answer = tokio::select! {
        answer = waiting.rest() => answer,
        answer = other.rest() => answer,
    };
    assert_eq!(status(&first_answer), 503);
}

/// S18: nobody at the leader's address means that nothing was sent: even a POST waits and goes to the next leader.
#[tokio::test]
async fn what_never_left_is_sent_to_the_next_leader() {
    let (mut first, mut second) = (Standin::start().await, Standin::start().await);
    let server = Server::behind(&first).await;
    first.stop().await;
    let mut caller = server.caller().await;
    caller.send(&(request("POST /jobs", POST) + "payload")).await;
    server.follow(&second.url);
    let mut call = second.call().await;
    call.body_until("payload").await;
    call.answer("201 Created", "", "").await;
    assert_eq!(status(&caller.rest().await), 201);

    let hasty = Server::hasty().await;
    hasty.follow(&first.url);
    let answer = hasty.exchange(request("POST /jobs", POST) + "payload").await;
    assert_eq!(status(&answer), 503);
    assert!(answer.contains("not-leading") && answer.contains("cannot be reached"), "{answer}");
}

/// S18: a POST that may have arrived is never sent again; its caller is told that nobody knows.
#[tokio::test]
async fn what_may_have_arrived_is_not_repeated() {
    let mut leader = Standin::start().await;
    let server = Server::behind(&leader).await;
    for (path, lines) in [("/jobs", POST), ("/jobs/poll", KEYED)] {
        let bytes = request(&format!("POST {path}"), lines) + "payload";
        let (answer, ()) = tokio::join!(server.exchange(&bytes), async {
            leader.call().await.body_until("payload").await;
        });
        assert_eq!((status(&answer), header(&answer, "retry-after")), (503, Some("1")));
        assert!(answer.contains("urn:muster:problem:broke-off"), "{answer}");
        assert!(answer.contains("whether the request took effect is unknown"), "{answer}");
        assert!(leader.call_now().is_none());
    }
}

/// S18: what changes nothing, or has a key that is recognised, is sent again, with its body, to whoever leads then.
#[tokio::test]
async fn what_may_arrive_twice_is_sent_again() {
    let (mut first, mut second) = (Standin::start().await, Standin::start().await);
    let server = Server::behind(&first).await;
    let posted = request("POST /jobs", KEYED) + "payload";
    for (bytes, body) in [(request("GET /jobs", ""), ""), (posted, "payload")] {
        let (answer, ()) = tokio::join!(server.exchange(&bytes), async {
            first.call().await.body_until(body).await;
            server.follow(&second.url);
            let mut call = second.call().await;
            call.body_until(body).await;
            call.answer("200 OK", "", "").await;
        });
        assert_eq!(status(&answer), 200);
        std::mem::swap(&mut first, &mut second);
    }
}

/// S18: what breaks off a second time is given up: it may be what brings leaders down.
#[tokio::test]
async fn a_leader_that_always_breaks_off_is_given_up() {
    let mut leader = Standin::start().await;
    let server = Server::behind(&leader).await;
    let mut calls = 0;
    let breaking = async {
        loop {
            drop(leader.call().await);
            calls += 1;
        }
    };
    let answer = tokio::select! {
        answer = server.exchange(request("GET /jobs", "")) => answer,
        () = breaking => unreachable!("it breaks off for ever"),
    };
    assert_eq!((status(&answer), calls), (503, 2));
    assert!(leader.call_now().is_none());
}

/// S18: a leader that says nothing is left when another leads; what it may have done decides what is said.
#[tokio::test]
async fn a_silent_leader_is_left_when_another_leads() {
    let (mut silent, mut next) = (Standin::start().await, Standin::start().await);
    let server = Server::behind(&silent).await;
    let mut asking = server.caller().await;
    asking.send(&request("GET /jobs", "")).await;
    let mut posting = server.caller().await;
    posting.send(&(request("POST /jobs", POST) + "payload")).await;
    let mut calls = [silent.call().await, silent.call().await];
    server.follow(&next.url);
    next.call().await.answer("200 OK", "", "fresh").await;
    assert!(asking.rest().await.ends_with("fresh"));
    let answer = posting.rest().await;
    assert_eq!(status(&answer), 503);
    assert!(answer.contains("broke-off"), "{answer}");
    for call in &mut calls {
        call.until_closed().await;
    }
}

/// S18: what never got a proven connection to a leader that hangs goes to the next, even a POST.
#[tokio::test]
async fn what_waits_for_a_proof_has_not_left() {
    let (mut hung, mut next) = (Standin::start().await, Standin::start().await);
    let server = Server::behind(&hung).await;
    let (answer, ()) = tokio::join!(server.exchange(request("GET /jobs", "")), async {
        hung.call().await.answer("200 OK", "", "").await;
    });
    assert_eq!(status(&answer), 200);
    hung.turn_silent();
    let before = hung.times_challenged();
    let mut caller = server.caller().await;
    caller.send(&(request("POST /jobs", POST) + "payload")).await;
    let asked = async {
        while hung.times_challenged() == before {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), asked).await.expect("a proof is asked for");
    server.follow(&next.url);
    let arrives = async {
        let mut call = next.call().await;
        call.body_until("payload").await;
        call.answer("201 Created", "", "").await;
        std::future::pending::<()>().await;
    };
    let answer = tokio::select! {
        answer = caller.rest() => answer,
        () = arrives => unreachable!("it stays"),
    };
    assert_eq!(status(&answer), 201, "{answer}");
}

/// S18: what the old leader answered before it went still counts.
#[tokio::test]
async fn the_last_answers_of_a_leader_arrive() {
    let mut leader = Standin::start().await;
    let server = Server::behind(&leader).await;
    let mut caller = server.caller().await;
    caller.send(&(request("POST /jobs", POST) + "payload")).await;
    let mut call = leader.call().await;
    call.body_until("payload").await;
    server.follow_nobody();
    call.answer("201 Created", "", "last").await;
    assert!(caller.rest().await.ends_with("last"));
}

/// S18: a body too long to be kept goes out once; whoever sent it hears what is known.
#[tokio::test]
async fn a_long_body_goes_out_once() {
    let mut leader = Standin::start().await;
    let server = Server::behind(&leader).await;
    let long = "x".repeat(200_000);
    for lines in ["Idempotency-Key: k\r\n", ""] {
        let bytes = request("POST /jobs", &format!("{lines}Content-Length: 200000\r\n")) + &long;
        let (answer, ()) = tokio::join!(server.exchange(&bytes), async {
            leader.call().await.body_until(&"x".repeat(100_000)).await;
        });
        assert_eq!(status(&answer), 503);
        assert!(answer.contains("broke-off"), "{answer}");
    }
    let bytes = request("POST /jobs", "Content-Length: 200000\r\n") + &long;
    let (answer, ()) = tokio::join!(server.exchange(&bytes), async {
        let mut call = leader.call().await;
        call.body_until(&long).await;
        call.answer("503 Service Unavailable", "Muster-Not-Leading: 1\r\n", "{}").await;
    });
    assert!(answer.contains("not-leading") && answer.contains("nothing was done"), "{answer}");
}

/// I1: a server that stops lets nobody wait.
#[tokio::test]
async fn a_stop_lets_nobody_wait() {
    let mut leader = Standin::start().await;
    let server = Server::start().await;
    let mut waiting = server.caller().await;
    waiting.send(&request("GET /jobs", "")).await;
    server.follow(&leader.url);
    let call = leader.call().await;
    let mut late = server.caller().await;
    server.follow_nobody();
    server.close();
    assert_eq!(status(&waiting.rest().await), 503);
    late.send(&request("GET /jobs", "")).await;
    assert!(late.rest().await.contains("not-leading"));
    drop(call);
}
