//! `muster checkpoint export` and `muster checkpoint restore`, with a session in between: S20, I4.

use crate::Farm;
use muster_tests::{Ended, SimWorker, frames, muster_command, run, until, wait_until};
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// A farm whose workers die more often than any real ones: that they do is not held against them.
fn start() -> Farm {
    Farm::start(&[
        ("MUSTER_SIMULATION__HEARTBEAT_MS", "200"),
        ("MUSTER_SIMULATION__MISSES_UNTIL_LOST", "3"),
        ("MUSTER_SIMULATION__CHUNK_SIZE", "1000"),
        ("MUSTER_SIMULATION__QUARANTINE_AFTER", "1000"),
        ("MUSTER_SIMULATION__MAX_ATTEMPTS", "1000"),
    ])
}

impl Farm {
    fn submit(&self, frames: u64) {
        let session = json!({"sessionId": "night", "totalFrames": frames, "framesPerTask": 10});
        let _ = self.server.admin().post("/api/v1/sessions", &session).expect(201);
    }

    /// Waits until so many frames are done.
    fn until_done(&self, frames: u64) {
        until("frames are done", || {
            (self.server.session("night")["completedFrames"].as_u64() >= Some(frames)).then_some(())
        });
    }

    fn export(&self) -> PathBuf {
        let file = self.path("checkpoint.json");
        self.export_into(&file, &["--force"]).done();
        file
    }

    fn export_into(&self, file: &Path, flags: &[&str]) -> Ended {
        run(self.server.client_command(&["checkpoint", "export"]).arg(file).args(flags))
    }

    /// Restores into the server's data directory, as whoever runs the server would.
    fn restore(&self, file: &Path) -> Ended {
        self.restore_into(&self.server.data(), file)
    }

    fn restore_into(&self, data: &Path, file: &Path) -> Ended {
        let mut command = muster_command();
        command.args(["checkpoint", "restore", "--json"]).arg(file).arg("--data").arg(data);
        run(command.env("MUSTER_SIMULATION__OUTPUT_ROOT", self.path("output")))
    }

    /// Takes everything the server knew away, but for the secret that workers enrol with.
    fn lose_data(&self) {
        let lost = self.path("lost");
        fs::rename(self.server.data(), &lost).unwrap();
        fs::create_dir(self.server.data()).unwrap();
        fs::copy(lost.join("enrol-secret"), self.server.data().join("enrol-secret")).unwrap();
    }
}

/// S13, S14, S20, I4: a server that lost all its data goes on from a checkpoint while its workers live: the session ends
/// complete, its manifest verifies, and no id is used twice, not even one that was granted after the checkpoint.
#[test]
fn a_server_without_data_goes_on_from_a_checkpoint() {
    let mut farm = start();
    let arguments = ["--fps", "40", "--persons-per-frame", "3"];
    let _workers = ["W1", "W2", "W3"].map(|id| SimWorker::start(&farm.server, id, &arguments));
    farm.submit(300);
    farm.until_done(60);
    let file = farm.export();
    farm.restore(&file).refused(1, "in use by another muster server");
    let known = farm.server.session("night")["completedFrames"].as_u64().unwrap();
    // Three workers may hold ten frames each that were granted before the checkpoint: more than that needs new ids.
    farm.until_done(known + 40);
    farm.server.kill9();
    farm.lose_data();

    let restored = farm.restore(&file).json();
    assert_eq!((&restored["sessions"], &restored["workers"]), (&json!(1), &json!(3)));
    assert!(restored["completedTasks"].as_u64() >= Some(6) && restored["skippedChunks"].as_u64() > Some(0));
    farm.restore(&file).refused(4, "already holds sessions");

    farm.server.restart();
    wait_until("the session is completed", || farm.server.session("night")["status"] == "completed");
    frames::manifest_verifies(&farm.path("output/session_night/meta"));
    let completed_before = checkpointed_fragments(&file);
    assert!(completed_before.iter().all(|path| farm.path("output").join(path).exists()));
    frames::no_id_is_used_twice(&farm.path("output"));
}

/// S20: whatever happens while a checkpoint is read, what it says fits together: each can be restored.
#[test]
fn every_checkpoint_taken_under_load_can_be_restored() {
    let farm = start();
    let mut workers = ["W1", "W2", "W3"].map(|id| SimWorker::start(&farm.server, id, &["--fps", "1000"]));
    let session = json!({"sessionId": "night", "totalFrames": 1_000_000, "framesPerTask": 2});
    let _ = farm.server.admin().post("/api/v1/sessions", &session).expect(201);
    farm.until_done(20);
    for round in 0..20 {
        farm.restore_into(&farm.path(&format!("data-{round}")), &farm.export()).done();
        if round % 4 == 0 {
            workers[round % 3].kill9_and_restart();
        }
    }
}

/// S20, I4: a file that is there may be the only checkpoint of its time: it is replaced only by whoever says so.
#[test]
fn a_file_that_is_there_is_not_replaced() {
    let farm = start();
    let file = farm.path("old.json");
    fs::write(&file, "old").unwrap();
    let refused = farm.export_into(&file, &[]);
    refused.refused(4, "old.json");
    refused.refused(4, "--force");
    assert_eq!(fs::read_to_string(&file).unwrap(), "old");
    farm.export_into(&file, &["--force"]).done();
    assert!(fs::read_to_string(&file).unwrap().starts_with("{\"checkpoint\""));
    farm.export_into(&farm.path("new.json"), &[]).done();
}

/// S20, I4: a checkpoint that cannot be read is named, with the field that is wrong, and nothing is written.
#[test]
fn a_bad_checkpoint_is_refused() {
    let mut farm = start();
    farm.submit(30);
    let file = farm.export();
    let _ = farm.server.terminate();
    farm.lose_data();
    farm.restore(&farm.path("nothing.json")).refused(2, "nothing.json");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(farm.path("changed.json"), text.replacen("\"running\"", "\"paused\"", 1)).unwrap();
    let changed = farm.restore(&farm.path("changed.json"));
    changed.refused(1, "changed.json");
    changed.refused(1, "sha256");
    farm.restore(&file).done();
    farm.server.restart();
    assert_eq!(farm.server.session("night")["status"], "running");
}

fn checkpointed_fragments(file: &Path) -> Vec<String> {
    let document: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    let paths = &document["checkpoint"]["distributed"]["manifestFragments"];
    paths.as_array().unwrap().iter().map(|path| path.as_str().unwrap().to_owned()).collect()
}
