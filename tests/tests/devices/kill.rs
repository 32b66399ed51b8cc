//! The server is killed again and again under load, and so are agents while runs go on: every promise must hold afterwards.
//!
//! `MUSTER_KILLS` says how many times (20), `MUSTER_SEED` which chance.

use muster_tests::{
    Agent, AgentSetup, Dice, Server,
    load::{self, Ledger, Phase, check},
    number_from, wait_until, work_off,
};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};
use tempfile::TempDir;

/// N2, N5, N25, Q1, Q2, Q7, Q15, I1, I8: no kill -9 loses or doubles what was acknowledged, and the work goes on.
#[test]
fn no_kill_breaks_a_promise() {
    let kills = number_from("MUSTER_KILLS", 20);
    let mut dice = Dice::announced();
    let mut server = Server::with(&[&SETTINGS[..], &[("MUSTER_OPERATIONS__SLOTS", "6")]].concat());
    let ledger = Ledger::default();
    thread::scope(|scope| {
        let _end = ledger.end_with_scope();
        let clients = load::Clients { node: server.node(), admin: server.admin() };
        load::start(scope, &clients, &ledger, &mut dice);
        for _ in 0..kills {
            thread::sleep(dice.millis(150, 1100));
            server.kill9();
            if dice.percent(30) {
                server.restart_cut_short(dice.millis(0, 60));
            }
            server.restart();
            check::all(&server.database(), &server.node(), &ledger);
        }
        ledger.set_phase(Phase::Draining);
        let count = |sql: &str| server.database().count(sql).unsigned_abs();
        work_off("a row or a run ends", || count(OPEN_RUNS), || count(ENDED));
        ledger.set_phase(Phase::Over);
    });
    check::all(&server.database(), &server.node(), &ledger);
    check::drained(&server.database(), &ledger);
    println!("{kills} kills: {}", ledger.summary());
}

/// N18, N19, N22b: every task's events arrive complete, in order and once; no device ever runs two tasks; what timed
/// out is gone from the process table.
#[test]
fn no_kill_loses_an_event_or_drives_a_device_twice() {
    let kills = number_from("MUSTER_KILLS", 20);
    let mut dice = Dice::announced();
    let mut lab = Lab::start();
    for _ in 0..kills {
        // A few runs are always waiting, so that nobody is ever without work.
        while lab.open_runs() < 3 {
            submit(&lab, &mut dice);
        }
        thread::sleep(dice.millis(100, 900));
        match dice.below(5) {
            0 | 1 => lab.kill_server(dice.millis(0, 400)),
            2 | 3 => lab.kill_agent(dice.below(2), dice.millis(0, 300)),
            _ => lab.kill_both(dice.below(2)),
        }
    }
    let count = |sql: &str| lab.server.database().count(sql).unsigned_abs();
    work_off("a row or a run ends", || count(OPEN_RUNS), || count(ENDED));
    wait_until("all spools are empty", || lab.agents.iter().all(Agent::is_quiet));
    check_all(&lab);
    println!("{kills} kills: {}", summary(&lab));
}

/// One run in three begins with steps that never end by themselves.
fn submit(lab: &Lab, dice: &mut Dice) {
    let manner = if dice.percent(30) { "hang" } else { "work" };
    let _ =
        lab.server.submit(&json!({"workflow_id": "lab", "params": {"MANNER": manner}, "max_attempts": 50}));
}

struct Lab {
    server: Server,
    agents: [Agent; 2],
    directory: TempDir,
}

impl Lab {
    fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let server = Server::with_fixed_port(&SETTINGS);
        write_workflow(directory.path());
        let agents = ["PC-01", "PC-02"].map(|node| start_agent(&server, node, directory.path()));
        Self { server, agents, directory }
    }

    fn kill_server(&mut self, away: Duration) {
        self.server.kill9();
        thread::sleep(away);
        self.server.restart();
    }

    fn kill_agent(&mut self, which: u64, away: Duration) {
        let agent = &mut self.agents[usize::try_from(which).unwrap()];
        agent.kill9();
        thread::sleep(away);
        agent.restart();
    }

    /// The agent comes back to a server that is not there yet.
    fn kill_both(&mut self, which: u64) {
        self.server.kill9();
        self.kill_agent(which, Duration::ZERO);
        self.server.restart();
    }

    fn open_runs(&self) -> i64 {
        self.server.database().count(OPEN_RUNS)
    }

    /// Lines that the programs wrote: `begin TASK ATTEMPT DEVICE`, or `two on DEVICE`.
    fn lines(&self) -> Vec<String> {
        let text = fs::read_to_string(self.directory.path().join("lines")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Processes that programs of this lab left behind, recognised by their environment.
    fn processes(&self) -> Vec<String> {
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
timeoutMs = 3000

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

const OPEN_RUNS: &str = "SELECT count(*) FROM tasks WHERE open = 1";
/// Attempts, rows and runs that have ended.
const ENDED: &str =
    "SELECT (SELECT count(*) FROM tasks WHERE open = 0) + (SELECT count(*) FROM execution_logs
    WHERE event_type IN ('SUCCEEDED', 'FAILED', 'TIMEOUT'))";

/// A lost answer is made good within a second, so that lost work shows as work that never ends.
const SETTINGS: [(&str, &str); 2] = [("MUSTER_NODES__REDELIVER_AFTER_S", "1"), ("MUSTER_LOG", "warn")];

/// One attempt: task and number.
type Attempt = (String, u64);

fn check_all(lab: &Lab) {
    let told = told(lab);
    let begun = begun(lab);
    for (attempt, events) in &told {
        check_order(attempt, events);
    }
    for attempt in &begun {
        let events =
            told.get(attempt).unwrap_or_else(|| panic!("{attempt:?} was executed and never reported"));
        assert!(events.iter().any(|event| event == "task_finished"), "{attempt:?} never ended: {events:?}");
    }
    let left = lab.processes();
    assert!(left.is_empty(), "still in the process table: {left:?}");
    for agent in &lab.agents {
        assert!(agent.aside().is_empty(), "set aside: {:?}", agent.aside());
    }
}

fn summary(lab: &Lab) -> String {
    let database = lab.server.database();
    let runs = database.count("SELECT count(*) FROM tasks");
    let events = database.count("SELECT count(*) FROM node_events");
    let restarted = database.count("SELECT count(*) FROM node_events WHERE body LIKE '%agent restarted%'");
    let timeouts = database.count("SELECT count(*) FROM node_events WHERE body LIKE '%timeout: %'");
    let begun = begun(lab).len();
    format!(
        "{runs} runs, {begun} programs begun, {events} events, {timeouts} timeouts, {restarted} interrupted"
    )
}

/// Every event of every attempt, in the order of arrival.
fn told(lab: &Lab) -> BTreeMap<Attempt, Vec<String>> {
    let mut told: BTreeMap<Attempt, Vec<String>> = BTreeMap::new();
    let mut ids = BTreeSet::new();
    let sql = "SELECT event_id, type, task_id, body FROM node_events WHERE task_id IS NOT NULL ORDER BY id";
    for row in lab.server.database().rows(sql) {
        let [id, kind, task, body] = row.try_into().unwrap();
        assert!(ids.insert(id.clone()), "{id} was applied twice");
        let body: Value = serde_json::from_str(&body).unwrap();
        let event = match body["step"].as_str() {
            Some(step) => format!("{step} {}", body["status"].as_str().unwrap()),
            None => kind,
        };
        told.entry((task, body["attempt"].as_u64().unwrap())).or_default().push(event);
    }
    told
}

/// Attempts that the programs wrote down; each is executed once, and a device runs one at a time.
fn begun(lab: &Lab) -> BTreeSet<Attempt> {
    let mut begun = BTreeSet::new();
    for line in lab.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        assert_eq!(words[0], "begin", "{line}");
        let attempt = (words[1].to_owned(), words[2].parse().unwrap());
        assert!(begun.insert(attempt), "executed twice: {line}");
    }
    begun
}

/// A prefix of what the workflow does, then the end; or the end alone of what was stopped before it began.
fn check_order(attempt: &Attempt, events: &[String]) {
    let (end, before) = events.split_last().unwrap();
    assert_eq!(end, "task_finished", "{attempt:?}: {events:?}");
    let whole = ORDER.iter().zip(before).all(|(wanted, event)| wanted == event);
    assert!(whole && before.len() <= ORDER.len(), "{attempt:?}: {events:?}");
}

const ORDER: [&str; 7] = [
    "task_started",
    "BOOTSTRAP running",
    "BOOTSTRAP done",
    "WORK running",
    "WORK done",
    "SETTLE running",
    "SETTLE done",
];
