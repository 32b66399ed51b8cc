//! S23: the clocks of workers differ.

use crate::farm::Farm;
use muster_tests::SimWorker;
use serde_json::{Value, json};
use std::fs;

/// A program that writes the time of each frame into its fragment, by a clock that is so many milliseconds ahead. It
/// waits until both workers have a range, and takes a moment for each frame.
fn script(farm: &Farm, worker: &str, ahead_ms: u64) -> String {
    let place = farm.signal_file();
    let place = place.parent().unwrap().display();
    format!(
        r#"touch {place}/{worker}; while [ ! -e {place}/W1 ] || [ ! -e {place}/W2 ]; do sleep 0.02; done
        mkdir -p meta; n=$MUSTER_FRAME_START; frames=
        while [ $n -lt $MUSTER_FRAME_END ]; do
            frames="$frames${{frames:+,}}{{\"frame_id\":$n,\"timestamp\":$(($(date +%s%3N) + {ahead_ms}))}}"
            sleep 0.005; n=$((n + 1))
        done
        echo "{{\"workerId\":\"{worker}\",\"frameRange\":[$MUSTER_FRAME_START,$MUSTER_FRAME_END],\
            \"globalIdChunkId\":$MUSTER_CHUNK_ID,\"cameras\":[{{\"id\":\"cam1\"}}],\"statistics\":{{\"a\":{{\"b\":1}}}},\
            \"validationSummary\":{{}},\"frames\":[$frames]}}" > meta/manifest_fragment_{worker}_$MUSTER_CHUNK_ID.json"#
    )
}

/// S21, S22, S23: two workers whose clocks are an hour apart share a session. Nothing is skipped or rendered again, and
/// the manifest keeps every frame.
#[test]
fn clocks_an_hour_apart_cost_no_frame() {
    let farm = Farm::start(&[]);
    let workers = [("W1", 0), ("W2", 3_600_000)].map(|(worker, ahead_ms)| {
        SimWorker::start(&farm.server, worker, &["--exec", "sh", "-c", &script(&farm, worker, ahead_ms)])
    });
    let ended = farm.muster("session submit night --frames 60 --frames-per-task 5 --wait");
    assert_eq!(ended.code, 0, "{} {}", ended.stdout, workers[0].log());
    let session = farm.server.session("night");
    assert_eq!((&session["complete"], &session["replays"]), (&json!(true), &json!([])));
    let manifest = fs::read(farm.output().join("session_night/meta/manifest.json")).unwrap();
    let manifest: Value = serde_json::from_slice(&manifest).unwrap();
    assert_eq!((&manifest["skipped"], &manifest["gaps"]), (&json!([]), &json!([])));
    assert_eq!(manifest["distributed"]["workers"], json!(["W1", "W2"]));
    assert_eq!(manifest["cameras"], json!([{"id": "cam1"}]));
    let ranges = manifest["ranges"].as_array().unwrap().len();
    assert!(ranges >= 12);
    assert_eq!(manifest["statistics"]["a"]["b"], ranges);
    let merged =
        farm.muster(&format!("manifest merge {}", farm.output().join("session_night/meta").display()));
    assert_eq!(merged.code, 0, "{}", merged.stderr);
}
