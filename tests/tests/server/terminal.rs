//! `muster top` and `muster watch` in a real terminal, driven by `drive.py`.

use muster_tests::{FakeNode, Server, muster_command};
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdout, Command, Stdio},
};

/// `muster …` on a terminal; ended with the value.
struct Terminal {
    driver: Child,
    answers: BufReader<ChildStdout>,
}

/// Exit code of a program, and the state in which it left its terminal.
struct Left {
    code: i64,
    /// The terminal is as it was before.
    is_restored: bool,
    /// It used colours while it ran.
    has_colours: bool,
}

impl Terminal {
    /// Starts a command as an operator of a server.
    fn open(server: &Server, arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let muster = muster_command();
        let mut command = Command::new("python3");
        command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/server/drive.py"));
        command
            .arg(muster.get_program())
            .args(arguments)
            .env_remove("NO_COLOR")
            .env("TERM", "xterm-256color");
        for (name, _) in muster.get_envs() {
            command.env_remove(name);
        }
        command.env("MUSTER_SERVER", server.anonymous().url()).env("MUSTER_TOKEN", server.admin_token());
        command.env("HOME", server.data()).envs(environment.iter().copied());
        let mut driver = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let answers = BufReader::new(driver.stdout.take().unwrap());
        Self { driver, answers }
    }

    /// Waits until a text is on the screen.
    fn see(&mut self, text: &str) {
        self.tell(&format!("see {text}"));
    }

    /// Waits until a text is not on the screen.
    fn miss(&mut self, text: &str) {
        self.tell(&format!("miss {text}"));
    }

    /// Presses keys, one after the other.
    fn press(&mut self, keys: &str) {
        self.tell(&format!("press {}", json!(keys)));
    }

    /// Sends the program a signal.
    fn signal(&mut self, name: &str) {
        self.tell(&format!("signal {name}"));
    }

    /// Waits until the program has ended.
    fn end(&mut self) -> Left {
        let answer = self.tell("end");
        Left {
            code: answer["code"].as_i64().unwrap(),
            is_restored: answer["restored"] == true,
            has_colours: answer["colours"] == true,
        }
    }

    fn tell(&mut self, line: &str) -> Value {
        writeln!(self.driver.stdin.as_mut().unwrap(), "{line}").unwrap();
        let mut answer = String::new();
        self.answers.read_line(&mut answer).unwrap();
        let answer: Value = serde_json::from_str(&answer).unwrap();
        let screen = answer["screen"].as_str().unwrap_or_default();
        assert_eq!(answer["ok"], true, "{line}: it does not come; the screen is\n{screen}");
        answer
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        drop(self.driver.stdin.take());
        let _ = self.driver.wait();
    }
}

const ESC: &str = "\u{1b}";

/// I3, Q13, Q16: the fleet is shown, a device is explained, a node drained and resumed, and the terminal given back.
#[test]
fn top_shows_the_fleet_and_takes_orders() {
    let server = Server::start();
    let _node = FakeNode::enrolled(server.node(), "PC-01", 3);
    let mut top = Terminal::open(&server, &["top"], &[]);
    for text in ["live", "PC-01        online", "0 run 3 idle 0 err 0 off", "Queues", "Events (UTC)"] {
        top.see(text);
    }
    top.press("?");
    top.see("explain: why is the chosen thing not running");
    top.press(ESC);
    top.miss("explain: why is");
    top.press("\r");
    top.see("PC-01-d3");
    top.press("e");
    top.see(" device PC-01-d1 ");
    top.press("q");
    top.miss(" device PC-01-d1 ");
    top.press(ESC);
    top.see("Fleet: 1 nodes");
    top.press("d");
    top.see("Give PC-01 no more work?");
    top.press("y");
    top.press("new disks\r");
    top.see("PC-01        draining");
    assert_eq!(server.pc("PC-01")["draining"], true);
    top.press("dy");
    top.see("PC-01        online");
    assert_eq!(server.pc("PC-01")["draining"], false);
    top.press("q");
    let left = top.end();
    assert_eq!((left.code, left.is_restored, left.has_colours), (0, true, true));
}

/// Q11, Q15: a run is cancelled with a reason, and what happens is told as it happens.
#[test]
fn top_cancels_a_run_and_follows_the_feed() {
    let server = Server::start();
    let _node = FakeNode::enrolled(server.node(), "PC-01", 1);
    let run = server.submit(&json!({"workflow_id": "w", "params": {}, "title": "by mistake"}));
    let mut top = Terminal::open(&server, &["top"], &[]);
    top.see("by mistake");
    top.press("\t");
    top.press("c");
    top.see("Cancel run");
    top.press("ywrong fleet\r");
    top.see("job_ended");
    top.miss("by mistake");
    assert_eq!(server.run(&run)["status"], "cancelled");
    top.press("\t/job_\r");
    top.see("only with “job_”");
    top.press("q");
    assert_eq!(top.end().code, 0);
}

/// I8: a server that is killed is waited for, and what happens after its return is seen.
#[test]
fn top_survives_a_restart_of_the_server() {
    let mut server = Server::with_fixed_port(&[]);
    let _node = FakeNode::enrolled(server.node(), "PC-01", 1);
    let mut top = Terminal::open(&server, &["top"], &[]);
    top.see("live");
    server.kill9();
    top.see("reconnecting");
    top.see("PC-01");
    server.restart();
    top.see("live");
    let _node = FakeNode::enrolled(server.node(), "PC-02", 1);
    top.see("PC-02        online");
    top.see("worker=PC-02");
    top.press("q");
    assert_eq!(top.end().code, 0);
}

/// I4: signals and Ctrl-C give the terminal back as well; `NO_COLOR` is honoured.
#[test]
fn the_terminal_is_given_back_however_top_ends() {
    let server = Server::start();
    for signal in ["TERM", "INT", "HUP"] {
        let mut top = Terminal::open(&server, &["top"], &[("NO_COLOR", "1")]);
        top.see("Fleet");
        top.signal(signal);
        let left = top.end();
        assert_eq!((left.code, left.is_restored, left.has_colours), (0, true, false), "{signal}");
    }
    let mut top = Terminal::open(&server, &["top"], &[]);
    top.see("Fleet");
    top.press("\u{3}");
    let left = top.end();
    assert_eq!((left.code, left.is_restored), (0, true));
}

/// I4: without a terminal there is one page of plain text, or one document, and an end.
#[test]
fn without_a_terminal_top_prints_one_page() {
    let server = Server::start();
    let _node = FakeNode::enrolled(server.node(), "PC-01", 2);
    let page = server.muster(&["top"]).done().stdout;
    assert!(page.contains("node PC-01 online: 0 running, 2 idle, 0 error, 0 offline"), "{page}");
    assert!(!page.contains('\u{1b}'), "{page}");
    let document = server.muster(&["top", "--json"]).json();
    assert_eq!(document["fleet"]["nodes"][0]["node_id"], "PC-01");
    assert_eq!(document["overview"]["devices"]["total"], 2);
}

/// I4: a server that is not there ends with 3 before the terminal is touched.
#[test]
fn without_a_server_top_says_so() {
    let mut server = Server::start();
    let _ = server.terminate();
    let mut top = Terminal::open(&server, &["top"], &[]);
    top.see("cannot reach");
    let left = top.end();
    assert_eq!((left.code, left.is_restored), (3, true));
}

/// I3, I4: on a terminal a bar says how far a run is; the end is the exit code.
#[test]
fn a_bar_says_how_far_a_run_is() {
    let server = Server::start();
    let node = FakeNode::enrolled(server.node(), "PC-01", 1);
    let run = server.submit(&json!({"workflow_id": "w", "params": {}}));
    let job = node.job();
    let mut watch = Terminal::open(&server, &["run", "watch", &run], &[]);
    watch.see("0/1 done; running, 1 running, 0 failed");
    node.succeed(&job);
    watch.see("status: success");
    let left = watch.end();
    assert_eq!((left.code, left.is_restored), (0, true));
}

/// I4: with `--json` every change is a document on a line of its own, the last of them the end.
#[test]
fn changes_are_told_line_by_line() {
    let server = Server::start();
    let node = FakeNode::enrolled(server.node(), "PC-01", 1);
    let run = server.submit(&json!({"workflow_id": "w", "params": {}}));
    let job = node.job();
    let mut command = server.client_command(&["run", "watch", &run, "--json"]);
    let mut watch = command.stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    let mut documents = lines.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    assert_eq!(documents.next().unwrap()["status"], "running");
    node.succeed(&job);
    let last = documents.last().unwrap();
    assert_eq!((&last["status"], &last["counts"]["completed"]), (&json!("success"), &json!(1)));
    assert!(watch.wait().unwrap().success());
}
