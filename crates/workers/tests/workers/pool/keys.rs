//! P16: keys, as the server knows them.

use super::{
    scene::{Cast, Scene},
    server::{Fault, StandIn},
};
use muster_proof::KeyPair;
use muster_workers::pool::{core::Over, runtime::PoolWorkerError};
use serde_json::json;
use std::fs;

fn public(seed: u8) -> String {
    KeyPair::from_seed(&[seed; 32]).public_text()
}

/// P16: no key is made where another worker has the spool.
#[tokio::test]
async fn a_spool_in_use_makes_no_key() {
    let mut scene = Scene::start(Cast::default()).await;
    let error = scene.second().unwrap_err();
    assert!(matches!(error, PoolWorkerError::InUse(_)));
    let error = error.to_string();
    assert!(error.contains("another worker") && error.contains("--spool"), "{error}");
    assert!(!scene.directory.path().join("second-key").exists());
    scene.leave().await;
}

/// P16: a server that knows another key is not argued with.
#[tokio::test]
async fn another_key_ends_it() {
    let server = StandIn::start();
    server.desk().key = Some(public(1));
    let mut scene = Scene::begin(server, tempfile::tempdir().unwrap(), Cast::default());
    assert_eq!(scene.over().await, Over::OtherKey { key: public(1).into() });
    assert_eq!(scene.server.desk().key, Some(public(1)));
}

/// P16: a key is replaced: what the old one signed is submitted first, then the server gets the new one, then the file;
/// an answer that is lost on the way changes nothing.
#[tokio::test]
async fn a_key_is_replaced() {
    let mut scene = Scene::start(Cast { grace: muster_model::Millis(50), ..Cast::default() }).await;
    scene.server.fail_always("submit", Some(Fault::Status(503, "busy")));
    scene.server.hand_out(65, json!({}));
    scene.server.nth("POST jobs/submit", 0).await;
    scene.leave().await;
    assert_eq!(scene.spool().0, 1);
    let (server, directory) = scene.part();
    server.fail_always("submit", None);
    server.fail_once("key", Fault::Lost);
    let (first, polls) = (server.calls().len(), server.count("POST jobs/poll"));
    let scene = Scene::begin(server, directory, Cast { rotate: true, ..Cast::default() });
    scene.server.result(65).await;
    scene.server.nth("POST jobs/poll", polls).await;
    let calls = scene.server.calls()[first..].to_vec();
    let expected = [
        "POST auth/login",
        "GET workers",
        "POST jobs/submit",
        "PUT workers/7/key",
        "GET workers",
        "POST jobs/resume",
        "POST jobs/poll",
    ];
    assert_eq!(calls, expected);
    assert_eq!(scene.server.desk().key, Some(public(8)));
    assert_eq!(fs::read(scene.directory.path().join("key")).unwrap(), [8; 32]);
    assert!(!scene.directory.path().join("key.next").exists());
    scene.server.hand_out(129, json!({}));
    scene.server.result(129).await;
}

/// P16: a crash between the server's new key and the file's leaves a pair that is valid: the next start sees which.
#[tokio::test]
async fn a_replacement_that_broke_off_is_finished() {
    for server_has in [7, 8] {
        let (server, directory) = (StandIn::start(), tempfile::tempdir().unwrap());
        server.desk().key = Some(public(server_has));
        let open = |rotate, seed| {
            let path = directory.path().join("key");
            muster_workers::pool::KeyFile::open(&path, rotate, || [seed; 32]).unwrap()
        };
        drop((open(false, 7), open(true, 8)));
        let scene = Scene::begin(server, directory, Cast::default());
        scene.server.hand_out(65, json!({}));
        scene.server.result(65).await;
        assert_eq!(scene.server.desk().key, Some(public(8)));
        assert_eq!(fs::read(scene.directory.path().join("key")).unwrap(), [8; 32]);
    }
}
