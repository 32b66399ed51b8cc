//! P1, P2: how the worker as it runs gets in.

use super::{
    scene::{Cast, Scene},
    server::Fault,
};
use muster_workers::pool::core::Over;
use serde_json::json;

/// P1, P2: a token that is over is renewed, and where that fails a new one got; nothing is lost meanwhile.
#[tokio::test]
async fn a_token_that_is_over_is_replaced() {
    let scene = Scene::start(Cast::default()).await;
    scene.server.nth("POST jobs/poll", 0).await;
    scene.server.end_token();
    scene.server.hand_out(65, json!({}));
    scene.server.result(65).await;
    assert_eq!(scene.server.count("POST auth/refresh"), 1, "it was tried");
    assert_eq!(scene.server.count("POST auth/login"), 2);
    let tokens: Vec<String> = scene.server.desk().calls.iter().map(|call| call.credential.clone()).collect();
    assert_eq!((tokens.first().unwrap().as_str(), tokens.last().unwrap().as_str()), ("", "Bearer token-2"));
}

/// P1: a wrong password ends it, after one try.
#[tokio::test]
async fn a_wrong_password_ends_it() {
    let mut scene = Scene::start(Cast { password: "wrong", ..Cast::default() }).await;
    assert!(matches!(scene.over().await, Over::NotAdmitted(refusal) if refusal.status == 401));
    assert_eq!(scene.server.calls(), ["POST auth/login"]);
}

/// P2, P5: whoever may not, or is not known, stops.
#[tokio::test]
async fn a_refused_worker_stops() {
    for (end, status, detail) in [
        ("poll", 403, "Insufficient role"),
        ("heartbeat", 404, "Worker not found"),
        ("workers", 403, "Insufficient role"),
    ] {
        let mut scene = Scene::start(Cast::default()).await;
        scene.server.fail_always(end, Some(Fault::Status(status, detail)));
        let Over::Refused(refusal) = scene.over().await else { panic!("it is refused") };
        assert_eq!((refusal.status, &*refusal.detail), (status, detail));
    }
}
