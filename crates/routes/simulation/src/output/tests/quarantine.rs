//! S15: what is moved, what is written down about it, and what is never done, also when the server dies at any point.

use super::*;
use std::{fs::File, io::Write, os::unix::ffi::OsStrExt};

/// S15: files of a retired chunk go to dropped_chunks, each with path, size and SHA-256.
#[test]
fn the_files_of_a_chunk_are_set_apart() {
    let world = World::new();
    world.write("session_s1/chunks/7/000001.png", "one");
    world.write("session_s1/chunks/7/poses/1.json", "pose");
    world.write("session_s1/chunks/8/000002.png", "another task's");
    world.write("session_s1/meta/manifest_fragment_W1_7.json", "fragment");
    world.write("session_s1/meta/manifest_fragment_W2_8.json", "another's");
    assert_eq!(world.root.quarantine(&chunk(7)).unwrap(), 3);
    let expected = [
        ("quarantine/dropped_chunks/7/000001.png", "one"),
        ("quarantine/dropped_chunks/7/manifest_fragment_W1_7.json", "fragment"),
        ("quarantine/dropped_chunks/7/poses/1.json", "pose"),
        ("session_s1/chunks/8/000002.png", "another task's"),
        ("session_s1/meta/manifest_fragment_W2_8.json", "another's"),
    ];
    assert_eq!(world.files(), expected.map(|(path, text)| (path.to_owned(), text.to_owned())).into());
    world.check_audit("quarantine/dropped_chunks/7");
    let line = &world.audit("quarantine/dropped_chunks/7/audit.jsonl")["000001.png"];
    let expected = serde_json::json!({
        "path": "000001.png", "size": 3, "sha256": sha256(b"one"),
        "entry": "chunk-7", "output": "session_s1", "worker": "W1",
    });
    assert_eq!(line, &expected);
}

/// S15: what a lost worker left that belongs to no chunk goes under worker/, by session, with one audit.
#[test]
fn the_rest_of_a_worker_is_set_apart() {
    let world = World::new();
    world.write("session_s1/workers/W1/log.txt", "log");
    world.write("session_s1/workers/W1/audit.jsonl", "the worker's own");
    world.write("session_s1/workers/W2/log.txt", "another's");
    world.write("other/workers/W1/log.txt", "of another session");
    assert_eq!(world.root.quarantine(&worker()).unwrap(), 2);
    assert_eq!(world.read("quarantine/worker/W1/s1/audit.jsonl"), "the worker's own");
    let id = EntryId::Worker(name("W1"), session("s2"));
    let second = QuarantineRecord { output: "other".into(), ..record(id) };
    assert_eq!(world.root.quarantine(&second).unwrap(), 1, "each entry counts its own");
    assert_eq!(world.read("quarantine/worker/W1/s2/log.txt"), "of another session");
    assert_eq!(world.read("session_s1/workers/W2/log.txt"), "another's");
    world.check_audit("quarantine/worker/W1");
    let audit = world.audit("quarantine/worker/W1/audit.jsonl");
    assert_eq!(audit["s1/log.txt"]["entry"], "worker-W1.s1");
    assert_eq!(audit["s2/log.txt"]["output"], "other");
}

/// S15: doing it twice changes nothing; with nothing there, nothing is made.
#[test]
fn again_is_the_same() {
    let world = World::new();
    assert_eq!(world.root.quarantine(&chunk(7)).unwrap(), 0);
    assert_eq!(world.root.quarantine(&worker()).unwrap(), 0);
    assert!(!world.has("quarantine"));
    world.write("session_s1/chunks/7/a", "a");
    assert_eq!(world.root.quarantine(&chunk(7)).unwrap(), 1);
    let audit = world.read("quarantine/dropped_chunks/7/audit.jsonl");
    assert_eq!(world.root.quarantine(&chunk(7)).unwrap(), 1);
    assert_eq!(world.read("quarantine/dropped_chunks/7/audit.jsonl"), audit);
}

/// S15: an empty directory goes too, so that a worker that was replaced cannot go on in it.
#[test]
fn an_empty_directory_is_taken_away() {
    let world = World::new();
    world.root.make_task_directory(task(7)).unwrap();
    assert_eq!(world.root.quarantine(&chunk(7)).unwrap(), 0);
    assert!(!world.has("session_s1/chunks/7") && world.has("quarantine/dropped_chunks/7"));
    assert!(!world.has("quarantine/dropped_chunks/7/audit.jsonl"));
}

/// S5, S15: what comes later goes beside what came before; nothing is written over.
#[test]
fn late_files_are_kept_apart() {
    let world = World::new();
    for (round, text) in ["first", "second", "third"].into_iter().enumerate() {
        world.write("session_s1/chunks/7/frame", text);
        world.write("session_s1/meta/manifest_fragment_W1_7.json", text);
        assert_eq!(world.root.quarantine(&chunk(7)).unwrap(), 2 * (round as u64 + 1));
        world.check_audit("quarantine/dropped_chunks/7");
    }
    let home = "quarantine/dropped_chunks/7";
    assert_eq!(world.read(&format!("{home}/frame")), "first");
    assert_eq!(world.read(&format!("{home}/late_1/frame")), "second");
    assert_eq!(world.read(&format!("{home}/late_2/frame")), "third");
    assert_eq!(world.read(&format!("{home}/manifest_fragment_W1_7.json")), "first");
    assert_eq!(world.read(&format!("{home}/manifest_fragment_W1_7.json.late_2")), "third");
}

/// S15: a worker that still holds files open goes on in the quarantine; the next look finds it.
#[test]
fn a_worker_that_still_writes_is_audited_as_found() {
    let world = World::new();
    world.write("session_s1/chunks/7/a", "a");
    let mut open = File::options().append(true).open(world.path("session_s1/chunks/7/a")).unwrap();
    world.root.quarantine(&chunk(7)).unwrap();
    world.check_audit("quarantine/dropped_chunks/7");
    open.write_all(b"more").unwrap();
    world.write("quarantine/dropped_chunks/7/b", "b");
    assert_eq!(world.root.quarantine(&chunk(7)).unwrap(), 2);
    world.check_audit("quarantine/dropped_chunks/7");
    assert_eq!(world.read("quarantine/dropped_chunks/7/audit.jsonl").lines().count(), 3, "history stays");
}

/// S15: a worker's own audit.jsonl, of whatever kind and content, is not taken for ours.
#[test]
fn a_workers_audit_is_a_file_like_any_other() {
    let foreign = [
        "",
        "not json",
        r#"{"path":"a","size":1,"sha256":"x","entry":"chunk-8","output":"session_s1","worker":"W1"}"#,
    ];
    for text in foreign {
        let world = World::new();
        world.write("session_s1/chunks/7/audit.jsonl", text);
        world.write("session_s1/chunks/7/audit.jsonl.late_1", "taken");
        assert_eq!(world.root.quarantine(&chunk(7)).unwrap(), 2, "{text}");
        assert_eq!(world.read("quarantine/dropped_chunks/7/audit.jsonl.late_2"), text);
        world.check_audit("quarantine/dropped_chunks/7");
    }
    let world = World::new();
    let outside = world.outside().join("secret.json");
    world.root.make_task_directory(task(7)).unwrap();
    symlink(&outside, world.path("session_s1/chunks/7/audit.jsonl")).unwrap();
    assert_eq!(world.root.quarantine(&chunk(7)).unwrap(), 1);
    assert_eq!(fs::read_to_string(outside).unwrap(), "secret");
    world.check_audit("quarantine/dropped_chunks/7");
}

/// S15: what a person wrote into an audit stays.
#[test]
fn a_persons_line_stays() {
    let world = World::new();
    world.write("session_s1/chunks/7/a", "a");
    world.root.quarantine(&chunk(7)).unwrap();
    let file = world.path("quarantine/dropped_chunks/7/audit.jsonl");
    File::options().append(true).open(&file).unwrap().write_all(b"seen by Kim").unwrap();
    world.write("session_s1/chunks/7/b", "b");
    world.root.quarantine(&chunk(7)).unwrap();
    let lines = fs::read_to_string(file).unwrap();
    let lines: Vec<&str> = lines.lines().collect();
    assert_eq!((lines.len(), lines[1]), (3, "seen by Kim"));
    assert!(lines[0].contains(r#""path":"a""#) && lines[2].contains(r#""path":"late_1/b""#));
}

/// S15: a link among the files is moved and noted; where it leads nothing is touched.
#[test]
fn links_are_moved_and_not_followed() {
    let world = World::new();
    let outside = world.outside();
    world.write("session_s1/chunks/7/a", "a");
    symlink(&outside, world.path("session_s1/chunks/7/away")).unwrap();
    symlink("a", world.path("session_s1/chunks/7/inner")).unwrap();
    assert_eq!(world.root.quarantine(&chunk(7)).unwrap(), 3);
    let audit = world.audit("quarantine/dropped_chunks/7/audit.jsonl");
    assert_eq!(audit["away"]["kind"], "symlink");
    assert_eq!(audit["away"]["target"], outside.to_str().unwrap());
    assert_eq!(audit["inner"]["sha256"], sha256(b"a"), "of the link's text");
    assert!(!audit.contains_key("away/secret.json"));
    assert!(outside.join("secret.json").exists());
}

/// S15: a directory that was replaced by a link is moved as that link.
#[test]
fn a_linked_directory_is_not_entered() {
    let world = World::new();
    let outside = world.outside();
    fs::create_dir_all(world.path("session_s1/chunks")).unwrap();
    symlink(&outside, world.path("session_s1/chunks/7")).unwrap();
    assert_eq!(world.root.quarantine(&chunk(7)).unwrap(), 1);
    assert_eq!(fs::read_link(world.path("quarantine/dropped_chunks/7/7")).unwrap(), outside);
    assert!(outside.join("secret.json").exists() && !world.has("session_s1/chunks/7"));

    let world = World::new();
    let outside = world.outside();
    fs::create_dir_all(outside.join("7")).unwrap();
    fs::create_dir_all(world.path("session_s1")).unwrap();
    symlink(&outside, world.path("session_s1/chunks")).unwrap();
    let error = world.root.quarantine(&chunk(7)).unwrap_err();
    assert!(matches!(error, OutputError::InTheWay { found: "a symbolic link", .. }), "{error}");
    assert!(outside.join("7").exists(), "nothing was moved from outside");
}

/// S15: a link in place of the quarantine leads nothing out of the root.
#[test]
fn a_linked_quarantine_is_refused() {
    for link in ["quarantine", "quarantine/dropped_chunks", "quarantine/dropped_chunks/7"] {
        let world = World::new();
        let outside = world.outside();
        world.write("session_s1/chunks/7/a", "a");
        fs::create_dir_all(world.path(link).parent().unwrap()).unwrap();
        symlink(&outside, world.path(link)).unwrap();
        let error = world.root.quarantine(&chunk(7)).unwrap_err();
        assert!(matches!(error, OutputError::InTheWay { .. }), "{link}: {error}");
        assert!(error.to_string().contains("move it away"), "{error}");
        assert_eq!(world.read("session_s1/chunks/7/a"), "a");
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
    }
}

/// S15: names that are no text, pipes and endless depths are noted, not stumbled over.
#[test]
fn strange_files_are_noted() {
    let world = World::new();
    let home = world.root.make_task_directory(task(7)).unwrap();
    fs::write(home.join(std::ffi::OsStr::from_bytes(b"a\xff")), "a").unwrap();
    let mode = rustix::fs::Mode::RWXU;
    rustix::fs::mknodat(rustix::fs::CWD, home.join("pipe"), rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let deep = home.join(vec!["d"; 80].join("/"));
    fs::create_dir_all(&deep).unwrap();
    fs::write(deep.join("file"), "deep").unwrap();
    assert_eq!(world.root.quarantine(&chunk(7)).unwrap(), 3);
    let audit = world.audit("quarantine/dropped_chunks/7/audit.jsonl");
    assert_eq!(audit["a\u{fffd}"]["pathBytes"], "61ff");
    assert_eq!(audit["pipe"]["kind"], "device");
    assert!(audit["pipe"]["sha256"].is_null());
    let depths = audit.values().find(|line| line["kind"] == "directory").unwrap();
    assert!(depths["path"].as_str().unwrap().starts_with("d/d/"));
    assert!(world.path("quarantine/dropped_chunks/7").join(vec!["d"; 80].join("/")).join("file").exists());
}

/// S15: an unreadable file is named, with what to do; it is moved all the same and audited once it can be read.
#[test]
fn a_file_that_cannot_be_read_is_named() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    world.write("session_s1/chunks/7/a", "a");
    world.write("session_s1/chunks/7/locked/b", "b");
    let locked = |below: &str, mode| {
        fs::set_permissions(world.path(below), fs::Permissions::from_mode(mode)).unwrap();
    };
    locked("session_s1/chunks/7/locked", 0o000);
    if fs::read_dir(world.path("session_s1/chunks/7/locked")).is_ok() {
        // The superuser reads everything.
        locked("session_s1/chunks/7/locked", 0o700);
        return;
    }
    let error = world.root.quarantine(&chunk(7)).unwrap_err().to_string();
    assert!(error.contains("/7/locked: ") && error.contains("let the user that runs the server"), "{error}");
    assert!(!world.has("session_s1/chunks/7"));
    locked("quarantine/dropped_chunks/7/locked", 0o700);
    assert_eq!(world.root.quarantine(&chunk(7)).unwrap(), 2);
    world.check_audit("quarantine/dropped_chunks/7");
}

/// S15: names that no worker of contract S can have never become directories.
#[test]
fn a_hostile_name_is_refused() {
    let world = World::new();
    let record = QuarantineRecord { worker: name(".hidden"), ..chunk(7) };
    assert!(world.root.quarantine(&record).is_err());
    let record = QuarantineRecord { output: "../x".into(), ..chunk(7) };
    assert!(world.root.quarantine(&record).is_err());
    assert!(world.root.quarantine(&super::record(EntryId::Worker(name("a b"), session("s1")))).is_err());
}

/// S5: a fragment that was written and then refused is set apart, and what comes later of its chunk too.
#[test]
fn a_withdrawn_fragment_is_kept() {
    let world = World::new();
    world.root.place_fragment(task(7), &name("W1"), b"{}").unwrap();
    world.write("session_s1/chunks/7/a", "a");
    world.root.withdraw_fragment(task(7), &name("W1")).unwrap();
    assert!(!world.has("session_s1/meta/manifest_fragment_W1_7.json"));
    assert_eq!(world.read("quarantine/dropped_chunks/7/manifest_fragment_W1_7.json"), "{}");
    assert_eq!(world.read("session_s1/chunks/7/a"), "a", "the worker may still be asked for it");
    world.check_audit("quarantine/dropped_chunks/7");
    world.root.withdraw_fragment(task(7), &name("W1")).unwrap();
    assert_eq!(world.root.quarantine(&chunk(7)).unwrap(), 2);
    world.check_audit("quarantine/dropped_chunks/7");
}

/// S15: file systems that cannot refuse to replace are asked in a way in which they cannot.
#[test]
fn moves_hold_on_network_file_systems() {
    crash::without_noreplace(|| {
        late_files_are_kept_apart();
        the_rest_of_a_worker_is_set_apart();
        a_workers_audit_is_a_file_like_any_other();
        links_are_moved_and_not_followed();
    });
}

/// S15: a chunk's first move, its late files and its fragment, with a crash before each change to the disk.
#[test]
fn a_chunk_survives_a_crash_anywhere() {
    let run = |world: &World| world.root.quarantine(&chunk(7));
    for fill in [fill_chunk, fill_late] {
        survives(&Scene { fill: &fill, run: &run, audited: "quarantine/dropped_chunks/7" });
    }
}

/// S15: what a worker left, the same.
#[test]
fn a_worker_survives_a_crash_anywhere() {
    let fill = |world: &World| {
        world.write("session_s1/workers/W1/log", "log");
        world.write("session_s1/workers/W1/deep/log", "deep");
        world.write("quarantine/worker/W1/s1/log", "before");
    };
    let run = |world: &World| world.root.quarantine(&worker());
    survives(&Scene { fill: &fill, run: &run, audited: "quarantine/worker/W1" });
}

/// S5: a fragment that is withdrawn, the same.
#[test]
fn a_withdrawn_fragment_survives_a_crash_anywhere() {
    let fill = |world: &World| world.root.place_fragment(task(7), &name("W1"), b"{}").unwrap();
    let withdraw = |world: &World| world.root.withdraw_fragment(task(7), &name("W1")).map(|()| 0);
    survives(&Scene { fill: &fill, run: &withdraw, audited: "quarantine/dropped_chunks/7" });
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

/// Files, what moves them, and the directory of the audit that must tell of them in the end.
struct Scene<'a> {
    fill: &'a dyn Fn(&World),
    run: &'a dyn Fn(&World) -> Result<u64, OutputError>,
    audited: &'a str,
}

/// The changes to the disk that are left to a first and a second life.
struct Deaths {
    first: u32,
    second: Option<u32>,
}

/// Lets it die before every change to the disk, and the second life too.
fn survives(scene: &Scene<'_>) {
    let mut first = 0;
    while dies(scene, Deaths { first, second: None }) {
        let mut second = 0;
        while dies(scene, Deaths { first, second: Some(second) }) {
            second += 1;
        }
        first += 1;
    }
    assert!(first > 4, "only {first} changes were seen");
}

/// One world in which it dies once or twice; says whether the last life did.
fn dies(Scene { fill, run, audited }: &Scene<'_>, Deaths { first, second }: Deaths) -> bool {
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

/// The contents of the files, whatever their names.
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
