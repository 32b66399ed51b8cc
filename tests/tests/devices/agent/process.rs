//! The agent as a process: signals, secrets, flags and its log (I4, I11, N3).

use crate::agent::{
    Backend, counts, ended,
    endings::of_attempt,
    enrolled, job, submit,
    workflows::{Workshop, step},
};
use muster_tests::{Agent, AgentSetup, Server, muster_command, run, wait_until};
use serde_json::{Value, json};
use std::{fs, net::TcpListener};

/// Waits for a file, for a long time.
const WAIT: &str = "echo >>@/began; until [ -e @/go ]; do sleep 0.02; done";

/// I11: asked to end, an agent takes nothing new, lets end what runs, delivers that, and ends well.
#[test]
fn what_runs_may_finish() {
    let (workshop, backend, mut agent, task) = at_work(&[]);
    backend.offer(job("waiting", "d1", "work_v1"));
    wait_until("another in line", || agent.status()["queued"] == 1);
    agent.signal("TERM");
    wait_until("draining", || agent.status()["state"] == "draining");
    backend.offer(job("later", "d2", "work_v1"));
    assert!(agent.ended().is_none());
    workshop.write("go", "");
    assert_eq!(agent.wait().code(), Some(0));
    assert_eq!(backend.finished(&task)["status"], "succeeded");
    assert_eq!(workshop.read("began").lines().count(), 1);
    let told = backend.events().iter().filter(|event| event["payload"]["task_id"] != task.as_str()).count();
    assert_eq!(told, 0, "nothing is told of what was not begun: it is handed out again");
}

/// I11, N18: asked to hand back, an agent ends what runs and tells of it, so that another may try.
#[test]
fn what_runs_may_be_handed_back() {
    let (_workshop, backend, mut agent, task) = at_work(&["--on-stop", "hand-back"]);
    assert_eq!(agent.terminate().code(), Some(0));
    assert_eq!(of_attempt(&task, 1), Vec::<String>::new());
    let told = backend.finished(&task);
    assert_eq!((&told["status"], &told["failure_reason"]), (&json!("failed"), &json!("unknown")));
    assert_eq!(told["error_message"], "handed back: the agent stops");
    agent.restart();
    agent.wait_for_empty_spool();
    assert_eq!(backend.events_of(&task).iter().filter(|event| event["type"] == "task_finished").count(), 1);
}

/// I11, N22b: whoever asks twice does not wait; that is as safe as a crash. Ctrl-C asks as well.
#[test]
fn a_second_signal_ends_at_once() {
    for signal in ["TERM", "INT"] {
        let (_workshop, backend, mut agent, task) = at_work(&[]);
        agent.signal(signal);
        wait_until("draining", || agent.status()["state"] == "draining");
        agent.signal(signal);
        assert_eq!(agent.wait().code(), Some(1));
        agent.restart();
        assert_eq!(of_attempt(&task, 1), Vec::<String>::new());
        assert_eq!(backend.finished(&task)["error_message"], "agent restarted");
    }
}

/// I6, I11: without a secret there is no start, and the agent says what to do.
#[test]
fn a_secret_is_needed() {
    let setup = AgentSetup::new("http://127.0.0.1:1", "PC-01").env_remove("NODE_AGENT_SHARED_SECRET");
    let directory = tempfile::tempdir().unwrap();
    let empty = directory.path().join("empty");
    fs::write(&empty, "\n").unwrap();
    let strange = directory.path().join("strange");
    fs::write(&strange, "two words").unwrap();
    for (args, complaint) in [
        (vec![], "set NODE_AGENT_SHARED_SECRET, or name its file with --secret-file"),
        (vec!["--secret-file", empty.to_str().unwrap()], "no node secret"),
        (vec!["--secret-file", strange.to_str().unwrap()], "characters that do not fit"),
        (vec!["--secret-file", "/nonexistent/secret"], "/nonexistent/secret: "),
    ] {
        let said = setup.clone().args(&args).output();
        said.refused(2, complaint);
        assert!(!said.stderr.contains("two words"), "{said:?}");
    }
}

/// I6, I11, N22: the secret is in a file or the environment; nobody finds it in the command line, in a program's
/// environment, in the log, in the status or in the spool.
#[test]
fn the_secret_stays_with_the_agent() {
    let script = "tr '\\0' '\\n' </proc/$PPID/environ >@/guard; env >@/own; echo done >@/done";
    let workshop = Workshop::new(&["d1"]).workflow("work_v1", &step("WORK", &["sh", "-c", script]));
    let server = Server::start();
    let secret = server.node_secret();
    let file = workshop.path("secret");
    fs::write(&file, format!("{secret}\n")).unwrap();
    for by_file in [false, true] {
        let mut setup = workshop.equip(AgentSetup::of(&server, "PC-01"));
        if by_file {
            let setup_without = setup.env_remove("NODE_AGENT_SHARED_SECRET");
            setup = setup_without.args(&["--secret-file", file.to_str().unwrap()]);
        }
        let agent = setup.env("MUSTER_TEST_TOKEN", "hidden").start();
        enrolled(&server, "PC-01", 1);
        let run = submit(&server, "work_v1", json!({}));
        assert_eq!(counts(&ended(&server, &run)), (1, 0));
        let spool = fs::read_dir(agent.spool())
            .unwrap()
            .map(|entry| fs::read(entry.unwrap().path()).unwrap_or_default());
        let command = fs::read(format!("/proc/{}/cmdline", agent.id())).unwrap();
        let texts = [workshop.read("own"), workshop.read("guard"), agent.log(), agent.status().to_string()];
        assert!(texts[0].contains("MUSTER_TASK_ID=") && texts[1].contains("MUSTER_TASK_ID="), "{texts:?}");
        assert!(String::from_utf8_lossy(&command).contains("--node\0PC-01"));
        for text in spool.chain([command]).chain(texts.map(String::into_bytes)) {
            let text = String::from_utf8_lossy(&text);
            assert!(!text.contains(&secret) && !text.contains("hidden"), "{text}");
        }
    }
}

/// N3, N19: with a wrong secret nothing is lost and nothing set aside; the log and the status say so.
#[test]
fn a_wrong_secret_is_told() {
    let server = Server::start();
    let setup = AgentSetup::of(&server, "PC-01").env("NODE_AGENT_SHARED_SECRET", "wrong");
    let agent = setup.start();
    wait_until("a word about it", || agent.log().contains("401"));
    wait_until("its status says so", || agent.status()["state"] == "no answer");
    assert_eq!(agent.aside(), Vec::<Value>::new());
}

/// An agent whose one task waits for a file, and that task.
fn at_work(args: &[&str]) -> (Workshop, Backend, Agent, String) {
    let workshop = Workshop::new(&["d1", "d2"]).workflow("work_v1", &step("WORK", &["sh", "-c", WAIT]));
    let backend = Backend::start();
    let agent = workshop.equip(AgentSetup::new(&backend.url(), "PC-01")).args(args).start();
    let task = format!("work-{}", backend.url());
    backend.offer(job(&task, "d1", "work_v1"));
    workshop.lines("began", 1);
    (workshop, backend, agent, task)
}

/// I11: whoever writes a flag wrongly is told so, before anything is touched.
#[test]
fn wrong_flags_are_refused() {
    for (args, complaint) in [
        (&["--devices", "simulate:5"][..], "did you mean simulated?"),
        (&["--devices", "vendor:http://x"], "begins with ws://"),
        (&["--slots", "0"], "--slots"),
        (&["--on-stop", "hand-bak"], "hand-back"),
        (&["--server", "ftp://x"], "ftp"),
        (&["--server", "no url"], "no url"),
        (&["--log-format", "xml"], "json"),
        (&["--node", ""], "--node"),
        (&["--node", "a\nb"], "--node"),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let mut command = muster_command();
        command.env("NODE_AGENT_SHARED_SECRET", "x").current_dir(directory.path()).arg("agent");
        if args[0] != "--node" {
            command.args(["--node", "PC-01"]);
        }
        run(command.args(args)).refused(2, complaint);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "{args:?}");
    }
}

/// I11: an address for the status that is taken ends the start, and says which.
#[test]
fn a_taken_address_is_named() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    AgentSetup::new("http://127.0.0.1:1", "PC-01")
        .args(&["--status", &address])
        .output()
        .refused(1, &address);
}

/// I11: log lines can be JSON, for whoever gathers them.
#[test]
fn log_lines_can_be_json() {
    let backend = Backend::start();
    let mut agent = AgentSetup::new(&backend.url(), "PC-01").args(&["--log-format", "json"]).start();
    wait_until("a pull", || agent.status()["state"] == "ok");
    assert_eq!(agent.terminate().code(), Some(0));
    let log = agent.log();
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.len() >= 3, "{log}");
    assert!(lines.iter().all(|line| line["level"] == "INFO"), "{log}");
}
