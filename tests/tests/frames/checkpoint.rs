//! `muster checkpoint export` and `muster checkpoint restore`, with a session in between: S20, I4.

use crate::Farm;
use muster_tests::{SimWorker, frames, muster_command, until};
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Output,
};

/// A farm whose workers die more often than any real ones: that they do is not held against them.
fn start() -> Farm {
    Farm::start(&[
        ("MUSTER_SIMULATION__HEARTBEAT_MS", "200"),
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
        let exported = self.export_into(&file, &["--force"]);
        assert_eq!(code(&exported), 0, "{}", said(&exported));
        file
    }

    fn export_into(&self, file: &Path, flags: &[&str]) -> Output {
        let mut command = muster_command();
        command.args(["checkpoint", "export"]).arg(file).args(["--server", &self.server.anonymous().url()]);
        command.args(flags).env("MUSTER_TOKEN", self.server.admin_token()).output().unwrap()
    }

    /// Restores into the server's data directory, as whoever runs the server would.
    fn restore(&self, file: &Path) -> Output {
        self.restore_into(&self.server.data(), file)
    }

    fn restore_into(&self, data: &Path, file: &Path) -> Output {
        let mut command = muster_command();
        command.args(["checkpoint", "restore", "--json"]).arg(file).arg("--data").arg(data);
        command.env("MUSTER_SIMULATION__OUTPUT_ROOT", self.path("output")).output().unwrap()
    }

    /// Takes everything the server knew away, but for the secret that workers enrol with.
    fn lose_data(&self) {
        let lost = self.path("lost");
        fs::rename(self.server.data(), &lost).unwrap();
        fs::create_dir(self.server.data()).unwrap();
        fs::copy(lost.join("enrol-secret"), self.server.data().join("enrol-secret")).unwrap();
    }
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
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
    let in_use = farm.restore(&file);
    assert_eq!(code(&in_use), 1, "{}", said(&in_use));
    assert!(said(&in_use).contains("in use by another muster server"), "{}", said(&in_use));
    let known = farm.server.session("night")["completedFrames"].as_u64().unwrap();
    // Three workers may hold ten frames each that were granted before the checkpoint: more than that needs new ids.
    farm.until_done(known + 40);
    farm.server.kill9();
    farm.lose_data();

    let restored = farm.restore(&file);
    assert_eq!(code(&restored), 0, "{}", said(&restored));
    let restored: Value = serde_json::from_slice(&restored.stdout).unwrap();
    assert_eq!((&restored["sessions"], &restored["workers"]), (&json!(1), &json!(3)));
    assert!(restored["completedTasks"].as_u64() >= Some(6) && restored["skippedChunks"].as_u64() > Some(0));
    let again = farm.restore(&file);
    assert_eq!(code(&again), 4, "{}", said(&again));
    assert!(said(&again).contains("already holds sessions"), "{}", said(&again));

    farm.server.restart();
    until("the session is completed", || {
        (farm.server.session("night")["status"] == "completed").then_some(())
    });
    let meta = farm.path("output/session_night/meta");
    let verified = muster_command().args(["manifest", "verify"]).arg(&meta).output().unwrap();
    assert_eq!(code(&verified), 0, "{}", said(&verified));
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
        let restored = farm.restore_into(&farm.path(&format!("data-{round}")), &farm.export());
        assert_eq!(code(&restored), 0, "{}", said(&restored));
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
    assert_eq!((code(&refused), fs::read_to_string(&file).unwrap().as_str()), (4, "old"));
    assert!(said(&refused).contains("old.json") && said(&refused).contains("--force"), "{}", said(&refused));
    let forced = farm.export_into(&file, &["--force"]);
    assert_eq!(code(&forced), 0, "{}", said(&forced));
    assert!(fs::read_to_string(&file).unwrap().starts_with("{\"checkpoint\""));
    assert_eq!(code(&farm.export_into(&farm.path("new.json"), &[])), 0);
}

/// S20, I4: a checkpoint that cannot be read is named, with the field that is wrong, and nothing is written.
#[test]
fn a_bad_checkpoint_is_refused() {
    let mut farm = start();
    farm.submit(30);
    let file = farm.export();
    let _ = farm.server.terminate();
    farm.lose_data();
    let missing = farm.restore(&farm.path("nothing.json"));
    assert_eq!(code(&missing), 2, "{}", said(&missing));
    let text = fs::read_to_string(&file).unwrap();
    fs::write(farm.path("changed.json"), text.replacen("\"running\"", "\"paused\"", 1)).unwrap();
    let changed = farm.restore(&farm.path("changed.json"));
    assert_eq!(code(&changed), 1);
    assert!(
        said(&changed).contains("changed.json") && said(&changed).contains("sha256"),
        "{}",
        said(&changed)
    );
    let restored = farm.restore(&file);
    assert_eq!(code(&restored), 0, "{}", said(&restored));
    farm.server.restart();
    assert_eq!(farm.server.session("night")["status"], "running");
}

fn checkpointed_fragments(file: &Path) -> Vec<String> {
    let document: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    let paths = &document["checkpoint"]["distributed"]["manifestFragments"];
    paths.as_array().unwrap().iter().map(|path| path.as_str().unwrap().to_owned()).collect()
}
