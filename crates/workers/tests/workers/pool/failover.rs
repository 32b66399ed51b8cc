//! P6, P7, P16: a server that fails over to another at another address.

use super::scene::{Cast, Scene};
use serde_json::json;

const POLL: &str = "POST jobs/poll";
const RESUME: &str = "POST jobs/resume";
const SUBMIT: &str = "POST jobs/submit";

/// P6, P16: a poll that broke off is not sent again, which could start another: what was started is asked for first, at
/// the next server; then the next poll goes there.
#[tokio::test]
async fn a_poll_that_broke_off_is_asked_after() {
    let (mut scene, next) = Scene::with_next(Cast::default()).await;
    scene.server.first(POLL).await;
    // It is started, and the answer never leaves.
    next.desk().started.insert(65, json!({"op": "sum", "values": [2, 3]}));
    scene.server.die();
    let resume = next.first(RESUME).await;
    assert_eq!(next.result(65).await["output"], json!({"sum": 5}));
    next.first(POLL).await;
    next.hand_out(66, json!({}));
    next.result(66).await;
    scene.counted(|counts| counts.completed == 2).await;
    let login = next.count("POST auth/login");
    assert_eq!((login, resume.credential.as_str()), (1, next.first(POLL).await.credential.as_str()));
}

/// P7, P8, P16: a result whose answer broke off with its server goes to the next one, the very same bytes, and counts once.
#[tokio::test]
async fn a_result_goes_to_the_next_server() {
    let script = "while ! test -e \"$1/go\"; do sleep 0.05; done; echo '{}'";
    let (mut scene, next) = Scene::with_next(Cast { script: Some(script), ..Cast::default() }).await;
    scene.server.hand_out(65, json!({}));
    scene.server.first(POLL).await;
    scene.report.wait_for(|report| report.running == 1).await.unwrap();
    scene.server.die();
    std::fs::write(scene.directory.path().join("go"), "").unwrap();
    let submit = next.first(SUBMIT).await;
    assert_eq!(submit.json()["assignment_id"], 65);
    scene.counted(|counts| counts.completed == 1).await;
    assert_eq!(next.count("POST workers/register"), 1);
    assert_eq!(next.desk().results.len(), 1);
}
