//! S3: tasks are brought to workers that can be reached.

use super::super::push::{Courier, Errand, Push, PushError, SIGNATURE, Target};
use super::*;
use axum::{
    Router,
    body::Bytes,
    extract::{Request, State},
    http::{StatusCode, header::LOCATION},
    response::{IntoResponse, Response},
};
use futures_util::stream::{FuturesUnordered, StreamExt};
use hmac::{Hmac, KeyInit, Mac};
use muster_model::{FrameTaskStatus, ask::frames::Remove};
use tokio::{
    net::TcpListener,
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
};

/// What an endpoint was sent.
struct Sent {
    path: String,
    signature: String,
    body: Bytes,
}

/// What an endpoint answers.
type Answer = fn() -> Response;

/// An endpoint that keeps what it is sent, and where it is.
async fn endpoint(answer: Answer) -> (String, UnboundedReceiver<Sent>) {
    let (keep, kept) = unbounded_channel();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/base", listener.local_addr().unwrap());
    let router = Router::new().fallback(take).with_state((keep, answer));
    tokio::spawn(async move { axum::serve(listener, router).await });
    (address, kept)
}

async fn take(State((keep, answer)): State<(UnboundedSender<Sent>, Answer)>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
    let signature = parts.headers.get(SIGNATURE).map(|value| value.to_str().unwrap().to_owned());
    let path = format!("{} {}", parts.method, parts.uri.path());
    let signature = signature.unwrap_or_default();
    let _ = keep.send(Sent { path, signature, body });
    answer()
}

fn ack() -> Response {
    r#"{"ack":true,"more":1}"#.into_response()
}

/// S3: the task comes to the worker's own address, signed; its ack makes the task running.
#[tokio::test]
async fn a_pushed_task_is_signed_and_its_ack_counts() {
    let world = World::new().await;
    let running = world.run();
    let (address, mut kept) = endpoint(ack).await;
    world.register("W1", Some(&address)).await;
    world.submit(10).await;
    let sent = kept.recv().await.unwrap();
    assert_eq!(sent.path, "POST /base/workers/W1/tasks");
    let body: serde_json::Value = serde_json::from_slice(&sent.body).unwrap();
    assert_eq!(body, json!({"taskId": "s1.00000000", "attempt": 1}));
    let mut mac = Hmac::<Sha256>::new_from_slice(&token_hash("W1")).unwrap();
    mac.update(&sent.body);
    assert_eq!(sent.signature, crate::output::hex(&mac.finalize().into_bytes()));

    let id = "s1.00000000".parse().unwrap();
    let confirmed = async || {
        let id = muster_model::FrameTaskId::clone(&id);
        let task = world.coordinator.read(move |reader| reader.frame_task(&id)).await.unwrap();
        task.filter(|task| task.status == FrameTaskStatus::Running)
    };
    let task = world.until(confirmed).await;
    assert_eq!((task.worker, task.attempt), (name("W1"), 1));
    running.abort();
}

/// S6: a removed worker is told at its own address, signed; its ack is known.
#[tokio::test]
async fn a_removal_is_told_at_the_workers_address() {
    let world = World::new().await;
    let running = world.run();
    let (address, mut kept) = endpoint(ack).await;
    world.register("W1", Some(&address)).await;
    world.ask(Remove { worker: name("W1"), itself: false }).await;
    let sent = kept.recv().await.unwrap();
    assert_eq!(sent.path, "DELETE /base/workers/W1");
    assert_eq!(&sent.body[..], br#"{"removed":true,"workerId":"W1"}"#);
    let mut mac = Hmac::<Sha256>::new_from_slice(&token_hash("W1")).unwrap();
    mac.update(&sent.body);
    assert_eq!(sent.signature, crate::output::hex(&mac.finalize().into_bytes()));
    let known = async || {
        let worker = world.coordinator.read(|reader| reader.renderer(&name("W1"))).await.unwrap();
        worker.filter(|worker| worker.removal == Some(muster_model::Removal::Known))
    };
    // It is in no feed: nobody but the engine waits for it.
    while known().await.is_none() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    running.abort();
}

/// S3: only `{ack:true}` with 2xx is an ack.
#[tokio::test]
async fn what_is_no_ack_is_not_taken_for_one() {
    let answers: [(Answer, &str); 6] = [
        (|| (StatusCode::INTERNAL_SERVER_ERROR, r#"{"ack":true}"#).into_response(), "500"),
        (|| r#"{"ack":false}"#.into_response(), "ack"),
        (|| r#"{"ack":"true"}"#.into_response(), "ack"),
        (|| "".into_response(), "ack"),
        (|| " ".repeat(70_000).into_response(), "65536"),
        (|| (StatusCode::FOUND, [(LOCATION, "/elsewhere")]).into_response(), "302"),
    ];
    for (answer, told) in answers {
        let (address, mut kept) = endpoint(answer).await;
        let error = bring(&Courier::new(), &address).await.unwrap_err();
        assert!(error.to_string().contains(told), "{error}");
        kept.recv().await.unwrap();
        assert!(kept.try_recv().is_err(), "one try, and no redirect is followed");
    }
    let (address, _kept) = endpoint(ack).await;
    bring(&Courier::new(), &address).await.unwrap();
    let error = bring(&Courier::new(), "http://127.0.0.1:1").await.unwrap_err();
    assert!(matches!(error, PushError::Http(_)) && error.to_string().contains("refused"), "{error}");
}

/// S3: a worker that takes a connection and says nothing is given up after a while.
#[tokio::test(start_paused = true)]
async fn silence_is_no_ack() {
    let (address, _listener) = silent().await;
    let error = bring(&Courier::new(), &address).await.unwrap_err();
    assert!(matches!(&error, PushError::Http(error) if error.is_timeout()), "{error}");
}

/// S3: one slow endpoint does not hold up the others, however many tasks wait for it.
#[tokio::test]
async fn a_slow_endpoint_holds_up_nobody_else() {
    let courier = Courier::new();
    let (slow, _listener) = silent().await;
    let (address, _kept) = endpoint(ack).await;
    let mut waiting: FuturesUnordered<_> = (0..200).map(|_| bring(&courier, &slow)).collect();
    tokio::select! {
        biased;
        _ = waiting.next() => panic!("the slow endpoint was waited for"),
        brought = bring(&courier, &address) => brought.unwrap(),
    }
}

async fn bring(courier: &Courier, endpoint: &str) -> Result<(), PushError> {
    let worker = name("W1");
    let push = Push {
        errand: Errand::Task,
        target: Target { worker: &worker, endpoint, key: &[7; 32] },
        body: "{}".into(),
    };
    courier.bring(&push).await
}

/// An endpoint that answers nothing.
async fn silent() -> (String, TcpListener) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    (format!("http://{}", listener.local_addr().unwrap()), listener)
}
