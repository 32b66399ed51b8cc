//! Real programs, really ended.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use muster_worker_kit::process::{
    CANNOT_START, Ending, Guards, ProcessEnd, Program, base_environment, wait_for_earlier_guards,
};
use std::{fs::File, path::Path, process::Stdio};
use support::{Bell, example, marked_processes};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// A directory of its own, whose path marks the processes of the test.
struct Scene {
    directory: TempDir,
    guards: Guards,
}

impl Scene {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let lock = directory.path().join("guards.lock");
        Self { directory, guards: Guards { program: example("guard"), args: Vec::new(), lock } }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn mark(&self) -> String {
        format!("MARK={}", self.path().display())
    }

    async fn run(&self, argv: &[&str], cancel: &CancellationToken) -> ProcessEnd {
        let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
        let mut environment = base_environment();
        environment.push(("MARK".into(), self.path().into()));
        let program = Program { argv: &argv, directory: self.path(), environment };
        self.guards.run(&program, cancel).await.unwrap()
    }

    async fn sh(&self, script: &str) -> ProcessEnd {
        self.run(&["sh", "-c", script], &CancellationToken::new()).await
    }

    fn left(&self) -> Vec<String> {
        marked_processes(&self.mark())
    }

    fn assert_nothing_left(&self) {
        assert_eq!(self.left(), Vec::<String>::new());
        // Shared locks of guards would keep this one out.
        File::open(&self.guards.lock).unwrap().try_lock().unwrap();
    }
}

/// Ignores every polite signal, has children, grandchildren in sessions of their own and orphans, and goes on for ever.
fn stubborn(bell: &Bell) -> String {
    format!(
        "trap '' TERM INT HUP; export GUARD=$PPID
         sleep 1000 &
         setsid sleep 1001 &
         (setsid sh -c 'trap \"\" TERM HUP; sleep 1002 & sleep 1003' &)
         setsid sh -c 'setsid sh -c \"sleep 1004 & sleep 1005\" & {}; while :; do sleep 1006; done' &
         while :; do sleep 1007; done",
        bell.ring("$GUARD")
    )
}

/// N18: a cancelled program is gone with all its children when the call returns: no process, no zombie, no lock.
#[tokio::test]
async fn a_cancelled_program_is_gone_with_all_its_children() {
    let scene = Scene::new();
    let bell = Bell::hang(scene.path());
    let cancel = CancellationToken::new();
    let script = stubborn(&bell);
    let argv = ["sh", "-c", script.as_str()];
    let (end, guard) = tokio::join!(scene.run(&argv, &cancel), async {
        let guard = bell.rung().await;
        assert!(scene.left().len() > 2, "{:?}", scene.left());
        cancel.cancel();
        guard
    });
    assert_eq!(end.ending, Ending::Cancelled);
    scene.assert_nothing_left();
    assert!(!Path::new("/proc").join(guard).exists(), "a zombie is left");
}

/// N18: whoever drops the call ends the program as well.
#[tokio::test]
async fn a_dropped_call_ends_the_program() {
    let scene = Scene::new();
    let bell = Bell::hang(scene.path());
    let script = stubborn(&bell);
    tokio::select! {
        _ = scene.sh(&script) => panic!("it never ends by itself"),
        _ = bell.rung() => {}
    }
    wait_for_earlier_guards(&scene.guards.lock).await.unwrap();
    // The guard itself lives a moment longer than its lock.
    assert!(scene.left().iter().all(|name| name.starts_with("muster ")), "{:?}", scene.left());
}

/// N18, N22b: nothing of a program outlives an agent that was killed, and the next agent can wait for that.
#[tokio::test]
async fn nothing_outlives_a_killed_agent() {
    let scene = Scene::new();
    let bell = Bell::hang(scene.path());
    let mut agent = tokio::process::Command::new(example("guard"));
    agent.arg("agent").arg("--lock").arg(&scene.guards.lock).args(["--", "sh", "-c", &stubborn(&bell)]);
    let mut agent = agent.env("MARK", scene.path()).stdin(Stdio::null()).kill_on_drop(true).spawn().unwrap();
    bell.rung().await;
    File::open(&scene.guards.lock).unwrap().try_lock().unwrap_err();
    agent.kill().await.unwrap();
    wait_for_earlier_guards(&scene.guards.lock).await.unwrap();
    assert!(scene.left().iter().all(|name| name.starts_with("muster ")), "{:?}", scene.left());
}

/// N18: a guard that is told to end takes the program along.
#[tokio::test]
async fn a_guard_that_is_told_to_end_ends_the_program() {
    let scene = Scene::new();
    let bell = Bell::hang(scene.path());
    let script = format!("(setsid sleep 1000 &) ; trap '' TERM; {}; sleep 1001", bell.ring("$PPID"));
    let (end, ()) = tokio::join!(scene.sh(&script), async {
        let guard = bell.rung().await;
        assert!(std::process::Command::new("kill").arg(guard).status().unwrap().success());
    });
    assert_eq!((end.ending, end.signal), (Ending::Exited(137), Some(9)));
    scene.assert_nothing_left();
}

/// N18: a guard that does not answer is killed, and the call still returns only when all of it is gone.
#[tokio::test]
async fn a_guard_that_hangs_is_killed_with_all_under_it() {
    let scene = Scene::new();
    let bell = Bell::hang(scene.path());
    let cancel = CancellationToken::new();
    let script = format!("(setsid sleep 1000 &) ; kill -STOP $PPID; {}; sleep 1001", bell.ring("$PPID"));
    let argv = ["sh", "-c", script.as_str()];
    let (end, ()) = tokio::join!(scene.run(&argv, &cancel), async {
        bell.rung().await;
        // Paused time, so that the test does not wait for the real five seconds.
        tokio::time::pause();
        cancel.cancel();
    });
    assert_eq!(end.ending, Ending::Cancelled);
    scene.assert_nothing_left();
}

/// N18: what a program leaves running when it ends by itself is ended, so that it cannot disturb the next task.
#[tokio::test]
async fn what_a_program_leaves_running_is_ended() {
    let scene = Scene::new();
    let end = scene.sh("sleep 1000 & (setsid sleep 1001 &) ; echo out; echo err >&2; exit 7").await;
    assert_eq!(end.ending, Ending::Exited(7));
    assert_eq!((end.stdout.as_slice(), end.stderr.as_slice()), (&b"out\n"[..], &b"err\n"[..]));
    scene.assert_nothing_left();
}

/// N18: orphans that end while the program goes on do not pile up as zombies.
#[tokio::test]
async fn orphans_are_reaped_meanwhile() {
    let scene = Scene::new();
    let script = "(setsid sh -c 'echo $$ > orphan' &)
         until [ -s orphan ]; do sleep 0.01; done
         for try in $(seq 1000); do [ -e /proc/$(cat orphan) ] || exit 0; sleep 0.01; done
         exit 1";
    assert_eq!(scene.sh(script).await.ending, Ending::Exited(0));
}

/// N18: a program that keeps changing into a child in a new session is caught all the same.
#[tokio::test]
async fn a_program_that_runs_away_is_caught() {
    let scene = Scene::new();
    let bell = Bell::hang(scene.path());
    // Without the file, which goes with the test's directory, the chain would end by itself.
    std::fs::write(scene.path().join("runaway.sh"), "setsid sh runaway.sh & exit 0").unwrap();
    let cancel = CancellationToken::new();
    let script = format!("sh runaway.sh; {}; sleep 1000", bell.ring("ready"));
    let argv = ["sh", "-c", script.as_str()];
    let (end, ()) = tokio::join!(scene.run(&argv, &cancel), async {
        bell.rung().await;
        cancel.cancel();
    });
    assert_eq!(end.ending, Ending::Cancelled);
    scene.assert_nothing_left();
}

/// N18: exit codes and signals come through.
#[tokio::test]
async fn exit_codes_and_signals_come_through() {
    let scene = Scene::new();
    assert_eq!(scene.sh("exit 0").await.ending, Ending::Exited(0));
    let killed = scene.sh("kill -SEGV $$").await;
    assert_eq!((killed.ending, killed.signal), (Ending::Exited(139), Some(11)));
    let by_itself = scene.sh("exit 139").await;
    assert_eq!((by_itself.ending, by_itself.signal), (Ending::Exited(139), None));
    let end = scene.run(&["/no/such/program", "x"], &CancellationToken::new()).await;
    assert_eq!(end.ending, Ending::Exited(CANNOT_START));
    let stderr = String::from_utf8(end.stderr).unwrap();
    assert!(stderr.starts_with("cannot start /no/such/program: No such file"), "{stderr}");
    scene.assert_nothing_left();
}

/// N18: a program that prints without end is not held up, and fills no memory.
#[tokio::test]
async fn endless_output_is_bounded() {
    let scene = Scene::new();
    let end = scene.sh("head -c 3000000 /dev/zero; echo end; head -c 3000000 /dev/zero >&2").await;
    assert_eq!((end.stdout.len(), end.stderr.len()), (65_536, 65_536));
    assert!(end.stdout.ends_with(b"end\n"));
}

/// N3: a program sees nothing of the agent's environment but what it needs.
#[tokio::test]
async fn a_program_does_not_see_the_agents_secrets() {
    let scene = Scene::new();
    let printed = scene.sh("env").await.stdout;
    let printed = String::from_utf8(printed).unwrap();
    let mut names: Vec<&str> =
        printed.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
    names.retain(|name| !["PATH", "HOME", "LANG", "MARK", "PWD", "SHLVL", "_", "OLDPWD"].contains(name));
    assert_eq!(names, Vec::<&str>::new());
    assert!(printed.contains("PATH="));
}

/// N22b: a guard whose agent died before it took the lock starts nothing.
#[tokio::test]
async fn a_guard_without_an_agent_starts_nothing() {
    let scene = Scene::new();
    let trace = scene.path().join("trace");
    let mut guard = tokio::process::Command::new(example("guard"));
    guard.arg("--lock").arg(&scene.guards.lock).arg("--").arg("touch").arg(&trace);
    let held = File::create(&scene.guards.lock).unwrap();
    held.lock().unwrap();
    let mut guard = guard.stdin(Stdio::piped()).spawn().unwrap();
    drop(guard.stdin.take());
    drop(held);
    assert_eq!(guard.wait().await.unwrap().code(), Some(137));
    assert!(!trace.exists());
}
