//! Cost of an agent for its PC, idle and with all slots busy.

use crate::{
    connection::Connection,
    cost::Cost,
    server::{NODE_SECRET, Server, binary},
    stopwatch::now,
};
use serde_json::Value;
use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

const SPAN: Duration = Duration::from_secs(20);

pub(crate) fn measure() {
    let data = tempfile::tempdir().expect("a temporary directory");
    let server = Server::start(&data.path().join("server"), "sqlite", &[]);
    let agent = Agent::start(&server, &data.path().join("spool"));
    // Until it has said what it has to say at first.
    thread::sleep(Duration::from_secs(2));
    println!("agent: 100 simulated devices, 20 slots, {} s each", SPAN.as_secs());
    let idle = agent.watch(|| thread::sleep(SPAN));
    println!("  idle {}", idle.words());
    let mut tasks = 0;
    let busy = agent.watch(|| tasks = keep_busy(&server));
    println!("  busy {}", busy.words());
    let seconds = busy.span.as_secs_f64();
    let tasks_per_s = f64::from(tasks) / seconds;
    println!(
        "  {tasks_per_s:.0} tasks/s of five steps, {:.0} events/s, each on disk before it is sent; {:.0} µs of a core per event",
        tasks_per_s * EVENTS_PER_TASK,
        busy.cpu.as_secs_f64() * 1e6 / (f64::from(tasks) * EVENTS_PER_TASK),
    );
}

/// Run after run over all devices; says how many tasks ended.
fn keep_busy(server: &Server) -> u32 {
    let mut operator = Connection::open(server.address);
    let begun = now();
    let mut tasks = 0;
    while begun.elapsed() < SPAN {
        let run: Value = serde_json::from_str(&operator.post_as_operator("/api/runs", RUN)).expect("a run");
        let path = format!("/api/runs/{}", run["run_id"].as_str().expect("a run has an id"));
        while operator.get_as_operator(&path)["status"] != "success" {
            thread::sleep(Duration::from_millis(20));
        }
        tasks += 100;
    }
    tasks
}

struct Agent(Child);

impl Agent {
    fn start(server: &Server, spool: &Path) -> Self {
        let mut child = Command::new(binary())
            .args(["agent", "--node", "PC-01", "--devices", "simulated:100", "--status", "127.0.0.1:0"])
            .args(["--server", &format!("http://{}", server.address), "--spool"])
            .arg(spool)
            .env("NODE_AGENT_SHARED_SECRET", NODE_SECRET)
            .env("MUSTER_LOG", "error")
            .stdout(Stdio::piped())
            .spawn()
            .expect("target/release/muster is there: cargo build --release -p muster");
        let stdout = child.stdout.take().expect("it was piped");
        BufReader::new(stdout).read_line(&mut String::new()).expect("the agent speaks");
        Self(child)
    }

    fn watch(&self, meanwhile: impl FnOnce()) -> Cost {
        Cost::watch(self.0.id(), meanwhile)
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

const RUN: &str = r#"{"workflow_id":"login_settings_screenshot_v1","params":{}}"#;
/// Start, begin and end of five steps, end.
const EVENTS_PER_TASK: f64 = 12.0;
