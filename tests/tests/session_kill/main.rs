//! A session of real frames while its workers are killed and stopped, and the server too; and nothing may be missing,
//! twice, or come from somebody who had lost it.
//!
//! `MUSTER_FRAMES` says how many frames (1500), `MUSTER_SEED` which chance.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod farm;

use farm::Farm;
use muster_tests::{
    Dice,
    frames::{check_losses, check_session, no_id_is_used_twice, summary},
    until,
};
use serde_json::json;
use std::thread;

/// S13, S14, S15, S16, S24, S27: the session ends complete, its manifest verifies, no frame stands twice, no id is used
/// twice over all label files, the retired ones included, and each loss appears in `replay[]`.
#[test]
fn no_kill_loses_a_frame_or_repeats_an_id() {
    let frames: u64 = std::env::var("MUSTER_FRAMES").ok().and_then(|text| text.parse().ok()).unwrap_or(1500);
    let mut dice = Dice::announced();
    let mut farm = Farm::start();
    let session = json!({"sessionId": "night", "totalFrames": frames, "framesPerTask": 20, "scenario": {"fps": 30},
        "cameras": ["front"], "qualityMode": "strict"});
    let _ = farm.server.admin().post("/api/v1/sessions", &session).expect(201);
    let mut harm = 0;
    while farm.status() == "running" {
        thread::sleep(dice.millis(300, 900));
        harm += 1;
        match dice.below(12) {
            0..=4 => farm.kill_worker(&mut dice),
            5..=8 => farm.stop_worker(&mut dice),
            9..=10 => farm.continue_worker(&mut dice),
            _ => farm.kill_server(dice.millis(0, 300)),
        }
    }
    assert_eq!(farm.status(), "completed");
    farm.continue_all();
    until("all that was retired is set apart", || farm.has_moved_everything().then_some(()));
    let session = farm.server.session("night");
    assert_eq!((&session["completedFrames"], &session["totalFrames"]), (&frames.into(), &frames.into()));
    let (output, database) = (farm.output(), farm.server.database());
    check_session(&output, "night", frames);
    no_id_is_used_twice(&output);
    assert!(check_losses(&output, &database) > 0, "nothing was lost at all");
    println!("{frames} frames, {harm} times harmed: {}", summary(&database));
}
