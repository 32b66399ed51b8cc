//! Examples are executed by the pages that show them, and here where they promise more than a page can show.

use crate::{Page, all_pages, root, shell::is_run};
use muster_tests::{Process, Server, password_of, until, venv, wait_until};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    fs,
    path::PathBuf,
    process::{Command, Stdio},
};
use tempfile::TempDir;

/// N1, P6, S3, Q14, C16: every program in `docs/examples` is run by a page that a test walks through.
#[test]
fn every_example_is_run_by_a_page() {
    let pages = all_pages();
    let walked = pages.iter().filter(|path| path.starts_with("docs/workers")).map(|path| Page::read(path));
    let run: String = walked.flat_map(|page| page.blocks).filter(is_run).map(|block| block.text).collect();
    for example in examples() {
        assert!(run.contains(&format!("docs/examples/{example}")), "no page runs {example}");
    }
}

/// N1, Q14, S1, C16: the examples need nothing but Python; the one that signs needs `cryptography` besides (P9).
#[test]
fn examples_need_nothing_but_python() {
    let script = "import ast, sys\n\
        nodes = list(ast.walk(ast.parse(open(sys.argv[1]).read())))\n\
        names = [n.name for i in nodes if isinstance(i, ast.Import) for n in i.names]\n\
        names += [i.module for i in nodes if isinstance(i, ast.ImportFrom)]\n\
        print(*sorted({n.split('.')[0] for n in names} - sys.stdlib_module_names))";
    for example in examples() {
        let path = root().join("docs/examples").join(&example);
        let output = Command::new(venv().join("bin/python")).args(["-c", script]).arg(path).output().unwrap();
        let needs = String::from_utf8(output.stdout).unwrap();
        let allowed = if example == "pool_worker.py" { "cryptography" } else { "" };
        assert_eq!((needs.trim(), output.status.success()), (allowed, true), "{example}");
    }
}

/// N2, N5, N19, N22b: the node in Python and its server are killed again and again in the middle of a run. Every
/// device is done in the end, no report is refused, and nothing is left in the spool.
#[test]
fn the_node_in_python_outlives_kills() {
    let mut server = Server::with_fixed_port(&[("MUSTER_NODES__REDELIVER_AFTER_S", "0.5")]);
    let mut node = Example::start(&server, "node.py", &["PC-09", "6"]);
    let params = json!({"step_s": 0.05});
    let run = server.submit(
        &json!({"workflow_id": "w", "scope": {"pcs": ["PC-09"]}, "max_attempts": 20, "params": params}),
    );
    for round in 0..4 {
        wait_until("work in the spool", || node.files("PC-09-spool", ".job") > 0);
        if round % 2 == 1 {
            server.kill9_and_restart();
        }
        node.kill9_and_restart(&server);
    }
    wait_until("the end of the run", || server.run(&run)["status"] == "success");
    let rows = server.rows(&run);
    assert!(rows.len() == 6 && rows.iter().all(|row| row["status"] == "completed"), "{rows:?}");
    wait_until("an empty spool", || node.files("PC-09-spool", ".event") == 0);
    assert_eq!(node.files("PC-09-spool", ".job"), 0);
    assert!(!node.said().contains("set aside"), "{}", node.said());
}

/// P6, P8, P9, P17: the pool worker in Python and its server are killed again and again. Each job has its result, each is
/// signed by the one key, and nothing was set aside.
#[test]
fn the_pool_worker_in_python_outlives_kills() {
    let mut server = Server::with_fixed_port(&[]);
    server.add_user("olga", &["WORKER_OWNER"]);
    let client = server.user("carl", &["CLIENT"]);
    let jobs: Vec<Value> = (0..12).map(|n| json!({"payload": {"values": [n, 1], "seconds": 0.05}})).collect();
    let jobs = client.post("/jobs/batch", &json!({"jobs": jobs})).expect(201);
    let mut worker = Example::start(&server, "pool_worker.py", &["olga", "rig-1"]);
    for round in 1..4 {
        wait_until("some results", || worker.said().matches("submitted").count() >= 2 * round);
        server.kill9_and_restart();
        worker.kill9_and_restart(&server);
    }
    let mut keys = BTreeSet::new();
    for (job, sum) in jobs["jobs"].as_array().unwrap().iter().zip(1..) {
        let path = format!("/jobs/{}", job["id"]);
        let done = until("a result", || {
            Some(client.get(&format!("{path}?wait_ms=1000")).expect(200))
                .filter(|job| job["status"] != "queued" && job["status"] != "running")
        });
        assert_eq!(
            (&done["status"], &done["output"]),
            (&json!("completed"), &json!({"sum": sum})),
            "{}",
            worker.said()
        );
        keys.insert(client.get(&format!("{path}/receipt")).expect(200)["public_key"].to_string());
    }
    assert_eq!(keys.len(), 1, "{keys:?}");
    assert!(!worker.said().contains("set aside"), "{}", worker.said());
}

/// S2, S5, S8, S18: the simulation worker in Python outlives its master's death: it registers with the next one, and
/// every frame stands in the manifest.
#[test]
fn the_simulation_worker_in_python_outlives_its_master() {
    let mut server = Server::with_fixed_port(&[]);
    let worker = Example::start(&server, "sim_worker.py", &["PY-1"]);
    let session = json!({"sessionId": "s", "totalFrames": 120, "framesPerTask": 30});
    let _ = server.admin().post("/api/v1/sessions", &session).expect(201);
    wait_until("a range", || worker.said().contains("frames 0 to"));
    server.kill9_and_restart();
    let ended = until("the end of the session", || {
        Some(server.session("s")).filter(|session| session["status"] != "running")
    });
    assert_eq!(
        (&ended["status"], &ended["completedFrames"]),
        (&json!("completed"), &json!(120)),
        "{}",
        worker.said()
    );
}

/// A program of `docs/examples` in a directory of its own; ended with the value.
struct Example {
    process: Process,
    directory: TempDir,
    name: String,
    arguments: Vec<String>,
}

impl Example {
    fn start(server: &Server, name: &str, arguments: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let arguments: Vec<String> = arguments.iter().map(|&argument| argument.to_owned()).collect();
        let command = python(server, &directory, name, &arguments);
        let process = Process::start(name, directory.path().join("said"), command);
        Self { process, directory, name: name.to_owned(), arguments }
    }

    fn kill9_and_restart(&mut self, server: &Server) {
        self.process.kill9();
        self.process.start_again(python(server, &self.directory, &self.name, &self.arguments));
    }

    /// Its output, over all its starts.
    fn said(&self) -> String {
        self.process.log()
    }

    /// Number of files with an ending that it keeps in a directory.
    fn files(&self, directory: &str, ending: &str) -> usize {
        let listed = fs::read_dir(self.directory.path().join(directory)).into_iter().flatten();
        listed.filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().ends_with(ending)).count()
    }
}

fn python(server: &Server, directory: &TempDir, name: &str, arguments: &[String]) -> Command {
    let said = fs::OpenOptions::new().create(true).append(true).open(directory.path().join("said")).unwrap();
    let mut command = Command::new(venv().join("bin/python"));
    command.arg(root().join("docs/examples").join(name)).arg(server.anonymous().url()).args(arguments);
    command
        .env("NODE_AGENT_SHARED_SECRET", server.node_secret())
        .env("MUSTER_ENROL_SECRET", server.enrol_secret());
    command.env("MUSTER_PASSWORD", password_of("olga")).current_dir(directory.path()).stdin(Stdio::null());
    command.stdout(said);
    command
}

/// The names of all examples.
fn examples() -> Vec<String> {
    let listed = root().join("docs/examples").read_dir().unwrap().map(|entry| entry.unwrap().path());
    let listed = listed.filter(|path| path.extension().is_some_and(|extension| extension == "py"));
    let name = |path: PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
    let names: Vec<String> = listed.map(name).collect();
    assert!(names.iter().any(|name| name == "node.py"), "{names:?}");
    names
}
