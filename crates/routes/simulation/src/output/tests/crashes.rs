//! S15: whenever the server dies, nothing is lost, doubled or deleted, and the next try completes it.

use super::super::{OutputError, crash};
use super::*;

/// S15: a chunk's first move, its late files and its fragment, with a crash before each change to the disk.
#[test]
fn a_chunk_survives_a_crash_anywhere() {
    survives(&fill_chunk, &|world| world.root.quarantine(&chunk(7)), "quarantine/dropped_chunks/7");
    survives(&fill_late, &|world| world.root.quarantine(&chunk(7)), "quarantine/dropped_chunks/7");
}

/// S15: what a worker left, the same.
#[test]
fn a_worker_survives_a_crash_anywhere() {
    let fill = |world: &World| {
        world.write("session_s1/workers/W1/log", "log");
        world.write("session_s1/workers/W1/deep/log", "deep");
        world.write("quarantine/worker/W1/s1/log", "before");
    };
    survives(&fill, &|world| world.root.quarantine(&worker()), "quarantine/worker/W1");
}

/// S5: a fragment that is withdrawn, the same.
#[test]
fn a_withdrawn_fragment_survives_a_crash_anywhere() {
    let fill = |world: &World| world.root.place_fragment(task(7), &name("W1"), b"{}").unwrap();
    let withdraw = |world: &World| world.root.withdraw_fragment(task(7), &name("W1")).map(|()| 0);
    survives(&fill, &withdraw, "quarantine/dropped_chunks/7");
}

/// S15: the same where a move is two steps.
#[test]
fn network_file_systems_survive_a_crash_anywhere() {
    crash::without_noreplace(|| {
        a_chunk_survives_a_crash_anywhere();
        a_worker_survives_a_crash_anywhere();
        a_withdrawn_fragment_survives_a_crash_anywhere();
    });
}

fn fill_chunk(world: &World) {
    world.write("session_s1/chunks/7/000001.png", "one");
    world.write("session_s1/chunks/7/audit.jsonl", "the worker's own");
    world.write("session_s1/chunks/7/poses/1.json", "pose");
    world.write("session_s1/meta/manifest_fragment_W1_7.json", "fragment");
}

fn fill_late(world: &World) {
    fill_chunk(world);
    world.root.quarantine(&chunk(7)).unwrap();
    world.write("session_s1/chunks/7/000001.png", "again");
    world.write("session_s1/meta/manifest_fragment_W1_7.json", "another fragment");
}

/// Lets it die before every change to the disk, and the second life too.
fn survives(fill: &dyn Fn(&World), run: &dyn Fn(&World) -> Result<u64, OutputError>, audited: &str) {
    let mut first = 0;
    while dies(fill, run, (first, None), audited) {
        let mut second = 0;
        while dies(fill, run, (first, Some(second)), audited) {
            second += 1;
        }
        first += 1;
    }
    assert!(first > 4, "only {first} changes were seen");
}

/// One world in which it dies once or twice; says whether the last life did.
fn dies(
    fill: &dyn Fn(&World),
    run: &dyn Fn(&World) -> Result<u64, OutputError>,
    (first, second): (u32, Option<u32>),
    audited: &str,
) -> bool {
    let world = World::new();
    fill(&world);
    let before = contents(&world);
    let mut died = live(&world, run, first);
    assert_kept(&world, &before);
    if let Some(second) = second {
        died = live(&world, run, second);
        assert_kept(&world, &before);
    }
    run(&world).unwrap();
    assert_eq!(contents(&world), before, "nothing lost, doubled or deleted");
    world.check_audit(audited);
    let moved = |path: &String| path.starts_with("quarantine/");
    assert!(world.files().keys().all(moved), "{:?}", world.files());
    died
}

fn live(world: &World, run: &dyn Fn(&World) -> Result<u64, OutputError>, changes: u32) -> bool {
    let (result, died) = crash::after(changes, || run(world));
    assert_eq!(result.is_err(), died, "{result:?}");
    died
}

/// What the files hold, however they are called.
fn contents(world: &World) -> Vec<String> {
    let mut contents: Vec<String> = world.files().into_values().collect();
    // A worker's own audit.jsonl is a file like any other.
    let own = world.has("session_s1/chunks/7/audit.jsonl")
        || std::fs::read_to_string(world.path("quarantine/dropped_chunks/7/audit.jsonl"))
            .is_ok_and(|text| text == "the worker's own");
    contents.extend(own.then(|| "the worker's own".to_owned()));
    contents.sort_unstable();
    contents
}

/// In the middle nothing is gone. Where a move is two steps, a file may have both names.
fn assert_kept(world: &World, before: &[String]) {
    let mut now = contents(world);
    now.dedup();
    let mut before = before.to_vec();
    before.dedup();
    assert_eq!(now, before);
}
