//! A server and two PCs whose devices are programs.

use muster_tests::{Agent, AgentSetup, Server};
use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};
use tempfile::TempDir;

pub(crate) struct Lab {
    pub(crate) server: Server,
    pub(crate) agents: [Agent; 2],
    directory: TempDir,
}

impl Lab {
    pub(crate) fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let server = Server::with_fixed_port(&SETTINGS);
        write_workflow(directory.path());
        let agents = ["PC-01", "PC-02"].map(|node| start_agent(&server, node, directory.path()));
        Self { server, agents, directory }
    }

    pub(crate) fn kill_server(&mut self, away: Duration) {
        self.server.kill9();
        thread::sleep(away);
        self.server.restart();
    }

    pub(crate) fn kill_agent(&mut self, which: u64, away: Duration) {
        let agent = &mut self.agents[usize::try_from(which).unwrap()];
        agent.kill9();
        thread::sleep(away);
        agent.restart();
    }

    /// The agent comes back to a server that is not there yet.
    pub(crate) fn kill_both(&mut self, which: u64) {
        self.server.kill9();
        self.kill_agent(which, Duration::ZERO);
        self.server.restart();
    }

    pub(crate) fn open_runs(&self) -> i64 {
        self.server.database().count("SELECT count(*) FROM tasks WHERE open = 1")
    }

    pub(crate) fn are_agents_quiet(&self) -> bool {
        self.agents.iter().all(|agent| {
            let status = agent.status();
            [&status["spooled"], &status["running"], &status["queued"]].iter().all(|count| **count == 0)
        })
    }

    /// What the programs wrote down: `begin TASK ATTEMPT DEVICE`, or `two on DEVICE`.
    pub(crate) fn lines(&self) -> Vec<String> {
        let text = fs::read_to_string(self.directory.path().join("lines")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Processes that programs of this lab left behind, recognised by their environment.
    pub(crate) fn processes(&self) -> Vec<String> {
        let spools: Vec<PathBuf> = self.agents.iter().map(Agent::spool).collect();
        let all = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
        let is_ours = |path: &Path| {
            let environment = fs::read(path.join("environ")).unwrap_or_default();
            let environment = String::from_utf8_lossy(&environment).into_owned();
            spools.iter().any(|spool| environment.contains(&format!("MUSTER_SCRATCH={}", spool.display())))
        };
        let ours = all.map(|entry| entry.path()).filter(|path| is_ours(path));
        ours.map(|path| fs::read_to_string(path.join("cmdline")).unwrap_or_default()).collect()
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        if thread::panicking() && self.server.ended().is_none() {
            let open = "SELECT id, task_id, pc_id, device_id, status, attempt FROM task_devices
                WHERE status IN ('running', 'pending') LIMIT 20";
            for row in self.server.database().rows(open) {
                eprintln!("open: {} because {}", row.join(" "), self.server.why("task", &row[0]));
            }
            for run in self.server.database().column("SELECT id FROM tasks WHERE open = 1") {
                eprintln!("open run: {run} because {}", self.server.why("run", &run));
            }
            self.agents.iter().for_each(|agent| eprintln!("{}", agent.status()));
        }
    }
}

fn start_agent(server: &Server, node: &str, directory: &Path) -> Agent {
    let mut devices = String::new();
    for number in 1..=DEVICES {
        let _ = writeln!(devices, "[[devices]]\ndevice_id = \"{node}-{number}\"");
    }
    let file = directory.join(format!("{node}.toml"));
    fs::write(&file, devices).unwrap();
    let setup = AgentSetup::of(server, node).devices(&format!("command:{}", file.display()));
    // Tiny files, so that a new one is begun all the time.
    let setup = setup.args(&["--slots", "4", "--segment-kib", "4"]);
    setup.args(&["--workflows", directory.join("workflows").to_str().unwrap()]).start()
}

/// The program holds a lock of its device: whoever finds it taken has found two tasks on one device.
fn write_workflow(directory: &Path) {
    let (program, lines) = (directory.join("program.sh"), directory.join("lines"));
    let (lines, locks) = (lines.display(), directory.display());
    let script = format!(
        r#"exec 9>"{locks}/$3.lock"
flock -n 9 || {{ echo "two on $3" >>"{lines}"; exit 99; }}
echo "begin $1 $2 $3" >>"{lines}"
if [ "$4" = hang ] && [ "$2" -le 1 ]; then
  setsid sleep 600 &
  sleep 600
fi
sleep 0.0$(( $$ % 10 ))
"#
    );
    fs::write(&program, script).unwrap();
    let program = program.display();
    let workflow = format!(
        r#"timeoutMs = 20000

[[steps]]
id = "BOOTSTRAP"
kind = "sleep"
params = {{ ms = 20 }}
timeoutMs = 1000

[[steps]]
id = "WORK"
kind = "command"
command = ["sh", "{program}", "{{{{task_id}}}}", "{{{{attempt}}}}", "{{{{device_id}}}}", "{{{{MANNER}}}}"]
timeoutMs = 700

[[steps]]
id = "SETTLE"
kind = "sleep"
params = {{ ms = 10 }}
timeoutMs = 1000
"#
    );
    fs::create_dir(directory.join("workflows")).unwrap();
    fs::write(directory.join("workflows/lab.toml"), workflow).unwrap();
}

const DEVICES: u32 = 6;

/// A lost answer is made good within a second, so that lost work shows as work that never ends.
const SETTINGS: [(&str, &str); 2] = [("MUSTER_NODES__REDELIVER_AFTER_S", "1"), ("MUSTER_LOG", "warn")];
