//! Plays a spec: Node.js drives the browser, and asks here for what only the stage can do.

use crate::stage::Stage;
use std::{
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

/// Plays `tests/browser/SPEC.spec.mjs` and fails with all it said, unless it went well.
pub(crate) fn play(mut stage: Stage, spec: &str, language: Option<&str>) {
    let directory = specs();
    let mut command = Command::new("node");
    command.arg("run.mjs").arg(format!("{spec}.spec.mjs")).current_dir(&directory);
    command.env("MUSTER_URL", stage.server.anonymous().url()).env("MUSTER_TOKEN", stage.server.admin_token());
    command.env("MUSTER_ENROL_SECRET", stage.server.enrol_secret()).env("MUSTER_STAGE", "yes");
    command.env("MUSTER_SHOTS", shots()).env("MUSTER_CHROMIUM", chromium());
    if spec == "pictures" {
        command.env("MUSTER_PICTURES", Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/images"));
    }
    command.envs(language.map(|language| ("MUSTER_LANGUAGES", language)));
    command.envs(stage.court_home().map(|home| ("MUSTER_COURT", home)));
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut child = child.unwrap_or_else(|error| panic!("node cannot be run ({error}): ./test installs it"));
    let said = serve(&mut stage, &mut child);
    assert!(child.wait().unwrap().success(), "{said}");
    println!("{said}");
}

/// Does what the spec asks for, until it has ended; gives what it said.
fn serve(stage: &mut Stage, child: &mut Child) -> String {
    let mut answers = child.stdin.take().unwrap();
    let mut said = String::new();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        if let Some(request) = line.strip_prefix("stage: ") {
            stage.obey(request);
            answers.write_all(b"done\n").unwrap();
        } else {
            said.push_str(&line);
            said.push('\n');
        }
    }
    said
}

fn specs() -> PathBuf {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("browser");
    assert!(
        directory.join("node_modules/playwright-core").is_dir(),
        "playwright-core is not installed: run `npm --prefix tests/browser ci`"
    );
    directory
}

fn chromium() -> PathBuf {
    let path = std::env::var_os("MUSTER_CHROMIUM").map_or_else(|| "/usr/bin/chromium".into(), PathBuf::from);
    assert!(
        path.exists(),
        "{} is missing: ./test installs it; or name one by MUSTER_CHROMIUM",
        path.display()
    );
    path
}

fn shots() -> PathBuf {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/screenshots");
    std::env::var_os("MUSTER_SHOTS").map_or_else(beside, PathBuf::from)
}
